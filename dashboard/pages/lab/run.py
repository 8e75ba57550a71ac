"""A run in the Lab: its form and its background job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.lab_runs import LabRun
from core.domain.params import Parameters, Value
from core.domain.people import require
from core.domain.tasks import Task
from core.lab.execution import ABSENT, ROUNDS, Playing
from core.lab.lab import RANKED
from core.lab.lab_runs import Experiment
from core.lab.stored_runs import NOT_FIRST, NOT_REFUSED, UNKNOWN
from core.planning.base import Watch
from core.routers.presets import DEFAULT_PRESET, PRESETS, preset_of
from dashboard.page_host import DeltaGenerator
from dashboard.session import job_about, known_job, only, start_job
from dashboard.ui.long_work import job_progress, share_of
from dashboard.ui.presets import read_variant
from dashboard.ui.text import DROPPED, escaped
from dashboard.ui.url_state import UrlState, variant_text


def choose_some(
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: Sequence[str],
    *,
    start: Sequence[str] = (),
    show: Callable[[str], str] = str,
    most: int | None = None,
    note: str | None = None,
) -> tuple[str, ...]:
    """Draw a choice of several options. The link has them separated by commas. Unknown options are left out."""
    key = state.key(name)
    choices: Sequence[str] = st.session_state.get(key, linked[name].split(",") if linked.get(name) else start)
    st.session_state[key] = [option for option in choices if option in options][:most]
    return tuple(st.multiselect(label, options, key=key, format_func=show, max_selections=most, help=note))


NAMED = 3

MEASURE_WORDS = {
    "mrr": ("RR", "1 / rank of the first right tool"),
    "hit@1": ("Success@1", "a right tool is first"),
    "hit@3": ("Success@3", "a right tool is among the first 3"),
    "recall@3": ("R@3", "share of the right tools among the first 3"),
    "recall@10": ("R@10", "share of the right tools among the first 10"),
    "ndcg@10": ("nDCG@10", "right tools early, by their grades"),
}

STAGES = {
    **{str(drop): words for drop, words in DROPPED.items()}, ABSENT: "not in the catalog",
    NOT_FIRST: "behind another candidate", NOT_REFUSED: "not refused", UNKNOWN: "not stored with the run",
}  # fmt: skip


def measure_name(key: str) -> str:
    """Returns the name of a measure in ir_measures, and its meaning.

    >>> measure_name("hit@1")
    'Success@1: a right tool is first'
    """
    return ": ".join(MEASURE_WORDS[key])


def run_names(app: App, runs: Sequence[LabRun]) -> dict[str, str]:
    """Returns a name for each run by its id: the router, a preset, changed parameters, and the id if two names are equal."""
    titles = {router.id: router.title for router in app.routing.routers()}
    names = {run.id: _name(app, run, titles.get(run.router, run.router)) for run in runs}
    count = Counter(names.values())
    return {id_: name if count[name] == 1 else f"{name} · {id_[:6]}" for id_, name in names.items()}


def _name(app: App, run: LabRun, title: str) -> str:
    preset = (
        [] if run.preset == DEFAULT_PRESET else [PRESETS[run.preset].title if run.preset in PRESETS else run.preset]
    )
    try:
        start = app.routing.parameters(run.router, {"n": RANKED}, preset=run.preset).values()
    except WayfareError:  # a router or preset that no longer exists
        return " · ".join([title, *preset])
    changes = [f"{name} = {value}" for name, value in run.parameters.items() if start.get(name) != value]
    more = [f"{len(changes) - NAMED} more"] if len(changes) > NAMED else []
    return " · ".join([title, *preset, *([", ".join(changes[:NAMED] + more)] if changes else [])])


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """Runs over the same tasks, with their names by id, and the URL state of the page."""

    app: App
    state: UrlState
    linked: Mapping[str, str]
    runs: Sequence[LabRun]
    names: Mapping[str, str]
    tasks: Sequence[Task]
    present: str = ""
    """The newest run with the router and the knobs of the sidebar, which is the baseline; "" without such a run."""


def changed(app: App, run: LabRun) -> dict[str, Value] | None:
    try:
        return app.routing.parameters(run.router, run.parameters).changed()
    except WayfareError:
        return None


def route_link(run: LabRun, values: Mapping[str, Value] | None, task: Task) -> str:
    """Returns the address of the decision of a run, or "" if its parameters no longer exist."""
    if values is None:
        return ""
    return f"./?{urlencode({**_texts_of(run, task), 'router': run.router, **values})}"


def compare_link(runs: Mapping[LabRun, Mapping[str, Value] | None], task: Task) -> str:
    """Returns the address that compares the decisions of several runs."""
    variants = [variant_text(run.router, values) for run, values in runs.items() if values is not None]
    return f"./compare?{urlencode({**_texts_of(next(iter(runs)), task), 'with': ','.join(variants)})}"


def _texts_of(run: LabRun, task: Task) -> dict[str, str]:
    texts = {"q": task.subtask, "hint": task.server_hint if run.hints else "", "catalog": run.catalog}
    return {name: text for name, text in texts.items() if text}


JOB = "lab:job"
RUN, SWEEP, CHANGE = "run", "sweep", "change"


def start_button(
    place: DeltaGenerator, label: str, start: Callable[[], None], *, disabled: bool = False, **looks: Any
) -> None:
    """Draw a button that starts work with the current choices. A callback would use the choices of the last drawing, which are
    outdated if a choice and the click come close together. The button is disabled while other work runs."""
    if busy():
        looks["help"] = "Other work is running. Stop it, or wait for its end."
    if place.button(label, **only("tune", disabled=disabled or busy(), **looks)):
        start()
        st.rerun()  # the panel above the button shows the progress


def begin(kind: str, title: str, of: int, work: Callable[[Job], object], about: object = None) -> None:
    """Start work in the background. Does nothing while other work runs."""
    require("tune")
    if not busy():
        start_job(JOB, work, (kind, about), title=title, of=max(1, of))


def busy() -> bool:
    """Tells whether work of this operator runs."""
    job = known_job(JOB)
    return job is not None and job.under_way


def result(kind: str, about: object = None) -> Any:
    """Returns the result of the newest work of this kind with these inputs, after a reload too. Returns None if there is none."""
    job = job_about(JOB, (kind, about))
    return None if job is None else job.result


def taken(kind: str) -> Any:
    """Returns the result that is stored under its id once, and forgets the work."""
    job = known_job(JOB)
    if job is None or job.about != (kind, None) or job.result is None:
        return None
    return st.session_state.pop(JOB).result


def job_panel() -> None:
    job = known_job(JOB)
    if job is None:
        return
    if job.under_way:
        job_progress(job, _told, stop="lab:stop")
    elif isinstance(job.error, Stopped):
        st.info("Stopped. The same button goes on with the rest.", icon=":material/stop_circle:")
    elif isinstance(job.error, WayfareError):
        st.error(escaped(str(job.error), 600), icon=":material/error:")
    elif job.error is not None:
        st.error(f"The work ended unexpectedly ({type(job.error).__name__}). Start it again.", icon=":material/error:")


def _told(job: Job) -> tuple[float, str]:
    model = "".join(f"; {watch.words()}" for watch in job.reported if isinstance(watch, Watch) and watch.words())
    words = f"{escaped(job.title, 200)}: {job.done:,} of {job.of:,}{units.time_left(job.left_s)}{model}. You can leave this page meanwhile."
    return share_of(job), words


BY_N = "n"


@dataclass(frozen=True, slots=True)
class TaskSet:
    """Labelled tasks with their name in the URL and their source."""

    option: str
    source: str
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The router of the sidebar with the parameters of its knobs, over tasks of a catalog."""

    catalog: str
    tasks: TaskSet
    router: str
    parameters: Parameters

    @property
    def preset(self) -> str:
        """The preset of the knobs, else the default preset."""
        return preset_of(self.parameters) or DEFAULT_PRESET

    def experiment(self, router: str, parameters: Parameters, *, play: bool = False) -> Experiment:
        """The measurement of a router over the tasks. Played out, it has the depth of an ordinary decision, on which tokens depend."""
        depth = next(knob.default for knob in parameters.knobs() if knob.name == BY_N)
        return Experiment(
            self.tasks.tasks, source=self.tasks.source, catalog=self.catalog, router=router, parameters=parameters,
            preset=preset_of(parameters) or DEFAULT_PRESET, playing=Playing(int(depth or 0)) if play else None,
        )  # fmt: skip


def run_form(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    titles = {router.id: router.title for router in app.routing.routers()}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    others = {router: title for router, title in titles.items() if router != chosen.router}
    others |= _beside(app, chosen, linked)
    with row:
        also = choose_some(
            state, linked, "also", f"Measure {titles[chosen.router]} with these knobs, and also",
            list(others), show=others.__getitem__,
            note="The other routers use the preset of the sidebar, or Balanced if the knobs are set by hand.",
        )  # fmt: skip
        play = st.toggle(
            "Play the tasks out", key="lab:play",
            help=f"Also simulates solving: at most {ROUNDS} candidates are tried in order for each sub-task, and a right one succeeds with its "
            "declared reliability, over 20 seeds. A task of several steps is split into sub-tasks and solved if all steps are. Nothing is "
            "called.",
        )  # fmt: skip
    start_button(
        row, "Run", partial(_start, app, chosen, also, play), key="lab:run", icon=":material/play_arrow:",
        type="primary",
    )  # fmt: skip
    _estimate(app, chosen, _asked(app, chosen, also, play), titles)
    return {"also": ",".join(also)}


def _beside(app: App, chosen: Chosen, linked: Mapping[str, str]) -> dict[str, str]:
    """Returns the names of further settings of the chosen router to measure: the defaults, and the settings of a link."""
    names, depth = dict[str, str](), {BY_N: chosen.parameters.values()[BY_N]}
    for text in (chosen.router, *linked.get("also", "").split(",")):
        with suppress(WayfareError):
            variant = read_variant(app, text)
            if variant.router == chosen.router and variant.parameters.replaced(depth) != chosen.parameters:
                names[text] = variant.name if variant.parameters.changed() else f"{variant.title} at the defaults"
    return names


def example_button(app: App, chosen: Chosen, routers: Sequence[str]) -> None:
    also = tuple(router for router in routers if router != chosen.router)
    start_button(
        st.container(), "Run the routers of the example over these tasks", partial(_start, app, chosen, also, True),
        key="lab:run-example", icon=":material/play_arrow:",
    )  # fmt: skip


def _estimate(app: App, chosen: Chosen, experiments: Sequence[Experiment], titles: Mapping[str, str]) -> None:
    count, routers = len(chosen.tasks.tasks), [experiment.router for experiment in experiments]
    expected = {
        experiment.router: app.lab_runs.expected_s(chosen.catalog, experiment.router, experiment.decisions)
        for experiment in experiments
    }
    times = [value for value in expected.values() if value is not None]
    unknown = [titles[router] for router, value in expected.items() if value is None]
    words = [f"{count:,} task{'s' if count != 1 else ''}, {len(routers)} router{'s' if len(routers) > 1 else ''}"]
    if times:
        words.append(f"about {max(1, round(sum(times))):,} s as in the last runs")
    if unknown:
        words.append(f"the time of {', '.join(unknown)} is not known yet")
    if stored := sum(map(app.measuring.known, experiments)) if app.measuring.unfinished() else 0:
        words.append(f"{stored:,} decisions of stopped runs are kept, and Run continues from there")
    st.caption(f"{'; '.join(words)}. These decisions are not recorded.")


def _asked(app: App, chosen: Chosen, also: tuple[str, ...], play: bool) -> list[Experiment]:
    choices, n = [(chosen.router, chosen.parameters)], {BY_N: RANKED}
    for text in also:
        router, *settings = text.split("~")
        if settings or router == chosen.router:  # a setting of its own
            choices.append((router, read_variant(app, text).parameters.replaced(n)))
        else:
            choices.append((router, app.routing.parameters(router, n, preset=chosen.preset)))
    return [chosen.experiment(router, parameters, play=play) for router, parameters in choices]


def _start(app: App, chosen: Chosen, also: tuple[str, ...], play: bool) -> None:
    experiments = _asked(app, chosen, also, play)
    per_run = experiments[0].decisions

    def work(job: Job) -> list[str]:
        ids: list[str] = []
        for index, experiment in enumerate(experiments):
            run = app.measuring.measure(experiment, progress=lambda done, base=index * per_run: job.report(base + done))
            ids.append(app.lab_runs.keep(run.conditions, experiment.tasks, run.entry))
        return ids

    begin(RUN, f"Routing {chosen.tasks.option}", per_run * len(experiments), work)
