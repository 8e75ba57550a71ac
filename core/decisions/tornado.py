"""How labelled tasks depend on single knobs: winner, success and money when a knob is turned by a tenth, a quarter or a half.

A change is of the winner of a task; success is whether the winner can do the task by its label, money what a call of the winner pays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.params import Knob
from core.domain.tasks import Task
from core.domain.trace import Array
from core.routers.context import RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.ehrr_batch import ManyTasks

KNOBS = ("alpha_s", "alpha_t", "kappa", "p_bs", "p_ofs", "l0_s", "eps", "budget_usd", "k")
TURNS = (-0.5, -0.25, -0.1, 0.1, 0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Bar:
    """One knob, turned by the share `turn` from `now` to `value`. `share` of the tasks change their winner, those at the places
    `changed`. `success` (a share) and `usd` per task are mean changes."""

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
    """The bars of all knobs with a value, the present `success` and `usd` per task, and the winner of each task."""

    tasks: tuple[Task, ...]
    winners: tuple[str | None, ...]
    bars: tuple[Bar, ...]
    success: float
    usd: float

    def fragile(self, *, within: float = 0.1) -> list[tuple[int, list[Bar]]]:
        """The places of tasks whose winner changes at a turn of at most `within`, each with its bars; most bars first."""
        found = [
            (place, [bar for bar in self.bars if abs(bar.turn) <= within + 1e-9 and place in bar.changed])
            for place in range(len(self.tasks))
        ]
        return sorted((one for one in found if one[1]), key=lambda one: -len(one[1]))


def measured(context: RoutingContext, tasks: Sequence[Task], decisions: ManyTasks, p: EhrrParameters) -> Tornado:
    """Every knob at every turn; `decisions` are of these tasks."""
    knobs = {knob.name: knob for knob in p.knobs()}
    turned = [
        (name, turn, value) for name in KNOBS for turn in TURNS if (value := _turned(knobs[name], p, turn)) is not None
    ]
    points = [p, *(p.replaced({name: value}) for name, _, value in turned)]
    winners = decisions.winners(points)
    right = [{row for row, name in enumerate(context.tool_ids) if name in set(task.relevant)} for task in tasks]
    solved = np.array([[int(row) in right[at] for at, row in enumerate(point)] for point in winners], dtype=np.float64)
    paid: Array = np.nan_to_num(decisions.payments(points, winners[..., np.newaxis])[..., 0])  # no winner pays nothing
    bars = [
        Bar(
            name, turn, float(getattr(p, name)), value,
            share=float((winners[at] != winners[0]).mean()) if len(tasks) else 0.0,
            success=float((solved[at] - solved[0]).mean()) if len(tasks) else 0.0,
            usd=float((paid[at] - paid[0]).mean()) if len(tasks) else 0.0,
            changed=tuple(np.flatnonzero(winners[at] != winners[0]).tolist()),
        )
        for at, (name, turn, value) in enumerate(turned, 1)
    ]  # fmt: skip
    named = tuple(context.tool_ids[int(row)] if row >= 0 else None for row in winners[0])
    return Tornado(tuple(tasks), named, tuple(bars), float(solved[0].mean()), float(paid[0].mean()))


def _turned(knob: Knob, p: EhrrParameters, turn: float) -> float | None:
    """The knob's value turned by a share of it, within its range. Returns None if that is the same value."""
    value = getattr(p, knob.name)
    if value is None or not value:
        return None
    moved = float(np.clip(value * (1 + turn), knob.low, knob.high))
    if knob.kind is int:
        moved = float(round(moved))
    return None if moved == value else moved
