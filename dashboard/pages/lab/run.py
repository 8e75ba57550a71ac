"""A run in the Lab: its form and its background job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app import App
from core.domain.params import Parameters
from core.lab.execution import ROUNDS, Playing
from core.routers.presets import DEFAULT_PRESET, preset_of
from core.shared.errors import WayfareError
from dashboard.pages.lab.tasks import TaskSet
from dashboard.pages.lab.words import choose_some
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

JOB = "lab:job"
POLL_S = 0.3
RUN, SWEEP, CHANGE = "run", "sweep", "change"


class Stopped(Exception):
    """The visitor stopped the work."""


@dataclass(eq=False)
class Job:
    """Work under way or done: `of` steps of which `done` are; `about` is what its result is for."""

    kind: str
    title: str
    of: int
    about: object
    started_s: float = field(default_factory=time.monotonic)
    done: int = 0
    cancel: threading.Event = field(default_factory=threading.Event)
    future: Future[Any] = field(default_factory=Future[Any], repr=False)

    def report(self, done: int) -> None:
        """Take over how far it is. Raises Stopped where the visitor has stopped it."""
        if self.cancel.is_set():
            raise Stopped
        self.done = done

    @property
    def text(self) -> str:
        """How far it is, and about how long it still takes."""
        elapsed_s = time.monotonic() - self.started_s
        left = f", about {elapsed_s * (self.of - self.done) / self.done:,.0f} s left" if self.done else ""
        return f"{self.title}: {self.done:,} of {self.of:,}{left}. It goes on when you leave this page."


def start_button(
    place: DeltaGenerator, label: str, start: Callable[[], None], *, disabled: bool = False, **looks: Any
) -> None:
    """A button that starts work with what is chosen now. A callback would start it with what was chosen when the button was drawn
    last: something else, where a choice and the press come close together. Disabled while other work is under way, which it says."""
    if busy():
        looks["help"] = "Other work is under way: stop it, or wait for its end."
    if place.button(label, disabled=disabled or busy(), **looks):
        start()
        st.rerun()  # what stands above the button shows the progress


def begin(kind: str, title: str, of: int, work: Callable[[Job], object], about: object = None) -> None:
    """Start work in a thread of its own. Nothing where other work is under way."""
    if busy():
        return
    job = st.session_state[JOB] = Job(kind, title, max(1, of), about)
    pool = ThreadPoolExecutor(1, thread_name_prefix="wayfare-lab")
    job.future = pool.submit(work, job)
    pool.shutdown(wait=False)


def busy() -> bool:
    """Whether work of this visitor is under way."""
    job: Job | None = st.session_state.get(JOB)
    return job is not None and not job.future.done()


def result(kind: str, about: object = None) -> Any:
    """What finished work of this kind and about this gave; None where there is none."""
    job: Job | None = st.session_state.get(JOB)
    if job is None or (job.kind, job.about) != (kind, about) or not job.future.done() or job.future.exception():
        return None
    return job.future.result()


def taken(kind: str) -> Any:
    """The same, once: the work is forgotten."""
    found = result(kind)
    if found is not None:
        st.session_state.pop(JOB)
    return found


def job_panel() -> None:
    """The work under way, or how it ended where it gave nothing."""
    job: Job | None = st.session_state.get(JOB)
    if job is None:
        return
    if not job.future.done():
        _progress(job)
        return
    error = job.future.exception()
    if isinstance(error, Stopped):
        st.info(
            "Stopped. What was finished before is stored, and the same button goes on from there.",
            icon=":material/stop_circle:",
        )
    elif isinstance(error, WayfareError):
        st.error(escaped(str(error), 600), icon=":material/error:")
    elif error is not None:
        st.error(f"The work ended unexpectedly ({type(error).__name__}); start it again.", icon=":material/error:")


@st.fragment(run_every=POLL_S)
def _progress(job: Job) -> None:
    if job.future.done():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(min(1.0, job.done / job.of), job.text)
        st.button("Stop", key="lab:stop", icon=":material/stop:", on_click=job.cancel.set)


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
        """The preset that the knobs are, else the one that they start from."""
        return preset_of(self.parameters) or DEFAULT_PRESET


def knob_prefix(router: str) -> str:
    """The prefix of a router's knobs in the session."""
    return f"lab.knob.{router}"


def run_form(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    """The row with the button; what it puts into the URL."""
    titles = {router.id: router.title for router in app.routing.routers()}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with row:
        also = choose_some(
            state, linked, "also", f"Measure {titles[chosen.router]} as the knobs say, and beside it",
            [router for router in titles if router != chosen.router], show=titles.__getitem__,
            note="The others have the preset of the sidebar; Balanced where the knobs are set by hand.",
        )  # fmt: skip
        play = st.toggle(
            "Play the tasks out", key="lab:play",
            help=f"What solving takes, too: candidates are tried in order, at most {ROUNDS}; a right one succeeds by its declared "
            "reliability, drawn over 20 seeds. Nothing is called.",
        )  # fmt: skip
    start_button(
        row,
        "Run",
        partial(_start, app, chosen, also, play),
        key="lab:run",
        icon=":material/play_arrow:",
        type="primary",
    )
    _estimate(app, chosen, _asked(app, chosen, also), titles, play=play)
    return {"also": ",".join(also)}


def _estimate(app: App, chosen: Chosen, asked: Asked, titles: Mapping[str, str], *, play: bool) -> None:
    count, routers = len(chosen.tasks.tasks), [router for router, _ in asked]
    each = count + (sum(bool(task.relevant) for task in chosen.tasks.tasks) if play else 0)
    expected = {router: app.lab_runs.expected_s(chosen.catalog, router, each) for router in routers}
    known = [value for value in expected.values() if value is not None]
    unknown = [titles[router] for router, value in expected.items() if value is None]
    words = [f"{count:,} task{'s' if count != 1 else ''}, {len(routers)} router{'s' if len(routers) > 1 else ''}"]
    if known:
        words.append(f"about {max(1, round(sum(known))):,} s by the last runs")
    if unknown:
        words.append(f"no run says yet how long {', '.join(unknown)} takes")
    if kept := _kept(app, chosen, asked, play=play):
        words.append(f"{kept:,} decisions are kept of runs that were ended: Run goes on from there")
    st.caption(f"{'; '.join(words)}. Nothing that is routed here is recorded as a decision.")


def _asked(app: App, chosen: Chosen, also: tuple[str, ...]) -> Asked:
    """Every router that is to be measured, with its parameters."""
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
    """As deep as a decision is on its own; tokens follow from it."""
    return Playing(int(next(knob.default for knob in parameters.knobs() if knob.name == BY_N) or 0))


def _start(app: App, chosen: Chosen, also: tuple[str, ...], play: bool) -> None:
    tasks, preset = chosen.tasks.tasks, chosen.preset
    asked = _asked(app, chosen, also)
    each = len(tasks) + (sum(bool(task.relevant) for task in tasks) if play else 0)

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

    begin(RUN, "Routing", each * len(asked), work)
