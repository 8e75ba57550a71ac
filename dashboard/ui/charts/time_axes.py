"""What the charts of the Activity page share: buckets of time, local times, units of money, and how simulated looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from dashboard.ui.charts.base import figure

MOST_BUCKETS = 48
BUCKETS_S = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000)
WORDS = {True: "simulated", False: "real"}
SMALL = {"size": 11}


def chart(traces: Sequence[Mapping[str, Any]], *, title: str, height: int, top: int = 62, **layout: Any) -> go.Figure:
    """A figure in the house style: the title on top, and below it the legend that tells the traces apart."""
    drawn = figure(
        traces, title=title, height=height, showlegend=True, margin={"l": 8, "r": 8, "b": 8, "t": top}, **layout
    )
    return drawn.update_layout(title_y=1, title_yanchor="top", title_pad_t=6)


def bucket_for(span: timedelta) -> timedelta:
    """The shortest bucket that cuts a span into at most `MOST_BUCKETS` pieces; 30 days for the longest spans.

    >>> bucket_for(timedelta(minutes=3)), bucket_for(timedelta(days=2)), bucket_for(timedelta(days=9999)).days
    (datetime.timedelta(seconds=5), datetime.timedelta(seconds=3600), 30)
    """
    fitting = (s for s in BUCKETS_S if span.total_seconds() <= s * MOST_BUCKETS)
    return timedelta(seconds=next(fitting, BUCKETS_S[-1]))


def bucket_words(bucket: timedelta) -> str:
    """A bucket's length for a title.

    >>> [bucket_words(timedelta(seconds=s)) for s in (1, 900, 10_800, 86_400)]
    ['second', '15 minutes', '3 hours', 'day']
    """
    length_s = int(bucket.total_seconds())
    for unit, size_s in (("day", 86_400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if length_s % size_s == 0:
            count = length_s // size_s
            return unit if count == 1 else f"{count} {unit}s"
    return f"{bucket.total_seconds():g} s"


def local(times: Any, zone: str, shift: timedelta = timedelta(0)) -> list[str]:
    """A column of times as the visitor's clock shows them, for a date axis, which knows no zones."""
    return [f"{time:%Y-%m-%dT%H:%M:%S.%f}" for time in (times + shift).dt.tz_convert(zone)]


def time_axis(frame: pd.DataFrame, bucket: timedelta, zone: str) -> dict[str, Any]:
    """A date axis over all buckets of `frame`, or over a dozen where there are fewer, so that bars keep their shape."""
    if frame.empty:
        return {"type": "date"}
    first, last = frame["at"].min(), frame["at"].max() + bucket
    missing = max(timedelta(0), 12 * bucket - (last - first))
    ends = local(pd.Series([first - missing / 2, last + missing / 2]), zone)
    return {"type": "date", "range": ends, "title": {"text": f"time ({zone})", "font": SMALL}}


def money_unit(amounts_usd: Sequence[float]) -> tuple[float, str]:
    """What to multiply USD by, and the unit: m$ below one dollar.

    >>> money_unit([0.002, 0.01]), money_unit([3.0]), money_unit([])
    ((1000.0, 'm$'), (1.0, '$'), (1000.0, 'm$'))
    """
    return (1.0, "$") if max(amounts_usd, default=0.0) >= 1 else (1e3, "m$")


def fill(colour: str, *, simulated: bool) -> dict[str, Any]:
    """A bar's fill: full where real, hatched where simulated."""
    if not simulated:
        return {"color": colour}
    return {
        "color": "rgba(0,0,0,0)",
        "line": {"color": colour, "width": 1},
        "pattern": {"shape": "/", "fgcolor": colour, "size": 5, "solidity": 0.35},
    }


def line(colour: str, *, simulated: bool, dash: str = "solid") -> dict[str, Any]:
    """A line with points: full where real, thin with open points where simulated."""
    return {
        "line": {"color": colour, "width": 1.2 if simulated else 2.2, "dash": dash},
        "marker": {"color": colour, "size": 6, "symbol": "circle-open" if simulated else "circle"},
        "opacity": 0.75 if simulated else 1.0,
    }


def calls_words(calls: int, unpriced: int = 0) -> str:
    """How many calls, and how many of them had no price.

    >>> calls_words(1), calls_words(12, 3)
    ('1 call', '12 calls, 3 unpriced')
    """
    words = f"{calls:,} call{'' if calls == 1 else 's'}"
    return f"{words}, {unpriced:,} unpriced" if unpriced else words
