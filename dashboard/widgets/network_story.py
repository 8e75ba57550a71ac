"""From a simulation to the story that the page tells, and the events in it."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from core import units
from core.console import Console
from core.domain.outcome import OutcomeKind
from core.errors import StoreError
from core.lab.scenario import Step, World
from core.lab.scenario_measures import ScenarioRun
from core.lab.scenario_standing import Standings
from core.lab.scenario_story import changes, curves
from core.scenarios import planned
from dashboard.charts.network_base import Story
from dashboard.charts.network_live import Made
from dashboard.widgets.network_choice import Choice

MOST_CURVES = 8


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at a step. `subtask` is empty for a server's."""

    step: int
    who: str
    what: str
    subtask: str = ""


def tell(
    console: Console,
    chosen: Choice,
    progress: Callable[[int, int], None],
    cancel: threading.Event,
    made: Callable[[Made], None],
) -> Story:
    """Run both routers; the calls of a live run are given to `made`. Raises WayfareError, Cancelled."""
    world = console.scenarios.world(chosen.profile, catalog=chosen.catalog, steps=chosen.steps, seed=chosen.seed)
    plan = [
        entry
        for router, changed in zip(chosen.routers, chosen.knobs, strict=True)
        for entry in planned([router], [chosen.setting], dict(changed))
    ]
    standings = [Standings(entry.router, entry.parameters.values()) for entry in plan]

    def watch(place: int, step: Step) -> None:
        standings[place].add(step)
        if chosen.live and step.server >= 0:
            name, ok = world.scene.server_names[step.server], step.kind is OutcomeKind.OK
            made(Made(place, step.at - world.lead_in, name, step.network_s, ok, step.injected))

    runs = console.scenarios.run(world, plan, live=chosen.live, progress=progress, cancel=cancel, watch=watch)
    catalog = world.scene.catalog
    states = chosen.network.assign(catalog.servers, chosen.seed)
    right, names = _right(world), tuple(world.scene.server_names)
    return Story(
        titles=chosen.titles,
        runs=runs,
        standings=tuple(found.standing(world) for found in standings),
        changes=tuple(changes(world, run) for run in runs),
        curves=curves(world.traces, states, matter(runs, right, names)),
        subtasks=tuple(world.text(task) for task in world.tasks),
        right=right,
        servers=names,
        tools=tuple(tool.name for tool in catalog.tools),
        steps=chosen.steps,
        lead_in=world.lead_in,
        step_s=world.traces.step_s,
        live=chosen.live,
        unkept=_keep(console, world, runs),
    )


def _keep(console: Console, world: World, runs: tuple[ScenarioRun, ...]) -> str:
    """Store the runs; a sentence where that fails: the story is told all the same."""
    try:
        console.scenarios.keep(world, runs)
    except StoreError as error:
        return str(error)
    return ""


def matter(runs: tuple[ScenarioRun, ...], right: tuple[frozenset[int], ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """The servers to show: those that were called and the experts of what was asked, the most frequent first."""
    seen = Counter(int(server) for run in runs for server in run.server if server >= 0)
    seen.update(server for task in runs[0].task for server in right[int(task)])
    return tuple(names[row] for row, _ in seen.most_common(MOST_CURVES))


def events(story: Story) -> list[Event]:
    """What happened, in the order of time."""
    found: list[Event] = []
    for curve in story.curves:
        for begin, end in story.outages(curve):
            found.append(Event(int(begin), curve.server, "goes down"))
            if end < story.steps:
                lasted = units.seconds((end - begin) * story.step_s)
                found.append(Event(int(end), curve.server, f"is up again, after {lasted}"))
    for title, of_router in zip(story.titles, story.changes, strict=True):
        found += [
            Event(c.step, title, f"leaves {c.left} for {c.chosen}: {c.why}", story.subtasks[c.task]) for c in of_router
        ]
    return sorted(found, key=lambda event: event.step)


def _right(world: World) -> tuple[frozenset[int], ...]:
    """Rows of the servers that can do each task."""
    row = world.scene.catalog.server_row
    return tuple(
        frozenset(row[name] for tool in task.relevant if (name := tool.partition("::")[0]) in row)
        for task in world.tasks
    )
