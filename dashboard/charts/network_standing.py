"""What a router holds of each server over time: the figure that the network moves, and that moves the winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.lab.scenario_standing import NETWORK
from dashboard.charts.base import figure, label
from dashboard.charts.network_base import FIXED, LEFT_PX, Story, moment, server_look, step_axis

ROOM = 0.06


def held(story: Story, place: int, at: int, *, height: int = 190) -> go.Figure:
    """One line a server that is shown, up to step `at`, in the colours of the latency curves.

    Raises ValueError for a router that looks at no server's state.
    """
    standing = story.standings[place]
    if standing.held is None:
        raise ValueError(f"{story.titles[place]} holds nothing of servers.")
    low, high = float(np.min(standing.held, initial=0.0)), float(np.max(standing.held, initial=1.0))
    margin = ROOM * (high - low)
    source = "injected" if story.live and standing.regard == NETWORK else story.source  # N is that of the traces
    return figure(
        [_line(story, standing.held[: at + 1], number) for number in range(len(story.curves))],
        title=f"{label(story.titles[place], 24)}: {standing.regard}, {source}",
        height=height,
        hovermode="x unified",
        margin={"l": LEFT_PX, "r": 8, "t": 34, "b": 8},
        shapes=[moment(at)],
        xaxis=step_axis(story),
        yaxis={"range": [low - margin, high + margin], "hoverformat": ".3f", "automargin": False, **FIXED},
    )


def _line(story: Story, values: NDArray[np.float32], number: int) -> dict[str, Any]:
    server = story.curves[number].server
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(server, 24),
        "x": np.arange(len(values), dtype=np.int32),
        "y": values[:, story.servers.index(server)],
        "line": {**server_look(number), "width": 1.6, "shape": "hv"},
        "hoverinfo": "x+y+name",
    }
