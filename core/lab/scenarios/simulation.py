"""NetMCP's experiment: a router, a network, one query a step. The simulation makes no calls.

At step k the router sees the network's history up to step k and, if it learns, its statistics. Its winner is called. In the
simulation the latency is the trace's at step k, and the outcome is drawn from the catalog's declared probabilities. A live run
gives a function that makes the call and returns its measurements.

    latency >= 1000 ms: an outage, y = 0, fail = 1      else a crash with pfail, else success with r, else the tool's own error
    call time = the tool's declared time + network latency, connection time = the server's declared one + network latency

Before the first step every server is watched for `lead_in` steps, so SONAR's history and EHRR's statistics (8) start equal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision, Fit
from core.domain.events import OutcomeEvent
from core.domain.lab_runs import Conditions
from core.domain.outcome import OutcomeKind
from core.domain.params import Parameters
from core.domain.statistics import Statistics
from core.domain.tasks import Task
from core.network.traces import OUTAGE_S, Traces, TraceView
from core.planning.base import Planner
from core.relevance.relevance_index import asked_text
from core.routers import ROUTERS
from core.routers.context import Match, RoutingContext
from core.routers.parameters import LearningParameters, MatchingParameters
from core.routers.projection import StatisticsProjection, known

# Caches of values that depend on the text alone: similarities, BM25 scores and a planner's replies
# They keep the time of each computation, so a decision's time is its time without a cache.

T = TypeVar("T")


class LookupCache:
    """Values by key. `saved_ms` is the computing time that hits have saved.

    >>> cache = LookupCache()
    >>> cache("a", lambda: 1), cache("a", lambda: 2)
    (1, 1)
    """

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.saved_ms = 0.0
        self._clock = clock
        self._values: dict[Hashable, tuple[Any, float]] = {}

    def __call__(self, key: Hashable, work: Callable[[], T]) -> T:
        entry = self._values.get(key)
        if entry is None:
            start = self._clock()
            value = work()
            self._values[key] = value, (self._clock() - start) * 1e3
            return value
        self.saved_ms += entry[1]
        return entry[0]


@dataclass(eq=False)
class Cached:
    """An object whose methods answer from a cache, by their arguments. `name` tells objects of one cache apart."""

    of: Any
    cache: LookupCache
    name: str = ""

    def __getattr__(self, attribute: str) -> Any:
        method = getattr(self.of, attribute)
        if not callable(method):
            return method

        def cached(*arguments: Any, **keywords: Any) -> Any:
            key = (attribute, self.name, *map(_key, arguments), tuple(keywords.items()))
            return self.cache(key, lambda: method(*arguments, **keywords))

        return cached


def _key(argument: Any) -> Hashable:
    """An argument as a part of a cache key. Lists and arrays have no hash."""
    if isinstance(argument, np.ndarray):
        return argument.tobytes()  # pyright: ignore[reportUnknownMemberType,reportUnknownVariableType]
    return tuple(cast("list[Any]", argument)) if isinstance(argument, list) else argument


class CachedMatcher(Cached):
    """A matcher with a cache. Embeddings have their own entries, so a text of several routers is embedded once."""

    def match(self, query: str, server_hint: str, parameters: MatchingParameters) -> Match:
        for text in (query, server_hint):
            if text:
                self.embed(text)
        key = ("match", query, server_hint, parameters)
        match = self.cache(key, lambda: self.of.match(query, server_hint, parameters))
        return Match(match.servers, match.tools)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        self.embed(asked_text(text, hint))
        fit, _ = self.cache(("fit", text, hint), lambda: self.of.fit(text, hint))
        return fit, 0.0


@dataclass(eq=False)
class CachedPlanner(Cached):
    """A planner with a cache. `predicted` replaces tool prediction unless empty."""

    predicted: str = ""

    def predict_tool(self, question: str) -> str:
        key = ("predict_tool", self.name, question)
        return self.predicted or self.cache(key, lambda: self.of.predict_tool(question))


# The world and its steps

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday; only differences of times matter
LEAD_IN = 30
STEPS = 2130  # with the lead-in the six hours of a trace


@dataclass(frozen=True, slots=True)
class Step:
    """One query: the position in the traces, the decision, its server and tool (rows, -1 without one) and its outcome.

    `injected` is the fault that an injected network gave a real call.
    """

    at: int
    task: int
    decision: Decision
    server: int
    tool: int
    kind: OutcomeKind | None
    network_s: float
    price_usd: float
    select_ms: float
    injected: str = ""


@dataclass(frozen=True)
class World:
    """The common world of a scenario's routers: a catalog's routing context, the traces, the queries in order, random draws.

    `order` (N,) are positions of tasks. `draws` (N, 2) are uniform numbers for all routers. `conditions` identify the world
    in the store.
    """

    context: RoutingContext
    traces: Traces
    tasks: Sequence[Task]
    order: NDArray[np.int64]
    draws: NDArray[np.float64]
    lead_in: int
    cache: LookupCache
    planners: Mapping[str, Planner]
    raw_questions: bool = False
    conditions: Conditions | None = None

    @classmethod
    def of(
        cls,
        context: RoutingContext,
        traces: Traces,
        tasks: Sequence[Task],
        planners: Mapping[str, Planner],
        *,
        seed: int = 0,
        lead_in: int = LEAD_IN,
        predicted: str = "",
        raw_questions: bool = False,
    ) -> World:
        """The world of one seed, with as many steps as the traces have after the lead-in. Every task comes once before a task repeats."""
        steps = max(0, traces.steps - lead_in)
        rng = np.random.default_rng([seed, 2])
        rounds = -(-steps // max(1, len(tasks)))
        order = np.concatenate([rng.permutation(len(tasks)) for _ in range(rounds)] or [np.empty(0, dtype=np.int64)])
        cache = LookupCache()
        return cls(
            replace(context, matcher=CachedMatcher(context.matcher, cache)),
            traces,
            tasks,
            order[:steps],
            rng.random((steps, 2)),
            lead_in,
            cache,
            {
                name: cast("Planner", CachedPlanner(planner, cache, planner.name, predicted))
                for name, planner in planners.items()
            },
            raw_questions,
        )

    def text(self, task: Task) -> str:
        """The query: the model's sub-task, or the person's question."""
        return (task.question if self.raw_questions else "") or task.subtask


class CallResult(NamedTuple):
    """The result of a call. `network_s` is the time in the network; with `with_tool_time` it includes the tool's own time."""

    kind: OutcomeKind
    network_s: float
    with_tool_time: bool = False
    injected: str = ""


Call = Callable[[World, int, int, int, float], CallResult]  # world, step, rows of server and tool, payment in USD


def walk(world: World, router: str, parameters: Parameters, call: Call | None = None) -> Iterator[Step]:
    """One router through the world, step by step. Without a `call` every call is simulated by `drawn`."""
    context, traces, projection = world.context, world.traces, _projection(world, parameters)
    view = TraceView(traces)
    context = replace(context, network=view)
    decider = ROUTERS[router](world.planners)
    for step, task_row in enumerate(map(int, world.order)):
        task = world.tasks[task_row]
        view.at = world.lead_in + step
        if projection is not None:
            learnt = projection.snapshot(_time_of(view.at, traces))
            context = replace(context, statistics=_priced(learnt, world.context.statistics))
        saved_ms = world.cache.saved_ms
        decision = decider.route(world.text(task), context, parameters, server_hint=task.server_hint)
        select_ms = decision.timings_ms["total"] + world.cache.saved_ms - saved_ms
        if not decision.candidates:
            yield Step(view.at, task_row, decision, -1, -1, None, np.nan, 0.0, select_ms)
            continue
        tool = decision.candidates[0]
        server = int(context.tool_server[tool])
        payment_usd = float(decision.tools.payment_usd[tool])
        result = call(world, step, server, tool, payment_usd) if call else drawn(world, step, server, tool)
        if projection is not None:
            projection.observe(_event(world, server, tool, result, view.at))
        price = result.kind.charged_usd(payment_usd)
        kind, network_s, _, injected = result
        yield Step(
            view.at, task_row, decision, server, tool, kind, network_s, np.nan if price is None else price, select_ms, injected
        )  # fmt: skip


def _projection(world: World, parameters: Parameters) -> StatisticsProjection | None:
    """The statistics of a learning router, with the lead-in folded."""
    if not isinstance(parameters, LearningParameters):
        return None
    projection = StatisticsProjection(world.context.catalog, priors=parameters.priors(), rates=parameters.rates())
    for position in range(world.lead_in):
        for server, network_s in enumerate(world.traces.latency_s[:, position].tolist()):
            kind = OutcomeKind.TIMEOUT if network_s >= OUTAGE_S else OutcomeKind.OK
            projection.observe(_event(world, server, None, CallResult(kind, network_s), position))
    return projection


def _priced(learnt: Statistics, listed: Statistics) -> Statistics:
    """Learnt statistics with the listed prices, which an operator may have edited."""
    servers = replace(learnt.servers, ask_usd=listed.servers.ask_usd, ask_source=listed.servers.ask_source)
    tools = replace(learnt.tools, price_usd=listed.tools.price_usd, price_source=listed.tools.price_source)
    return replace(learnt, servers=servers, tools=tools)


def drawn(world: World, step: int, server: int, tool: int) -> CallResult:
    """The simulated call: the trace's latency, and an outcome from the catalog's declared probabilities and the step's draws."""
    network_s, draws = float(world.traces.latency_s[server, world.lead_in + step]), world.draws[step]
    if network_s >= OUTAGE_S:
        return CallResult(OutcomeKind.TIMEOUT, network_s)
    catalog = world.context.catalog
    failure, success = catalog.servers[server].post_accept_failure, catalog.tools[tool].success
    if known(failure) and draws[0] < (failure or 0.0):
        return CallResult(OutcomeKind.CRASH, network_s)
    failed = known(success) and draws[1] >= (success or 0.0)
    return CallResult(OutcomeKind.TOOL_ERROR if failed else OutcomeKind.OK, network_s)


def _event(world: World, server: int, tool: int | None, result: CallResult, position: int) -> OutcomeEvent:
    """The outcome for the scenario's own statistics, which treat it as a real call."""
    catalog = world.context.catalog
    catalog_server = catalog.servers[server]
    catalog_tool = catalog.tools[tool] if tool is not None else None
    declared_s = catalog_tool.latency_s if catalog_tool is not None else catalog_server.call_s
    kind, network_s, with_tool_time, _ = result
    outage = network_s >= OUTAGE_S
    return OutcomeEvent(
        id="",
        at=_time_of(position, world.traces),
        decision_id=None,
        catalog=catalog.name,
        server=catalog_server.name,
        tool=catalog_tool.name if catalog_tool is not None else "",
        kind=kind,
        latency_s=network_s + (0.0 if outage or with_tool_time else _or_zero(declared_s)),
        connect_s=None if outage else network_s + _or_zero(catalog_server.conn_s),
        attempts=1,
        price_usd=None,
        simulated=False,
        error="",
        origin="scenario",
    )


def _time_of(position: int, traces: Traces) -> datetime:
    return START + timedelta(seconds=position * traces.step_s)


def _or_zero(value_s: float | None) -> float:
    return value_s if value_s is not None and known(value_s) else 0.0
