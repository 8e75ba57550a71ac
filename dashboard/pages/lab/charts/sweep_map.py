"""A measure over two swept parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.domain.params import Value
from dashboard.theme import CHOSEN, SIMILARITY
from dashboard.ui.charts.base import figure, label


def sweep_map(
    points: Sequence[Mapping[str, Value]], measured: Sequence[float], numbers: Sequence[int], *, axes: tuple[str, str],
    measure: str, chosen: int, less_is_better: bool,
) -> go.Figure:  # fmt: skip
    """A square for each point of the grid, darker where it is better, with its number to choose it by; a star on the `chosen` one."""
    across, up = (list(dict.fromkeys(point[axis] for point in points)) for axis in axes)
    x, y = ([point[axis] for point in points] for axis in axes)
    trace = {
        "type": "heatmap",
        "x": [_text(one) for one in across],
        "y": [_text(one) for one in up],
        "z": _grid(points, measured, axes, across, up),
        "customdata": _grid(points, [str(number) for number in numbers], axes, across, up),
        "colorscale": [[0, "rgba(59,130,196,0.06)"], [1, SIMILARITY]],
        "reversescale": less_is_better,
        "xgap": 2,
        "ygap": 2,
        "colorbar": {"thickness": 10, "outlinewidth": 0},
        "hovertemplate": f"{label(axes[0])} = %{{x}}, {label(axes[1])} = %{{y}}<br>{label(measure)} %{{z:.4g}}<extra></extra>",
    }
    at = numbers.index(chosen)
    star = {
        "type": "scatter", "mode": "markers", "x": [_text(x[at])], "y": [_text(y[at])], "hoverinfo": "skip",
        "marker": {"symbol": "star", "size": 15, "color": CHOSEN, "line": {"color": "#FFFFFF", "width": 1}},
    }  # fmt: skip
    category = {"type": "category", "showgrid": False, "zeroline": False}
    return figure(
        [trace, star],
        title=f"{label(measure, 80)}; ★ chosen",
        height=380,
        xaxis={"title": {"text": label(axes[0]), "font": {"size": 11}}, **category},
        yaxis={"title": {"text": label(axes[1]), "font": {"size": 11}}, **category},
    )


def _grid(
    points: Sequence[Mapping[str, Value]], values: Sequence[object], axes: tuple[str, str], across: list[Value], up: list[Value]
) -> list[list[object]]:  # fmt: skip
    """The values as rows from the lowest of the second axis."""
    known = {(point[axes[0]], point[axes[1]]): value for point, value in zip(points, values, strict=True)}
    return [[known.get((one, other)) for one in across] for other in up]


def _text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
