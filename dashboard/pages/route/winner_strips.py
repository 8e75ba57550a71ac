"""Winner strips: the track of each knob, coloured by the winner at each value, as JSON for the browser."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle
from math import isinf
from typing import Any

from core.domain.params import Knob, Value
from core.shared import units
from core.shared.untrusted_text import one_line
from core.whatif.strips import Segment, Strip
from dashboard.theme import CHOSEN, SERIES

NAME = 60
NO_WINNER = ""  # the page's own colour of an empty track


def strips_json(
    strips: Mapping[str, Strip],
    knobs: Iterable[Knob],
    values: Mapping[str, Value],
    winner: str | None,
    *,
    in_usd: bool = False,
) -> dict[str, Any]:
    """By knob: `bands` of one winner with its colour, `ticks` where the decision changes, and a text for each segment between them.

    Leads are in utility, or `in_usd`. The present winner has the colour CHOSEN; any other has one colour in all strips.
    """
    infos = {info.name: info for info in knobs}
    others = list(
        dict.fromkeys(
            segment.winner
            for strip in strips.values()
            for segment in strip.segments
            if segment.winner not in {None, winner}
        )
    )
    colours = dict(zip(others, cycle(colour for colour in SERIES if colour != CHOSEN), strict=False))
    colours |= {winner: CHOSEN, None: NO_WINNER}
    return {
        name: {
            "bands": [[band.low, band.high, colours[band.winner]] for band in strip.winners()],
            "ticks": list(strip.breakpoints()),
            "segments": [
                [
                    segment.low,
                    segment.high,
                    _said(segment, infos[name], here=segment is _current(strip, values[name]), in_usd=in_usd),
                ]
                for segment in strip.segments
            ],
            "about": "; ".join(_band(band, infos[name]) for band in strip.winners()),
        }
        for name, strip in strips.items()
        if name in infos
    }


def _current(strip: Strip, value: Value) -> Segment | None:
    return strip.at(float(value)) if isinstance(value, int | float) else None


def _said(segment: Segment, info: Knob, *, here: bool, in_usd: bool) -> str:
    """The winner, its lead, and the stage that decides."""
    lead = f"{segment.winner} wins" if segment.winner else "nothing wins"
    if segment.winner:
        ahead = units.price(segment.margin) if in_usd else f"{segment.margin:.3f}"
        lead += " without a rival" if isinf(segment.margin) else f" by {ahead}"
    return f"{_span(segment, info)}{' (now)' if here else ''}: {one_line(lead, 90)}.\nDecided at: {segment.stage}. {one_line(segment.reason, 300)}."


def _band(segment: Segment, info: Knob) -> str:
    return f"{_span(segment, info)} {one_line(segment.winner, NAME) if segment.winner else 'nothing'} wins"


def _span(segment: Segment, info: Knob) -> str:
    return f"{info.symbol} {segment.low:.4g} to {segment.high:.4g} {info.unit}".strip()
