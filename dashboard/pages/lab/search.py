"""A search over knobs with Optuna, and its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.lab_runs import OPTUNA, Sweep
from core.domain.params import Knob, Parameters
from core.lab.lab_runs import Experiment
from core.lab.sweep import AGAINST, OBJECTIVES, SECONDS, SOLVED, USD, Axis, evenly, gains, read_axis
from core.lab.sweeps import SweepPlan, importances
from dashboard.pages.lab.charts import importance_bars, parallel, pareto, slices
from dashboard.pages.lab.run import Chosen, begin, busy, choose_some, start_button
from dashboard.pages.lab.sweep import (
    CHOSEN_ON_THE_SAME,
    EXAMPLE,
    OBJECTIVE_WORDS,
    apply_point,
    example_points,
    searchable,
    stored_sweep,
    values_text,
)
from dashboard.ui.chart import chart
from dashboard.ui.knobs import knob_title
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select


def search_result(
    app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen, sweep: Sweep, axes: Sequence[Axis]
) -> dict[str, str]:
    document = app.sweeps.document(sweep.id)
    points, front = document["points"], document["front"]
    if not points:
        st.info("This search has no stored trials yet.", icon=":material/travel_explore:")
        return {}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    objective = select(
        row, state, linked, "objective", "Objective", list(OBJECTIVES), show=OBJECTIVE_WORDS.__getitem__, width=330
    )
    down = OBJECTIVES[objective] == "minimize"
    present = points[0]["number"] if AGAINST in points[0] else None
    best = sorted(
        points,
        key=lambda point: (
            not gains(point, objective), point["number"] != present, point["number"] not in front,
            point[objective] if down else -point[objective], point["number"],
        ),
    )  # fmt: skip
    better = sum(gains(point, objective) for point in points)
    by_number = {str(point["number"]): point for point in best}
    key = f"point.{sweep.id}"
    number = select(
        row, state, linked, key, "Trial, clear gains first", list(by_number), width=330,
        show=lambda option: ("Start of the search: " if by_number[option]["number"] == present else "")
        + f"{by_number[option][objective]:.4g} at {values_text(by_number[option]['values'])}",
        note="Or click a point in a chart.",
    )  # fmt: skip
    point = by_number[number]

    def choose(name: str) -> None:
        st.session_state[state.key(key)] = name

    columns = st.grid(2, min_column_width=420, gap="small")
    with columns.cell():
        chart(pareto(points, front, point["number"], present), key="lab:pareto", choose=choose)
    with columns.cell():
        shares = importances(axes, points, objective)
        if shares:
            chart(importance_bars(shares, objective=OBJECTIVE_WORDS[objective]), key="lab:importances")
        else:
            st.caption("The importance of each knob appears after ten trials, if their objectives differ.")
    chart(parallel(points, axes, front, point["number"]), key="lab:parallel", choose=choose)
    chart(
        slices(points, axes, objective, point["number"], name=OBJECTIVE_WORDS[objective]),
        key="lab:slices",
        choose=choose,
    )
    if present is None:
        st.caption(
            "This search was made before searches began at the present setting. Search again to compare with it."
        )
    elif not better:
        costly = any(gains(point, objective, at_any_loss=True) for point in points)
        st.info(
            f"No trial gains more than noise in “{OBJECTIVE_WORDS[objective].partition(':')[0]}” over the setting where this search began"
            f"{', unless it loses success or RR' if costly else ''}. That setting is chosen."
            + ("" if _at(app, sweep) == chosen.parameters else " The knobs have changed since: changes are shown against them."),
            icon=":material/balance:",
        )  # fmt: skip
    st.caption(
        f"{len(front):,} of {len(points):,} trials are on the front of success, money and time: no other matches them within noise. Trial {point['number']:,}: "
        f"{escaped(values_text(point['values']), 300)}: solved {point[SOLVED]:.3f}, {escaped(units.price(point[USD]))} and {point[SECONDS]:.2f} s a "
        f"task, expected from declared statistics. {CHOSEN_ON_THE_SAME}"
    )
    apply_point(app, chosen, sweep.id, point, objective, of=len(points))
    return {"objective": objective}


SEARCH = "search"
TRIALS, MOST_TRIALS, MOST_KNOBS, MOST_SEED = 40, 500, 6, 2**31 - 1
FIRST = ("alpha_s", "alpha_t", "kappa")


def searches(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    knobs = {knob.name: knob for knob in chosen.parameters.knobs() if searchable(knob)}
    names = choose_some(
        state, linked, "over", "Knobs to search with Optuna, each over its whole track", list(knobs),
        start=[name for name in FIRST if name in knobs] or list(knobs)[:2], most=MOST_KNOBS,
        show=lambda name: f"{knob_title(knobs[name])} ({name})",
    )  # fmt: skip
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    for name, start, least, most in (("trials", TRIALS, 1, MOST_TRIALS), ("seed", 0, 0, MOST_SEED)):
        if state.key(name) not in st.session_state:
            text = linked.get(name, "")
            st.session_state[state.key(name)] = min(max(int(text), least), most) if text.isdecimal() else start
    trials = int(row.number_input("Trials", 1, MOST_TRIALS, key=state.key("trials"), width=110))
    seed = int(row.number_input("Seed", 0, MOST_SEED, key=state.key("seed"), width=110))
    start_button(
        row, "Search", partial(_start, app, chosen, tuple(_axis(knobs[name], type(chosen.parameters)) for name in names), trials, seed),
        key="lab:search", icon=":material/search:", type="primary", disabled=not names,
    )  # fmt: skip
    st.caption(
        f"Searches for success, money and time over {len(chosen.tasks.tasks):,} tasks with a tree-structured Parzen estimator. "
        "The present setting is the first trial. Other knobs are those of the sidebar. Each trial is stored, so a stopped search continues with the same trials."
    )
    texts = {"over": ",".join(names), "trials": str(trials), "seed": str(seed)}
    sweep = stored_sweep(app, state, linked, chosen, SEARCH)
    if sweep is None:
        st.info("No search over these tasks is stored yet. Press Search.", icon=":material/travel_explore:")
        example_points(pareto(EXAMPLE, range(len(EXAMPLE)), chosen=1))
        return texts
    texts["search"] = sweep.id
    try:
        axes = [read_axis(text, type(chosen.parameters)) for text in json.loads(sweep.plan_json)["axes"]]
    except WayfareError as error:
        st.warning(f"That search used a knob that no longer exists: {error}", icon=":material/history:")
        return texts
    _go_on(app, chosen, sweep, axes)
    return {**texts, **search_result(app, state, linked, chosen, sweep, axes)}


def _axis(knob: Knob, parameters: type[Parameters]) -> Axis:
    if knob.low is None or knob.high is None:
        return evenly(knob, 0, 0, 0)
    return read_axis(f"{knob.name}={knob.low:g}:{knob.high:g}", parameters)


def _go_on(app: App, chosen: Chosen, sweep: Sweep, axes: Sequence[Axis]) -> None:
    plan, count = json.loads(sweep.plan_json), len(app.sweeps.document(sweep.id)["points"])
    if count >= plan["points"] or busy():
        return
    parameters = _at(app, sweep)
    if parameters is None:
        return
    experiment = replace(chosen.experiment(chosen.router, parameters), seed=sweep.seed, preset=sweep.preset)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    start_button(
        row, "Continue", partial(_begin, app, chosen, tuple(axes), plan["points"], experiment),
        key="lab:search-on", icon=":material/resume:",
    )  # fmt: skip
    row.caption(f"{count:,} of {plan['points']:,} trials are finished.")


def _at(app: App, sweep: Sweep) -> Parameters | None:
    """Returns the setting at the start of a search, or None if it no longer exists."""
    try:
        return app.routing.parameters(sweep.router, sweep.parameters)
    except WayfareError:
        return None


def _start(app: App, chosen: Chosen, axes: tuple[Axis, ...], trials: int, seed: int) -> None:
    _begin(app, chosen, axes, trials, replace(chosen.experiment(chosen.router, chosen.parameters), seed=seed))


def _begin(app: App, chosen: Chosen, axes: tuple[Axis, ...], trials: int, experiment: Experiment) -> None:
    def work(job: Job) -> str:
        plan = SweepPlan(axes, OPTUNA, trials)
        return app.sweeps.run(experiment, plan, progress=lambda done, _of: job.report(done))["sweep"]

    begin(SEARCH, f"Searching {len(axes)} knobs over {chosen.tasks.option}", trials, work)
