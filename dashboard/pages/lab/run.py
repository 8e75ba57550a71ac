"""What is measured: the router of the sidebar with its knobs, others beside it, played out or not; the estimate and the button."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import streamlit as st

from core.app import App
from core.domain.params import Parameters
from core.lab.execution import ROUNDS, Playing
from core.routers.presets import DEFAULT_PRESET, preset_of
from core.services.background_jobs import Job
from dashboard.pages.lab.fields import choose_some
from dashboard.pages.lab.job import RUN, begin, start_button
from dashboard.pages.lab.tasks import TaskSet
from dashboard.ui.url_state import UrlState

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
