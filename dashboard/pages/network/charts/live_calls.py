"""The calls of a live run while it is under way: each as a mark at its measured latency."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from core.network.traces import OUTAGE_S
from dashboard.pages.network.charts.base import FIXED, LEFT_PX, ROUTER_LOOKS, SMALL
from dashboard.theme import MUTED
from dashboard.ui.charts.base import figure, label


@dataclass(frozen=True, slots=True)
class LiveCall:
    """A call: the router's place, the step, the server, the measured latency, and what was injected."""

    place: int
    step: int
    server: str
    network_s: float
    ok: bool
    injected: str


def calls_so_far(calls: Sequence[LiveCall], titles: Sequence[str], steps: int, *, height: int = 260) -> go.Figure:
    """Latency in ms over the steps, a mark a call in its router's look; a cross had no success."""
    traces = []
    for place, title in enumerate(titles):
        colour, symbol, _ = ROUTER_LOOKS[place]
        of_router = [call for call in calls if call.place == place]
        traces.append(
            {
                "type": "scatter", "mode": "markers", "name": label(title, 24),
                "x": [call.step for call in of_router], "y": [call.network_s * 1e3 for call in of_router],
                "marker": {"symbol": [symbol if call.ok else "x" for call in of_router], "color": colour, "size": 8},
                "hovertext": [f"{label(call.server, 30)}: {label(call.injected, 40)}" for call in of_router],
                "hoverinfo": "text+y",
            }
        )  # fmt: skip
    drawn = figure(
        traces,
        title="Measured latency of the calls so far, network injected; without an answer: 1,000 ms",
        height=height,
        showlegend=True,
        margin={"l": LEFT_PX, "r": 8, "t": 74, "b": 8},
        xaxis={"title": {"text": "step", "font": SMALL}, "range": [-0.5, steps - 0.5], **FIXED},
        yaxis={
            "title": {"text": "latency (ms)", "font": SMALL}, "type": "log", "range": [0.5, 3.3],
            "dtick": 1, "ticksuffix": " ms", "automargin": False, **FIXED,
        },
        shapes=[
            {
                "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": OUTAGE_S * 1e3, "y1": OUTAGE_S * 1e3,
                "line": {"color": MUTED, "dash": "dash", "width": 1},
            }
        ],
    )  # fmt: skip
    return drawn.update_layout(title_y=1, title_yanchor="top", title_pad_t=6)
