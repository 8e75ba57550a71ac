"""Strips: the winner at each value of one parameter while the others keep theirs. Plain data for pages."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.decisions.case import NONE, Case, Outcomes
from core.domain import units
from core.domain.params import Knob, Value
from core.domain.trace import Array
from core.relevance.scoring import percent_refusing
from core.routers.context import RoutingContext


@dataclass(frozen=True, slots=True)
class Segment:
    """Values from `low` to `high` with an equal decision: winner, candidates, short-list and acceptance bits.

    `winner` is the id of a tool, or None. `reason` and `stage` tell the difference from the neighbour on the side of the current
    value; in the current segment they tell the deciding stage. `margin` is the winner's lead over the next tool in the middle of the
    segment, or at the current value. It is infinite without a rival, 0 without a winner.
    """

    low: float
    high: float
    winner: str | None
    reason: str
    stage: str
    margin: float


@dataclass(frozen=True, slots=True)
class Strip:
    """The segments of one parameter from its lowest to its highest value, without gaps.

    Segments of a whole number meet in the middle between two numbers.
    """

    parameter: str
    low: float
    high: float
    segments: tuple[Segment, ...]

    def at(self, value: float) -> Segment:
        """The segment of a value; the higher segment if two meet there.

        >>> strip = Strip("k", 1, 9, (Segment(1, 3.5, "a", "", "", 0.1), Segment(3.5, 9, "b", "", "", 0.2)))
        >>> strip.at(3).winner, strip.at(4).winner
        ('a', 'b')
        """
        place = bisect_right([segment.low for segment in self.segments], value) - 1
        return self.segments[min(max(place, 0), len(self.segments) - 1)]

    def breakpoints(self) -> tuple[float, ...]:
        return tuple(segment.low for segment in self.segments[1:])

    def winners(self) -> tuple[Segment, ...]:
        """The segments, with neighbours of an equal winner merged."""
        merged: list[Segment] = []
        for segment in self.segments:
            if merged and merged[-1].winner == segment.winner:
                last = merged[-1]
                merged[-1] = Segment(last.low, segment.high, last.winner, last.reason, last.stage, last.margin)
            else:
                merged.append(segment)
        return tuple(merged)


def at_value(knob: Knob, value: float) -> str:
    """`at αt = 0.31 1/s`, the beginning of a reason."""
    return f"at {knob.symbol} = {value:.4g}{f' {knob.unit}' if knob.unit else ''}"


def placed(bounds: Sequence[float], value: Value) -> int:
    """The place of the interval that holds the current value; the last interval for None, which is no limit."""
    place = len(bounds) if value is None else bisect_right(bounds, float(value))
    return min(max(place - 1, 0), len(bounds) - 2)


def meeting(knob: Knob, bounds: Sequence[float], place: int, here: int) -> tuple[int, float]:
    """The neighbour of an interval on the side of the current interval, and the value at which they meet. A knob of whole numbers has a
    whole number."""
    neighbour, border = (place - 1, bounds[place]) if place > here else (place + 1, bounds[place + 1])
    if knob.kind is int:
        border = math.ceil(border) if place > here else math.floor(border)
    return neighbour, border


def asked(knob: Knob, bounds: Sequence[float], value: Value) -> list[float]:
    """A value of each interval: the current value (infinite for no limit), or the middle; whole numbers if needed."""
    values = [math.ceil(low) if knob.kind is int else (low + high) / 2 for low, high in pairwise(bounds)]
    current = placed(bounds, value)
    values[current] = math.inf if value is None else float(value)
    return values


def assembled(
    knob: Knob,
    bounds: Sequence[float],
    value: Value,
    winners: Sequence[str | None],
    margins: Sequence[float],
    decides: Callable[[int], tuple[str, str]],
    change: Callable[[int, int], tuple[str, str]],
) -> Strip:
    """The strip of the intervals between `bounds`. `decides` gives stage and sentence of the current interval, by its place. `change` gives
    them for other intervals, by the neighbour's place and the interval's place."""
    current = placed(bounds, value)
    segments: list[Segment] = []
    for place, (winner, margin) in enumerate(zip(winners, margins, strict=True)):
        if place == current:
            stage, reason = decides(place)
        else:
            neighbour, border = meeting(knob, bounds, place, current)
            stage, changed = change(neighbour, place)
            reason = f"{at_value(knob, border)} {changed}"
        segments.append(Segment(bounds[place], bounds[place + 1], winner, reason, stage, margin))
    return Strip(knob.name, bounds[0], bounds[-1], tuple(segments))


# The difference between two neighbouring decisions in a sentence

SHORT_LIST, AUCTION, AFFORDABLE, WORTH, CANDIDATES, REFUSAL = (
    "short-list", "auction", "affordable", "worth a call", "candidates", "refusal",
)  # fmt: skip
NAMED = 2


def reason_of(case: Case, outcomes: Outcomes, neighbour: int, place: int) -> tuple[str, str]:
    """The stage and the sentence of the segment `place`, against its neighbour."""
    stage, change = _change(case, outcomes, neighbour, place)
    winner, previous = int(outcomes.winner[place]), int(outcomes.winner[neighbour])
    if winner != previous and stage != CANDIDATES:
        change += f", and {_name(case, winner)} wins instead of {_name(case, previous)}"
    return stage, change


def reason_now(case: Case, outcomes: Outcomes, place: int, second: int, margin: float) -> tuple[str, str]:
    """The stage that decides at the point `place`, and how."""
    winner = int(outcomes.winner[place])
    if case.refused:
        return REFUSAL, case.refused
    if winner == NONE:
        if not outcomes.accepted[place].any():
            return AUCTION, "no short-listed server accepts"
        if outcomes.payable[place].any():
            return WORTH, "no tool that can be paid is worth a call"
        return AFFORDABLE, "no tool of an accepted server is affordable"
    if second == NONE:
        return AFFORDABLE, f"{_name(case, winner)} is the only tool in the race"
    return CANDIDATES, f"{_name(case, winner)} leads {_name(case, second)} by {margin:.3g} in utility"


def _change(case: Case, outcomes: Outcomes, before: int, after: int) -> tuple[str, str]:
    context = case.context
    came = np.flatnonzero(outcomes.listed[after] & ~outcomes.listed[before])
    left = np.flatnonzero(outcomes.listed[before] & ~outcomes.listed[after])
    if len(came) or len(left):
        parts = [
            f"{_names([context.server_names[row] for row in rows.tolist()])} {verb} the short-list"
            for rows, verb in ((came, "joins"), (left, "leaves"))
            if len(rows)
        ]
        return SHORT_LIST, " and ".join(parts)
    turned = np.flatnonzero(outcomes.accepted[after] != outcomes.accepted[before])
    if len(turned):
        words = [
            f"{context.server_names[row]} {'accepts' if outcomes.accepted[after, row] else 'rejects'} (it asks "
            f"{units.price(float(context.statistics.servers.ask_usd[row]))})"
            for row in turned[:NAMED]
        ]
        return AUCTION, " and ".join(words)
    return _changed_candidates(case, outcomes, before, after)


def _changed_candidates(case: Case, outcomes: Outcomes, before: int, after: int) -> tuple[str, str]:
    racing = np.isfinite(outcomes.racing)
    old, new = outcomes.candidates[before], outcomes.candidates[after]
    out = [int(row) for row in old if row != NONE and not racing[after, row]]
    back = [int(row) for row in new if row != NONE and not racing[before, row]]
    if out or back:
        inside = [outcomes.payable[after, row] for row in out] + [outcomes.payable[before, row] for row in back]
        stage, state = (WORTH, "worth a call") if all(inside) else (AFFORDABLE, "affordable")
        words = [f"{_name(case, row)} is not {state} any more" for row in out[:1]]
        words += [f"{_name(case, row)} becomes {state}" for row in back[:1]]
        return stage, " and ".join(words)
    if old[0] != new[0]:
        return (
            CANDIDATES,
            f"{against(case.context, case.fitting.tools, int(old[0]), int(new[0]))} loses to {_name(case, int(new[0]))}",
        )
    shared = min(len(old), len(new))
    place = int(np.flatnonzero(old[:shared] != new[:shared])[0]) if (old[:shared] != new[:shared]).any() else shared
    lower, upper = (int(rows[place]) if place < len(rows) else NONE for rows in (old, new))
    if NONE in {lower, upper}:
        candidate = upper if lower == NONE else lower
        return CANDIDATES, f"{_name(case, candidate)} {'joins' if lower == NONE else 'leaves'} the candidates"
    return CANDIDATES, f"{_name(case, upper)} passes {_name(case, lower)} for place {place + 1}"


def against(context: RoutingContext, fitting: Array, loser: int, winner: int) -> str:
    """The loser and how it differs from the winner: `the slower but cheaper B`. `fitting` (T,) is the fit of each tool."""
    statistics = context.statistics.tools
    slower = statistics.latency_s[loser] - statistics.latency_s[winner]
    dearer = np.nan_to_num(statistics.price_usd[loser]) - np.nan_to_num(statistics.price_usd[winner])
    words = (
        ("slower", "quicker", slower),
        ("dearer", "cheaper", dearer),
        ("worse", "better", fitting[winner] - fitting[loser]),
    )
    bad = [f"{word} fitting" if word == "worse" else word for word, _, more in words if more > 0]
    good = [f"{word} fitting" if word == "better" else word for _, word, more in words if more < 0]
    differing = " but ".join(phrase for phrase in (", ".join(bad), ", ".join(good)) if phrase)
    return f"the {differing} {context.tool_ids[loser]}" if differing else context.tool_ids[loser]


def _name(case: Case, row: int) -> str:
    return case.context.tool_ids[row] if row >= 0 else "no tool"


def _names(names: list[str]) -> str:
    return " and ".join(names[:NAMED]) + ("" if len(names) <= NAMED else f" and {len(names) - NAMED} more")


# The strip of the admitted share of wrong refusals
#
# refused        if P(nothing fits) >= limit(w), w > 0                           `core.relevance.scoring`

LEAST = 1e-9  # percent: 0 admits none


def refusal_strip(knob: Knob, now: float, nothing: float, decided: Segment) -> Strip:
    """The strip of `wrong_refusals`. `nothing` is P(nothing fits), `decided` the present decision without a refusal."""
    low, high = float(knob.low or 0.0), float(knob.high or 1.0)
    chance = f"P(nothing fits) is {nothing:.2f}"
    limit = percent_refusing(nothing)
    if limit is None or limit >= high:
        why = f"{chance}, and no admitted share turns that down"
        return Strip(knob.name, low, high, (Segment(low, high, decided.winner, why, REFUSAL, decided.margin),))
    border = max(limit, LEAST)
    if now < border:
        allowed, why = (decided.stage, decided.reason), f"{at_value(knob, border)} the sub-task is refused: {chance}"
    else:
        allowed, why = (REFUSAL, f"{at_value(knob, border)} the sub-task is refused no more"), f"refused: {chance}"
    return Strip(
        knob.name,
        low,
        high,
        (
            Segment(low, border, decided.winner, allowed[1], allowed[0], decided.margin),
            Segment(border, high, None, why, REFUSAL, 0.0),
        ),
    )
