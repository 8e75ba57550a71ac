"""The charts of the Lab."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.domain.params import Value
from core.lab.sweep import SECONDS, SOLVED, USD, Axis
from dashboard.theme import CHOSEN, GRID, MUTED, SIMILARITY, TIME
from dashboard.ui.charts.base import EDGES, axis, figure, label, row_texts, rows_axis


def intervals(
    names: Sequence[str], values: Sequence[float], bounds: Sequence[tuple[float, float]], *, measure: str
) -> go.Figure:
    """Draws a point with its interval for each run, the best on top. All values are in [0, 1]."""
    order = sorted(range(len(names)), key=lambda row: values[row])
    trace = {
        "type": "scatter", "mode": "markers", "x": [values[row] for row in order], "y": list(range(len(order))),
        "error_x": {
            "type": "data", "symmetric": False, "thickness": 2, "width": 5,
            "array": [bounds[row][1] - values[row] for row in order],
            "arrayminus": [values[row] - bounds[row][0] for row in order],
        },
        "marker": {"size": 10, "color": CHOSEN},
        "hovertext": [
            f"{label(names[row], 80)}<br>{values[row]:.3f}, 95 % interval {bounds[row][0]:.3f} to {bounds[row][1]:.3f}"
            for row in order
        ],
        "hoverinfo": "text",
    }  # fmt: skip
    texts = row_texts([label(names[row], 70) for row in order], list(range(len(order))))
    return figure(
        [trace, texts], title=f"{measure}, with 95 % intervals over tasks", height=70 + 46 * max(2, len(order)),
        xaxis={"rangemode": "normal"}, xaxis2=EDGES,
        yaxis=rows_axis(len(order), shown=2) | {"range": [-0.6, len(order) - 0.2]},
    )  # fmt: skip


def value_text(value: Value) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


Points = Sequence[Mapping[str, Any]]
FADED = "rgba(140, 146, 166, 0.30)"
SCALE = [[0, "rgba(219, 148, 18, 0.25)"], [1, TIME]]


def pareto(points: Points, front: Sequence[int], chosen: int, present: int | None = None) -> go.Figure:
    """Draws each trial: solved in % over m$ a task, darker for more time. Diamonds are on the front of all three, the square is the
    present setting."""
    on_front, seconds = set(front), [point[SECONDS] for point in points]
    trace = {
        "type": "scatter", "mode": "markers", "x": [1e3 * point[USD] for point in points],
        "y": [100 * point[SOLVED] for point in points], "customdata": [str(point["number"]) for point in points],
        "marker": {
            "color": seconds, "colorscale": SCALE, "showscale": max(seconds) > min(seconds),
            "colorbar": {"thickness": 10, "outlinewidth": 0, "title": {"text": "s", "font": {"size": 11}}},
            "symbol": [
                "star" if p["number"] == chosen else "square" if p["number"] == present
                else "diamond" if p["number"] in on_front else "circle" for p in points
            ],
            "size": [16 if p["number"] == chosen else 10 if p["number"] in {*on_front, present} else 7 for p in points],
            "line": {"width": [1.5 if p["number"] in on_front else 0 for p in points], "color": CHOSEN},
        },
        "hovertext": [_point_hover(point) for point in points], "hoverinfo": "text",
    }  # fmt: skip
    return figure(
        [trace],
        title="Solved against money; ◆ Pareto front, ■ present setting, ★ chosen",
        height=340,
        xaxis=axis("m$ a task (1 m$ = 0.001 USD), expected"),
        yaxis=axis("solved, %, expected"),
    )


def importance_bars(shares: Mapping[str, float], *, objective: str) -> go.Figure:
    names = list(shares)[::-1]
    trace = {
        "type": "bar", "orientation": "h", "x": [100 * shares[name] for name in names], "y": list(range(len(names))), "width": 0.42,
        "marker": {"color": SIMILARITY}, "hovertext": [f"{label(name)}: {100 * shares[name]:.0f} %" for name in names],
        "hoverinfo": "text",
    }  # fmt: skip
    rows = list(range(len(names)))
    texts = [
        row_texts([label(n) for n in names], rows),
        row_texts([f"{100 * shares[n]:.0f} %" for n in names], rows, right=True),
    ]
    return figure(
        [trace, *texts],
        title=f"Importance of knobs for: {label(objective, 60)}",
        height=70 + 46 * max(3, len(names)),
        xaxis=axis("share in separating the best tenth from the rest, %", range=[0, 100]),
        xaxis2=EDGES,
        yaxis=rows_axis(len(names), shown=3),
    )


def slices(points: Points, axes: Sequence[Axis], objective: str, chosen: int, *, name: str) -> go.Figure:
    """Draws a small chart for each parameter: the objective over its value in each trial."""
    width = 1 / len(axes)
    layout: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    for number, knob in enumerate(axes):
        suffix = "" if number == 0 else str(number + 1)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "xaxis": f"x{suffix}", "yaxis": "y",
                "x": [_across(knob, p["values"][knob.name]) for p in points],
                "y": [p[objective] for p in points], "customdata": [str(p["number"]) for p in points],
                "marker": _starred([p["number"] == chosen for p in points], 7) | {"opacity": 0.8},
                "hovertext": [_point_hover(point) for point in points], "hoverinfo": "text",
            }
        )  # fmt: skip
        layout[f"xaxis{suffix}"] = {
            "domain": [number * width + (0.02 if number else 0), (number + 1) * width - 0.02],
            **axis(label(knob.name)), "gridcolor": GRID, "zerolinecolor": GRID, "nticks": 4,
            **({} if knob.numeric else {"type": "category"}), **(_track(knob) if knob.ranged else {}),
        }  # fmt: skip
    return figure(traces, title=f"Slices: {label(name, 60)} over each knob; ★ chosen", height=280, **layout)


def _starred(chosen: Sequence[bool], size: int) -> dict[str, Any]:
    return {
        "size": [14 if flag else size for flag in chosen], "symbol": ["star" if flag else "circle" for flag in chosen],
        "color": [CHOSEN if flag else SIMILARITY for flag in chosen],
    }  # fmt: skip


def parallel(points: Points, axes: Sequence[Axis], front: Sequence[int], chosen: int) -> go.Figure:
    """Draws a line through the values of each trial, each knob's range from bottom to top. The Pareto front is coloured."""
    on_front = set(front)
    groups = [
        ([p for p in points if p["number"] not in on_front and p["number"] != chosen], {"color": FADED, "width": 1}),
        ([p for p in points if p["number"] in on_front and p["number"] != chosen], {"color": SIMILARITY, "width": 1.5}),
        ([p for p in points if p["number"] == chosen], {"color": CHOSEN, "width": 3.5}),
    ]
    traces = [_lines(group, axes, line) for group, line in groups if group]
    ends = [
        {
            "x": column, "y": y, "text": label(_end(axis, upper=y == 1), 16), "showarrow": False,
            "yshift": 10 if y else -10, "font": {"size": 10},
        }
        for column, axis in enumerate(axes)
        for y in (0, 1)
    ]  # fmt: skip
    return figure(
        traces,
        title="Parallel coordinates: blue lines are on the Pareto front, the thick one is chosen",
        height=320,
        xaxis={
            "tickvals": list(range(len(axes))), "ticktext": [label(axis.name, 24) for axis in axes],
            "range": [-0.35, len(axes) - 0.65], "zeroline": False, "gridcolor": MUTED,
        },
        yaxis={"visible": False, "range": [-0.12, 1.12]},
        annotations=ends,
    )  # fmt: skip


def _lines(points: Points, axes: Sequence[Axis], line: Mapping[str, Any]) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[float | None] = []
    numbers: list[str] = []
    for point in points:
        x += [*range(len(axes)), None]
        y += [*(_height(axis, point["values"][axis.name]) for axis in axes), None]
        numbers += [str(point["number"])] * (len(axes) + 1)
    hovers = [_point_hover(point) for point in points for _ in range(len(axes) + 1)]
    return {
        "type": "scatter", "mode": "lines+markers", "x": x, "y": y, "customdata": numbers, "line": dict(line),
        "marker": {"size": 4, "color": line["color"]}, "hovertext": hovers, "hoverinfo": "text",
    }  # fmt: skip


def _height(axis: Axis, value: Value) -> float:
    """Returns the place of a value between the ends of its axis, in [0, 1].

    >>> _height(Axis("k", "", (1, 2, 5)), 2), _height(Axis("a", "", (), 0.0, 4.0), 1.0)
    (0.25, 0.25)
    """
    if not axis.numeric:
        return axis.values.index(value) / max(1, len(axis.values) - 1)
    if axis.ranged:
        return _place(axis, value)
    low, high = _number(axis.values[0]), _number(axis.values[-1])
    return (_number(value) - low) / (high - low) if high > low else 0.5


def _place(axis: Axis, value: Value) -> float:
    """Returns the place of a value on the track of its knob; a value without a limit stands at its end.

    >>> _place(Axis("kappa", "", (), 0.0, 1000.0, "cube root"), 1000.0), _place(Axis("a", "", (), 0.0, 4.0), None)
    (1.0, 1.0)
    """
    return 1.0 if value is None else axis.share(_number(value))


def _across(axis: Axis, value: Value) -> float | str:
    return _place(axis, value) if axis.ranged else _number(value) if axis.numeric else str(value)


def _track(axis: Axis) -> dict[str, Any]:
    places = [quarter / 4 for quarter in range(5)]
    return {"tickvals": places, "ticktext": [f"{axis.at(place):,.4g}" for place in places], "range": [-0.04, 1.04]}


def _end(axis: Axis, *, upper: bool) -> str:
    if axis.ranged:
        return f"{axis.high if upper else axis.low:g}"
    return value_text(axis.values[-1 if upper else 0])


def _number(value: Value) -> float:
    return float(value or 0)


def _point_hover(point: Mapping[str, Any]) -> str:
    values = ", ".join(
        f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in point["values"].items()
    )
    return f"{label(values, 120)}<br>{100 * point[SOLVED]:.1f} % solved, {1e3 * point[USD]:.3g} m$, {point[SECONDS]:.2f} s a task"


def sweep_lines(
    values: Sequence[Value], measured: Sequence[float], numbers: Sequence[int], *, knob: str, measure: str, chosen: int, now: Value,
    stretched: bool = False,
) -> go.Figure:  # fmt: skip
    """Draws a point for each value of the knob, a star for the `chosen` point, and a line at the knob's value `now`. The axis of a
    `stretched` knob is stretched as its track."""
    numeric = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)

    def place(value: Value) -> float | str:
        return (math.cbrt(_number(value)) if stretched else _number(value)) if numeric else str(value)

    places = [place(value) for value in values]
    marks = values[:: max(1, math.ceil(len(values) / 9))]
    ticks = {"tickvals": [place(value) for value in marks], "ticktext": [value_text(value) for value in marks]}
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": places,
        "y": measured,
        "customdata": [str(number) for number in numbers],
        "line": {"color": SIMILARITY, "width": 1.5},
        "marker": _starred([number == chosen for number in numbers], 8),
        "text": [value_text(value) for value in values],
        "hovertemplate": f"{label(knob)} = %{{text}}<br>{label(measure)} %{{y:.4g}}<extra></extra>",
    }
    at_now = None if now is None else place(now)
    line = {"type": "line", "x0": at_now, "x1": at_now, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": MUTED, "dash": "dot", "width": 1}}  # fmt: skip
    return figure(
        [trace],
        title=f"{label(measure, 80)} over {label(knob)}; ★ chosen, dotted: the knob now",
        height=320,
        xaxis=axis(label(knob), **({} if numeric else {"type": "category"}), **(ticks if stretched else {})),
        shapes=[line] if at_now in places or (numeric and now is not None) else [],
    )


def sweep_map(
    points: Sequence[Mapping[str, Value]], measured: Sequence[float], numbers: Sequence[int], *, axes: tuple[str, str],
    measure: str, chosen: int, less_is_better: bool,
) -> go.Figure:  # fmt: skip
    """Draws a square for each point of the grid, darker for better values, and a star on the `chosen` point."""
    across, up = (list(dict.fromkeys(point[axis] for point in points)) for axis in axes)
    x, y = ([point[axis] for point in points] for axis in axes)
    trace = {
        "type": "heatmap", "x": [value_text(value) for value in across], "y": [value_text(value) for value in up],
        "z": _grid(points, measured, axes, across, up),
        "customdata": _grid(points, [str(number) for number in numbers], axes, across, up),
        "colorscale": [[0, "rgba(59,130,196,0.06)"], [1, SIMILARITY]], "reversescale": less_is_better, "xgap": 2,
        "ygap": 2, "colorbar": {"thickness": 10, "outlinewidth": 0},
        "hovertemplate": f"{label(axes[0])} = %{{x}}, {label(axes[1])} = %{{y}}<br>{label(measure)} %{{z:.4g}}<extra></extra>",
    }  # fmt: skip
    index = numbers.index(chosen)
    star = {
        "type": "scatter", "mode": "markers", "x": [value_text(x[index])], "y": [value_text(y[index])], "hoverinfo": "skip",
        "marker": {"symbol": "star", "size": 15, "color": CHOSEN, "line": {"color": "#FFFFFF", "width": 1}},
    }  # fmt: skip
    category = {"type": "category", "showgrid": False, "zeroline": False}
    return figure(
        [trace, star],
        title=f"{label(measure, 80)}; ★ chosen",
        height=380,
        xaxis=axis(label(axes[0]), **category),
        yaxis=axis(label(axes[1]), **category),
    )


def _grid(
    points: Sequence[Mapping[str, Value]], values: Sequence[object], axes: tuple[str, str], across: list[Value], up: list[Value]
) -> list[list[object]]:  # fmt: skip
    cells = {(point[axes[0]], point[axes[1]]): value for point, value in zip(points, values, strict=True)}
    return [[cells.get((column, row)) for column in across] for row in up]
