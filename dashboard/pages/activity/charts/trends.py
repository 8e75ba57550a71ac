"""How calls went over time: the share that succeeded, and how long they took. Real and simulated apart."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.shared import units
from dashboard.theme import ACCEPTED, TIME
from dashboard.ui.charts.base import label
from dashboard.ui.charts.time_axes import SMALL, WORDS, bucket_words, calls_words, chart, line, local, time_axis


def success_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str, *, of: str, height: int = 340) -> go.Figure:
    """A line for real and one for simulated calls. Columns as `Activity.success_and_latency_over_time` gives them."""
    traces = [
        _line(
            part, bucket, zone, "success_share", name=WORDS[bool(simulated)], scale=100.0,
            style=line(ACCEPTED, simulated=bool(simulated)), show=lambda share: f"{units.share(share)} succeeded",
        )
        for simulated, part in frame.groupby("simulated")
    ]  # fmt: skip
    return chart(
        traces,
        title=f"Success of {label(of, 60)}, each {bucket_words(bucket)}",
        height=height,
        xaxis=time_axis(frame, bucket, zone),
        yaxis={"title": {"text": "% of calls that succeeded", "font": SMALL}, "range": [-4, 104]},
    )


def latency_over_time(frame: pd.DataFrame, bucket: timedelta, zone: str, *, of: str, height: int = 340) -> go.Figure:
    """p50 full and p95 dotted, on a logarithmic axis: a timeout is a thousand times longer than a quick answer."""
    traces = [
        _line(
            part, bucket, zone, column, name=f"{figure_name} {WORDS[bool(simulated)]}",
            style=line(TIME, simulated=bool(simulated), dash=dash), show=units.seconds,
        )
        for simulated, part in frame.groupby("simulated")
        for figure_name, column, dash in (("p50", "latency_p50_s", "solid"), ("p95", "latency_p95_s", "dot"))
    ]  # fmt: skip
    return chart(
        traces,
        title=f"Latency of {label(of, 60)}, p50 and p95, each {bucket_words(bucket)}",
        height=height,
        top=78,  # four names: two lines of legend where it is narrow
        xaxis=time_axis(frame, bucket, zone),
        yaxis={
            "title": {"text": "latency (s, logarithmic)", "font": SMALL},
            "type": "log", "tickformat": "~s", "ticksuffix": "s", "dtick": 1,
        },
    )  # fmt: skip


def _line(
    part: pd.DataFrame,
    bucket: timedelta,
    zone: str,
    column: str,
    *,
    name: str,
    style: dict[str, Any],
    show: Any,
    scale: float = 1.0,
) -> dict[str, Any]:
    known = part.loc[part[column].notna()]
    starts = local(known["at"], zone)
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": local(known["at"], zone, bucket / 2),
        "y": (known[column] * scale).tolist(),
        "hovertext": [
            f"{start[:16].replace('T', ' ')}<br>{name}: {show(value)}<br>{calls_words(calls)}"
            for start, value, calls in zip(starts, known[column], known["calls"], strict=True)
        ],
        "hoverinfo": "text",
        **style,
    }
