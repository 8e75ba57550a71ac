"""The Lab page: the choice of catalog, tasks, router and view."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.app import App
from core.domain.params import Parameters
from core.lab.lab import RANKED
from dashboard.pages.lab.leaderboard import EXAMPLE, example_runs, leaderboard
from dashboard.pages.lab.run import (
    BY_N,
    RUN,
    Chosen,
    ShownRuns,
    changed,
    example_button,
    job_panel,
    knob_prefix,
    run_form,
    run_names,
    taken,
)
from dashboard.pages.lab.search import searches
from dashboard.pages.lab.snapshots import snapshots
from dashboard.pages.lab.sweep import sweeps
from dashboard.pages.lab.task_by_task import failed_tasks, task_by_task
from dashboard.pages.lab.tasks import choose_tasks, judgments_view
from dashboard.pages.lab.writing import choose_written, write_tasks
from dashboard.session import current_app, first_catalog
from dashboard.ui.knobs import knob_panel, read_knobs, start_knobs
from dashboard.ui.long_work import show_preparing
from dashboard.ui.presets import preset_choice
from dashboard.ui.question import AGENTS, DEFAULT_ROUTER, agents_scope
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.url_state import UrlState, segments, select

RUNS, TASKS, SWEEPS, SEARCHES = "Runs", "Task by task", "Sweep", "Search"
JUDGMENTS, SNAPSHOTS = "Judgments", "Snapshots"  # these need no labelled tasks
VIEWS = (RUNS, TASKS, SWEEPS, SEARCHES, JUDGMENTS, SNAPSHOTS)
OF_VIEWS = ("also", "measure", "runs", "base", "against", "show", "axis1", "axis2", "by", "sweep", "cost", "per", "run", "over", "trials", "seed",
            "search", "objective", "failed", "group", "snapshot",
            "beside")  # fmt: skip

TOOK = "lab:took"  # the router and the knobs of the last question that was taken over


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("lab")
    linked = state.begin()
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    catalogs = [info.name for info in app.catalogs.infos()]
    catalog = select(row, state, linked, "catalog", "Catalog", catalogs, start=first_catalog(), width=170)
    router, parameters = _sidebar(app, state, linked)
    texts = {name: linked.get(name, "") for name in (*OF_VIEWS, "tasks")} | {
        "catalog": "" if catalog == first_catalog() else catalog,
        "router": "" if router == DEFAULT_ROUTER else router,
        **{name: str(value) for name, value in parameters.changed().items()},
        "n": str(parameters.values()["n"]),
    }
    with errors_shown():
        without = st.session_state.get(state.key("view"), linked.get("view")) in (JUDGMENTS, SNAPSHOTS)
        choose_written(state, catalog)
        tasks = None if without else choose_tasks(app, row, state, linked, catalog)
        if not without:
            write_tasks(app, row, catalog, tasks)
        view = segments(state, linked, "view", "View", VIEWS)
        texts |= {"view": "" if view == RUNS else view}
        if without:
            with st.container():
                job_panel()
            if view == JUDGMENTS:
                judgments_view(app, catalog)
            else:
                texts |= snapshots(app, state, linked, catalog)
        elif tasks is None:
            st.info("Upload a file of labelled tasks to measure routers.", icon=":material/upload_file:")
        else:
            show_preparing(app, catalog, decides=True)
            with st.container():  # always drawn, so that the parts below keep their place
                job_panel()
            chosen = Chosen(catalog, tasks, router, parameters)
            texts |= {"tasks": tasks.option, **_body(app, state, linked, view, chosen)}
    state.end(texts)


def _sidebar(app: App, state: UrlState, linked: Mapping[str, str]) -> tuple[str, Parameters]:
    """Draw the choice of the router and its knobs. Returns both."""
    titles = {router.id: router.title for router in app.routing.routers()}
    _follow_question(app, state)
    with st.sidebar:
        router = select(
            st.container(), state, linked, "router", "Router", list(titles), start=DEFAULT_ROUTER,
            show=titles.__getitem__,
        )  # fmt: skip
        defaults, prefix = app.routing.parameters(router), knob_prefix(router)
        problems = start_knobs(defaults, {"n": RANKED, **linked}, prefix)
        preset_choice(defaults, prefix)
        st.fragment(agents_scope, key=AGENTS)(app, router, defaults, prefix, leave=(BY_N,))
        knob_panel(defaults, prefix, ())
    for problem in problems:
        st.warning(f"A part of the link was not used: {escaped(problem)}", icon=":material/link_off:")
    return router, read_knobs(defaults, prefix)


def _follow_question(app: App, state: UrlState) -> None:
    """Take over the router and the knobs of the question, once for each change of them."""
    asked = state.asked_with
    if not state.question or asked == st.session_state.get(TOOK, {}):
        return
    st.session_state[TOOK] = asked
    router = asked.get("router", DEFAULT_ROUTER)
    if router not in {known.id for known in app.routing.routers()}:
        return
    st.session_state[state.key("router")] = router
    defaults = app.routing.parameters(router)
    for name in (knob.name for knob in defaults.knobs()):
        st.session_state.pop(f"{knob_prefix(router)}.{name}", None)
    start_knobs(defaults, {BY_N: RANKED, **asked}, knob_prefix(router))


def _body(app: App, state: UrlState, linked: Mapping[str, str], view: str, chosen: Chosen) -> dict[str, str]:
    """Draw a view. Returns the texts for the URL."""
    if view == SWEEPS:
        return sweeps(app, state, linked, chosen)
    if view == SEARCHES:
        return searches(app, state, linked, chosen)
    texts: dict[str, str] = {}
    if view == RUNS:
        texts |= run_form(app, state, linked, chosen)
    if ids := taken(RUN):
        st.success(f"Stored as {', '.join(id_[:8] for id_ in ids)}.", icon=":material/check:")
        others = [one for one in st.session_state.get(state.key("runs"), []) if one not in ids]
        st.session_state[state.key("runs")] = [*ids, *others]
    runs = app.lab_runs.over(chosen.catalog, chosen.tasks.tasks)
    if not runs:
        st.info(
            "No run over these tasks is stored yet. Choose routers and press Run, or use wayfare bench.",
            icon=":material/science:",
        )
        example_button(app, chosen, [router for router, *_ in EXAMPLE])
        example_runs({router.id: router.title for router in app.routing.routers()})
        return texts
    mine = chosen.router, chosen.parameters.changed()
    present = next((run.id for run in runs if (run.router, changed(app, run)) == mine), "")
    names = run_names(app, runs)
    if present:
        names[present] += " (present knobs)"
    shown = ShownRuns(app, state, linked, runs, names, chosen.tasks.tasks, present)
    if view == RUNS:
        texts |= leaderboard(shown)
        texts |= failed_tasks(shown)
    else:
        texts |= task_by_task(shown)
    return texts
