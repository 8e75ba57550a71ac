"""Cost curves: utility of each feasible tool against alpha_t or kappa. Straight lines, drawn exactly."""

from __future__ import annotations

import plotly.graph_objects as go

from core.lab.curves import UtilityLines
from dashboard.theme import CHOSEN, MUTED, SERIES
from dashboard.ui.charts.base import figure, label

SHOWN = 8
SYMBOLS = {"alpha_t": "αt", "kappa": "κ"}


def utility_lines(lines: UtilityLines, *, height: int = 280) -> go.Figure:
    """One line a tool (the winner thick); the dotted line is the current value, the band where the winner stays the same."""
    symbol = SYMBOLS[lines.axis]
    traces = [_line(lines, row) for row in range(min(SHOWN, len(lines.tools)))]
    shapes: list[dict[str, object]] = [_vertical(lines.current)]
    if lines.winner_interval is not None:
        shapes.append(_band(lines.winner_interval.low, lines.winner_interval.high))
    return figure(
        traces,
        title=f"Utility against {symbol}",
        height=height,
        shapes=shapes,
        xaxis={"title": {"text": f"{symbol} ({lines.unit})", "font": {"size": 11}}, "range": [lines.low, lines.high]},
        yaxis={"title": {"text": "U", "font": {"size": 11}}},
    )


def _line(lines: UtilityLines, row: int) -> dict[str, object]:
    xs = [lines.low, lines.current, lines.high]
    ys = [float(lines.intercept[row] - lines.slope[row] * x) for x in xs]
    name = label(lines.tools[row], 60)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label(lines.tools[row]),
        "x": xs,
        "y": ys,
        "line": {"color": SERIES[row % len(SERIES)], "width": 3 if row == 0 else 1.5},
        "customdata": [lines.tools[row]] * len(xs),
        "hovertext": [f"{name}<br>{x:.3g} {lines.unit}: U = {y:.3f}" for x, y in zip(xs, ys, strict=True)],
        "hoverinfo": "text",
    }


def _vertical(x: float) -> dict[str, object]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"color": MUTED, "dash": "dot", "width": 2},
    }


def _band(low: float, high: float) -> dict[str, object]:
    return {
        "type": "rect", "x0": low, "x1": high, "yref": "paper", "y0": 0, "y1": 1,
        "fillcolor": CHOSEN, "opacity": 0.09, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
