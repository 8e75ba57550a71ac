"""Sets of parameters beside each other over labelled tasks: success, money and time of their winners, and how far each differs from
the first, task by task.

Success is whether the winner can do the task by its label, money the winner's price, time the expected seconds until it succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.tasks import Task
from core.domain.trace import Array
from core.lab.significance import interval
from core.routers.context import Match, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.ehrr_batch import candidates_of
from core.routers.estimates import estimate_servers, estimate_tools

Measures = tuple[Array, Array, Array]  # of each task: success, USD, s


@dataclass(frozen=True, slots=True)
class Against:
    """The mean difference from the first set over the same tasks, with its 95 % interval by paired bootstrap."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One set of parameters: means over the tasks (a share, USD and s per task), each against the first set, and the places of the
    tasks whose winner is another one than the first set's. Nobody costs nothing and takes no time."""

    name: str
    success: float
    usd: float
    time_s: float
    success_against: Against
    usd_against: Against
    time_against: Against
    changed: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class NamedSet:
    """Parameters with a name, and the similarities (one for each task) that they give."""

    name: str
    parameters: EhrrParameters
    matches: Sequence[Match]


def compared(context: RoutingContext, tasks: Sequence[Task], sets: Sequence[NamedSet]) -> tuple[Compared, ...]:
    """All sets in their order, each against the first. Sets that explore are not for this: their winners are drawn."""
    known = context.statistics.tools
    time_s = estimate_tools(context, estimate_servers(context)).time_cost_s
    price, time = np.append(np.nan_to_num(known.price_usd), 0.0), np.append(time_s, 0.0)
    right = np.zeros((len(tasks), len(price)), dtype=np.float64)
    rows = {name: row for row, name in enumerate(context.tool_ids)}
    for place, task in enumerate(tasks):
        right[place, [rows[name] for name in task.relevant if name in rows]] = 1.0
    winners = [candidates_of(context, one.matches, [one.parameters])[0, :, 0] for one in sets]
    values = [(right[np.arange(len(tasks)), won], price[won], time[won]) for won in winners]
    return tuple(
        _compared(one.name, own, values[0], np.flatnonzero(won != winners[0]).tolist())
        for one, won, own in zip(sets, winners, values, strict=True)
    )


def _compared(name: str, own: Measures, first: Measures, changed: list[int]) -> Compared:
    success, usd, time_s = (float(measure.mean()) for measure in own)
    differences = (_against(measure, base) for measure, base in zip(own, first, strict=True))
    return Compared(name, success, usd, time_s, *differences, changed=tuple(changed))


def _against(measure: Array, first: Array) -> Against:
    return Against(float((measure - first).mean()), *interval(measure - first))
