"""A sweep over one or two knobs of the sidebar's router: its axes, the button, and the sweep that is shown."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import partial

import streamlit as st

from core.app import App
from core.domain.lab_runs import Sweep
from core.domain.params import Knob
from core.lab.sweep import Axis, evenly
from core.services.background_jobs import Job
from core.services.lab.sweeps import OPTUNA, SweepPlan
from core.shared.errors import UnknownNameError
from dashboard.pages.lab.fields import select
from dashboard.pages.lab.job import SWEEP, begin, start_button, taken
from dashboard.pages.lab.run import Chosen
from dashboard.pages.lab.sweep_result import sweep_result
from dashboard.ui.knobs import knob_title
from dashboard.ui.url_state import UrlState

NONE, VALUES, MOST = "none", 9, 41
AXES = ("axis1", "axis2")


def sweeps(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    """All of it; what it puts into the URL."""
    knobs = {
        knob.name: knob
        for knob in chosen.parameters.knobs()
        if not knob.free_text and not (knob.optional and knob.low is None)
    }
    texts, axes = dict[str, str](), list[Axis]()
    for place, name in enumerate(AXES):
        text, axis = _axis(state, linked, name, knobs, first=place == 0)
        texts[name] = text
        if axis is not None and axis.name not in {known.name for known in axes}:
            axes.append(axis)
    points = math.prod(len(axis.values) for axis in axes)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    start_button(
        row,
        "Sweep",
        partial(_start, app, chosen, tuple(axes), points),
        key="lab:sweep",
        icon=":material/play_arrow:",
        type="primary",
    )
    row.caption(
        f"{points:,} points over {len(chosen.tasks.tasks):,} tasks; the other knobs are as in the sidebar. Each point is stored: a "
        "sweep that was stopped goes on where it was."
    )
    shown = taken(SWEEP) or linked.get("sweep", "")
    found = _found(app, shown, chosen)
    if found is None:
        st.info("Choose a knob and its values, and press Sweep.", icon=":material/stacked_line_chart:")
        return texts
    return {**texts, "sweep": found.id, **sweep_result(app, state, linked, chosen, found)}


def _found(app: App, sweep: str, chosen: Chosen) -> Sweep | None:
    """The sweep of the link or the one just made, where it is of this catalog, router and tasks."""
    if not sweep:
        return None
    try:
        found = app.lab_runs.find(sweep)
    except UnknownNameError:
        return None
    known = app.lab_runs.same_tasks(found, chosen.tasks.tasks)
    if not isinstance(found, Sweep) or json.loads(found.plan_json)["method"] == OPTUNA:
        return None
    return found if (found.catalog, found.router) == (chosen.catalog, chosen.router) and known else None


def _axis(
    state: UrlState, linked: Mapping[str, str], name: str, knobs: Mapping[str, Knob], *, first: bool
) -> tuple[str, Axis | None]:
    """One axis: its knob, and for a number from where to where in how many values. As the URL has it, `alpha_t:0:0.2:9`."""
    wanted = [*linked.get(name, "").split(":"), "", "", ""]
    start = "alpha_t" if "alpha_t" in knobs else next(iter(knobs))
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    options = list(knobs) if first else [NONE, *knobs]
    knob_name = select(
        row, state, {name: wanted[0]}, name, "Knob" if first else "and second knob", options, start=start if first else NONE,
        show=lambda one: f"{knob_title(knobs[one])} ({one})" if one in knobs else "none", width=300,
    )  # fmt: skip
    if knob_name == NONE:
        return "", None
    knob = knobs[knob_name]
    if knob.low is None or knob.high is None:
        axis = evenly(knob, 0, 0, 0)
        row.caption(f"all that it can be: {', '.join(map(str, axis.values))}")
        return knob_name, axis
    linked_numbers = wanted[1:4] if wanted[0] == knob_name else ["", "", ""]
    low, high = float(knob.low), float(knob.high)
    ends = [
        row.number_input(
            words, min_value=low, max_value=high, value=_number(text, otherwise, low, high), width=130,
            step=float(knob.step or 1), format="%g", key=state.key(f"{name}.{knob_name}.{words}"),
        )
        for words, text, otherwise in (("from", linked_numbers[0], low), ("to", linked_numbers[1], high))
    ]  # fmt: skip
    count = row.number_input(
        "values", min_value=2, max_value=MOST, value=int(_number(linked_numbers[2], VALUES, 2, MOST)), width=110,
        key=state.key(f"{name}.{knob_name}.values"),
    )  # fmt: skip
    return f"{knob_name}:{ends[0]:g}:{ends[1]:g}:{count}", evenly(knob, min(ends), max(ends), count)


def _number(text: str, otherwise: float, low: float, high: float) -> float:
    """The number in a link within its range; `otherwise` where it has none.

    >>> _number("0.5", 1, 0, 1), _number("x", 1, 0, 1), _number("7", 0, 0, 1)
    (0.5, 1, 1)
    """
    try:
        found = float(text)
    except ValueError:
        return otherwise
    return min(max(found, low), high) if math.isfinite(found) else otherwise


def _start(app: App, chosen: Chosen, axes: tuple[Axis, ...], points: int) -> None:
    def work(job: Job) -> str:
        document = app.sweeps.run(
            chosen.tasks.tasks, SweepPlan(axes), source=chosen.tasks.source, catalog=chosen.catalog, router=chosen.router,
            preset=chosen.preset, parameters=chosen.parameters, progress=lambda done, _of: job.report(done),
        )  # fmt: skip
        return document["sweep"]

    begin(SWEEP, "Sweeping", points, work)
