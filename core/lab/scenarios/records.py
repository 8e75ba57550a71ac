"""A scenario's world and its runs as the records that the store keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import datetime
from importlib.metadata import version

import numpy as np
from numpy.typing import NDArray

from core.domain.scenario_run import Conditions, KeptRun, RunSteps, fingerprint, run_id
from core.domain.task import Task
from core.lab.scenarios.measures import ScenarioRun
from core.lab.scenarios.simulation import World
from core.network.profiles import Profile
from core.routers.context import RoutingContext


def conditions_of(world: World, profile: Profile, source: str, *, seed: int, predicted: str) -> Conditions:
    """The conditions that a world's runs are stored under; `source` says where its tasks came from."""
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
    """A run as it is stored."""
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
    """The names that occur, and for each step its place among them.

    >>> _called(np.array([2, -1, 0, 2]), ["a", "b", "c"])
    (('a', 'c'), array([ 1, -1,  0,  1], dtype=int32))
    """
    found = np.unique(rows[rows >= 0])
    called: list[int] = found.tolist()
    places = np.where(rows >= 0, np.searchsorted(found, rows), -1).astype(np.int32)
    return tuple(names[row] for row in called), places


def _of_catalog(context: RoutingContext) -> str:
    """Of all that a scenario reads of a catalog: current prices are part of it, how a server is reached is not."""
    servers = [repr(replace(server, connection=None)) for server in context.catalog.servers]
    return fingerprint([servers, context.statistics.tools.price_usd.tolist()])


def _of_task(task: Task) -> list[object]:
    return [task.subtask, task.question, task.server_hint, sorted(task.relevant)]
