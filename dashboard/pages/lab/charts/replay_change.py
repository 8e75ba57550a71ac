"""Replayed sub-tasks: what the winners cost, take and weigh now, against then."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from core.lab.replay import Replayed
from dashboard.theme import CHOSEN, GRID, MONEY, MUTED, TIME
from dashboard.ui.charts.base import figure, label

PANELS = (
    ("usd", "m$ a call", 1e3, MONEY),
    ("s", "expected s", 1.0, TIME),
    ("tokens", "tokens of candidates", 1.0, CHOSEN),
)
GAP = 0.06


def replay_change(rows: Sequence[Replayed]) -> go.Figure:
    """Three panels (money, time, tokens): a point for each sub-task with a winner both times, then across and now up; on the line
    nothing changed, below it the winner of now is cheaper, faster or lighter. Diamonds have another winner."""
    both = [row for row in rows if row.then.tool is not None and row.now.tool is not None]
    traces, layout = list[dict[str, object]](), dict[str, object]()
    width = (1 - GAP * (len(PANELS) - 1)) / len(PANELS)
    for number, (name, words, scale, color) in enumerate(PANELS):
        suffix = "" if number == 0 else str(number + 1)
        pairs = [(row, getattr(row.then, name), getattr(row.now, name)) for row in both]
        known = [(row, scale * then, scale * now) for row, then, now in pairs if then is not None and now is not None]
        most = 1.06 * max((value for _, *values in known for value in values), default=1.0) or 1.0
        axes = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
        traces.append(
            {
                "type": "scatter", "mode": "lines", "x": [0, most], "y": [0, most], "hoverinfo": "skip",
                "line": {"color": MUTED, "dash": "dot", "width": 1}, **axes,
            }
        )  # fmt: skip
        traces.append(
            {
                "type": "scatter", "mode": "markers", "x": [then for _, then, _ in known], "y": [now for *_, now in known],
                "marker": {
                    "color": color, "opacity": 0.75,
                    "symbol": ["diamond" if row.changed else "circle" for row, *_ in known],
                    "size": [10 if row.changed else 6 for row, *_ in known],
                },
                "hovertext": [_told(row, then, now, words) for row, then, now in known], "hoverinfo": "text", **axes,
            }
        )  # fmt: skip
        start = number * (width + GAP)
        layout[f"xaxis{suffix}"] = {
            "domain": [start, start + width], "anchor": f"y{suffix}", "gridcolor": GRID, "zerolinecolor": MUTED, "range": [0, most],
            "title": {"text": f"{words}, then", "font": {"size": 11}}, "nticks": 4,
        }  # fmt: skip
        layout[f"yaxis{suffix}"] = {
            "anchor": f"x{suffix}", "gridcolor": GRID, "zerolinecolor": MUTED, "range": [0, most], "title": {"text": "now", "font": {"size": 11}}, "nticks": 5, "automargin": True,
        }  # fmt: skip
    return figure(traces, title="Then and now: below the line is less now; ◆ another winner", height=300, **layout)


def _told(row: Replayed, then: float, now: float, words: str) -> str:
    winners = (
        f"{label(row.then.tool or '', 50)} → {label(row.now.tool or '', 50)}"
        if row.changed
        else label(row.then.tool or "", 60)
    )
    return f"{label(row.subtask, 80)}<br>{winners}<br>{words}: {then:,.4g} → {now:,.4g}"
