"""A routing decision: everything that a page, a log row, the CLI and the co-pilot show.

The figures of servers and tools are in `core.domain.trace`. This file has the decision over them and its two documents:
`to_json` for scripts, `trace` for the stored event.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from core.domain.params import AS_MEASURED, NetworkMoment, Value
from core.domain.trace import Array, ServerRow, ServerTrace, ToolRow, ToolTrace

# Calibrated probabilities that the tools of a catalog can do a query, and their parts.


Confidence = Literal["sure", "unsure", "nothing"]
"""`nothing`: probably no tool of the catalog fits."""
NOTHING_FROM = 0.7
"""Above it lie 6 % of the sample's answerable everyday questions, 47 % of its impossible questions, and none of LiveMCPBench's
judged sub-tasks."""
SURE_FROM = 0.8
"""Of the decisions above it, 90 % are right on everyday questions and 80 % on LiveMCPBench's."""
DOUBTFUL_FROM = 0.5
"""Even odds that nothing fits. No decision from there on is sure. Of the everyday questions that were sure without this limit, it
takes the word from two in five of the impossible and one in eight of the answerable questions."""


@dataclass(frozen=True, slots=True)
class Fit:
    """`tools` (T,) and `servers` (S,): the chance that a tool, or some tool of a server, can do the query if some tool of the catalog
    can. `nothing`: the chance that no tool can, if half of all sub-tasks are impossible; None if unknown. `signals` (T,): the
    contribution of each signal to a tool's relevance. `learnt` (T,): the contribution of labels in logits, or None. `language`: of
    the question, "" for English. `scored`: rows of the scored tools, None for all; others have the least fit and no signals."""

    tools: NDArray[np.float64]
    servers: NDArray[np.float64]
    nothing: float | None
    relevance: NDArray[np.float64]
    signals: Mapping[str, NDArray[np.float64]]
    learnt: NDArray[np.float64] | None = None
    confidence: Confidence = "unsure"
    language: str = ""
    scored: NDArray[np.int64] | None = None

    @property
    def doubtful(self) -> bool:
        """Whether it is at least even odds that nothing fits."""
        return self.nothing is not None and self.nothing >= DOUBTFUL_FROM


# A plan of tries: tools to call one after the other until the sub-task is solved, and the expected cost.


@dataclass(frozen=True, slots=True)
class PlannedTry:
    """A try. `reached` is the chance that the plan comes to it, `chance` the chance that it then solves the sub-task.
    `cost_usd` is price, time and the risk of a wrong call in USD."""

    tool: str
    p_fit: float
    delivery: float
    chance: float
    reached: float
    cost_usd: float
    price_usd: float | None
    time_s: float

    def to_json(self) -> dict[str, Any]:
        return {"tool": self.tool, "p": self.chance, "cost_usd": self.cost_usd, "reached": self.reached}


@dataclass(frozen=True, slots=True)
class TryPlan:
    """The tries in order, their expected value in USD, and the worth from which the next tool would be tried."""

    tries: tuple[PlannedTry, ...]
    worth_usd: float
    value_usd: float
    next_tool: str | None = None
    next_worth_usd: float | None = None

    @property
    def success(self) -> float:
        """The chance that one of the tries solves the sub-task."""
        return math.fsum(attempt.reached * attempt.chance for attempt in self.tries)

    @property
    def usd(self) -> float:
        """The expected price. An unpriced tool counts as 0."""
        return math.fsum(attempt.reached * (attempt.price_usd or 0.0) for attempt in self.tries)

    @property
    def time_s(self) -> float:
        return math.fsum(attempt.reached * attempt.time_s for attempt in self.tries)

    def to_json(self) -> dict[str, Any]:
        return {"order": [attempt.to_json() for attempt in self.tries], "expected": self.expected()}

    def expected(self) -> dict[str, float]:
        return {"success": self.success, "usd": self.usd, "s": self.time_s, "value_usd": self.value_usd}


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of a router: `kept` of `of` things (servers, tools, sub-queries) went on. `note` explains it in a sentence.

    `by` names the planner or reranker of the stage, or is empty.
    """

    name: str
    what: str
    kept: int
    of: int
    note: str = ""
    by: str = ""

    def to_json(self) -> dict[str, Any]:
        """An entry of `stages` in `wayfare route --json`. The key of `kept` is the kind of thing."""
        return {"name": self.name, self.what: self.kept, "of": self.of, "note": self.note}


@dataclass(frozen=True, slots=True)
class SubDecision:
    """A sub-query of a decomposed question. `candidates` are rows of tools, best first. `needs` are positions of sub-queries."""

    query: str
    candidates: tuple[int, ...]
    needs: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Exposure:
    """Tokens (cl100k_base) that a turn newly gives to a model, and tokens of the cached stable prefix."""

    exposed: int
    cached: int = 0


@dataclass(frozen=True, slots=True)
class Explored:
    """How a decision explored, and the success by the statistics alone: r~ of servers (S,), (1 - pfail) r of tools (T,).

    The traces' `success` is the drawn or optimistic value that replaced it.
    """

    how: str
    server_estimate: Array
    tool_estimate: Array


@dataclass(frozen=True, slots=True)
class NetworkTrace:
    """The two parts of SONAR's score: expertise C of tools (T,) in [0, 1], NetMCP (5), and network score N of servers (S,), (7)."""

    expertise: Array
    score: Array

    def of_server(self, row: int, tool_server: NDArray[np.int64]) -> dict[str, float]:
        """N of a server, and C of its best tool."""
        best = float(self.expertise[tool_server == row].max(initial=0.0))
        return {"network_score": float(self.score[row]), "expertise": best}


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a router and its reason. Without a candidate, `candidates` is empty and `reason` says why.

    `score` names the ranking score: the traces' `utility` is a utility for EHRR and similar routers, else the router's own
    score. `stages` are the algorithm's steps in order, `steps` the parts of a decomposed question, `remarks` the router's
    remarks on tools, by row. `explored` is None without exploration. `economic` means that tools were ranked by utility,
    EHRR (7). Only then what-if curves and headroom have a meaning. `fit` holds the probabilities of fit, `tries` the order of tries
    of a router that plans them, `preset` the named parameters it began with. `client` is the client of the endpoint, or "".
    `writing` are candidates that write though the question only asks to know. `by_words` means that words alone decided, because
    the catalog had no vectors yet. Then P(nothing fits) is unknown. `network` is the network of times and failures, `network_trace`
    the trace of a router that scores it. `parts` is the number of things that the question seems to ask for.
    """

    id: str
    at: datetime
    catalog: str
    router: str
    query: str
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
    economic: bool = False
    fit: Fit | None = None
    tries: TryPlan | None = None
    preset: str = ""
    client: str = ""
    writing: tuple[int, ...] = ()
    by_words: bool = False
    network: NetworkMoment = AS_MEASURED
    parts: int = 1
    network_trace: NetworkTrace | None = None

    @property
    def winner(self) -> ToolRow | None:
        return self.tool_at(self.candidates[0]) if self.candidates else None

    @property
    def settlement(self) -> str:
        """The rule of the payment: the tool's listed price, or a payment by auction."""
        return str(self.parameters.get("settlement", "price"))

    def agreed_usd(self, tool: str) -> float | None:
        """The payment for a call of a tool by auction. None if the call pays the price that is listed at its time."""
        if self.settlement == "price" or tool not in self.tools.ids:
            return None
        return self.tool_at(list(self.tools.ids).index(tool)).payment_usd

    @property
    def tokens(self) -> dict[str, int]:
        """cl100k_base tokens of all definitions, of those newly given to the model, and of the cached prefix."""
        exposure = self.exposure
        return {"baseline": int(self.tool_tokens.sum()), "exposed": exposure.exposed, "cached": exposure.cached}

    @property
    def scored(self) -> NDArray[np.int64] | None:
        """Rows of the tools with a computed fit, or None for all."""
        return None if self.fit is None else self.fit.scored

    @property
    def scored_note(self) -> str:
        """The number of scored tools, in words."""
        total = f"{len(self.tools.ids):,} tools"
        return f"scored all {total}" if self.scored is None else f"scored {len(self.scored):,} of {total}"

    def server_at(self, row: int) -> ServerRow:
        return self.servers.rows((row,))[0]

    def tool_at(self, row: int) -> ToolRow:
        return self.tools_at((row,))[0]

    def tools_at(self, rows: Sequence[int]) -> list[ToolRow]:
        return self.tools.rows(rows, servers=self.servers.names, tokens=self.tool_tokens)

    def servers_by_rank(self) -> tuple[int, ...]:
        return tuple(int(row) for row in np.argsort(self.servers.rank, kind="stable"))

    def shortlist(self) -> tuple[int, ...]:
        return tuple(row for row in self.servers_by_rank() if self.servers.shortlisted[row])

    def evaluated_tools(self) -> tuple[int, ...]:
        """Rows of the tools on short-listed servers, ranked tools first, then by utility."""
        on_list = np.flatnonzero(self.servers.shortlisted[self.tools.server_row])
        unranked = np.where(self.tools.rank[on_list] > 0, self.tools.rank[on_list], np.iinfo(np.int64).max)
        return tuple(int(r) for r in on_list[np.lexsort((-self.tools.utility[on_list], unranked))])

    def rivals(self, count: int, likeliest: int = 3) -> tuple[int, ...]:
        """Rows of `count` tools to compare, ranked tools first and then by utility: candidates, the `likeliest` other tools by fit (of
        any stage), and tools of the short-list."""
        rows = self.evaluated_tools()
        if self.fit is None:
            return rows[:count]
        head = rows[: max(0, min(len(self.candidates), count - likeliest))]
        fitting = [
            int(row) for row in np.argsort(-self.fit.tools, kind="stable")[: len(head) + likeliest] if row not in head
        ]
        rivals = list(dict.fromkeys([*head, *fitting[:likeliest], *rows]))[:count]
        return tuple(
            sorted(rivals, key=lambda row: (self.tools.rank[row] or len(self.tools.ids) + 1, -self.tools.utility[row]))
        )

    def to_json(self) -> dict[str, Any]:
        """The document of `wayfare route --json`: tools that were scored or are on the short-list, ranked tools first, and their servers."""
        evaluated, scored = self.evaluated_tools(), self.scored
        rows = range(len(self.tools.ids)) if scored is None else scored.tolist()
        others = sorted(set(rows) - set(evaluated), key=lambda row: -self.tools.utility[row])
        servers = self.servers_by_rank()
        if scored is not None:
            tool_servers = set(self.tools.server_row[[*evaluated, *others]].tolist())
            servers = tuple(row for row in servers if row in tool_servers or self.servers.shortlisted[row])
        return {
            "router": self.router,
            "subtask": self.query,
            "parameters": dict(self.parameters),
            "planner": self.planner,
            "reason": self.reason,
            "preset": self.preset,
            "servers": [
                _chosen(server, SERVER_KEYS) | self.network_at(row)
                for row, server in zip(servers, self.servers.rows(servers), strict=True)
            ],
            "tools": self._tools((*evaluated, *others), TOOL_KEYS),
            "candidates": [self.tools.ids[row] for row in self.candidates],
            "tokens": self.tokens,
            "timings_ms": dict(self.timings_ms),
            **({} if self.fit is None else {"p_nothing_fits": self.fit.nothing, "confidence": self.fit.confidence}),
            **({} if self.tries is None else self.tries.to_json()),
            **({"writing": [self.tools.ids[row] for row in self.writing]} if self.writing else {}),
            **({} if scored is None else {"looked_at": {"tools": len(scored), "of": len(self.tools.ids)}}),
            **({"by_words": True} if self.by_words else {}),
            **self.network.to_json(),
            "stages": [stage.to_json() for stage in self.stages],
            **({"steps": [self._step(step) for step in self.steps]} if self.steps else {}),
            **({"remarks": {self.tools.ids[row]: note for row, note in self.remarks.items()}} if self.remarks else {}),
        }

    def _step(self, step: SubDecision) -> dict[str, Any]:
        tools = [self.tools.ids[row] for row in step.candidates]
        return {"subtask": step.query, "tools": tools, "needs": list(step.needs)}

    def network_at(self, server: int) -> dict[str, float]:
        """The network score of a server and the expertise of its best tool. Empty if the router has no network trace."""
        return {} if self.network_trace is None else self.network_trace.of_server(server, self.tools.server_row)

    def fit_at(self, row: int) -> dict[str, float]:
        """A tool's probability of fit, and the chance that a call of it solves the sub-task. Empty if unknown."""
        if self.fit is None:
            return {}
        p = float(self.fit.tools[row])
        return {"p_fit": p, "p_success": p * float(self.tools.success[row])}

    def trace(self) -> dict[str, list[dict[str, Any]]]:
        """The short-listed servers and their tools with all figures, as stored with the event."""
        return {
            "servers": [_chosen(row, SERVER_TRACE_KEYS) for row in self.servers.rows(self.shortlist())],
            "tools": self._tools(self.evaluated_tools(), TOOL_TRACE_KEYS),
        }

    def _tools(self, rows: Sequence[int], keys: Iterable[str]) -> list[dict[str, Any]]:
        return [_chosen(tool, keys) | self.fit_at(row) for row, tool in zip(rows, self.tools_at(rows), strict=True)]


SERVER_KEYS = (
    "server", "similarity", "cost_s", "utility", "shortlisted", "posted_price_usd", "ask_usd", "accepted",
)  # fmt: skip
TOOL_KEYS = (
    "tool", "similarity", "cost_s", "time_cost_s", "money_cost_s", "utility", "price_usd", "payment_usd", "affordable", "rank", "dropped_by",
)  # fmt: skip
SERVER_TRACE_KEYS = (*SERVER_KEYS, "rank")
TOOL_TRACE_KEYS = (
    "tool", "server", "similarity", "cost_s", "time_cost_s", "money_cost_s", "utility", "price_usd", "payment_usd", "latency_s", "success",
    "affordable", "rank", "dropped_by", "tokens",
)  # fmt: skip


def _chosen(row: ServerRow | ToolRow, keys: Iterable[str]) -> dict[str, Any]:
    return {key: getattr(row, key) for key in keys}
