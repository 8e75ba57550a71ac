"""What was learnt call by call: the running statistics of a tool and its server, EHRR (8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from core.shared import units
from dashboard.theme import ACCEPTED, MUTED, TIME
from dashboard.ui.charts.base import label
from dashboard.ui.charts.time_axes import SMALL, chart, local


def success_history(frame: pd.DataFrame, zone: str, *, tool: str, height: int = 320) -> go.Figure:
    """r of the tool and of its server after each call. Columns as `Activity.statistics_history` gives them."""
    learnt = _learnt(frame)
    return chart(
        [
            _steps(learnt, zone, "tool_success", name="tool", colour=ACCEPTED, show=units.share, scale=100.0),
            _steps(learnt, zone, "server_success", name="server", colour=MUTED, show=units.share, scale=100.0),
        ],
        title=f"Learnt success r of {label(tool, 60)}, call by call",
        height=height,
        xaxis=_axis(len(learnt)),
        yaxis={"title": {"text": "r (%)", "font": SMALL}, "range": [-4, 104]},
    )


def latency_history(frame: pd.DataFrame, zone: str, *, tool: str, height: int = 320) -> go.Figure:
    """The running mean of the call time of the tool and of its server after each call."""
    learnt = _learnt(frame)
    return chart(
        [
            _steps(learnt, zone, "tool_latency_s", name="tool", colour=TIME, show=units.seconds),
            _steps(learnt, zone, "server_call_s", name="server", colour=MUTED, show=units.seconds),
        ],
        title=f"Learnt latency of {label(tool, 60)}, call by call",
        height=height,
        xaxis=_axis(len(learnt)),
        yaxis={"title": {"text": "running mean of call time (s)", "font": SMALL}, "rangemode": "tozero"},
    )


def _learnt(frame: pd.DataFrame) -> pd.DataFrame:
    """Without the calls that taught nothing (simulated or cancelled): the count of the calls did not move."""
    return frame.loc[frame["tool_calls"].diff().fillna(1) != 0]


def _axis(calls: int) -> dict[str, Any]:
    """Order, not time: calls that overlap are learnt from in the order in which they end."""
    return {
        "title": {"text": "real calls of the tool, in the order learnt from", "font": SMALL},
        "range": [0.5, max(calls, 10) + 0.5],
    }


def _steps(
    frame: pd.DataFrame,
    zone: str,
    column: str,
    *,
    name: str,
    colour: str,
    show: Callable[[float], str],
    scale: float = 1.0,
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": list(range(1, len(frame) + 1)),
        "y": (frame[column] * scale).tolist(),
        "line": {"color": colour, "width": 2, "shape": "hv", "dash": "dot" if name == "server" else "solid"},
        "marker": {"color": colour, "size": 4},
        "hovertext": [
            f"{time[:19].replace('T', ' ')}<br>{name}: {show(value)}<br>after {calls:,} of its calls"
            for time, value, calls in zip(local(frame["at"], zone), frame[column], frame[f"{name}_calls"], strict=True)
        ],
        "hoverinfo": "text",
    }
