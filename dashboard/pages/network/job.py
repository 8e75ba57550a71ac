"""A live run on the Network page, and the run of both modes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import StoreError
from core.domain.lab_runs import LIVE
from core.domain.outcome import OutcomeKind
from core.domain.params import Value
from core.domain.people import person
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import (
    RankingCollector,
    ScenarioRun,
    Setting,
    changes,
    curves,
)
from core.lab.scenarios.simulation import Step, World
from core.network.profiles import Profile
from dashboard.pages.network.charts.latency import RunTimeline
from dashboard.pages.network.charts.runs import LiveCall, calls_so_far
from dashboard.session import here, only
from dashboard.ui.chart import chart
from dashboard.ui.long_work import show_preparing
from dashboard.ui.text import escaped
from dashboard.ui.url_state import open_page, without_empty

SIDES = ("one", "other")
Changed = tuple[tuple[str, Value], ...]  # in the order of the parameters
LIVE_HELP = (
    "Every call is made over MCP. The network is injected below the protocol: delays, time-outs after 1 s, dropped connections. "
    "Latencies are measured. Results of virtual servers are simulated; of real servers only read-only tools are called."
)


@dataclass(frozen=True, slots=True)
class Choice:
    """The inputs of one run. Equal choices give equal results."""

    profile: str
    network: Profile  # its current definition, because a saved profile may change
    catalog: str
    routers: tuple[str, str]
    titles: tuple[str, str]
    knobs: tuple[Changed, Changed]
    setting: Setting
    seed: int
    steps: int
    live: bool = False
    inputs: str = ""  # the fingerprint of a user's catalog and its tasks, which may change

    def texts(self) -> dict[str, str]:
        return {
            "profile": self.profile, "catalog": self.catalog, "routers": ",".join(self.routers),
            **{side: urlencode(changed) for side, changed in zip(SIDES, self.knobs, strict=True)},
            "setting": self.setting.name, "seed": str(self.seed), "calls" if self.live else "steps": str(self.steps),
            "mode": LIVE if self.live else "",
        }  # fmt: skip


MOST_CURVES = 8


def run_both(app: App, choice: Choice, run: Job) -> RunTimeline:
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
        titles=choice.titles, runs=runs, rankings=tuple(collector.history(world) for collector in collectors),
        changes=tuple(changes(world, run) for run in runs),
        curves=curves(world.traces, states, servers_to_show(runs, experts, names)),
        subtasks=tuple(world.text(task) for task in world.tasks), experts=experts, servers=names,
        tools=tuple(tool.name for tool in catalog.tools), steps=choice.steps, lead_in=world.lead_in,
        step_s=world.traces.step_s, live=choice.live, not_stored=_store(app, world, runs),
    )  # fmt: skip


def servers_to_show(
    runs: tuple[ScenarioRun, ...], experts: tuple[frozenset[int], ...], names: tuple[str, ...]
) -> tuple[str, ...]:
    """Returns the servers that were called or can do the tasks, the most frequent first."""
    counts = Counter(int(server) for run in runs for server in run.server if server >= 0)
    counts.update(server for task in runs[0].task for server in experts[int(task)])
    return tuple(names[row] for row, _ in counts.most_common(MOST_CURVES))


def _store(app: App, world: World, runs: tuple[ScenarioRun, ...]) -> str:
    """Store the runs. Returns an error or "". The page shows unstored runs, too."""
    if why := person().refusal("tune"):
        return why
    try:
        app.scenarios.keep(world, runs)
    except StoreError as error:
        return str(error)
    return ""


def _experts(world: World) -> tuple[frozenset[int], ...]:
    row = world.context.catalog.server_row
    return tuple(
        frozenset(row[name] for tool in task.relevant if (name := tool.partition("::")[0]) in row)
        for task in world.tasks
    )


JOB, GO, LIVE_RUN, SIMULATION = "network:job", "network:go", "live network run", "simulated network run"
POLL_S, OTHER_S = 0.1, 2.0
STOPPING = "Stopping after the current step."
PREPARING = "Preparing the network and reading the queries."


def finished_timeline(app: App, choice: Choice) -> RunTimeline | None:
    """Returns the result for a choice, and shows progress until it is there. Returns None if the run was stopped, or if its calls
    are not requested yet.

    Raises WayfareError if the catalog or the planner fails.
    """
    offer = st.empty()  # drawn in every run, so that an accepted offer disappears at once
    run = _begun(app, choice) if choice.live and _just_asked_for(choice) else _found(app, choice)
    if run is None and choice.live:
        with offer.container():
            _offer_calls(app, choice)
        return None
    run = _begun(app, choice) if run is None else run
    st.session_state[JOB] = run
    try:
        if run.under_way:
            _show_progress(run)
        timeline: RunTimeline = run.future.result()
    except Stopped:
        with offer.container():
            _stopped(app, run)
        return None
    if choice.live:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(run.reported):,} calls were made.", width="content")
            _offer_calls(app, choice, again=True)
    return timeline


def forget(app: App) -> None:
    """Run the last choice again. For `on_click`."""
    run: Job | None = st.session_state.pop(JOB, None)
    if run is not None:
        app.background.forget(run)


def other_live_run(app: App, choice: Choice) -> None:
    """Show a line about a live run of another choice, with a button to it, if one is running."""
    place = st.empty()  # drawn in every run, so that the parts below keep their place
    run = app.background.under_way(LIVE_RUN)
    if run is not None and run.about != choice:
        with place.container():
            _other(run)


@st.fragment(run_every=OTHER_S)
def _other(run: Job) -> None:
    if not run.under_way:
        st.rerun()  # its calls can be made now
    choice: Choice = run.about
    stopping = run.stop.is_set()
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        st.container(width="stretch").markdown(
            f":material/network_ping: **A live run is {'being stopped' if stopping else 'under way'}**: "
            f"{escaped(' and '.join(choice.titles), 80)} over {escaped(choice.catalog, 60)}. The next live run can begin when it has ended."
        )
        if st.button("Show it", key="network:other", icon=":material/visibility:"):
            open_page("network", **choice.texts())
        st.button(
            "Stop it", key="network:other:stop", icon=":material/stop:", on_click=run.end, **only("tune", disabled=stopping, help=STOPPING if stopping else None),
        )  # fmt: skip


def _found(app: App, choice: Choice) -> Job | None:
    """Returns the run of this choice, or None. Stops this page's simulation of another choice, and finds a finished run after a reload."""
    if choice.live:
        return app.background.of(LIVE_RUN, choice)
    run: Job | None = st.session_state.get(JOB)
    if run is not None and run.about == choice:
        return run
    if run is not None and not run.about.live:
        run.stop.set()
    stored = app.background.of(SIMULATION, choice)
    return None if stored is None or stored.result is None else stored


def _begun(app: App, choice: Choice) -> Job:
    show_preparing(app, choice.catalog, decides=True)
    work = partial(run_both, app, choice)
    kind = LIVE_RUN if choice.live else SIMULATION
    title = f"{kind.capitalize()}: {' and '.join(choice.titles)} over {choice.catalog}"
    link = f"{here().partition('?')[0]}?{urlencode(without_empty(choice.texts()))}"
    run = app.background.start(kind, work, choice, title=title, link=link, several=not choice.live)
    if run.about != choice:
        st.rerun()  # another visitor's run has begun: the page shows it
    return run


def _just_asked_for(choice: Choice) -> bool:
    """Opening a link calls nothing."""
    return st.session_state.get(GO) == choice and st.session_state.pop(GO) is not None


def _offer_calls(app: App, choice: Choice, *, again: bool = False) -> None:
    """Draw the button that makes the calls if no live run is running, with an explanation unless it is to make them `again`."""
    if app.background.under_way(LIVE_RUN) is not None:
        return
    if not again:
        calls = choice.steps * len(choice.routers)
        st.info(f"Up to {calls:,} calls of at most one second. {LIVE_HELP}", icon=":material/network_ping:")
    st.button(
        "Make the calls again" if again else "Make the calls", key="network:make", **only("call"), icon=":material/play_arrow:",
        type="tertiary" if again else "primary", on_click=st.session_state.__setitem__, args=(GO, choice),
    )  # fmt: skip


def _stopped(app: App, run: Job) -> None:
    choice: Choice = run.about
    calls = f" {len(run.reported):,} calls were made. They are on the Activity page." if choice.live else ""
    st.info(f"The {'run' if choice.live else 'simulation'} was stopped.{calls}", icon=":material/stop_circle:")
    if choice.live:
        _offer_calls(app, choice)
    else:
        st.button("Run it again", key="network:again", icon=":material/replay:", on_click=forget, args=(app,))


def _show_progress(run: Job) -> None:
    place = st.empty()
    with place.container(horizontal=True, vertical_alignment="center"):
        bar = st.progress(0.0, PREPARING)
        stopping = run.stop.is_set()
        st.button("Stop", key="network:stop", icon=":material/stop:", on_click=run.end, **only("tune", disabled=stopping, help=STOPPING if stopping else None))  # fmt: skip
    calls = st.empty()
    count = 0
    while not run.wait(POLL_S):
        bar.progress(run.done / max(1, run.of), _progress_text(run) if run.of else PREPARING)
        if len(run.reported) > count:
            count = len(run.reported)
            figure = calls_so_far(run.reported[:count], run.about.titles, run.about.steps)
            with calls.container():  # a key is valid for one element of a run
                chart(figure, key=f"network:live:{count}")
    calls.empty()
    place.empty()


def _progress_text(run: Job) -> str:
    if run.stop.is_set():
        return STOPPING
    if not run.about.live:
        return f"Simulating: {run.done:,} of {run.of:,} decisions. You can leave this page meanwhile."
    call: LiveCall | None = run.reported[-1] if run.reported else None
    words = "" if call is None else f"{call.server}, {units.seconds(call.network_s)} ({call.injected})"
    last = f" Last call: {escaped(words, 120)}." if words else ""
    return f"Calling: {run.done:,} of {run.of:,} calls.{last} You can leave this page meanwhile."
