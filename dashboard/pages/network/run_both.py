"""Run both routers through the chosen network and lay out what happened over time. Nothing is drawn here."""

from __future__ import annotations

from collections import Counter

from core.app import App
from core.domain.outcome import OutcomeKind
from core.lab.scenarios.measures import RankingCollector, ScenarioRun
from core.lab.scenarios.records import changes, curves
from core.lab.scenarios.simulation import Step, World
from core.services.background_jobs import Job
from core.services.lab.scenarios import planned
from core.shared.errors import StoreError
from dashboard.pages.network.charts.live_calls import LiveCall
from dashboard.pages.network.choice import Choice
from dashboard.pages.network.run_timeline import RunTimeline

MOST_CURVES = 8


def run_both(app: App, choice: Choice, run: Job) -> RunTimeline:
    """Run both routers; each call of a live run is reported to the run as a `LiveCall`. Raises WayfareError, Stopped."""
    world = app.scenarios.world(choice.profile, catalog=choice.catalog, steps=choice.steps, seed=choice.seed)
    plan = [
        entry
        for router, changed in zip(choice.routers, choice.knobs, strict=True)
        for entry in planned([router], [choice.setting], dict(changed))
    ]
    collectors = [RankingCollector(entry.router, entry.parameters.values()) for entry in plan]

    def watch(router: int, step: Step) -> None:
        collectors[router].add(step)
        if choice.live and step.server >= 0:
            name, ok = world.context.server_names[step.server], step.kind is OutcomeKind.OK
            run.reported.append(LiveCall(router, step.at - world.lead_in, name, step.network_s, ok, step.injected))

    runs = app.scenarios.run(world, plan, live=choice.live, progress=run.report, cancel=run.stop, watch=watch)
    catalog = world.context.catalog
    states = choice.network.assign(catalog.servers, choice.seed)
    experts, names = _experts(world), tuple(world.context.server_names)
    return RunTimeline(
        titles=choice.titles,
        runs=runs,
        rankings=tuple(collector.history(world) for collector in collectors),
        changes=tuple(changes(world, run) for run in runs),
        curves=curves(world.traces, states, servers_to_show(runs, experts, names)),
        subtasks=tuple(world.text(task) for task in world.tasks),
        experts=experts,
        servers=names,
        tools=tuple(tool.name for tool in catalog.tools),
        steps=choice.steps,
        lead_in=world.lead_in,
        step_s=world.traces.step_s,
        live=choice.live,
        not_stored=_store(app, world, runs),
    )


def servers_to_show(
    runs: tuple[ScenarioRun, ...], experts: tuple[frozenset[int], ...], names: tuple[str, ...]
) -> tuple[str, ...]:
    """The servers that were called and those that can do the tasks, the most frequent first."""
    seen = Counter(int(server) for run in runs for server in run.server if server >= 0)
    seen.update(server for task in runs[0].task for server in experts[int(task)])
    return tuple(names[row] for row, _ in seen.most_common(MOST_CURVES))


def _store(app: App, world: World, runs: tuple[ScenarioRun, ...]) -> str:
    """Store the runs; a sentence where that fails: the page shows them all the same."""
    try:
        app.scenarios.keep(world, runs)
    except StoreError as error:
        return str(error)
    return ""


def _experts(world: World) -> tuple[frozenset[int], ...]:
    """Rows of the servers that can do each task."""
    row = world.context.catalog.server_row
    return tuple(
        frozenset(row[name] for tool in task.relevant if (name := tool.partition("::")[0]) in row)
        for task in world.tasks
    )
