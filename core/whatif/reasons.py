"""What is different between two decisions that meet at a value of a parameter, in one sentence."""

from __future__ import annotations

import numpy as np

from core.domain.params import Knob
from core.domain.trace import Array
from core.routers.context import RoutingContext
from core.shared import units
from core.whatif.case import NONE, Case, Outcomes
from core.whatif.strips import at_value

SHORT_LIST, AUCTION, AFFORDABLE, WORTH, CANDIDATES, REFUSAL = (
    "short-list", "auction", "affordable", "worth a call", "candidates", "refusal",
)  # fmt: skip
NAMED = 2


def reason_of(case: Case, knob: Knob, outcomes: Outcomes, place: int, neighbour: int, at: float) -> tuple[str, str]:
    """The stage and the sentence of the segment `place`, against its neighbour, which it meets at the value `at`."""
    stage, change = _change(case, outcomes, neighbour, place)
    winner, before = int(outcomes.winner[place]), int(outcomes.winner[neighbour])
    if winner != before and stage != CANDIDATES:
        change += f", and {_name(case, winner)} wins instead of {_name(case, before)}"
    return stage, f"{at_value(knob, at)} {change}"


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
            f"{_names([context.server_names[row] for row in rows])} {verb} the short-list"
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
        stage, what = (WORTH, "worth a call") if all(inside) else (AFFORDABLE, "affordable")
        words = [f"{_name(case, row)} is not {what} any more" for row in out[:1]]
        words += [f"{_name(case, row)} becomes {what}" for row in back[:1]]
        return stage, " and ".join(words)
    if old[0] != new[0]:
        return (
            CANDIDATES,
            f"{against(case.context, case.match.tools, int(old[0]), int(new[0]))} loses to {_name(case, int(new[0]))}",
        )
    shared = min(len(old), len(new))
    place = int(np.flatnonzero(old[:shared] != new[:shared])[0]) if (old[:shared] != new[:shared]).any() else shared
    lower, upper = (int(rows[place]) if place < len(rows) else NONE for rows in (old, new))
    if NONE in {lower, upper}:
        which = upper if lower == NONE else lower
        return CANDIDATES, f"{_name(case, which)} {'joins' if lower == NONE else 'leaves'} the candidates"
    return CANDIDATES, f"{_name(case, upper)} passes {_name(case, lower)} for place {place + 1}"


def against(context: RoutingContext, fitting: Array, loser: int, winner: int) -> str:
    """The loser with how it differs from the winner: `the slower but cheaper B`. `fitting` (T,) is how well each tool fits."""
    known = context.statistics.tools
    slower = known.latency_s[loser] - known.latency_s[winner]
    dearer = np.nan_to_num(known.price_usd[loser]) - np.nan_to_num(known.price_usd[winner])
    words = (
        ("slower", "quicker", slower),
        ("dearer", "cheaper", dearer),
        ("worse", "better", fitting[winner] - fitting[loser]),
    )
    bad = [f"{word} fitting" if word == "worse" else word for word, _, more in words if more > 0]
    good = [f"{word} fitting" if word == "better" else word for _, word, more in words if more < 0]
    differing = " but ".join(part for part in (", ".join(bad), ", ".join(good)) if part)
    return f"the {differing} {context.tool_ids[loser]}" if differing else context.tool_ids[loser]


def _name(case: Case, row: int) -> str:
    return case.context.tool_ids[row] if row >= 0 else "no tool"


def _names(names: list[str]) -> str:
    return " and ".join(names[:NAMED]) + ("" if len(names) <= NAMED else f" and {len(names) - NAMED} more")
