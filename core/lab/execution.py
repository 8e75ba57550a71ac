"""Playing routed tasks out: how many are solved, and at which cost. Algorithm 1 of EHRR without a model.

The router decides once for each labelled task. Its candidates are tried in order, at most `ROUNDS` of them. A tool that is not
among the task's right ones is an invalid tool call: it takes its time and its price and solves nothing. A right one succeeds by
its declared reliability, r_ij (1 - pfail_i), drawn for every seed. A decision without a right tool among the tried ones is an
invalid route call: an agent would route again.

    value = V * solved - price - time / kappa              per task, USD; kappa in s per USD
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.domain.trace import DROPS, KEPT
from core.routers.context import RoutingContext

# One task as it was routed

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Routed:
    """One task as it was decided: candidates, best first; `dropped_by`; the decision's ms; the tokens that it put before a model.

    It is small, because an unfinished run stores one for each task.
    """

    candidates: tuple[str, ...]
    dropped_by: str
    latency_ms: float
    tokens: int

    @classmethod
    def of(cls, task: Task, decision: Decision) -> Self:
        """From a decision."""
        names = tuple(decision.tools.ids[row] for row in decision.candidates)
        exposure = decision.exposure
        tokens = exposure.exposed + exposure.cached
        return cls(names, dropped_by(task, decision), decision.timings_ms["total"], tokens)

    def to_json(self) -> dict[str, Any]:
        """As the store keeps it."""
        return asdict(self)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        found = dict(document)
        return cls(tuple(found.pop("candidates")), **found)


def dropped_by(task: Task, decision: Decision) -> str:
    """The stage that dropped the most similar right tool, or `ABSENT`. "" if a right tool is a candidate."""
    right = [row for row, tool in enumerate(decision.tools.ids) if tool in task.relevant]
    if not task.relevant or set(right) & set(decision.candidates):
        return ""
    if not right:
        return ABSENT
    code = int(decision.tools.dropped[max(right, key=lambda row: float(decision.tools.similarity[row]))])
    return "" if code == KEPT else DROPS[code].value


# Prices by EHRR's two tiers (section V): low U(0, 0.0025) USD, high N(0.0225, 0.005^2) USD, cut at 0

LOW_USD, HIGH_USD, HIGH_DEVIATION_USD = 0.0025, 0.0225, 0.005
HIGH_TIER = re.compile(
    r"\b(web|internet|online|browse\w*|crawl\w*|scrap\w+|google|bing|duckduckgo|tavily|news|"
    r"geocod\w*|geo\w*|map|maps|route\w*|directions?|navigation|places?|satellite|weather|"
    r"generat\w*|summar\w*|translat\w*|transcri\w*|synthes\w*|llm|gpt|model|models|ai|speech|image|images|video|embedding\w*)\b",
    re.IGNORECASE,
)


def is_high_tier(tool: Tool) -> bool:
    """Whether a tool belongs to the expensive tier: by its declared tier, else by words of its name and description.

    >>> is_high_tier(Tool("maps", "find_route", "Directions between two places."))
    True
    >>> is_high_tier(Tool("text", "count_words", "Counts words."))
    False
    """
    if tool.tier:
        return tool.tier == "high"
    return bool(HIGH_TIER.search(f"{tool.server} {tool.name} {tool.description}".replace("_", " ").replace("-", " ")))


def drawn_price_usd(tool: Tool, seed: int) -> float:
    """A price per call from the tool's tier, drawn by the tool's name and the seed. Other tools do not change it."""
    rng = np.random.default_rng([seed, zlib.crc32(tool.id.encode())])
    if is_high_tier(tool):
        return max(0.0, float(rng.normal(HIGH_USD, HIGH_DEVIATION_USD)))
    return float(rng.uniform(0.0, LOW_USD))


def priced_by_tiers(catalog: Catalog, *, name: str, seed: int = 0) -> Catalog:
    """A catalog with every tool priced by its tier. Servers ask the median of their tools' prices."""
    return Catalog(name, tuple(_priced(server, seed) for server in catalog.servers))


def _priced(server: Server, seed: int) -> Server:
    tools = tuple(replace(tool, price_usd=drawn_price_usd(tool, seed)) for tool in server.tools)
    return replace(server, tools=tools, ask_usd=None)


# Playing

ROUNDS = 3
VALUE_USD = 0.10
S_PER_USD = 1000.0  # the kappa of the router expected_value: 3.60 dollars an hour
Floats = NDArray[np.float64]
LiveCall = Callable[[int], tuple[bool, float] | None]  # a tool's row -> went well, seconds


@dataclass(frozen=True, slots=True)
class Playing:
    """How tasks are played out: the options of `wayfare bench --execute`, stored with a run. `n` candidates are routed."""

    n: int
    seeds: int = 20
    value_usd: float = VALUE_USD
    s_per_usd: float = S_PER_USD
    live: bool = False

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        """Read what the store has. Raises TypeError for a document of another version."""
        return cls(**document)


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds with the 95 % interval of that mean over seeds (normal)."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Interval:
        """From one value per seed. NaN if no value is finite."""
        known = values[np.isfinite(values)]
        if not len(known):
            return cls(float("nan"), float("nan"), float("nan"))
        half = 1.96 * float(known.std(ddof=1)) / np.sqrt(len(known)) if len(known) > 1 else 0.0
        return cls(float(known.mean()), float(known.mean() - half), float(known.mean() + half))


@dataclass(frozen=True, slots=True)
class ExecutionRun:
    """One router over all possible tasks. Means per task over seeds, or per solved sub-task as the name says."""

    router: str
    n: int
    success_rate: Interval
    usd_per_solved: Interval
    s_per_solved: Interval
    tokens_per_solved: Interval
    invalid_route_calls: Interval
    invalid_tool_calls: Interval
    invalid_calls: Interval
    value: Interval
    usd_per_task: Interval
    unpriced_tries: float

    def to_json(self) -> dict[str, object]:
        """What `bench --execute --json` adds to a run, with the intervals under `intervals`."""
        names = (
            "success_rate", "usd_per_solved", "s_per_solved", "tokens_per_solved", "invalid_route_calls",
            "invalid_tool_calls", "invalid_calls", "value", "usd_per_task",
        )  # fmt: skip
        found: dict[str, Interval] = {name: getattr(self, name) for name in names}
        finite = {name: one for name, one in found.items() if np.isfinite(one.mean)}
        return {
            **{name: (one.mean if name in finite else None) for name, one in found.items()},
            "unpriced_tries": self.unpriced_tries,
            "intervals": {name: [one.low, one.high] for name, one in finite.items()},
        }


@dataclass(frozen=True, slots=True)
class _Tried:
    """The result of one task's tries per seed, (seeds,): solved, USD, s, invalid tool calls; and what is the same for all seeds."""

    solved: NDArray[np.bool_]
    usd: Floats
    time_s: Floats
    invalid_tools: Floats
    invalid_route: float
    tokens: float
    unpriced: int


def execute(
    router: str,
    tasks: Sequence[Task],
    route: Callable[[Task], Decision],
    context: RoutingContext,
    *,
    seeds: int = 20,
    value_usd: float = VALUE_USD,
    s_per_usd: float,
    rounds: int = ROUNDS,
    live: LiveCall | None = None,
) -> ExecutionRun:
    """Play every possible task. `context` holds the declared figures that outcomes are drawn from.

    The draws belong to a task and its tools: two routers that try the same tool have the same luck. `live` calls a tool (its row)
    and returns whether it succeeded and its seconds, or None for a tool that may not be called, whose outcome is then drawn.
    Raises ValueError if no task has a right tool.
    """
    possible = [task for task in tasks if task.relevant]
    routed = [Routed.of(task, route(task)) for task in possible]
    return play(
        router,
        possible,
        routed,
        context,
        seeds=seeds,
        value_usd=value_usd,
        s_per_usd=s_per_usd,
        rounds=rounds,
        live=live,
    )


def play(
    router: str,
    tasks: Sequence[Task],
    routed: Sequence[Routed],
    context: RoutingContext,
    *,
    seeds: int,
    value_usd: float,
    s_per_usd: float,
    rounds: int = ROUNDS,
    live: LiveCall | None = None,
) -> ExecutionRun:
    """`execute` for possible tasks that are routed already, one `routed` for each."""
    played = [_played(task, one, context, seeds, rounds, live) for task, one in zip(tasks, routed, strict=True)]
    if not played:
        raise ValueError("no task names a tool that can do it")
    solved = np.stack([one.solved for one in played]).astype(np.float64)  # (tasks, seeds)
    usd = np.stack([one.usd for one in played])
    time_s = np.stack([one.time_s for one in played])
    invalid_tools = np.stack([one.invalid_tools for one in played])
    invalid_route = np.broadcast_to(np.array([[one.invalid_route] for one in played]), solved.shape)
    tokens = np.broadcast_to(np.array([[one.tokens] for one in played]), solved.shape)
    count = solved.sum(axis=0)
    per_solved = np.divide(1.0, count, out=np.full(seeds, np.nan), where=count > 0)
    return ExecutionRun(
        router=router,
        n=len(played),
        success_rate=Interval.of(solved.mean(axis=0)),
        usd_per_solved=Interval.of(usd.sum(axis=0) * per_solved),
        s_per_solved=Interval.of(time_s.sum(axis=0) * per_solved),
        tokens_per_solved=Interval.of(tokens.sum(axis=0) * per_solved),
        invalid_route_calls=Interval.of(invalid_route.mean(axis=0)),
        invalid_tool_calls=Interval.of(invalid_tools.mean(axis=0)),
        invalid_calls=Interval.of((invalid_route + invalid_tools).mean(axis=0)),
        value=Interval.of((value_usd * solved - usd - time_s / s_per_usd).mean(axis=0)),
        usd_per_task=Interval.of(usd.mean(axis=0)),
        unpriced_tries=float(sum(one.unpriced for one in played)) / len(played),
    )


def _played(
    task: Task, routed: Routed, context: RoutingContext, seeds: int, rounds: int, live: LiveCall | None
) -> _Tried:
    servers, tools = context.statistics.servers, context.statistics.tools
    tried = [context.tool_ids.index(name) for name in routed.candidates[:rounds]]
    solved = np.zeros(seeds, dtype=np.bool_)
    usd, time_s, invalid = np.zeros(seeds), np.zeros(seeds), np.zeros(seeds)
    connected: set[int] = set()
    unpriced = 0
    for row in tried:
        going = ~solved
        server = int(context.tool_server[row])
        price = float(tools.price_usd[row])
        if np.isnan(price):
            price, unpriced = 0.0, unpriced + 1
        usd += going * price
        measured = live(int(row)) if live is not None else None
        declared_s = float(tools.latency_s[row]) + (0.0 if server in connected else float(servers.conn_s[server]))
        time_s += going * (declared_s if measured is None else measured[1])
        connected.add(server)
        if context.tool_ids[row] in task.relevant and measured is not None:
            solved |= going & measured[0]
        elif context.tool_ids[row] in task.relevant:
            chance = float(tools.success[row]) * (1.0 - float(servers.post_accept_failure[server]))
            solved |= going & (_luck(task, context.tool_ids[row], seeds) < chance)
        else:
            invalid += going
    found = any(context.tool_ids[row] in task.relevant for row in tried)
    return _Tried(solved, usd, time_s, invalid, float(not found), float(routed.tokens), unpriced)


def _luck(task: Task, tool: str, seeds: int) -> Floats:
    """Uniform draws for one task and tool, one per seed, the same for every router."""
    return np.random.default_rng(zlib.crc32(f"{task.id}/{task.subtask}/{tool}".encode())).random(seeds)
