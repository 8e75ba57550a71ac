"""A sweep over one or two knobs, and its result."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Literal

import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.errors import UnknownNameError
from core.domain.lab_runs import OPTUNA, Sweep, fingerprint
from core.domain.params import CUBE_ROOT, Knob, Value
from core.domain.untrusted_text import one_line
from core.importers import tasks_text
from core.lab.benchmark import MEASURES
from core.lab.stored_runs import task_changes
from core.lab.sweep import COMPARED, OBJECTIVES, SECONDS, SOLVED, USD, Axis, Change, evenly, warning
from core.lab.sweeps import GRID, SweepPlan
from dashboard.pages.lab.charts import sweep_lines, sweep_map, value_text
from dashboard.pages.lab.run import (
    BY_N,
    CHANGE,
    MEASURE_WORDS,
    SWEEP,
    Chosen,
    begin,
    measure_name,
    result,
    start_button,
    taken,
)
from dashboard.session import only
from dashboard.ui.chart import chart
from dashboard.ui.knobs import knob_title
from dashboard.ui.question import knob_prefix
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select

LISTED = 12
CHOSEN_ON_THE_SAME = "The point is chosen and measured on the same tasks, so it may gain less on other tasks."
Points = Sequence[Mapping[str, Any]]
OBJECTIVE_WORDS = {
    SOLVED: "Solved: chance of success within 3 tries",
    USD: "Money: USD a task, expected",
    SECONDS: "Time: seconds a task, expected",
}


def sweep_result(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen, sweep: Sweep) -> dict[str, str]:
    document = app.sweeps.document(sweep.id)
    points: Points = document["points"]
    if not points:
        st.info("This sweep has no stored points yet. Press Sweep.", icon=":material/stacked_line_chart:")
        return {}
    words = {**OBJECTIVE_WORDS, **{key: measure_name(key) for key in MEASURE_WORDS}}
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    measure = select(row, state, linked, "by", "Measure", list(words), show=words.__getitem__, width=245)
    less = OBJECTIVES.get(measure) == "minimize"
    best = sorted(points, key=lambda point: (point[measure] if less else -point[measure], point["number"]))
    by_number = {str(point["number"]): point for point in best}
    number = select(
        row, state, linked, f"point.{sweep.id}", "Point, the best first", list(by_number), width=245,
        show=lambda key: f"{by_number[key][measure]:.4g} at {values_text(by_number[key]['values'])}", note="Or click a point in the chart.",
    )  # fmt: skip
    point = by_number[number]
    _chart(sweep, points, point, measure, words[measure].partition(":")[0], chosen, state)
    on_front = "; it is on the front of success, money and time" if point["number"] in document["front"] else ""
    missing = json.loads(sweep.plan_json)["points"] - len(points)
    st.caption(
        f"{escaped(values_text(point['values']), 200)}: solved {point[SOLVED]:.3f}, {escaped(units.price(point[USD]))} and {point[SECONDS]:.2f} s a task "
        f"(expected from declared statistics), RR {point['mrr']:.3f}, Success@1 {point['hit@1']:.3f}{on_front}."
        + (f" {missing:,} points are not computed yet. Press Sweep to continue." if missing else "")
    )
    st.caption(CHOSEN_ON_THE_SAME)
    apply_point(app, chosen, sweep.id, point, measure, of=len(points))
    return {"by": measure}


def _chart(
    sweep: Sweep, points: Points, point: Mapping[str, Any], measure: str, title: str, chosen: Chosen, state: UrlState
) -> None:
    values, numbers = [entry["values"] for entry in points], [entry["number"] for entry in points]
    measured, axes = [float(entry[measure]) for entry in points], tuple(values[0])
    if len(axes) == 1:
        figure = sweep_lines(
            [value[axes[0]] for value in values], measured, numbers, knob=axes[0], measure=title, chosen=point["number"],
            now=chosen.parameters.values()[axes[0]],
            stretched=any(knob.name == axes[0] and knob.scale == CUBE_ROOT for knob in chosen.parameters.knobs()),
        )  # fmt: skip
    else:
        figure = sweep_map(
            values, measured, numbers, axes=(axes[0], axes[1]), measure=title, chosen=point["number"],
            less_is_better=OBJECTIVES.get(measure) == "minimize",
        )  # fmt: skip
    key = state.key(f"point.{sweep.id}")
    chart(figure, key="lab:sweep-chart", choose=lambda number: st.session_state.update({key: number}))


def apply_point(app: App, chosen: Chosen, sweep: str, point: Mapping[str, Any], objective: str, *, of: int) -> None:
    """Show the changes of a point among `of`, a warning if it is worse, and a button that applies it."""
    current = chosen.parameters.values()
    new = {name: value for name, value in point["values"].items() if current[name] != value}
    about = (sweep, point["number"], chosen.router, json.dumps(current, sort_keys=True), objective)
    changes = result(CHANGE, about)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    if not new:
        row.caption("The knobs are at this point.")
    elif changes is None:
        start_button(
            row, "Show the changes", partial(_start_point, app, chosen, new, about, of), key="lab:change",
            icon=":material/difference:",
        )  # fmt: skip
    else:
        _show(chosen, changes[0], changes[1], new, of)
        why = warning(changes[1], objective)
        if why:
            st.warning(
                f"This point {why} in “{_measure_words(objective)}” over the present knobs. Apply it only if that is the trade you want.",
                icon=":material/balance:",
            )
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        row.button(
            "Apply all the same" if why else "Apply", key="lab:apply", icon=":material/check:", type="secondary" if why else "primary",
            on_click=_set, args=(chosen, new),
            **only("tune", help="Sets these knobs on all views. Undo, above, brings the present ones back."),
        )  # fmt: skip


def _set(chosen: Chosen, values: Mapping[str, Value]) -> None:
    for name, value in values.items():
        st.session_state[f"{knob_prefix(chosen.router)}.{name}"] = value


def _start_point(app: App, chosen: Chosen, new: Mapping[str, Value], about: tuple[Any, ...], of: int) -> None:
    """Route the tasks with the current and with the new knobs. Nothing is stored."""
    tasks, names = chosen.tasks.tasks, tuple(dict.fromkeys((about[-1], *COMPARED)))

    def work(job: Job) -> tuple[list[dict[str, Any]], list[Change]]:
        runs = [
            app.measuring.measure(
                chosen.experiment(chosen.router, parameters), resumable=False,
                progress=lambda done, offset=offset: job.report(offset + done),
            ).entry
            for offset, parameters in ((0, chosen.parameters), (len(tasks), chosen.parameters.replaced(new)))
        ]  # fmt: skip
        return runs, app.sweeps.changes(
            tasks, chosen.parameters, chosen.parameters.replaced(new), names, catalog=chosen.catalog,
            router=chosen.router, tests=of,
        )  # fmt: skip

    begin(CHANGE, "Comparing", 2 * len(tasks), work, about)


def _show(
    chosen: Chosen, results: Sequence[Mapping[str, Any]], changes: Sequence[Change], new: Mapping[str, Value], of: int
) -> None:
    before, after = results
    by_task = task_changes(chosen.tasks.tasks, before, after, MEASURES["mrr"])
    current = chosen.parameters.values()
    st.markdown(
        "**Changes:** "
        + escaped(", ".join(f"{name} {value_text(current[name])} → {value_text(value)}" for name, value in new.items()))
    )
    for row in changes:
        digits, pair = 5 if row.name == USD else 3, row.pair
        plain = partial(units.plain, digits=digits)
        st.markdown(
            f"{_measure_words(row.name)}: {plain(row.before)} → {plain(row.after)}: {plain(pair.difference, signed=True)} ± "
            f"{plain(row.noise)}, {units.p_value(pair.p)}: **{row.verdict}**."
        )
    chance = "" if of == 1 else f", for the best of {of:,} points together"
    st.caption(
        f"± is the 95 % margin of the paired difference over {changes[0].pair.n:,} tasks (Student's t{chance}); p is of the paired "
        "randomisation test."
    )
    for change, sign in (("won", "▲"), ("lost", "▼")):
        subtasks = [entry.task.subtask for entry in by_task if entry.change == change]
        more = f" and {len(subtasks) - LISTED:,} more" if len(subtasks) > LISTED else ""
        texts = "; ".join(escaped(one_line(text, 70)) for text in subtasks[:LISTED])
        st.caption(f"{sign} **{len(subtasks):,} {change}**" + (f": {texts}{more}" if subtasks else ""))


def _measure_words(name: str) -> str:
    return (
        OBJECTIVE_WORDS[name].partition(":")[0] + {SOLVED: "", USD: ", USD", SECONDS: ", s"}[name]
        if name in OBJECTIVES
        else MEASURE_WORDS[name][0]
    )


def values_text(values: Mapping[str, Value]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in values.items())


NONE, VALUES, MOST = "none", 9, 41
AXES = ("axis1", "axis2")


def sweeps(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    knobs = {knob.name: knob for knob in chosen.parameters.knobs() if searchable(knob)}
    texts, axes = dict[str, str](), list[Axis]()
    for place, name in enumerate(AXES):
        text, axis = _axis(state, linked, name, knobs, first=place == 0)
        texts[name] = text
        if axis is not None and axis.name not in {other.name for other in axes}:
            axes.append(axis)
    points = math.prod(len(axis.values) for axis in axes)
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    start_button(
        row, "Sweep", partial(_start, app, chosen, tuple(axes), points), key="lab:sweep", icon=":material/play_arrow:",
        type="primary",
    )  # fmt: skip
    row.caption(
        f"{points:,} points over {len(chosen.tasks.tasks):,} tasks. Other knobs are those of the sidebar. Each point is stored, so a "
        "stopped sweep continues."
    )
    sweep = stored_sweep(app, state, linked, chosen, SWEEP)
    if sweep is None:
        st.info("Choose a knob and its values, and press Sweep.", icon=":material/stacked_line_chart:")
        example_points(
            sweep_lines(
                [point["values"]["alpha_t"] for point in EXAMPLE], [point["mrr"] for point in EXAMPLE],
                range(len(EXAMPLE)), knob="alpha_t", measure=MEASURES["mrr"], chosen=0, now=0.02,
            )
        )  # fmt: skip
        return texts
    return {**texts, "sweep": sweep.id, **sweep_result(app, state, linked, chosen, sweep)}


def searchable(knob: Knob) -> bool:
    """Tells whether a sweep or a search can go through the values of a knob. The measures have a depth of their own."""
    return knob.name != BY_N and not knob.free_text and not (knob.optional and knob.low is None)


def stored_sweep(
    app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen, kind: Literal["sweep", "search"]
) -> Sweep | None:
    """Draw the choice of a stored sweep or search of this router over these tasks, the newest first. Returns None if there is none."""
    if fresh := taken(kind):
        st.session_state[state.key(kind)] = fresh
    stored, tasks = {sweep.id: sweep for sweep in app.lab_runs.sweeps()}, fingerprint(tasks_text(chosen.tasks.tasks))
    if (link := linked.get(kind)) and link not in stored:
        with suppress(UnknownNameError):
            if isinstance(sweep := app.lab_runs.find(link), Sweep):
                stored[sweep.id] = sweep  # the link may have the beginning of the id
    names = {
        sweep.id: sweep_name(sweep, "points" if kind == SWEEP else "trials")
        for sweep in stored.values()
        if (json.loads(sweep.plan_json)["method"] == OPTUNA) is (kind != SWEEP)
        and (sweep.catalog, sweep.router) == (chosen.catalog, chosen.router)
        and sweep.tasks_fingerprint == tasks
    }
    if not names:
        return None
    return stored[
        select(st.container(), state, linked, kind, f"Stored {kind}", list(names), show=names.__getitem__, width=470)
    ]


def sweep_name(sweep: Sweep, counted: str) -> str:
    plan = json.loads(sweep.plan_json)
    names = ", ".join(text.partition("=")[0] for text in plan["axes"])
    seed = "" if plan["method"] == GRID else f" · seed {sweep.seed}"
    return f"{plan['points']:,} {counted} over {names}{seed} · {sweep.at:%Y-%m-%d %H:%M} · {sweep.id[:6]}"


def _axis(
    state: UrlState, linked: Mapping[str, str], name: str, knobs: Mapping[str, Knob], *, first: bool
) -> tuple[str, Axis | None]:
    """Draw one axis: its knob and, for a number, range and count of values. Returns its URL text, as `alpha_t:0:0.2:9`, and the axis."""
    fields = [*linked.get(name, "").split(":"), "", "", ""]
    start = "alpha_t" if "alpha_t" in knobs else next(iter(knobs))
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    options = list(knobs) if first else [NONE, *knobs]
    knob_name = select(
        row, state, {name: fields[0]}, name, "Knob" if first else "and second knob", options, start=start if first else NONE,
        show=lambda option: f"{knob_title(knobs[option])} ({option})" if option in knobs else "none", width=300,
    )  # fmt: skip
    if knob_name == NONE:
        return "", None
    knob = knobs[knob_name]
    if knob.low is None or knob.high is None:
        axis = evenly(knob, 0, 0, 0)
        row.caption(f"all values: {', '.join(map(str, axis.values))}")
        return knob_name, axis
    linked_numbers = fields[1:4] if fields[0] == knob_name else ["", "", ""]
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
    """Returns the number in a link within its range, or `otherwise`.

    >>> _number("0.5", 1, 0, 1), _number("x", 1, 0, 1), _number("7", 0, 0, 1)
    (0.5, 1, 1)
    """
    try:
        value = float(text)
    except ValueError:
        return otherwise
    return min(max(value, low), high) if math.isfinite(value) else otherwise


def _start(app: App, chosen: Chosen, axes: tuple[Axis, ...], points: int) -> None:
    def work(job: Job) -> str:
        document = app.sweeps.run(
            chosen.experiment(chosen.router, chosen.parameters),
            SweepPlan(axes),
            progress=lambda done, _of: job.report(done),
        )
        return document["sweep"]

    begin(SWEEP, f"Sweeping over {chosen.tasks.option}", points, work)


# Measured once at the defaults, before anything was learnt: alpha_t, RR, share solved, USD and seconds a task.
EXAMPLE = tuple(
    {"number": number, "values": {"alpha_t": value}, "mrr": rank, SOLVED: solved, USD: usd, SECONDS: seconds}
    for number, (value, rank, solved, usd, seconds) in enumerate((
        (0.0, 0.845, 0.827, 0.00861, 2.28), (0.05, 0.822, 0.809, 0.00663, 1.77), (0.1, 0.789, 0.759, 0.00527, 1.42),
        (0.15, 0.774, 0.732, 0.00445, 1.26), (0.2, 0.696, 0.661, 0.00248, 0.99), (0.25, 0.667, 0.63, 0.00185, 0.86),
        (0.3, 0.641, 0.6, 0.00152, 0.78), (0.35, 0.591, 0.552, 0.00106, 0.66), (0.4, 0.558, 0.523, 0.00097, 0.57),
    ))
)  # fmt: skip


def example_points(figure: go.Figure) -> None:
    """Draw faint example points of a sweep or a search."""
    st.markdown(":gray-badge[example] EHRR at nine values of alpha_t over 160 everyday questions of the sample catalog")
    with st.container(key="lab-example"):
        chart(figure, key="lab:example-points")
