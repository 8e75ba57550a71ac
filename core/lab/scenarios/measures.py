"""NetMCP's measures over a run (section III-A), its cost, and its rankings over time. A live run has measured latencies.

    SSR = share of queries that went to a server with a right tool              EE = mean expertise of the chosen servers
    AL  = mean network latency of the calls, ms     SL = mean time of a selection, ms     FR = share of calls at >= 1000 ms

The expertise of a server is one figure for a whole scenario, for all s and t, because EE / SSR is constant in Tables II and III. Two of
the paper's servers have together more than 1, so it is not a share of one softmax (5). The paper prints no formula. Ours is:

    E_i = mean over queries of [BM25 of the server's best right tool / BM25 of the best tool]     0 for a query without a right tool
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.domain import units
from core.domain.lab_runs import LIVE, SIMULATED
from core.domain.outcome import OutcomeKind
from core.domain.params import Value
from core.domain.tasks import Task
from core.lab.scenarios.simulation import Step, World
from core.network.states import State
from core.network.traces import OUTAGE_S, Traces, TraceView
from core.routers import ROUTERS
from core.routers.context import Query
from core.routers.ranked_result import Floats
from core.routers.sonar import Sonar, SonarParameters, network_scores


@dataclass(frozen=True, slots=True)
class Setting:
    """s servers and t tools are kept, as in s3t6.

    >>> Setting(3, 6).name
    's3t6'
    """

    s: int
    t: int

    @property
    def name(self) -> str:
        return f"s{self.s}t{self.t}"


SETTINGS = (Setting(3, 6), Setting(4, 8), Setting(5, 10), Setting(6, 12))


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """One router under one setting. Columns are by step, (N,): rows of servers and tools (-1 without one), s, USD.

    `price_usd` is NaN for a call without a price, `cost_usd` the sum of the other prices, `utility` the mean of the chosen tools, None without any. `injected` (N,)
    is the fault that the network gave each call of a live run.
    """

    router: str
    setting: str
    parameters: dict[str, Value]
    ssr: float
    ee: float
    al_ms: float
    sl_ms: float
    fr: float
    cost_usd: float
    utility: float | None
    at: NDArray[np.int64]
    task: NDArray[np.int64]
    server: NDArray[np.int64]
    tool: NDArray[np.int64]
    network_s: Floats
    price_usd: Floats
    ok: NDArray[np.bool_]
    injected: tuple[str, ...] = ()
    mode: str = SIMULATED

    @property
    def spent(self) -> str:
        return units.spent(self.cost_usd, int((self.server >= 0).sum()), int(np.isnan(self.price_usd).sum()))

    def to_json(self) -> dict[str, object]:
        """One entry of `wayfare scenario --json`. Cost and utility are there if the router has utilities, mode if the run is live."""
        measures: dict[str, object] = {
            "router": self.router,
            "setting": self.setting,
            "ssr": round(self.ssr, 4),
            "ee": round(self.ee, 4),
            "al_ms": round(self.al_ms, 3),
            "sl_ms": round(self.sl_ms, 3),
            "fr": round(self.fr, 4),
        }
        if self.mode == LIVE:
            measures["mode"] = LIVE
        if self.utility is None:
            return measures
        return measures | {"cost_usd": round(self.cost_usd, 6), "utility": round(self.utility, 4)}


def measured(
    world: World, router: str, setting: Setting, parameters: dict[str, Value], steps: Iterable[Step]
) -> ScenarioRun:
    judge = Judge(world)
    rows: list[tuple[Any, ...]] = []  # only the needed part of a step, because a decision holds every tool
    right, skill, select_ms = 0, 0.0, 0.0
    utilities: list[float] = []
    for step in steps:
        ok = step.kind is OutcomeKind.OK
        rows.append((step.at, step.task, step.server, step.tool, step.network_s, step.price_usd, ok, step.injected))
        select_ms += step.select_ms
        if step.tool >= 0:
            right += step.server in judge.right[step.task]
            skill += judge.expertise[step.server]
            if step.decision.economic:
                utilities.append(float(step.decision.tools.utility[step.tool]))
    count = max(1, len(rows))
    positions, task, server, tool, network, price, fine, injected = zip(*rows, strict=True) if rows else ((),) * 8
    network_s = np.array(network, dtype=np.float64)
    called_s = network_s[~np.isnan(network_s)]
    return ScenarioRun(
        router=router,
        setting=setting.name,
        parameters=parameters,
        ssr=right / count,
        ee=skill / count,
        al_ms=float(called_s.mean() * 1e3) if len(called_s) else 0.0,
        sl_ms=select_ms / count,
        fr=float(np.mean(called_s >= OUTAGE_S)) if len(called_s) else 0.0,
        cost_usd=float(np.nansum(np.array(price, dtype=np.float64))),
        utility=statistics.fmean(utilities) if utilities else None,
        at=np.array(positions, dtype=np.int64),
        task=np.array(task, dtype=np.int64),
        server=np.array(server, dtype=np.int64),
        tool=np.array(tool, dtype=np.int64),
        network_s=network_s,
        price_usd=np.array(price, dtype=np.float64),
        ok=np.array(fine, dtype=np.bool_),
        injected=injected,
    )


class Judge:
    """The servers with a right tool for each task, and the expertise (S,) of each server in [0, 1]."""

    def __init__(self, world: World) -> None:
        row, asked = world.context.catalog.server_row, sorted({*map(int, world.order)})
        names = {task: {tool.partition("::")[0] for tool in world.tasks[task].relevant} for task in asked}
        self.right = {task: frozenset(row[name] for name in names[task] if name in row) for task in asked}
        skills = [self._skill(world, world.tasks[task]) for task in asked]
        self.expertise: Floats = np.mean(skills, axis=0) if skills else np.zeros(len(world.context.server_names))

    def _skill(self, world: World, asked_task: Task) -> Floats:
        context, text, planner = world.context, world.text(asked_task), world.planners["rules"]
        scores = Query(text, "", context.matcher, planner).bm25("tools", planner.predict_tool(text))
        right = np.isin(context.tool_ids, asked_task.relevant)
        skill = np.zeros(len(context.server_names))
        np.maximum.at(skill, context.tool_server[right], scores[right])
        return skill / max(scores.max(initial=0.0), np.finfo(float).tiny)


def parameters_under(setting: Setting, knobs: Sequence[str]) -> dict[str, int]:
    """A setting as a router's own parameters: s and t, and EHRR's short-list k for s."""
    if "s" in knobs and "t" in knobs:
        return {"s": setting.s, "t": setting.t}
    return {"k": setting.s} if "alpha_s" in knobs else {}


# Rankings over time: the best candidates of each step, and the score of each server that changes
# EHRR and similar routers have a chance that a call succeeds, (1 - pfail) r~, which statistics change. SONAR has the network score N of
# NetMCP (7), which latencies change. Other routers have no such score.

BEST = 3
CHANCE = "chance that a call succeeds, (1 - pfail) · r~"
NETWORK = "network score N"


@dataclass(frozen=True, slots=True)
class RankingHistory:
    """N steps: rows of the best tools (N, 3), -1 for missing tools, and their scores, NaN for missing tools.

    `score` names the score of tools, `server_score` the servers' scores (N, S) in `server_scores`; "" and None if the router reads no
    state of servers.
    """

    ranked: NDArray[np.int64]
    scores: NDArray[np.float64]
    score: str
    server_score: str
    server_scores: NDArray[np.float32] | None


@dataclass(eq=False)
class RankingCollector:
    """Collects the rankings of one run, step by step."""

    router: str
    parameters: Mapping[str, Value]

    def __post_init__(self) -> None:
        self._ranked: list[list[int]] = []
        self._scores: list[list[float]] = []
        self._chance: list[NDArray[np.float32]] = []

    def add(self, step: Step) -> None:
        decision = step.decision
        best = decision.candidates[:BEST]
        none = BEST - len(best)
        self._ranked.append([*best, *[-1] * none])
        self._scores.append([*decision.tools.utility[list(best)].tolist(), *[np.nan] * none])
        if decision.economic:
            servers = decision.servers
            self._chance.append(((1.0 - servers.post_accept_failure) * servers.success).astype(np.float32))

    def history(self, world: World) -> RankingHistory:
        server_score, server_scores = "", None
        if self._chance:
            server_score, server_scores = CHANCE, np.array(self._chance, dtype=np.float32)
        elif ROUTERS[self.router] is Sonar:
            server_score, server_scores = NETWORK, self._network(world)
        return RankingHistory(
            np.array(self._ranked, dtype=np.int64).reshape(-1, BEST),
            np.array(self._scores, dtype=np.float64).reshape(-1, BEST),
            ROUTERS[self.router].score,
            server_score,
            server_scores,
        )

    def _network(self, world: World) -> NDArray[np.float32]:
        parameters = SonarParameters().replaced(self.parameters)
        view, scores = TraceView(world.traces), list[Floats]()
        context = replace(world.context, network=view)
        for step in range(len(self._ranked)):
            view.at = world.lead_in + step
            scores.append(network_scores(context, parameters)[0])
        return np.array(scores, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Curve:
    """One server over time, (N,) in s. `outages` are spans in s, from the first step that is down to the first that is up."""

    server: str
    states: tuple[str, ...]
    time_s: NDArray[np.float64]
    latency_s: NDArray[np.float64]
    outages: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A router chooses another server for a sub-task than before. `why` is a sentence. `time_s` counts from the start."""

    router: str
    step: int
    time_s: float
    task: int
    left: str
    chosen: str
    why: str


def curves(traces: Traces, states: Mapping[str, Sequence[State]], servers: Sequence[str] = ()) -> tuple[Curve, ...]:
    """The curves of the named servers, or of all servers without names."""
    time_s = np.arange(traces.steps, dtype=np.float64) * traces.step_s
    return tuple(
        Curve(name, tuple(s.title for s in states[name]), time_s, traces.latency_s[row], _spans(traces, row))
        for row, name in enumerate(traces.servers)
        if not servers or name in servers
    )


def changes(world: World, run: ScenarioRun) -> tuple[Change, ...]:
    """The times when the router chose another server for a sub-task than before, in order."""
    names = world.context.server_names
    last: dict[int, int] = {}
    failed: set[int] = set()
    result: list[Change] = []
    rows = zip(map(int, run.at), map(int, run.task), map(int, run.server), map(bool, run.ok), strict=True)
    for step, (place, task, server, ok) in enumerate(rows):
        old = last.get(task, server)
        if server != old and min(server, old) >= 0:
            why = _why(world, old, server, place, old in failed)
            result.append(Change(run.router, step, place * world.traces.step_s, task, names[old], names[server], why))
        last[task] = server
        (failed.discard if ok else failed.add)(server)
    return tuple(result)


def _why(world: World, old: int, new: int, position: int, failed: bool) -> str:
    names = world.context.server_names
    old_s, new_s = (float(world.traces.latency_s[row, position]) for row in (old, new))
    if old_s >= OUTAGE_S:
        return f"{names[old]} is down."
    if failed:
        return f"The last call to {names[old]} failed."
    return f"{names[old]} is at {units.seconds(old_s)}, {names[new]} at {units.seconds(new_s)}."


def _spans(traces: Traces, row: int) -> tuple[tuple[float, float], ...]:
    down = np.concatenate([[False], traces.outage[row], [False]])
    edges = np.flatnonzero(np.diff(down.astype(np.int8))).reshape(-1, 2)
    return tuple((float(begin * traces.step_s), float(end * traces.step_s)) for begin, end in edges)
