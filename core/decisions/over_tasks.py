"""Labelled tasks under other parameters: single knobs turned by a tenth, a quarter or a half, and whole sets of parameters compared.

Success is whether the winner can do the task by its label. Money is the payment for a call of the winner, NaN if no winner has a known
price; differences of money are over tasks with known payments. Time is the expected seconds until the winner succeeds. A task without a
winner costs 0 USD and 0 s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from core.decisions.case import ManyTasks
from core.domain.params import Knob
from core.domain.significance import interval
from core.domain.tasks import Task
from core.domain.trace import Array
from core.routers.context import RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.estimates import estimate_servers, estimate_tools
from core.routers.utility import Rows

KNOBS = ("alpha_s", "alpha_t", "kappa", "p_bs", "p_ofs", "l0_s", "eps", "budget_usd", "k")
TURNS = (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Bar:
    """A knob that is turned by the share `turn` from `now` to `value`. `share` of the tasks change their winner; `changed` are their
    places. `success` (a share) and `usd` per task are mean changes."""

    name: str
    turn: float
    now: float
    value: float
    share: float
    success: float
    usd: float
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tornado:
    """The bars of all knobs with a value, the present `success` and `usd` per task, the number of `unpriced` winners, and the winner of each
    task."""

    tasks: tuple[Task, ...]
    winners: tuple[str | None, ...]
    bars: tuple[Bar, ...]
    success: float
    usd: float
    unpriced: int

    def fragile(self, *, within: float = 0.1) -> list[tuple[int, list[Bar]]]:
        """The places of tasks whose winner changes at a turn of at most `within`, each with its bars; most bars first."""
        rows = [
            (place, [bar for bar in self.bars if abs(bar.turn) <= within + 1e-9 and place in bar.changed])
            for place in range(len(self.tasks))
        ]
        return sorted((row for row in rows if row[1]), key=lambda row: -len(row[1]))


def tornado(context: RoutingContext, tasks: Sequence[Task], decisions: ManyTasks, p: EhrrParameters) -> Tornado:
    """Measures every knob at every turn. `decisions` are of these tasks."""
    knobs = {knob.name: knob for knob in p.knobs()}
    turned = [
        (name, turn, value) for name in KNOBS for turn in TURNS if (value := _turned(knobs[name], p, turn)) is not None
    ]
    points = [p, *(p.replaced({name: value}) for name, _, value in turned)]
    winners, solved, paid = _measured(context, tasks, decisions, points)
    bars = [
        Bar(
            name, turn, float(getattr(p, name)), value,
            share=_mean(winners[point] != winners[0]), success=_mean(solved[point] - solved[0]), usd=_mean(np.nan_to_num(paid[point] - paid[0])),
            changed=tuple(np.flatnonzero(winners[point] != winners[0]).tolist()),
        )
        for point, (name, turn, value) in enumerate(turned, 1)
    ]  # fmt: skip
    named = tuple(context.tool_ids[int(row)] if row >= 0 else None for row in winners[0])
    return Tornado(tuple(tasks), named, tuple(bars), _mean(solved[0]), *_money(paid[0], winners[0]))


def _turned(knob: Knob, p: EhrrParameters, turn: float) -> float | None:
    """The knob's value turned by a share of it, within its range. Returns None if the value does not change."""
    value = getattr(p, knob.name)
    if value is None or not value:
        return None
    moved = float(np.clip(value * (1 + turn), knob.low, knob.high))
    if knob.kind is int:
        moved = float(round(moved))
    return None if moved == value else moved


@dataclass(frozen=True, slots=True)
class Against:
    """The mean difference from the first set over all tasks, with its 95 % interval by paired bootstrap."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Compared:
    """A set of parameters: means over the tasks (a share, USD and s per task), each with its difference to the first set, and the number
    of `unpriced` winners. `changed` are the places of tasks whose winner differs from the first set's."""

    name: str
    success: float
    usd: float
    unpriced: int
    time_s: float
    success_against: Against
    usd_against: Against
    time_against: Against
    changed: tuple[int, ...]


def compared(
    context: RoutingContext, tasks: Sequence[Task], decisions: ManyTasks, sets: Mapping[str, EhrrParameters]
) -> tuple[Compared, ...]:
    """All sets in their order, each against the first; `decisions` are of these tasks."""
    winners, solved, paid = _measured(context, tasks, decisions, list(sets.values()))
    time_s = np.append(estimate_tools(context, estimate_servers(context)).time_cost_s, 0.0)[winners]
    results: list[Compared] = []
    for place, name in enumerate(sets):
        success, usd, time = (_against(measure[place] - measure[0]) for measure in (solved, paid, time_s))
        changed = tuple(np.flatnonzero(winners[place] != winners[0]).tolist())
        means = _mean(solved[place]), *_money(paid[place], winners[place]), _mean(time_s[place])
        results.append(Compared(name, *means, success, usd, time, changed))
    return tuple(results)


def _measured(
    context: RoutingContext, tasks: Sequence[Task], decisions: ManyTasks, points: Sequence[EhrrParameters]
) -> tuple[Rows, Array, Array]:
    """(P, Q) the winners, or -1; whether they can do the tasks, 0 or 1; and the payment for a call of them in USD, NaN for an unknown
    price."""
    winners = decisions.winners(points)
    paid = np.where(winners < 0, 0.0, decisions.payments(points, winners[..., np.newaxis])[..., 0])
    rows = {name: row for row, name in enumerate(context.tool_ids)}
    right = np.zeros((len(tasks), len(rows) + 1))
    for place, task in enumerate(tasks):
        right[place, [rows[name] for name in task.relevant if name in rows]] = 1.0
    return winners, right[np.arange(len(tasks)), winners], paid


def _against(differences: Array) -> Against:
    known = np.where(np.isnan(differences), 0.0, differences)
    return Against(_mean(known), *interval(known))


def _money(paid: Array, winners: Rows) -> tuple[float, int]:
    """The mean payment, NaN if no winner has a known price, and the number of winners without one."""
    unpriced = int(np.isnan(paid).sum())
    if unpriced and unpriced == int((winners >= 0).sum()):
        return math.nan, unpriced
    return _mean(np.nan_to_num(paid)), unpriced


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if values.size else 0.0
