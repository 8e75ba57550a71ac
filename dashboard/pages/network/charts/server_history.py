"""What a router knows of each server over time: the value that the network changes, and that moves the winner."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from core.lab.scenarios.measures import NETWORK
from dashboard.pages.network.charts.base import FAINT, FIXED, LEFT_PX, server_look, step_axis, step_marker
from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.ui.charts.base import figure, label

ROOM = 0.06


def server_history(timeline: RunTimeline, place: int, at: int, *, height: int = 190) -> go.Figure:
    """One line for each shown server, in the colours of the latency curves; faint from step `at` on.

    Raises ValueError for a router that looks at no server's state.
    """
    ranking = timeline.rankings[place]
    if ranking.server_scores is None:
        raise ValueError(f"{timeline.titles[place]} knows nothing of the servers' state.")
    low, high = float(np.min(ranking.server_scores, initial=0.0)), float(np.max(ranking.server_scores, initial=1.0))
    margin = ROOM * (high - low)
    # SONAR's network score is computed from the injected latencies, also where calls are live
    source = "injected" if timeline.live and ranking.server_score == NETWORK else timeline.source
    lines = [
        _line(timeline, ranking.server_scores, number, steps, opacity)
        for number in range(len(timeline.curves))
        for steps, opacity in ((range(at, timeline.steps), FAINT), (range(at + 1), 1.0))
    ]
    return figure(
        lines,
        title=f"{label(timeline.titles[place], 24)}: {ranking.server_score}, {source}",
        height=height,
        hovermode="x unified",
        margin={"l": LEFT_PX, "r": 8, "t": 34, "b": 8},
        shapes=[step_marker(at)],
        xaxis=step_axis(timeline),
        yaxis={"range": [low - margin, high + margin], "hoverformat": ".3f", "automargin": False, **FIXED},
    )


def _line(
    timeline: RunTimeline, values: NDArray[np.float32], number: int, steps: range, opacity: float
) -> dict[str, Any]:
    server = timeline.curves[number].server
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(server, 24),
        "x": np.array(steps, dtype=np.int32),
        "y": values[steps.start : steps.stop, timeline.servers.index(server)],
        "line": {**server_look(number), "width": 1.6, "shape": "hv"},
        "opacity": opacity,
        "hoverinfo": "x+y+name" if opacity == 1.0 else "skip",
    }
