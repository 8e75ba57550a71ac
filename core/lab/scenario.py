"""NetMCP's experiment: a router, a network, one query a step. As a simulation nothing is called.

At step k the router sees the network's history up to and with step k and, if it learns, its statistics; the tool that it names
is called. In the simulation the latency is the trace's at step k, and what comes back is drawn from the catalog's figures; what
else may make the call gives what it measured.

    latency >= 1000 ms: an outage, y = 0, fail = 1      else a crash with pfail, else success with r, else the tool's own error
    call time = the tool's declared time + network latency, connection time = the server's declared one + network latency

Before the first step every server is watched for `lead_in` steps: SONAR's history and EHRR's statistics (8) start from the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision
from core.domain.events import OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.domain.params import Parameters
from core.domain.scenario_run import Conditions
from core.domain.task import Task
from core.lab.scenario_memory import Memory, RememberingMatcher, remembering
from core.network.traces import OUTAGE_S, Traces, TraceView
from core.planning.base import Planner
from core.routers import ROUTERS
from core.routers.base import Scene
from core.routers.parameters import LearningParameters
from core.stats.book import StatisticsBook, known

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday; only spans between moments matter
LEAD_IN = 30
STEPS = 2130  # with the lead-in the six hours of a trace


@dataclass(frozen=True, slots=True)
class Step:
    """One query: the moment's number, the decision, where it went (rows, -1: nowhere) and what became of it.

    `injected` says what an injected network did to a real call.
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
    """What all routers of a scenario share: a catalog's scene, the traces, the queries in their order, the luck.

    `order` (N,) are positions of tasks; `luck` (N, 2) uniform numbers, the same for every router. `conditions` name the world
    where its runs are to be kept.
    """

    scene: Scene
    traces: Traces
    tasks: Sequence[Task]
    order: NDArray[np.int64]
    luck: NDArray[np.float64]
    lead_in: int
    memory: Memory
    planners: Mapping[str, Planner]
    raw_questions: bool = False
    conditions: Conditions | None = None

    @classmethod
    def of(
        cls,
        scene: Scene,
        traces: Traces,
        tasks: Sequence[Task],
        planners: Mapping[str, Planner],
        *,
        seed: int = 0,
        lead_in: int = LEAD_IN,
        predicted: str = "",
        raw_questions: bool = False,
    ) -> World:
        """The world of one seed: as many steps as the traces have after the lead-in; all tasks come before one comes again."""
        steps = max(0, traces.steps - lead_in)
        rng = np.random.default_rng([seed, 2])
        rounds = -(-steps // max(1, len(tasks)))
        order = np.concatenate([rng.permutation(len(tasks)) for _ in range(rounds)] or [np.empty(0, dtype=np.int64)])
        memory = Memory()
        return cls(
            replace(scene, matcher=RememberingMatcher(scene.matcher, memory)),
            traces,
            tasks,
            order[:steps],
            rng.random((steps, 2)),
            lead_in,
            memory,
            {name: remembering(planner, memory, predicted) for name, planner in planners.items()},
            raw_questions,
        )

    def text(self, task: Task) -> str:
        """What is asked: the sub-task that a model writes, or the question as a person put it."""
        return (task.question if self.raw_questions else "") or task.subtask


class Answer(NamedTuple):
    """What a call gave. `network_s` is what the network took of it; `whole` says that the tool's own time is in there too."""

    kind: OutcomeKind
    network_s: float
    whole: bool = False
    injected: str = ""


Call = Callable[[World, int, int, int], Answer]  # world, step, row of the server, row of the tool


def walk(world: World, router: str, parameters: Parameters, call: Call | None = None) -> Iterator[Step]:
    """One router through the world, step by step. Without a `call` nothing is called: see `drawn`."""
    scene, traces, book = world.scene, world.traces, _book(world, parameters)
    view = TraceView(traces)
    scene = replace(scene, network=view)
    decider = ROUTERS[router](world.planners)
    for step, task_row in enumerate(map(int, world.order)):
        task = world.tasks[task_row]
        view.at = world.lead_in + step
        if book is not None:
            scene = replace(scene, statistics=book.snapshot(_moment(view.at, traces)))
        saved = world.memory.saved_ms
        decision = decider.route(world.text(task), scene, parameters, server_hint=task.server_hint)
        select_ms = decision.timings_ms["total"] + world.memory.saved_ms - saved
        if not decision.candidates:
            yield Step(view.at, task_row, decision, -1, -1, None, np.nan, 0.0, select_ms)
            continue
        tool = decision.candidates[0]
        server = int(scene.tool_server[tool])
        answer = (call or drawn)(world, step, server, tool)
        if book is not None:
            book.observe(_event(world, server, tool, answer, view.at))
        price = answer.kind.charged_usd(float(decision.tools.price_usd[tool])) or 0.0
        kind, network_s, _, injected = answer
        yield Step(view.at, task_row, decision, server, tool, kind, network_s, price, select_ms, injected)


def _book(world: World, parameters: Parameters) -> StatisticsBook | None:
    """The statistics of a router that learns, with the lead-in folded."""
    if not isinstance(parameters, LearningParameters):
        return None
    book = StatisticsBook(world.scene.catalog, priors=parameters.priors(), rates=parameters.rates())
    for at in range(world.lead_in):
        for server, network_s in enumerate(world.traces.latency_s[:, at].tolist()):
            kind = OutcomeKind.TIMEOUT if network_s >= OUTAGE_S else OutcomeKind.OK
            book.observe(_event(world, server, None, Answer(kind, network_s), at))
    return book


def drawn(world: World, step: int, server: int, tool: int) -> Answer:
    """The simulated call: the trace's latency, and an outcome from the catalog's figures and the step's luck."""
    network_s, luck = float(world.traces.latency_s[server, world.lead_in + step]), world.luck[step]
    if network_s >= OUTAGE_S:
        return Answer(OutcomeKind.TIMEOUT, network_s)
    catalog = world.scene.catalog
    failure, success = catalog.servers[server].post_accept_failure, catalog.tools[tool].success
    if known(failure) and luck[0] < (failure or 0.0):
        return Answer(OutcomeKind.CRASH, network_s)
    failed = known(success) and luck[1] >= (success or 0.0)
    return Answer(OutcomeKind.TOOL_ERROR if failed else OutcomeKind.OK, network_s)


def _event(world: World, server: int, tool: int | None, answer: Answer, at: int) -> OutcomeEvent:
    """The outcome as statistics take it. It lives in the scenario's own book: there it is what happened."""
    catalog = world.scene.catalog
    of_server = catalog.servers[server]
    called = catalog.tools[tool] if tool is not None else None
    declared_s = called.latency_s if called is not None else of_server.call_s
    kind, network_s, whole, _ = answer
    outage = network_s >= OUTAGE_S
    return OutcomeEvent(
        id="",
        at=_moment(at, world.traces),
        decision_id=None,
        catalog=catalog.name,
        server=of_server.name,
        tool=called.name if called is not None else "",
        kind=kind,
        latency_s=network_s + (0.0 if outage or whole else _or_zero(declared_s)),
        connect_s=None if outage else network_s + _or_zero(of_server.conn_s),
        attempts=1,
        price_usd=None,
        simulated=False,
        error="",
        origin="scenario",
    )


def _moment(at: int, traces: Traces) -> datetime:
    return START + timedelta(seconds=at * traces.step_s)


def _or_zero(value_s: float | None) -> float:
    return value_s if value_s is not None and known(value_s) else 0.0
