"""What each stage of a router let through, drawn alike for all of them."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.domain.decision import Stage
from dashboard.theme import CHOSEN, GRID, SIMILARITY
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

ROW_PX = 34


def stages(done: Sequence[Stage], *, shown: int = 0) -> go.Figure:
    """A bar for each stage, first on top: the share that went on, of what came in. Room for at least `shown` stages."""
    rows = list(done)[::-1]
    last = len(rows) - 1
    whole = {"type": "bar", "orientation": "h", "x": [1] * len(rows), "marker": {"color": GRID}, "hoverinfo": "skip"}
    passed = {
        "type": "bar",
        "orientation": "h",
        "x": [stage.kept / stage.of if stage.of else 0 for stage in rows],
        "marker": {"color": [CHOSEN if last - row == len(rows) - 1 else SIMILARITY for row in range(len(rows))]},
        "hovertext": [_hover(stage) for stage in rows],
        "hoverinfo": "text",
    }
    place = {"y": list(range(len(rows))), "width": 0.3}
    names = [f"{label(stage.name, 24)}" for stage in rows]
    counts = [f"{stage.kept:,} of {stage.of:,} {label(stage.what, 14)}" for stage in rows]
    return figure(
        [
            {**whole, **place},
            {**passed, **place},
            row_texts(names, range(len(rows))),
            row_texts(counts, range(len(rows)), right=True, faded=True),
        ],
        title="",
        height=ROW_PX * max(shown, len(rows), 1) + 8,
        barmode="overlay",
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        xaxis={"visible": False, "range": [0, 1], "fixedrange": True},
        xaxis2=EDGES,
        yaxis={**rows_axis(len(rows), shown=shown), "fixedrange": True},
    )


def _hover(stage: Stage) -> str:
    by = f" ({label(stage.by, 30)})" if stage.by else ""
    return f"{label(stage.name, 40)}{by}: {stage.kept:,} of {stage.of:,} {label(stage.what, 20)}<br>{label(stage.note, 160)}"
