"""One routing decision: everything that a page, a log row, the CLI and the co-pilot show.

Columns are arrays over all servers (S,) and all tools (T,) of the catalog, so that a loser keeps its numbers; rows are
made when somebody looks at one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain.params import Value

Array = NDArray[np.float64]


class Drop(StrEnum):
    """The stage at which a tool was dropped."""

    NOT_SHORTLISTED = "not_shortlisted"
    REJECTED = "rejected"
    NOT_AFFORDABLE = "not_affordable"
    OUTRANKED = "outranked"
    PRUNED = "pruned"  # not in a curated list
    BELOW_THRESHOLD = "below_threshold"
    GATED = "gated"  # a precondition on the agent's state does not hold
    NOT_RETRIEVED = "not_retrieved"  # its server was looked at, the tool did not come up
    REFUSED = "refused"  # the router judged that nothing can do the sub-task


DROPS = tuple(Drop)
KEPT = -1  # code in ToolTrace.dropped of a tool that is a candidate


@dataclass(frozen=True, slots=True)
class ServerTrace:
    """Per server, shape (S,): similarity in [0, 1], cost C_i in s, utility U_i, prices in USD per call (NaN: none).

    `rank` counts from 1 by utility. `accepted` is False for a server that was not asked.
    """

    names: tuple[str, ...]
    similarity: Array
    fixed_s: Array
    call_s: Array
    success: Array
    post_accept_failure: Array
    cost_s: Array
    utility: Array
    posted_price_usd: Array
    ask_usd: Array
    rank: NDArray[np.int64]
    shortlisted: NDArray[np.bool_]
    accepted: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ToolTrace:
    """Per tool, shape (T,): the terms of EHRR (6) and (7), whether its price is affordable, and what dropped it.

    `dropped` holds an index into `DROPS`, or `KEPT`; `rank` counts from 1 among affordable tools on accepted servers,
    0 elsewhere. `success` is (1 - pfail) * r, the chance that one attempt succeeds.
    """

    ids: tuple[str, ...]
    server_row: NDArray[np.int64]
    similarity: Array
    latency_s: Array
    success: Array
    time_cost_s: Array
    money_cost_s: Array
    utility: Array
    price_usd: Array
    affordable: NDArray[np.bool_]
    rank: NDArray[np.int64]
    dropped: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server of a decision; figures as in `ServerTrace`, None where there is none."""

    server: str
    similarity: float
    cost_s: float
    utility: float
    shortlisted: bool
    posted_price_usd: float | None
    ask_usd: float | None
    accepted: bool
    rank: int


@dataclass(frozen=True, slots=True)
class ToolRow:
    """One tool of a decision; figures as in `ToolTrace`, None where there is none."""

    tool: str
    server: str
    similarity: float
    cost_s: float
    time_cost_s: float
    money_cost_s: float
    utility: float
    price_usd: float | None
    latency_s: float
    success: float
    affordable: bool
    rank: int | None
    dropped_by: Drop | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a router: `kept` of `of` things (servers, tools, sub-queries) went on. `note` says how in a sentence.

    `by` names the planner or reranker that spoke in it; empty where none did.
    """

    name: str
    what: str
    kept: int
    of: int
    note: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True)
class SubDecision:
    """One sub-query of a decomposed question: its candidates are rows of tools, best first; `needs` are positions."""

    subtask: str
    candidates: tuple[int, ...]
    needs: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Tokens (cl100k_base) that a turn newly puts before a model, and those of the stable prefix that is cached."""

    exposed: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Explored:
    """How a decision took a chance, and the success that the figures alone give: r~ of servers (S,), (1 - pfail) r of tools (T,).

    The traces' `success` is what was gone by instead.
    """

    how: str
    server_estimate: Array
    tool_estimate: Array


@dataclass(frozen=True, slots=True)
class Decision:
    """What a router decided and why. No candidate is a decision too: `candidates` is empty and `reason` says why.

    `score` names what tools were ranked by: the traces' `utility` is a utility for EHRR and its like, and the router's
    own score elsewhere. `stages` are the algorithm's steps in order, `steps` the parts of a decomposed question, `remarks`
    what the router says of single tools, by row. `explored` is None where success is what the figures say.
    """

    id: str
    at: datetime
    catalog: str
    router: str
    subtask: str
    server_hint: str
    parameters: Mapping[str, Value]
    planner: str
    reason: str
    servers: ServerTrace
    tools: ToolTrace
    candidates: tuple[int, ...]
    tool_tokens: NDArray[np.int64]
    statistics_version: int
    timings_ms: Mapping[str, float]
    exposure: Exposure
    score: str = "utility"
    stages: tuple[Stage, ...] = ()
    steps: tuple[SubDecision, ...] = ()
    remarks: Mapping[int, str] = field(default_factory=lambda: MappingProxyType({}))
    explored: Explored | None = None

    @property
    def winner(self) -> ToolRow | None:
        """The first candidate."""
        return self.tool_at(self.candidates[0]) if self.candidates else None

    @property
    def economic(self) -> bool:
        """Whether tools were ranked by utility, EHRR (7): only then what-if and headroom say something."""
        return self.score == "utility"

    @property
    def tokens(self) -> dict[str, int]:
        """cl100k_base tokens of every definition, of what is newly put before the model, and of the cached prefix."""
        seen = self.exposure
        return {"baseline": int(self.tool_tokens.sum()), "exposed": seen.exposed, "cached": seen.cached}

    def server_at(self, row: int) -> ServerRow:
        """The server in one row."""
        t = self.servers
        asked = bool(t.shortlisted[row])
        return ServerRow(
            server=t.names[row],
            similarity=float(t.similarity[row]),
            cost_s=float(t.cost_s[row]),
            utility=float(t.utility[row]),
            shortlisted=asked,
            posted_price_usd=_number(t.posted_price_usd[row]) if asked else None,
            ask_usd=_number(t.ask_usd[row]),
            accepted=bool(t.accepted[row]),
            rank=int(t.rank[row]),
        )

    def tool_at(self, row: int) -> ToolRow:
        """The tool in one row."""
        t = self.tools
        dropped = int(t.dropped[row])
        return ToolRow(
            tool=t.ids[row],
            server=self.servers.names[int(t.server_row[row])],
            similarity=float(t.similarity[row]),
            cost_s=float(t.time_cost_s[row] + t.money_cost_s[row]),
            time_cost_s=float(t.time_cost_s[row]),
            money_cost_s=float(t.money_cost_s[row]),
            utility=float(t.utility[row]),
            price_usd=_number(t.price_usd[row]),
            latency_s=float(t.latency_s[row]),
            success=float(t.success[row]),
            affordable=bool(t.affordable[row]),
            rank=int(t.rank[row]) or None,
            dropped_by=None if dropped == KEPT else DROPS[dropped],
            tokens=int(self.tool_tokens[row]),
        )

    def servers_by_rank(self) -> tuple[int, ...]:
        """Server rows, best first."""
        return tuple(int(row) for row in np.argsort(self.servers.rank, kind="stable"))

    def shortlist(self) -> tuple[int, ...]:
        """Rows of the short-listed servers, best first."""
        return tuple(row for row in self.servers_by_rank() if self.servers.shortlisted[row])

    def evaluated_tools(self) -> tuple[int, ...]:
        """Rows of the tools on short-listed servers: ranked ones first, then by utility."""
        on_list = np.flatnonzero(self.servers.shortlisted[self.tools.server_row])
        unranked = np.where(self.tools.rank[on_list] > 0, self.tools.rank[on_list], np.iinfo(np.int64).max)
        return tuple(int(r) for r in on_list[np.lexsort((-self.tools.utility[on_list], unranked))])

    def to_json(self) -> dict[str, Any]:
        """The document that `wayfare route --json` prints: every server and every tool, ranked ones first."""
        evaluated = self.evaluated_tools()
        on_list = set(evaluated)
        others = sorted(set(range(len(self.tools.ids))) - on_list, key=lambda row: -self.tools.utility[row])
        return {
            "router": self.router,
            "subtask": self.subtask,
            "parameters": dict(self.parameters),
            "planner": self.planner,
            "reason": self.reason,
            "servers": [_chosen(self.server_at(row), SERVER_KEYS) for row in self.servers_by_rank()],
            "tools": [_chosen(self.tool_at(row), TOOL_KEYS) for row in (*evaluated, *others)],
            "candidates": [self.tools.ids[row] for row in self.candidates],
            "tokens": self.tokens,
            "timings_ms": dict(self.timings_ms),
        }

    def trace(self) -> dict[str, list[dict[str, Any]]]:
        """What was short-listed with every figure: what is kept as an event."""
        return {
            "servers": [_chosen(row, ServerRow.__slots__) for row in map(self.server_at, self.shortlist())],
            "tools": [_chosen(row, ToolRow.__slots__) for row in map(self.tool_at, self.evaluated_tools())],
        }


SERVER_KEYS = (
    "server", "similarity", "cost_s", "utility", "shortlisted", "posted_price_usd", "ask_usd", "accepted",
)  # fmt: skip
TOOL_KEYS = (
    "tool", "similarity", "cost_s", "time_cost_s", "money_cost_s", "utility", "price_usd", "affordable", "rank", "dropped_by",
)  # fmt: skip


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _chosen(row: ServerRow | ToolRow, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(row, key) for key in keys}
