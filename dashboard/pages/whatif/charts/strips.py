"""The strips of all parameters: each row is a parameter over its range, coloured by who wins at which value."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from core.domain.params import Knob
from core.shared import units
from core.whatif.strips import Segment, Strip
from dashboard.theme import GRID, LOOKED_AT
from dashboard.ui.charts.base import EDGES, figure, label, row_texts, rows_axis

ROW_PX = 44
TOLD_APART = 24
POWERS = {"linear": 1.0, "cube root": 1 / 3}  # of the scales of knobs


def strips_chart(
    strips: Sequence[Strip],
    knobs: Mapping[str, Knob],
    values: Mapping[str, object],
    colours: Mapping[str | None, str],
    *,
    in_usd: bool = False,
) -> go.Figure:
    """One row a parameter, on the scale of its knob; a needle at the current value, a gap at each breakpoint. A segment's customdata
    is `parameter|place`. Leads are of utility, or `in_usd`."""
    rows = list(reversed(strips))
    bars = [(place, strip, number, segment) for place, strip in enumerate(rows) for number, segment in _drawn(strip)]
    spans = [
        (_at(knobs[strip.parameter], strip, one.low), _at(knobs[strip.parameter], strip, one.high))
        for _, strip, _, one in bars
    ]
    track = {
        "type": "bar", "orientation": "h", "y": [place for place, *_ in bars], "base": [low for low, _ in spans],
        "x": [high - low for low, high in spans], "width": 0.36,
        "marker": {"color": [colours[one.winner] for *_, one in bars], "line": {"width": 1, "color": "rgba(255,255,255,0.75)"}},
        "customdata": [f"{strip.parameter}|{number}" for _, strip, number, _ in bars],
        "hovertext": [_hover(knobs[strip.parameter], one, in_usd=in_usd) for _, strip, _, one in bars], "hoverinfo": "text",
    }  # fmt: skip
    needle = {
        "type": "scatter", "mode": "markers", "y": list(range(len(rows))),
        "x": [_at(knobs[strip.parameter], strip, _number(values[strip.parameter], strip)) for strip in rows],
        "marker": {"symbol": "line-ns-open", "size": 22, "color": LOOKED_AT, "line": {"width": 3, "color": LOOKED_AT}},
        "hoverinfo": "skip", "cliponaxis": False,
    }  # fmt: skip
    names = [_name(knobs[strip.parameter], values[strip.parameter]) for strip in rows]
    ends = [f"{strip.low:g} to {strip.high:g}" for strip in rows]
    places = list(range(len(rows)))
    return figure(
        [track, needle, row_texts(names, places), row_texts(ends, places, right=True, faded=True)],
        title="Who wins at which value of each knob, all others as they are",
        height=70 + ROW_PX * len(rows),
        barmode="overlay",
        xaxis={
            "range": [-0.01, 1.01],
            "showticklabels": False,
            "gridcolor": GRID,
            "showgrid": False,
            "zeroline": False,
        },
        xaxis2=EDGES,
        yaxis=rows_axis(len(rows), shown=len(rows)),
    )


def _drawn(strip: Strip) -> list[tuple[int, Segment]]:
    """The segments with their places; only changes of the winner where there are too many to be told apart, as with k, each step of
    which is another short-list."""
    if len(strip.segments) <= TOLD_APART:
        return list(enumerate(strip.segments))
    starts = [segment.low for segment in strip.segments]
    return [(starts.index(segment.low), segment) for segment in strip.winners()]


def _at(knob: Knob, strip: Strip, value: float) -> float:
    """Where on the row a value stands, 0 to 1."""
    return max(0.0, min(1.0, (value - strip.low) / (strip.high - strip.low))) ** POWERS[knob.scale]


def _number(value: object, strip: Strip) -> float:
    return float(value) if isinstance(value, int | float) else strip.high


def _name(knob: Knob, value: object) -> str:
    shown = (
        "off" if value is None else f"{value:g} {knob.unit}".strip() if isinstance(value, int | float) else str(value)
    )
    return f"<b>{knob.symbol}</b> {knob.label.lower()}: {shown}"


def _hover(knob: Knob, one: Segment, *, in_usd: bool) -> str:
    ahead = units.price(one.margin) if in_usd else f"{one.margin:.3g}"
    lead = "" if not one.winner or math.isinf(one.margin) else f", {ahead} ahead"
    who = f"{label(one.winner, 60)} wins{lead}" if one.winner else "nobody wins"
    return (
        f"{knob.symbol} from {one.low:.4g} to {one.high:.4g} {knob.unit}<br>{who}<br>decided at: {one.stage}"
        f"<br>{label(one.reason, 150)}"
    )
