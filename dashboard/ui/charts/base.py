"""The look that all charts share, and axes of time."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go
from plotly.io.json import to_json_plotly

from core.domain.untrusted_text import one_line
from dashboard.theme import GRID, MUTED

if TYPE_CHECKING:
    import pandas as pd

LABEL_LIMIT = 34


def label(text: str, limit: int = LABEL_LIMIT) -> str:
    """Returns a name as escaped text on one line, shortened in the middle, with hidden characters written out.

    >>> label("<b>bold</b>")
    '&lt;b&gt;bold&lt;/b&gt;'
    >>> label("a-very-long-server-name::and-a-long-tool-name", 20)
    'a-very-lo…-tool-name'
    """
    line = one_line(text)
    if len(line) > limit:
        tail = limit // 2
        line = f"{line[: limit - tail - 1]}…{line[-tail:]}"
    return html.escape(line, quote=False)


class LazyFigure(go.Figure):
    """A figure that becomes Plotly's objects when an attribute is read. The page needs only its JSON and its title, and making
    the objects takes four times as long as a decision.

    >>> drawn = figure([{"type": "bar", "y": [1, float("nan")]}], title="Two", height=100)
    >>> figure_json(drawn)[:40], title_of(drawn), type(drawn) is go.Figure
    ('{"data":[{"type":"bar","y":[1,null]}],"l', 'Two', False)
    >>> drawn.data[0].type, figure_json(drawn)[:40], title_of(drawn), type(drawn) is go.Figure
    ('bar', '{"data":[{"y":[1,null],"type":"bar"}],"l', 'Two', True)
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        object.__setattr__(self, "spec", spec)

    def __getattribute__(self, name: str) -> Any:
        if name in {"spec", "__class__"}:
            return object.__getattribute__(self, name)
        spec = object.__getattribute__(self, "spec")
        object.__setattr__(self, "__class__", go.Figure)
        go.Figure.__init__(self, spec)
        return getattr(self, name)


def figure_json(drawn: go.Figure) -> str:
    """Returns a figure as JSON for the browser."""
    if type(drawn) is not LazyFigure:
        return str(drawn.to_json(validate=False))
    try:
        return json.dumps(drawn.spec, default=_as_list, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError):  # NaN, infinite numbers, dates
        return str(to_json_plotly(drawn.spec))


def _as_list(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError


def title_of(drawn: go.Figure) -> str:
    """Returns the title of a figure, with markup."""
    return str(drawn.spec["layout"]["title"]["text"] if type(drawn) is LazyFigure else drawn.layout.title.text)


def figure(traces: Sequence[Mapping[str, Any]], *, title: str, height: int, **layout: Any) -> go.Figure:
    """Returns a figure in the house style. `layout` overrides the template. An axis may have a text as its title, and a trace with a
    `hovertext` shows that alone."""
    base: dict[str, Any] = {
        "template": {},  # the page adds its colours and fonts, in light and in dark
        "title": {"text": title, "x": 0, "xref": "container", "pad": {"l": 4}, "font": {"size": 13}},
        "height": height,
        "margin": {"l": 8, "r": 8, "t": 34, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "font": {"size": 12},
        "hoverlabel": {"font": {"size": 12}, "align": "left"},
        "bargap": 0.35,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 11}},
        "dragmode": False,
    }
    for axis in ("xaxis", "yaxis"):
        style: dict[str, Any] = {"automargin": True, "gridcolor": GRID, "zerolinecolor": MUTED, "zerolinewidth": 1}
        base[axis] = {**style, **layout.pop(axis, {})}
        if isinstance(text := base[axis].get("title"), str):
            base[axis]["title"] = {"text": text, "font": SMALL}
    # a redraw of the page makes six figures: validating them would take longer than deciding; tests validate each chart
    data = [{"hoverinfo": "text", **trace} if "hovertext" in trace else dict(trace) for trace in traces]
    return LazyFigure({"data": data, "layout": {**base, **layout}})


def row_figure(
    traces: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    *,
    shown: int = 0,
    faded: Sequence[bool] = (),
    **layout: Any,
) -> go.Figure:
    """Returns a figure of the rows 0, 1, 2... from below, each with its name above at the left. It has room for `shown` rows. Some names
    are `faded`."""
    groups = [[row for row in range(len(names)) if (row < len(faded) and faded[row]) is kind] for kind in (False, True)]
    texts = [
        row_texts([names[row] for row in group], group, faded=kind)
        for kind, group in zip((False, True), groups, strict=True)
    ]
    return figure([*traces, *texts], xaxis2=EDGES, yaxis=rows_axis(len(names), shown=shown), **layout)


def row_texts(
    texts: Sequence[str], rows: Sequence[int], *, right: bool = False, faded: bool = False, starts: Sequence[float] = ()
) -> dict[str, Any]:
    """A trace that writes texts above the rows 0, 1, 2... of a horizontal chart, at its left or right edge, or at `starts` in [0, 1].

    Names there take no width from the bars. Needs the axis `EDGES`.
    """
    return {
        "type": "scatter", "mode": "text", "x": list(starts) or [1 if right else 0] * len(rows), "y": [row + 0.44 for row in rows],
        "xaxis": "x2", "text": texts, "textposition": "middle left" if right else "middle right",
        "textfont": {"size": 11}, "opacity": 0.65 if faded else 1.0, "cliponaxis": False, "hoverinfo": "skip",
        "showlegend": False,
    }  # fmt: skip


EDGES = {"overlaying": "x", "range": [0, 1], "visible": False, "fixedrange": True}


def rows_axis(count: int, *, shown: int) -> dict[str, Any]:
    """A y axis for rows 0, 1, 2... with room for their labels; at least `shown` rows, so that bars keep their size."""
    return {
        "showticklabels": False,
        "showgrid": False,
        "zeroline": False,
        "range": [count - 0.4 - max(count, shown), count - 0.3],
    }


# a double click counts as two clicks
CONFIG = {"displayModeBar": False, "doubleClick": False, "doubleClickDelay": 0}


SMALL = {"size": 11}


def axis(title: str, **look: Any) -> dict[str, Any]:
    """Returns an axis with a small title."""
    return {"title": {"text": title, "font": SMALL}, **look}


MOST_BUCKETS = 48
BUCKETS_S = (1, 5, 15, 60, 300, 900, 3600, 10_800, 21_600, 86_400, 604_800, 2_592_000)
WORDS = {True: "simulated", False: "real"}


def chart(
    traces: Sequence[Mapping[str, Any]], *, title: str, height: int, top: int = 62, left: int = 8, **layout: Any
) -> go.Figure:
    """Returns a figure in the house style with a legend below its title. `top` and `left` are margins."""
    margin = {"l": left, "r": 8, "b": 8, "t": top}
    plot = figure(traces, title=title, height=height, showlegend=True, margin=margin, **layout)
    return plot.update_layout(title_y=1, title_yanchor="top", title_pad_t=6)


def bucket_for(span: timedelta) -> timedelta:
    """Returns the shortest bucket that cuts a span into at most `MOST_BUCKETS` pieces, at most 30 days.

    >>> bucket_for(timedelta(minutes=3)), bucket_for(timedelta(days=2)), bucket_for(timedelta(days=9999)).days
    (datetime.timedelta(seconds=5), datetime.timedelta(seconds=3600), 30)
    """
    fitting = (s for s in BUCKETS_S if span.total_seconds() <= s * MOST_BUCKETS)
    return timedelta(seconds=next(fitting, BUCKETS_S[-1]))


def bucket_words(bucket: timedelta) -> str:
    """Returns a bucket's length for a title.

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
    """Returns times in the visitor's zone, as texts for a date axis."""
    return [f"{time:%Y-%m-%dT%H:%M:%S.%f}" for time in (times + shift).dt.tz_convert(zone)]


def time_axis(frame: pd.DataFrame, bucket: timedelta, zone: str) -> dict[str, Any]:
    """Returns a date axis over all buckets of `frame`, at least twelve, so that bars keep their shape."""
    if frame.empty:
        return {"type": "date"}
    first, last = frame["at"].min(), frame["at"].max() + bucket
    missing = max(timedelta(0), 12 * bucket - (last - first))
    import pandas as pd

    ends = local(pd.Series([first - missing / 2, last + missing / 2]), zone)
    return axis(f"time ({zone})", type="date", range=ends)


def money_unit(amounts_usd: Sequence[float]) -> tuple[float, str]:
    """Returns the factor for USD, and its unit: m$ below one dollar.

    >>> money_unit([0.002, 0.01]), money_unit([3.0]), money_unit([])
    ((1000.0, 'm$'), (1.0, '$'), (1000.0, 'm$'))
    """
    return (1.0, "$") if max(amounts_usd, default=0.0) >= 1 else (1e3, "m$")


def fill(colour: str, *, simulated: bool) -> dict[str, Any]:
    """Returns the fill of a bar: solid for real calls, hatched for simulated calls."""
    if not simulated:
        return {"color": colour}
    return {
        "color": "rgba(0,0,0,0)",
        "line": {"color": colour, "width": 1},
        "pattern": {"shape": "/", "fgcolor": colour, "size": 5, "solidity": 0.35},
    }


def line(colour: str, *, simulated: bool, dash: str = "solid") -> dict[str, Any]:
    """Returns the style of a line: solid for real calls, thin with open points for simulated calls."""
    return {
        "line": {"color": colour, "width": 1.2 if simulated else 2.2, "dash": dash},
        "marker": {"color": colour, "size": 6, "symbol": "circle-open" if simulated else "circle"},
        "opacity": 0.75 if simulated else 1.0,
    }


def calls_words(calls: int, unpriced: int = 0) -> str:
    """Returns the number of calls, and of calls without a price.

    >>> calls_words(1), calls_words(12, 3)
    ('1 call', '12 calls, 3 unpriced')
    """
    words = f"{calls:,} call{'' if calls == 1 else 's'}"
    return f"{words}, {unpriced:,} unpriced" if unpriced else words
