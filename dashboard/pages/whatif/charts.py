"""The charts of What if."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go

from core.decisions.curves import Plane
from core.decisions.over_tasks import Bar, Tornado
from core.decisions.strips import Segment, Strip
from core.decisions.whatif import Offer, Payoff
from core.domain import units
from core.domain.params import Knob
from dashboard.theme import ACCEPTED, CHOSEN, LOOKED_AT, MONEY, MUTED, SERIES, SIMILARITY
from dashboard.ui.charts.base import figure, label, row_figure, row_texts
from dashboard.ui.charts.shared import dotted


def payoff_chart(found: Payoff) -> go.Figure:
    """Draws the pay-off of a server over its stated cost, which falls to 0 at the posted price. The diamond is the true cost."""
    posted, cost = 1e3 * found.posted_usd, 1e3 * found.cost_usd
    end = max(1.6 * posted, 1.2 * cost, 1.0)
    low, high = (1e3 * found.said(np.array([0.0, found.posted_usd]))).tolist()
    step = {
        "type": "scatter", "mode": "lines", "x": [0, posted, posted, end], "y": [low, high, 0, 0],
        "line": {"width": 3, "color": ACCEPTED}, "hovertemplate": "stated %{x:.3g} m$: earns %{y:.3g} m$<extra></extra>",
    }  # fmt: skip
    truth = {
        "type": "scatter", "mode": "markers", "x": [cost], "y": [1e3 * found.truthful_usd], "cliponaxis": False,
        "marker": {"size": 13, "symbol": "diamond", "color": CHOSEN}, "hovertemplate": "true cost: %{y:.3g} m$<extra></extra>",
    }  # fmt: skip
    return figure(
        [step, truth], title="Pay-off over the stated cost; ◆ true cost", height=280,
        shapes=[dotted("x", posted, MUTED)], xaxis={"title": "stated cost (m$); dotted: posted price τ", "range": [0, end]},
        yaxis={"title": "pay-off if executed (m$)"},
    )  # fmt: skip


REPORTS = np.geomspace(0.05, 20.0, 401)  # asks over the true cost


def reports_chart(offers: Sequence[Offer], settlement: str) -> go.Figure:
    """Draws the earnings of each server against the truth, over its reported ask. The diamond is the truth."""
    lines: list[dict[str, object]] = []
    for hue, offer in zip(cycle(SERIES), offers, strict=False):
        cost = offer.ask_usd or 0.0
        payoff = Payoff(offer.posted_usd, cost, offer.price_usd, settlement)
        gains = 1e3 * (payoff.said(REPORTS * cost) - payoff.truthful_usd)
        lines.append({
            "type": "scatter", "mode": "lines", "x": REPORTS.tolist(), "y": gains.tolist(), "name": label(offer.server, 40), "line": {"width": 2, "color": hue, "shape": "hv"},
            "hovertemplate": f"{label(offer.server, 40)}: %{{x:.2f}} times its cost earns %{{y:.3g}} m$<extra></extra>",
        })  # fmt: skip
    truth = {
        "type": "scatter", "mode": "markers", "x": [1.0], "y": [0.0], "name": "the truth", "cliponaxis": False, "hoverinfo": "skip",
        "marker": {"size": 13, "symbol": "diamond", "color": CHOSEN},
    }  # fmt: skip
    return figure(
        [*lines, truth], title="What a reported ask earns against the truth; ◆ the truth", height=320, showlegend=True,
        legend={"orientation": "h", "y": -0.3, "yanchor": "top", "x": 0, "font": {"size": 11}},
        xaxis={"type": "log", "title": "reported ask over true cost", "tickvals": [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20]},
        yaxis={"title": "gain if executed (m$)"},
    )  # fmt: skip


WIDE, WIDE_USD = 0.1, 0.001  # the lead in utility, or in USD, with full colour


def plane_chart(
    plane: Plane,
    x: Knob,
    y: Knob,
    at: tuple[float, float],
    colours: Mapping[str | None, str],
    *,
    in_usd: bool = False,
) -> go.Figure:
    """Draws a cell for each pair of values, with customdata `x|y`, and boundaries between winners. Leads are in utility, or `in_usd`."""
    wide = WIDE_USD if in_usd else WIDE
    rows = sorted({int(row) for row in plane.winner.ravel()})
    names = {row: plane.tools[row] if row >= 0 else None for row in rows}
    share = np.clip(plane.margin / wide, 0.0, 1.0)
    lead = np.clip(plane.margin, wide / 1e3, wide)  # the lead of the winner, negative for the others, 0 at a boundary
    cells = [
        {
            "type": "heatmap", "x": plane.x.tolist(), "y": plane.y.tolist(),
            "z": [[0.35 + 0.65 * float(s) if int(w) == row else None for w, s in zip(ws, ss, strict=True)]
                  for ws, ss in zip(plane.winner, share, strict=True)],
            "colorscale": [[0, _clear(colours[names[row]])], [1, colours[names[row]]]], "zmin": 0, "zmax": 1, "showscale": False,
            "customdata": [[f"{x!r}|{y!r}" for x in plane.x.tolist()] for y in plane.y.tolist()], "hovertext": _texts(plane, names, row, (x, y), in_usd=in_usd), "hoverongaps": False,
        }
        for row in rows
    ]  # fmt: skip
    point = {
        "type": "scatter", "mode": "markers", "meta": "dragged", "x": [at[0]], "y": [at[1]], "cliponaxis": False, "hoverinfo": "skip",
        "marker": {"symbol": "cross-thin", "size": 18, "line": {"width": 3, "color": LOOKED_AT}},
    }  # fmt: skip
    boundaries = [
        {
            "type": "contour", "x": plane.x.tolist(), "y": plane.y.tolist(), "z": np.where(plane.winner == row, lead, -lead).tolist(),
            "showscale": False, "hoverinfo": "skip", "line": {"width": 1.5, "color": MUTED},
            "contours": {"coloring": "none", "start": 0, "end": 0, "size": 1},
        }
        for row in rows[1:]
    ]  # fmt: skip
    return figure(
        [*cells, *boundaries, point], title=f"Winner over {x.symbol} and {y.symbol}", height=460,
        xaxis=_axis(x, plane.x), yaxis=_axis(y, plane.y),
    )  # fmt: skip


def _clear(colour: str) -> str:
    """Returns `#RRGGBB` fully transparent, so that pale cells have the colour of the page."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red},{green},{blue},0)"


def _axis(knob: Knob, values: np.ndarray) -> dict[str, object]:
    unit = f" ({knob.unit})" if knob.unit else ""
    half = (values[-1] - values[0]) / max(len(values) - 1, 1) / 2
    return {
        "range": [values[0] - half, values[-1] + half], "zeroline": False, "showgrid": False,
        "title": f"{knob.symbol} {knob.label.lower()}{unit}",
    }  # fmt: skip


def _texts(
    plane: Plane, names: Mapping[int, str | None], row: int, axes: tuple[Knob, Knob], *, in_usd: bool
) -> Sequence[Sequence[str]]:
    name, (x, y) = names[row], axes
    outcome = "no tool wins" if name is None else f"{label(name, 60)} wins"
    return [
        [
            f"{x.symbol} {at_x:.3g}, {y.symbol} {at_y:.3g}<br>{outcome}"
            + (
                ""
                if name is None or not np.isfinite(lead)
                else f", {units.price(lead) if in_usd else f'{lead:.3g}'} ahead"
            )
            for at_x, lead in zip(plane.x.tolist(), leads.tolist(), strict=True)
        ]
        for at_y, leads in zip(plane.y.tolist(), plane.margin, strict=True)
    ]


ROW_PX = 44
TOLD_APART = 24
LEAST = 0.008  # of the track: the segment of no limit is seen
POWERS = {"linear": 1.0, "cube root": 1 / 3}  # of the scales of knobs


def strips_chart(
    strips: Sequence[Strip],
    knobs: Mapping[str, Knob],
    values: Mapping[str, object],
    colours: Mapping[str | None, str],
    *,
    in_usd: bool = False,
) -> go.Figure:
    """Draws one row for each parameter on the scale of its knob, with a needle at the current value and a gap at each breakpoint. The
    customdata of a segment is `parameter|place`. Leads are in utility, or `in_usd`."""
    rows = list(reversed(strips))
    bars = [(place, strip, number, segment) for place, strip in enumerate(rows) for number, segment in _drawn(strip)]
    spans: list[tuple[float, float]] = []
    hovers: list[str] = []
    for _, strip, _, segment in bars:
        knob, is_off = knobs[strip.parameter], _is_off(strip, segment, values[strip.parameter])
        low, high = _at(knob, strip, segment.low), _at(knob, strip, segment.high)
        spans.append((low, max(high, low + LEAST) if is_off else high))
        hovers.append(_segment_hover(knob, segment, is_off=is_off, in_usd=in_usd))
    track = {
        "type": "bar", "orientation": "h", "y": [place for place, *_ in bars], "base": [low for low, _ in spans],
        "x": [high - low for low, high in spans], "width": 0.36,
        "marker": {"color": [colours[segment.winner] for *_, segment in bars], "line": {"width": 1, "color": "rgba(255,255,255,0.75)"}},
        "customdata": [f"{strip.parameter}|{number}" for _, strip, number, _ in bars],
        "hovertext": hovers,
    }  # fmt: skip
    needle = {
        "type": "scatter", "mode": "markers", "y": list(range(len(rows))),
        "x": [_at(knobs[strip.parameter], strip, _number(values[strip.parameter], strip)) for strip in rows],
        "marker": {"symbol": "line-ns-open", "size": 22, "color": LOOKED_AT, "line": {"width": 3, "color": LOOKED_AT}},
        "hoverinfo": "skip", "cliponaxis": False,
    }  # fmt: skip
    ends = [f"{strip.low:g} to {strip.high:g}" for strip in rows]
    return row_figure(
        [track, needle, row_texts(ends, range(len(rows)), right=True, faded=True)],
        [_name(knobs[strip.parameter], values[strip.parameter]) for strip in rows],
        title="Winner at each value of each knob, with the other knobs unchanged",
        height=70 + ROW_PX * len(rows),
        barmode="overlay",
        xaxis={"range": [-0.01, 1.01], "showticklabels": False, "showgrid": False, "zeroline": False},
    )


def _drawn(strip: Strip) -> list[tuple[int, Segment]]:
    """Returns the segments with their places. With too many segments, as for k, only changes of the winner are drawn."""
    if len(strip.segments) <= TOLD_APART:
        return list(enumerate(strip.segments))
    starts = [segment.low for segment in strip.segments]
    return [(starts.index(segment.low), segment) for segment in strip.winners()]


def _at(knob: Knob, strip: Strip, value: float) -> float:
    return max(0.0, min(1.0, (value - strip.low) / (strip.high - strip.low))) ** POWERS[knob.scale]


def _is_off(strip: Strip, segment: Segment, value: object) -> bool:
    """Tells whether a segment is that of no limit alone: the present value, right beside the highest limit."""
    return value is None and segment.high == strip.high and f"{segment.low:.4g}" == f"{segment.high:.4g}"


def _number(value: object, strip: Strip) -> float:
    return float(value) if isinstance(value, int | float) else strip.high


def _name(knob: Knob, value: object) -> str:
    text = (
        "off" if value is None else f"{value:g} {knob.unit}".strip() if isinstance(value, int | float) else str(value)
    )
    return f"<b>{knob.symbol}</b> {knob.label.lower()}: {text}"


def _segment_hover(knob: Knob, segment: Segment, *, is_off: bool, in_usd: bool) -> str:
    ahead = units.price(segment.margin) if in_usd else f"{segment.margin:.3g}"
    lead = "" if not segment.winner or math.isinf(segment.margin) else f", {ahead} ahead"
    outcome = f"{label(segment.winner, 60)} wins{lead}" if segment.winner else "no tool wins"
    values = "off" if is_off else f"from {segment.low:.4g} to {segment.high:.4g} {knob.unit}"
    return f"{knob.symbol} {values}<br>{outcome}<br>decided at: {segment.stage}<br>{label(segment.reason, 150)}"


SHADES = {0.5: 0.4, 0.25: 0.65, 0.1: 1.0}


def tornado_chart(tornado: Tornado, knobs: Mapping[str, Knob]) -> go.Figure:
    """Draws lower values to the left and higher values to the right, the largest effect on top. The customdata of a bar is `knob|turn`."""
    names = sorted(
        {bar.name for bar in tornado.bars if bar.changed},
        key=lambda name: max(b.share for b in tornado.bars if b.name == name),
    )
    place = {name: number for number, name in enumerate(names)}
    traces = [_bars(tornado, place, knobs, turn, up) for turn in SHADES for up in (False, True)]
    reach = 100 * max((bar.share for bar in tornado.bars), default=0.1)
    return row_figure(
        traces,
        [f"<b>{knobs[name].symbol}</b> {knobs[name].label.lower()}" for name in names],
        title="Tasks with another winner when a knob is turned",
        height=90 + 42 * len(names),
        barmode="overlay",
        xaxis={"range": [-1.1 * reach, 1.1 * reach], "title": "% of the tasks"},
    )


def _bars(
    tornado: Tornado, place: Mapping[str, int], knobs: Mapping[str, Knob], turn: float, up: bool
) -> dict[str, object]:
    bars = [bar for bar in tornado.bars if bar.name in place and abs(bar.turn) == turn and (bar.turn > 0) is up]
    return {
        "type": "bar", "orientation": "h", "y": [place[bar.name] for bar in bars],
        "x": [(100 if up else -100) * bar.share for bar in bars], "width": 0.36,
        "marker": {"color": MONEY if up else SIMILARITY, "opacity": SHADES[turn]},
        "customdata": [f"{bar.name}|{bar.turn:g}" for bar in bars],
        "hovertext": [_bar_hover(bar, knobs[bar.name], len(tornado.tasks)) for bar in bars],
    }  # fmt: skip


def _bar_hover(bar: Bar, knob: Knob, tasks: int) -> str:
    return (
        f"{knob.symbol} {bar.now:.4g} → {bar.value:.4g} ({bar.turn:+.0%})<br>another winner: {len(bar.changed)} of {tasks} tasks"
        f"<br>success {100 * bar.success:+.2f} points<br>money {1e3 * bar.usd:+.3g} m$ per task"
    )
