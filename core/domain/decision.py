"""One routing decision: everything that a page, a log row, the CLI and the co-pilot show.

The figures of servers and tools are in `core.domain.trace`; this file has the decision over them, and the two documents that
are made of it: `to_json` for scripts, `trace` for the stored event.
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

# How likely the tools of a catalog can do a query: calibrated probabilities, and what each is made of.


Confidence = Literal["sure", "unsure", "nothing"]
"""`nothing`: probably no tool of the catalog fits."""
NOTHING_FROM = 0.7
"""Above it lie 6 % of the answerable everyday questions of the sample, 47 % of its impossible ones, and none of LiveMCPBench's judged
sub-tasks."""
SURE_FROM = 0.8
"""Of the decisions above it 90 % are right on everyday questions, and 80 % on LiveMCPBench's."""
DOUBTFUL_FROM = 0.5
"""Even odds that nothing fits. No decision from there on is sure: that takes the word from two in five of the impossible everyday questions
that had it, and from one in eight of the answerable ones."""


@dataclass(frozen=True, slots=True)
class Fit:
    """`tools` (T,) and `servers` (S,): the chance that a tool, or some tool of a server, can do what is asked if some tool of the catalog
    can. `nothing`: the chance that none can where half of all sub-tasks are impossible, None while it is not known. `signals` (T,) each: what every signal adds to a tool's relevance. `learnt` (T,): what labels added
    in logits, or None. `language` is that of the question, "" if it is English. `scored` are the rows of the tools that were scored, None
    for all: any other one has the least fit and relevance, and no signals."""

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


# A plan of tries: which tools to call one after the other until one solves the sub-task, and what that is expected to take.


@dataclass(frozen=True, slots=True)
class PlannedTry:
    """One try. `chance` that it solves the sub-task once it comes to it, `reached` the chance that it does come to it;
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
    """The tries in order, their expected value in USD, and what the next tool would need to be worth a try."""

    tries: tuple[PlannedTry, ...]
    worth_usd: float
    value_usd: float
    next_tool: str | None = None
    next_worth_usd: float | None = None

    @property
    def success(self) -> float:
        """The chance that one of the tries solves the sub-task."""
        return math.fsum(one.reached * one.chance for one in self.tries)

    @property
    def usd(self) -> float:
        """The price that is expected to be paid; an unpriced tool counts nothing."""
        return math.fsum(one.reached * (one.price_usd or 0.0) for one in self.tries)

    @property
    def time_s(self) -> float:
        return math.fsum(one.reached * one.time_s for one in self.tries)

    def to_json(self) -> dict[str, Any]:
        return {"order": [one.to_json() for one in self.tries], "expected": self.expected()}

    def expected(self) -> dict[str, float]:
        return {"success": self.success, "usd": self.usd, "s": self.time_s, "value_usd": self.value_usd}


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of a router: `kept` of `of` things (servers, tools, sub-queries) went on. `note` says how in a sentence.

    `by` names the planner or reranker that spoke in it; empty if none did.
    """

    name: str
    what: str
    kept: int
    of: int
    note: str = ""
    by: str = ""

    def to_json(self) -> dict[str, Any]:
        """One entry of `stages` in `wayfare route --json`: the things that went on are counted under their own name."""
        return {"name": self.name, self.what: self.kept, "of": self.of, "note": self.note}


@dataclass(frozen=True, slots=True)
class SubDecision:
    """One sub-query of a decomposed question: its candidates are rows of tools, best first; `needs` are positions."""

    query: str
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
    """How a decision explored, and the success that the statistics alone give: r~ of servers (S,), (1 - pfail) r of tools (T,).

    The traces' `success` is the drawn or optimistic value that was used instead.
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
    """The decision of a router and its reason. Without a candidate `candidates` is empty and `reason` says why.

    `score` names what tools were ranked by: the traces' `utility` is a utility for EHRR and its like, and the router's
    own score elsewhere. `stages` are the algorithm's steps in order, `steps` the parts of a decomposed question, `remarks`
    what the router says of single tools, by row. `explored` is None without exploration. `economic`
    means that tools were ranked by utility, EHRR (7): only then what-if curves and headroom mean something. `fit` holds the
    probabilities of fit, `tries` the order of tries of a router that plans one, `preset` the named parameters it began with. `client`
    is the client of the endpoint, or "". `writing` are the candidates that write though the question asks to know. `by_words` means that the
    catalog had no vectors yet: words alone decided, and P(nothing fits) is not known. `network` is the network that times and failures are of,
    `network_trace` that of a router that scores the network. `parts` is the number of things that the question seems to ask for.
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
        """What a call pays: the listed price of its tool, or what the auction agreed on."""
        return str(self.parameters.get("settlement", "price"))

    def agreed_usd(self, tool: str) -> float | None:
        """What the auction agreed on for a call of a tool, or None: then the call pays the price that is listed when it is made."""
        if self.settlement == "price" or tool not in self.tools.ids:
            return None
        return self.tool_at(list(self.tools.ids).index(tool)).payment_usd

    @property
    def tokens(self) -> dict[str, int]:
        """cl100k_base tokens of every definition, of what is newly put before the model, and of the cached prefix."""
        seen = self.exposure
        return {"baseline": int(self.tool_tokens.sum()), "exposed": seen.exposed, "cached": seen.cached}

    @property
    def scored(self) -> NDArray[np.int64] | None:
        """Rows of the tools whose fit was computed, or None for all."""
        return None if self.fit is None else self.fit.scored

    @property
    def scored_note(self) -> str:
        """How many tools were scored, in a few words."""
        every = f"{len(self.tools.ids):,} tools"
        return f"scored all {every}" if self.scored is None else f"scored {len(self.scored):,} of {every}"

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
        """Rows of the tools on short-listed servers: ranked ones first, then by utility."""
        on_list = np.flatnonzero(self.servers.shortlisted[self.tools.server_row])
        unranked = np.where(self.tools.rank[on_list] > 0, self.tools.rank[on_list], np.iinfo(np.int64).max)
        return tuple(int(r) for r in on_list[np.lexsort((-self.tools.utility[on_list], unranked))])

    def rivals(self, count: int, likeliest: int = 3) -> tuple[int, ...]:
        """Rows of so many tools to compare, ranked ones first and then by utility: candidates, the `likeliest` by fit of all other tools,
        whatever stage dropped them, and tools of the short-list."""
        listed = self.evaluated_tools()
        if self.fit is None:
            return listed[:count]
        kept = listed[: max(0, min(len(self.candidates), count - likeliest))]
        fitting = [
            int(row) for row in np.argsort(-self.fit.tools, kind="stable")[: len(kept) + likeliest] if row not in kept
        ]
        shown = list(dict.fromkeys([*kept, *fitting[:likeliest], *listed]))[:count]
        return tuple(
            sorted(shown, key=lambda row: (self.tools.rank[row] or len(self.tools.ids) + 1, -self.tools.utility[row]))
        )

    def to_json(self) -> dict[str, Any]:
        """The document that `wayfare route --json` prints: tools that were scored or are on the short-list, ranked ones first, and their servers."""
        evaluated, scored = self.evaluated_tools(), self.scored
        every = range(len(self.tools.ids)) if scored is None else scored.tolist()
        others = sorted(set(every) - set(evaluated), key=lambda row: -self.tools.utility[row])
        servers = self.servers_by_rank()
        if scored is not None:
            theirs = set(self.tools.server_row[[*evaluated, *others]].tolist())
            servers = tuple(row for row in servers if row in theirs or self.servers.shortlisted[row])
        return {
            "router": self.router,
            "subtask": self.query,
            "parameters": dict(self.parameters),
            "planner": self.planner,
            "reason": self.reason,
            "preset": self.preset,
            "servers": [
                _chosen(of, SERVER_KEYS) | self.network_at(row)
                for row, of in zip(servers, self.servers.rows(servers), strict=True)
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
            **({"remarks": {self.tools.ids[row]: said for row, said in self.remarks.items()}} if self.remarks else {}),
        }

    def _step(self, step: SubDecision) -> dict[str, Any]:
        tools = [self.tools.ids[row] for row in step.candidates]
        return {"subtask": step.query, "tools": tools, "needs": list(step.needs)}

    def network_at(self, server: int) -> dict[str, float]:
        """The network score of a server, and the expertise of its best tool; empty for a router without them."""
        return {} if self.network_trace is None else self.network_trace.of_server(server, self.tools.server_row)

    def fit_at(self, row: int) -> dict[str, float]:
        """A tool's probability of fit, and the chance that one call of it solves the sub-task; empty if unknown."""
        if self.fit is None:
            return {}
        p = float(self.fit.tools[row])
        return {"p_fit": p, "p_success": p * float(self.tools.success[row])}

    def trace(self) -> dict[str, list[dict[str, Any]]]:
        """The short-listed servers and their tools with every figure, as stored with the event."""
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
