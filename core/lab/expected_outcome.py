"""What playing a sub-task comes to on average: the outcome of `core.lab.execution` without its draws.

Candidates are tried in their order, at most three; a right one succeeds by its declared reliability r_ij (1 - pfail_i):

    solved = 1 - prod (1 - P_j)        usd = sum reached_j * price_j        s = sum reached_j * (l_j + L_conn where new)

with reached_j = prod of the earlier (1 - P), and P_j = 0 for a wrong tool. An unpriced tool adds nothing to usd.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.domain.task import Task
from core.lab.execution import ROUNDS
from core.routers.context import RoutingContext


@dataclass(frozen=True, slots=True)
class ExpectedOutcome:
    """Of one sub-task: the chance that it is solved, and the USD and seconds that this is expected to take."""

    solved: float
    usd: float
    s: float


def expected_outcome(task: Task, candidates: Sequence[int], context: RoutingContext) -> ExpectedOutcome:
    """`candidates` are rows of tools, best first; `context` holds the figures that outcomes follow."""
    servers, tools = context.statistics.servers, context.statistics.tools
    reached, usd, seconds = 1.0, 0.0, 0.0
    connected: set[int] = set()
    for row in candidates[:ROUNDS]:
        server = int(context.tool_server[row])
        usd += reached * float(np.nan_to_num(tools.price_usd[row]))
        seconds += reached * (
            float(tools.latency_s[row]) + (0.0 if server in connected else float(servers.conn_s[server]))
        )
        connected.add(server)
        if context.tool_ids[row] in task.relevant:
            reached *= 1.0 - float(tools.success[row]) * (1.0 - float(servers.post_accept_failure[server]))
    return ExpectedOutcome(1.0 - reached, usd, seconds)
