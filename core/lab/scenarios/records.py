"""A scenario over time as plain data, for the Network page, and its runs as the records of the store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from core.domain import units
from core.domain.lab_runs import Conditions, KeptRun, RunSteps, fingerprint, run_id
from core.domain.tasks import Task
from core.lab.scenarios.measures import ScenarioRun
from core.lab.scenarios.simulation import World
from core.network.profiles import Profile
from core.network.states import State
from core.network.traces import OUTAGE_S, Traces
from core.routers.context import RoutingContext

# Latency curves, changes of server with their reason, and the decision at a step


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
    """A router chooses another server for a sub-task than before, and why in a sentence. `time_s` counts from the start."""

    router: str
    step: int
    time_s: float
    task: int
    left: str
    chosen: str
    why: str


def curves(traces: Traces, states: Mapping[str, Sequence[State]], servers: Sequence[str] = ()) -> tuple[Curve, ...]:
    """The curves of the named servers, of all without names."""
    time_s = np.arange(traces.steps, dtype=np.float64) * traces.step_s
    return tuple(
        Curve(name, tuple(s.title for s in states[name]), time_s, traces.latency_s[row], _spans(traces, row))
        for row, name in enumerate(traces.servers)
        if not servers or name in servers
    )


def changes(world: World, run: ScenarioRun) -> tuple[Change, ...]:
    """When the router chose another server for a sub-task than before, in order of time."""
    names = world.context.server_names
    last: dict[int, int] = {}
    failed: set[int] = set()
    found: list[Change] = []
    rows = zip(map(int, run.at), map(int, run.task), map(int, run.server), map(bool, run.ok), strict=True)
    for step, (at, task, server, ok) in enumerate(rows):
        before = last.get(task, server)
        if server != before and min(server, before) >= 0:
            why = _why(world, before, server, at, before in failed)
            found.append(Change(run.router, step, at * world.traces.step_s, task, names[before], names[server], why))
        last[task] = server
        (failed.discard if ok else failed.add)(server)
    return tuple(found)


def _why(world: World, left: int, chosen: int, at: int, failed: bool) -> str:
    names = world.context.server_names
    then, now = (float(world.traces.latency_s[row, at]) for row in (left, chosen))
    if then >= OUTAGE_S:
        return f"{names[left]} is down."
    if failed:
        return f"The last call to {names[left]} failed."
    return f"{names[left]} is at {units.seconds(then)}, {names[chosen]} at {units.seconds(now)}."


def _spans(traces: Traces, row: int) -> tuple[tuple[float, float], ...]:
    down = np.concatenate([[False], traces.outage[row], [False]])
    edges = np.flatnonzero(np.diff(down.astype(np.int8))).reshape(-1, 2)
    return tuple((float(begin * traces.step_s), float(end * traces.step_s)) for begin, end in edges)


# Records of the store


def conditions_of(world: World, profile: Profile, source: str, *, seed: int, predicted: str) -> Conditions:
    """The conditions that a world's runs are stored under. `source` says where its tasks came from."""
    return Conditions(
        profile=profile.name,
        profile_fingerprint=fingerprint(profile.to_json()),
        catalog=world.context.catalog.name,
        catalog_fingerprint=_of_catalog(world.context),
        tasks=source,
        tasks_fingerprint=fingerprint([_of_task(task) for task in world.tasks]),
        seed=seed,
        steps=len(world.order),
        lead_in=world.lead_in,
        predicted=predicted,
        raw_questions=world.raw_questions,
    )


def storable(
    conditions: Conditions, context: RoutingContext, run: ScenarioRun, at: datetime
) -> tuple[KeptRun, RunSteps]:
    """A run as the store keeps it."""
    parameters = json.dumps(run.parameters, sort_keys=True)
    row = KeptRun(
        **asdict(conditions),
        mode=run.mode,
        router=run.router,
        setting=run.setting,
        parameters_json=parameters,
        id=run_id(conditions, run.mode, run.router, run.setting, parameters),
        at=at,
        ssr=run.ssr,
        ee=run.ee,
        al_ms=run.al_ms,
        sl_ms=run.sl_ms,
        fr=run.fr,
        cost_usd=run.cost_usd,
        utility=run.utility,
        version=version("wayfare"),
    )
    servers, server = _called(run.server, context.server_names)
    tools, tool = _called(run.tool, [tool.name for tool in context.catalog.tools])
    return row, RunSteps(servers, tools, run.task.astype(np.int32), server, tool, run.network_s, run.price_usd, run.ok)


def _called(rows: NDArray[np.int64], names: Sequence[str]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """The names that occur, and for each step its position among them.

    >>> _called(np.array([2, -1, 0, 2]), ["a", "b", "c"])
    (('a', 'c'), array([ 1, -1,  0,  1], dtype=int32))
    """
    found = np.unique(rows[rows >= 0])
    called: list[int] = found.tolist()
    places = np.where(rows >= 0, np.searchsorted(found, rows), -1).astype(np.int32)
    return tuple(names[row] for row in called), places


def _of_catalog(context: RoutingContext) -> str:
    """The fingerprint of what a scenario reads of a catalog: current prices belong to it, connections do not."""
    servers = [repr(replace(server, connection=None)) for server in context.catalog.servers]
    return fingerprint([servers, context.statistics.tools.price_usd.tolist()])


def _of_task(task: Task) -> list[object]:
    return [task.subtask, task.question, task.server_hint, sorted(task.relevant)]
