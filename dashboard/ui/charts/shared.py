"""Charts that several pages show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from core.decisions.curves import Curve, Line
from core.importers.token_meter import BREAKING_POINT, UtilisationLines
from core.lab.execution import Interval
from core.lab.sweep import unbeaten
from dashboard.theme import ACCEPTED, CHOSEN, MUTED, REJECTED, SERIES
from dashboard.ui.charts.base import figure, label

LONGEST_TITLE = 90
NAMED, LEGEND_ROW_PX = 4, 16  # lines in a legend
MARKS = "◆ is offered, ● asks or stands here; green accepts, orange rejects."
TRACKS = "A tool has the colour of its knobs' tracks; a grey one wins at no value of a knob."
KINDS = {"chosen": CHOSEN, "accepted": ACCEPTED, "rejected": REJECTED, "muted": MUTED}


def curve_chart(curve: Curve, colours: Mapping[str | None, str] | None = None, *, height: int = 300) -> go.Figure:
    """Draws the lines of a curve. A dotted line marks the current value, a band the values with the same winner.

    Lines with a name in `colours` have that colour. The first of them are in the legend, and the others are grey.
    """
    palette = colours or {}
    legend_names = [line.name for line in curve.lines if (line.name in palette if palette else not line.marks)][:NAMED]
    traces = [
        _line(line, palette.get(line.name) or KINDS.get(line.kind, MUTED), named=line.name in legend_names)
        for line in (curve.lines[::-1] if palette else curve.lines)  # winners lie on top
    ]
    shapes = [] if curve.current is None else [dotted("x", curve.current, MUTED)]
    shapes += [] if curve.holds is None else [_band(*curve.holds)]
    return figure(
        traces,
        title=label(curve.title, LONGEST_TITLE),
        height=height + (LEGEND_ROW_PX * len(legend_names) if palette else 0),
        shapes=shapes,
        showlegend=bool(palette) or len(legend_names) > 1,
        legend={
            "orientation": "v",
            "y": -0.28,
            "yanchor": "top",
            "x": 0,
            "font": {"size": 10},
            "traceorder": "reversed" if palette else "normal",
        },
        xaxis={
            "title": curve.x,
            **({"range": [0, curve.longest]} if curve.longest else {}),
        },
        yaxis={"title": curve.y},
    )


def _line(line: Line, colour: str, *, named: bool) -> dict[str, Any]:
    name = label(line.name, 50)
    return {
        "type": "scatter", "mode": "markers" if line.marks else "lines", "name": name, "showlegend": named, "x": list(line.x), "y": list(line.y),
        "line": {"color": colour, "width": 3 if line.kind == "chosen" else 1.6, "dash": "dash" if line.dashed else "solid",
                 "shape": "hv" if line.steps else "linear"},
        "marker": {"size": 10, "color": colour, "symbol": line.marks or "circle"},
        **({"fill": "tozeroy", "fillcolor": "rgba(23, 151, 111, 0.12)"} if line.filled else {}),
        "cliponaxis": not line.marks,
        "hovertext": [f"{name}<br>{x:.4g}, {y:.4g}" for x, y in zip(line.x, line.y, strict=True)],
    }  # fmt: skip


def _band(low: float, high: float) -> dict[str, Any]:
    return {
        "type": "rect", "x0": low, "x1": high, "yref": "paper", "y0": 0, "y1": 1,
        "fillcolor": CHOSEN, "opacity": 0.09, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a solved sub-task on an axis. `scale` turns a stored value into `unit`."""

    name: str
    unit: str
    axis: str
    scale: float = 1.0
    digits: int = 2


COSTS: Mapping[str, Cost] = {
    "usd_per_solved": Cost("money", "m$", "m$ per solved task (1 m$ = 0.001 USD)", 1e3),
    "s_per_solved": Cost("time", "s", "s per solved task"),
    "tokens_per_solved": Cost("tokens", "tokens", "tokens per solved task", digits=0),
}
MONEY = "usd_per_solved"


def frontier(
    names: Sequence[str],
    success: Sequence[Interval],
    costs: Sequence[Interval],
    *,
    cost: str = MONEY,
) -> go.Figure:
    """Draws the success rate of each name against the `cost` of a solved sub-task. Names that solved nothing are left out."""
    measure = COSTS[cost]
    best = unbeaten([(rate.mean, amount.mean) for rate, amount in zip(success, costs, strict=True)])
    rows = [number for number, rate in enumerate(success) if rate.mean > 0]
    front = sorted((number for number in rows if best[number]), key=lambda number: costs[number].mean)
    above = set(sorted(rows, key=lambda number: costs[number].mean)[1::2])  # neighbours do not write over each other
    line = {
        "type": "scatter", "mode": "lines", "x": [measure.scale * costs[n].mean for n in front],
        "y": [100 * success[n].mean for n in front], "line": {"color": CHOSEN, "width": 1, "dash": "dot"},
        "hoverinfo": "skip",
    }  # fmt: skip
    return figure(
        [line, *(_point(names[n], success[n], costs[n], measure, best=best[n], above=n in above) for n in rows)],
        title=f"Solved, %, against {measure.name} per solved task · simulated",
        height=380,
        xaxis={
            "title": measure.axis,
            "range": [
                0,
                1.15 * measure.scale * max((costs[n].high for n in rows), default=1e-3),
            ],  # with room for the names
        },
        yaxis={"title": "solved, %"},
    )


def _point(
    name: str, success: Interval, amount: Interval, measure: Cost, *, best: bool, above: bool
) -> dict[str, object]:
    text = label(name, 40)
    return {
        "type": "scatter", "mode": "markers+text", "name": text, "x": [measure.scale * amount.mean], "y": [100 * success.mean],
        "text": [text], "textposition": f"{'top' if above else 'bottom'} center", "textfont": {"size": 11}, "cliponaxis": False,
        "error_x": {"type": "data", "array": [measure.scale * (amount.high - amount.mean)], "thickness": 1, "width": 3},
        "error_y": {"type": "data", "array": [100 * (success.high - success.mean)], "thickness": 1, "width": 3},
        "marker": {"size": 11, "color": CHOSEN if best else MUTED, "symbol": "diamond" if best else "circle"},
        "hovertemplate": f"{text}<br>%{{y:.1f}} % solved, %{{x:,.{measure.digits}f}} {measure.unit} each<extra></extra>",
    }  # fmt: skip


ALL_TOOLS = "All definitions"


def token_utilisation(names: Sequence[str], lines: Sequence[UtilisationLines], *, turns: int) -> go.Figure:
    """Draws one line for each decision and a dashed line for all definitions. Dotted lines mark utilisation 0.3 and `turns`.

    All lines have the same turns; all definitions are those of the first line. Equal lines are drawn once.
    """
    alike: dict[UtilisationLines, list[str]] = {}
    for name, line in zip(names, lines, strict=True):
        alike.setdefault(line, []).append(label(name, 26))
    traces = [
        _utilisation_line(", ".join(titles), line.turns, line.decision, color=color, width=2.5)
        for (line, titles), color in zip(alike.items(), SERIES, strict=False)
    ]
    traces += [
        _utilisation_line(ALL_TOOLS, row.turns, row.all_tools, color=MUTED, dash="dash", width=2) for row in lines[:1]
    ]
    return figure(
        traces,
        title="Context utilisation over turns (projected)",
        height=300,
        showlegend=True,
        legend={"orientation": "h", "y": -0.32, "yanchor": "top", "x": 0, "font": {"size": 11}},
        shapes=[dotted("y", BREAKING_POINT, REJECTED), dotted("x", turns, MUTED)],
        annotations=[_note()],
        xaxis={
            "title": "turns", "type": "log", "dtick": 1, "tickformat": ",d",
            "fixedrange": True,
        },
        yaxis={"title": "ρ", "range": [0, 1.02], "fixedrange": True},
    )  # fmt: skip


def _utilisation_line(name: str, turns: Sequence[int], rho: Sequence[float], **style: object) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": turns,
        "y": rho,
        "line": style,
        "hovertext": [f"{name}<br>after {k:,} turn{'s' * (k > 1)}: ρ = {share:.2f}" for k, share in zip(turns, rho, strict=True)],
    }  # fmt: skip


def dotted(axis: str, at: float, color: str, *, width: float = 2) -> dict[str, object]:
    """Returns a dotted line across the chart at one value of an axis."""
    other = "y" if axis == "x" else "x"
    return {
        "type": "line", f"{axis}0": at, f"{axis}1": at, f"{other}ref": "paper", f"{other}0": 0, f"{other}1": 1,
        "line": {"color": color, "dash": "dot", "width": width},
    }  # fmt: skip


def _note() -> dict[str, object]:
    return {
        "x": 0, "xref": "paper", "xanchor": "left", "y": BREAKING_POINT, "yanchor": "top", "showarrow": False,
        "text": f"{BREAKING_POINT}: reasoning breaks", "font": {"size": 11, "color": REJECTED},
    }  # fmt: skip
