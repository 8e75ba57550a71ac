"""A search's points: success against money with time as colour, how much each parameter mattered, slices, parallel coordinates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from core.domain.params import Value
from core.lab.sweep import SECONDS, SOLVED, USD, Axis
from dashboard.theme import CHOSEN, GRID, MUTED, SIMILARITY, TIME
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

Points = Sequence[Mapping[str, Any]]
FADED = "rgba(140, 146, 166, 0.30)"
SCALE = [[0, "rgba(219, 148, 18, 0.25)"], [1, TIME]]


def pareto(points: Points, front: Sequence[int], chosen: int) -> go.Figure:
    """A point for each trial, solved in % over m$ a task, darker where it takes longer; diamonds are on the front of all three."""
    on_front, seconds = set(front), [point[SECONDS] for point in points]
    trace = {
        "type": "scatter", "mode": "markers", "x": [1e3 * point[USD] for point in points],
        "y": [100 * point[SOLVED] for point in points], "customdata": [str(point["number"]) for point in points],
        "marker": {
            "color": seconds, "colorscale": SCALE, "showscale": max(seconds) > min(seconds),
            "colorbar": {"thickness": 10, "outlinewidth": 0, "title": {"text": "s", "font": {"size": 11}}},
            "symbol": ["star" if p["number"] == chosen else "diamond" if p["number"] in on_front else "circle" for p in points],
            "size": [16 if p["number"] == chosen else 10 if p["number"] in on_front else 7 for p in points],
            "line": {"width": [1.5 if p["number"] in on_front else 0 for p in points], "color": CHOSEN},
        },
        "hovertext": [_told(point) for point in points], "hoverinfo": "text",
    }  # fmt: skip
    return figure(
        [trace],
        title="Solved, %, against money; colour: seconds; ◆ on the Pareto front, ★ chosen",
        height=340,
        xaxis={"title": {"text": "m$ a task (1 m$ = 0.001 USD), expected", "font": {"size": 11}}},
        yaxis={"title": {"text": "solved, %, expected", "font": {"size": 11}}},
    )


def importance_bars(shares: Mapping[str, float], *, objective: str) -> go.Figure:
    """A bar for each parameter, the greatest on top."""
    names = list(shares)[::-1]
    trace = {
        "type": "bar", "orientation": "h", "x": [100 * shares[name] for name in names], "y": list(range(len(names))), "width": 0.42,
        "marker": {"color": SIMILARITY}, "hovertext": [f"{label(name)}: {100 * shares[name]:.0f} %" for name in names],
        "hoverinfo": "text",
    }  # fmt: skip
    rows = list(range(len(names)))
    shown = [
        row_texts([label(n) for n in names], rows),
        row_texts([f"{100 * shares[n]:.0f} %" for n in names], rows, right=True),
    ]
    return figure(
        [trace, *shown],
        title=f"What mattered for: {label(objective, 60)}",
        height=70 + 46 * max(3, len(names)),
        xaxis={
            "range": [0, 100],
            "title": {"text": "share of what tells the best tenth from the rest, %", "font": {"size": 11}},
        },
        xaxis2=EDGES,
        yaxis=rows_axis(len(names), shown=3),
    )


def slices(points: Points, axes: Sequence[Axis], objective: str, chosen: int, *, name: str) -> go.Figure:
    """A small chart for each parameter: its value in each trial, and what the objective was there."""
    width = 1 / len(axes)
    layout: dict[str, Any] = {}
    traces: list[dict[str, Any]] = []
    for number, axis in enumerate(axes):
        suffix = "" if number == 0 else str(number + 1)
        numeric = _numeric(axis)
        traces.append(
            {
                "type": "scatter", "mode": "markers", "xaxis": f"x{suffix}", "yaxis": "y",
                "x": [p["values"][axis.name] if numeric else str(p["values"][axis.name]) for p in points],
                "y": [p[objective] for p in points], "customdata": [str(p["number"]) for p in points],
                "marker": {
                    "size": [14 if p["number"] == chosen else 7 for p in points],
                    "symbol": ["star" if p["number"] == chosen else "circle" for p in points],
                    "color": [CHOSEN if p["number"] == chosen else SIMILARITY for p in points], "opacity": 0.8,
                },
                "hovertext": [_told(point) for point in points], "hoverinfo": "text",
            }
        )  # fmt: skip
        layout[f"xaxis{suffix}"] = {
            "domain": [number * width + (0.02 if number else 0), (number + 1) * width - 0.02],
            "title": {"text": label(axis.name), "font": {"size": 11}}, "gridcolor": GRID, "zerolinecolor": GRID, "nticks": 4,
            **({} if numeric else {"type": "category"}),
        }  # fmt: skip
    return figure(traces, title=f"Slices: {label(name, 60)} over each knob; ★ chosen", height=280, **layout)


def parallel(points: Points, axes: Sequence[Axis], front: Sequence[int], chosen: int) -> go.Figure:
    """A line for each trial through its values, each knob's range from bottom to top; those on the Pareto front are coloured."""
    on_front = set(front)
    groups = [
        ([p for p in points if p["number"] not in on_front and p["number"] != chosen], {"color": FADED, "width": 1}),
        ([p for p in points if p["number"] in on_front and p["number"] != chosen], {"color": SIMILARITY, "width": 1.5}),
        ([p for p in points if p["number"] == chosen], {"color": CHOSEN, "width": 3.5}),
    ]
    traces = [_lines(some, axes, line) for some, line in groups if some]
    ends = [
        {
            "x": at,
            "y": y,
            "text": label(_end(axis, upper=y == 1), 16),
            "showarrow": False,
            "yshift": 10 if y else -10,
            "font": {"size": 10},
        }
        for at, axis in enumerate(axes)
        for y in (0, 1)
    ]
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
    """One trace with a gap between two trials."""
    x: list[float | None] = []
    y: list[float | None] = []
    numbers: list[str] = []
    for point in points:
        x += [*range(len(axes)), None]
        y += [*(_height(axis, point["values"][axis.name]) for axis in axes), None]
        numbers += [str(point["number"])] * (len(axes) + 1)
    told = [_told(point) for point in points for _ in range(len(axes) + 1)]
    return {
        "type": "scatter", "mode": "lines+markers", "x": x, "y": y, "customdata": numbers, "line": dict(line),
        "marker": {"size": 4, "color": line["color"]}, "hovertext": told, "hoverinfo": "text",
    }  # fmt: skip


def _height(axis: Axis, value: Value) -> float:
    """Where a value stands between the ends of its axis, in [0, 1].

    >>> _height(Axis("k", "", (1, 2, 5)), 2), _height(Axis("a", "", (), 0.0, 4.0), 1.0)
    (0.25, 0.25)
    """
    if not _numeric(axis):
        return axis.values.index(value) / max(1, len(axis.values) - 1)
    low, high = (axis.low, axis.high) if axis.continuous else (_number(axis.values[0]), _number(axis.values[-1]))
    return (_number(value) - low) / (high - low) if high > low else 0.5


def _end(axis: Axis, *, upper: bool) -> str:
    if axis.continuous:
        return f"{axis.high if upper else axis.low:g}"
    value = axis.values[-1 if upper else 0]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numeric(axis: Axis) -> bool:
    return axis.continuous or all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in axis.values
    )


def _number(value: Value) -> float:
    return float(value or 0)


def _told(point: Mapping[str, Any]) -> str:
    values = ", ".join(
        f"{name} = {value:.4g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in point["values"].items()
    )
    return f"{label(values, 120)}<br>{100 * point[SOLVED]:.1f} % solved, {1e3 * point[USD]:.3g} m$, {point[SECONDS]:.2f} s a task"
