"""A run in the Lab: its form and its background job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from core.lab.execution import ROUNDS, Playing
from core.lab.measuring import decisions
from core.routers.presets import DEFAULT_PRESET, preset_of
from dashboard.page_host import DeltaGenerator
from dashboard.pages.lab.tasks import TaskSet
from dashboard.pages.lab.words import choose_some
from dashboard.session import job_about, known_job, start_job
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

JOB = "lab:job"
POLL_S = 0.3
RUN, SWEEP, CHANGE = "run", "sweep", "change"


def start_button(
    place: DeltaGenerator, label: str, start: Callable[[], None], *, disabled: bool = False, **looks: Any
) -> None:
    """Draw a button that starts work with the current choices. A callback would use the choices of the last drawing, which are
    outdated if a choice and the click come close together. The button is disabled while other work runs."""
    if busy():
        looks["help"] = "Other work is running. Stop it, or wait for its end."
    if place.button(label, disabled=disabled or busy(), **looks):
        start()
        st.rerun()  # the panel above the button shows the progress


def begin(kind: str, title: str, of: int, work: Callable[[Job], object], about: object = None) -> None:
    """Start work in the background. Does nothing while other work runs."""
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
    """Show the running work, or why it ended without a result."""
    job = known_job(JOB)
    if job is None:
        return
    if job.under_way:
        _progress(job)
    elif isinstance(job.error, Stopped):
        st.info(
            "Stopped. Finished steps are stored, and the same button continues from there.",
            icon=":material/stop_circle:",
        )
    elif isinstance(job.error, WayfareError):
        st.error(escaped(str(job.error), 600), icon=":material/error:")
    elif job.error is not None:
        st.error(f"The work ended unexpectedly ({type(job.error).__name__}). Start it again.", icon=":material/error:")


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if not job.under_way:
        st.rerun()
    text = f"{job.title}: {job.done:,} of {job.of:,}{units.time_left(job.left_s)}. You can leave this page meanwhile."
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.done / job.of), text)
        st.button("Stop", key="lab:stop", icon=":material/stop:", on_click=job.stop.set)


BY_N = "n"
Asked = list[tuple[str, Parameters]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The router of the sidebar with the parameters of its knobs, over tasks of a catalog."""

    catalog: str
    tasks: TaskSet
    router: str
    parameters: Parameters

    @property
    def preset(self) -> str:
        """The preset of the knobs, else the default one."""
        return preset_of(self.parameters) or DEFAULT_PRESET


def knob_prefix(router: str) -> str:
    """The prefix of a router's knobs in the session."""
    return f"lab.knob.{router}"


def run_form(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    """Draw the row with the button. Returns the texts for the URL."""
    titles = {router.id: router.title for router in app.routing.routers()}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with row:
        also = choose_some(
            state, linked, "also", f"Measure {titles[chosen.router]} with these knobs, and also",
            [router for router in titles if router != chosen.router], show=titles.__getitem__,
            note="The other routers use the preset of the sidebar, or Balanced if the knobs are set by hand.",
        )  # fmt: skip
        play = st.toggle(
            "Play the tasks out", key="lab:play",
            help=f"Also simulates solving: at most {ROUNDS} candidates are tried in order for each step, and a right one succeeds with its "
            "declared reliability, over 20 seeds. A task of several steps is split into sub-tasks and solved if all steps are. Nothing is "
            "called.",
        )  # fmt: skip
    start_button(
        row, "Run", partial(_start, app, chosen, also, play), key="lab:run", icon=":material/play_arrow:",
        type="primary",
    )  # fmt: skip
    _estimate(app, chosen, _asked(app, chosen, also), titles, play=play)
    return {"also": ",".join(also)}


def example_button(app: App, chosen: Chosen, routers: Sequence[str]) -> None:
    """Draw the button that measures the routers of the example over the chosen tasks."""
    also = tuple(router for router in routers if router != chosen.router)
    start_button(
        st.container(), "Run the routers of the example over these tasks", partial(_start, app, chosen, also, True),
        key="lab:run-example", icon=":material/play_arrow:",
    )  # fmt: skip


def _estimate(app: App, chosen: Chosen, asked: Asked, titles: Mapping[str, str], *, play: bool) -> None:
    count, routers = len(chosen.tasks.tasks), [router for router, _ in asked]
    each = decisions(chosen.tasks.tasks, _playing(chosen.parameters) if play else None)
    expected = {router: app.lab_runs.expected_s(chosen.catalog, router, each) for router in routers}
    known = [value for value in expected.values() if value is not None]
    unknown = [titles[router] for router, value in expected.items() if value is None]
    words = [f"{count:,} task{'s' if count != 1 else ''}, {len(routers)} router{'s' if len(routers) > 1 else ''}"]
    if known:
        words.append(f"about {max(1, round(sum(known))):,} s as in the last runs")
    if unknown:
        words.append(f"the time of {', '.join(unknown)} is not known yet")
    if kept := _kept(app, chosen, asked, play=play):
        words.append(f"{kept:,} decisions of stopped runs are kept, and Run continues from there")
    st.caption(f"{'; '.join(words)}. These decisions are not recorded.")


def _asked(app: App, chosen: Chosen, also: tuple[str, ...]) -> Asked:
    """Returns every router to measure with its parameters."""
    more = [(router, app.routing.parameters(router, {BY_N: 10}, preset=chosen.preset)) for router in also]
    return [(chosen.router, chosen.parameters), *more]


def _kept(app: App, chosen: Chosen, asked: Asked, *, play: bool) -> int:
    if not app.measuring.unfinished():
        return 0
    return sum(
        app.measuring.known(
            app.lab_runs.conditions(
                chosen.tasks.tasks, source=chosen.tasks.source, catalog=chosen.catalog, router=router, preset=chosen.preset,
                parameters=parameters, playing=_playing(parameters) if play else None,
            )
        )
        for router, parameters in asked
    )  # fmt: skip


def _playing(parameters: Parameters) -> Playing:
    """Returns the depth of an ordinary decision, on which tokens depend."""
    return Playing(int(next(knob.default for knob in parameters.knobs() if knob.name == BY_N) or 0))


def _start(app: App, chosen: Chosen, also: tuple[str, ...], play: bool) -> None:
    tasks, preset = chosen.tasks.tasks, chosen.preset
    asked = _asked(app, chosen, also)
    each = decisions(tasks, _playing(chosen.parameters) if play else None)

    def work(job: Job) -> list[str]:
        ids: list[str] = []
        for number, (router, parameters) in enumerate(asked):
            made = app.measuring.measure(
                tasks, source=chosen.tasks.source, catalog=chosen.catalog, router=router, preset=preset,
                parameters=parameters, playing=_playing(parameters) if play else None,
                progress=lambda done, before=number * each: job.report(before + done),
            )  # fmt: skip
            ids.append(app.lab_runs.keep(made.conditions, tasks, made.entry))
        return ids

    begin(RUN, f"Routing {chosen.tasks.option}", each * len(asked), work)
