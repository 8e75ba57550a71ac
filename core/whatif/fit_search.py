"""The fit of a tool at which it begins to win, or down to which it wins on: searched for, because it moves the tool's server too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from core.domain.trace import Array
from core.routers.context import Match
from core.routers.parameters import FIT as BY_FIT
from core.whatif.case import Case, decide
from core.whatif.layer import with_fit

POINTS, HALVINGS = 65, 30
LEAST = 1e-7


def lowest_fit(case: Case, row: int) -> float:
    """Down to which fit the winner wins on; 0 where it wins with any."""
    points = np.linspace(0.0, float(case.match.tools[row]), POINTS)
    lost = np.flatnonzero(~_wins(case, row, points))
    if not len(lost):
        return 0.0
    last = int(lost[-1])
    found = _edge(case, row, float(points[last]), float(points[min(last + 1, POINTS - 1)]))
    return found if found > LEAST else 0.0


def winning_fit(case: Case, row: int) -> float | None:
    """The fit above the current one from which a tool wins; None where it does not even with 1."""
    points = np.linspace(float(case.match.tools[row]), 1.0, POINTS)
    won = np.flatnonzero(_wins(case, row, points))
    if not len(won):
        return None
    first = int(won[0])
    return _edge(case, row, float(points[max(first - 1, 0)]), float(points[first]))


def _edge(case: Case, row: int, bad: float, good: float) -> float:
    for _ in range(HALVINGS):
        middle = (bad + good) / 2
        if _wins(case, row, np.array([middle]))[0]:
            good = middle
        else:
            bad = middle
    return good


def _wins(case: Case, row: int, values: Array) -> NDArray[np.bool_]:
    follow = case.parameters.similarity == BY_FIT
    found = [
        with_fit(case.match, {row: float(value)}, case.context.tool_server, servers_follow=follow) for value in values
    ]
    match = Match(np.stack([one.servers for one in found]), np.stack([one.tools for one in found]))
    return decide(case, {}, match).winner == row
