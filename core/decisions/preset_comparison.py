"""Sets of parameters compared over labelled tasks: success, money and time of their winners, against the first set task by task.

Success is whether the winner can do the task by its label, money what a call of the winner pays, time the expected seconds until it succeeds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.significance import interval
from core.domain.tasks import Task
from core.domain.trace import Array
from core.routers.context import RoutingContext
from core.routers.estimates import estimate_servers, estimate_tools

Rows = NDArray[np.int64]
Measures = tuple[Array, Array, Array]  # of each task: success, USD, s


@dataclass(frozen=True, slots=True)
class Against:
    """The mean difference from the first set over the same tasks, with its 95 % interval by paired bootstrap."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One set of parameters: means over the tasks (a share, USD and s per task), each with its difference to the first set.

    `changed` are the positions of tasks whose winner differs from the first set's. A task without a winner costs 0 USD and 0 s.
    """

    name: str
    success: float
    usd: float
    time_s: float
    success_against: Against
    usd_against: Against
    time_against: Against
    changed: tuple[int, ...]


def compared(
    context: RoutingContext, tasks: Sequence[Task], winners: Mapping[str, Rows], payments: Mapping[str, Array]
) -> tuple[Compared, ...]:
    """All sets in their order, each against the first. `winners` (Q,) by set are rows of tools, -1 without a winner, and `payments` (Q,)
    what a call of each pays in USD, NaN if that is not known."""
    time = np.append(estimate_tools(context, estimate_servers(context)).time_cost_s, 0.0)
    right = np.zeros((len(tasks), len(time)), dtype=np.float64)
    rows = {name: row for row, name in enumerate(context.tool_ids)}
    for place, task in enumerate(tasks):
        right[place, [rows[name] for name in task.relevant if name in rows]] = 1.0
    first, *_ = winners.values()
    values = {
        name: (right[np.arange(len(tasks)), won], np.nan_to_num(payments[name]), time[won])
        for name, won in winners.items()
    }
    base, *_ = values.values()
    return tuple(
        _compared(name, own, base, np.flatnonzero(winners[name] != first).tolist()) for name, own in values.items()
    )


def _compared(name: str, own: Measures, first: Measures, changed: list[int]) -> Compared:
    success, usd, time_s = (float(measure.mean()) for measure in own)
    differences = (_against(measure, base) for measure, base in zip(own, first, strict=True))
    return Compared(name, success, usd, time_s, *differences, changed=tuple(changed))


def _against(measure: Array, first: Array) -> Against:
    return Against(float((measure - first).mean()), *interval(measure - first))
