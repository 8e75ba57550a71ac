"""The leaderboard of stored runs over the same tasks, and its breakdown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.lab_runs import LabRun
from core.domain.significance import Compared, compared
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.lab.benchmark import MEASURES
from core.lab.execution import Interval
from core.lab.lab_runs import Repeated
from core.lab.levels import LEVELS, LevelRun
from core.lab.stored_runs import BY, NO_GROUP, Part, parts, task_values
from dashboard.pages.lab.charts import intervals
from dashboard.pages.lab.run import MEASURE_WORDS, ShownRuns, begin, choose_some, measure_name, result, start_button
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import COSTS, MONEY, frontier
from dashboard.ui.table import Column, table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import select

NOTHING_CAN = "no tool can do it"


def breakdown(shown: ShownRuns, measure: str) -> dict[str, str]:
    runs, tasks = shown.runs, shown.tasks
    usable = [by for by, groups in BY.items() if len({group for task in tasks for group in groups(task)}) > 1]
    if not usable or not runs:
        return {}
    by = select(
        st.container(), shown.state, shown.linked, "per", "Split by", usable, show=lambda name: f"per {name}", width=180
    )
    run_parts = {run.id: parts(tasks, run.result, MEASURES[measure], by) for run in runs}
    rows = [
        {
            by: _group(group_parts[0].group, by),
            "tasks": f"{group_parts[0].n + group_parts[0].impossible:,}",
            **{shown.names[run.id]: _part_figure(part) for run, part in zip(runs, group_parts, strict=True)},
        }
        for group_parts in zip(*run_parts.values(), strict=True)
    ]
    table(rows, key="lab:parts")
    st.caption(
        f"**{escaped(measure_name(measure))}**, mean and 95 % interval by bootstrap over the tasks of the row. Impossible tasks "
        "are counted as refused or not. A task with tools of several servers counts for each of them."
    )
    return {"per": by}


def _group(group: str, by: str) -> str:
    if group == NO_GROUP:
        return NOTHING_CAN if by == "server" else f"no {by}"
    return one_line(group, 80)


def _part_figure(part: Part) -> str:
    texts = [f"{part.mean:.3f} [{part.low:.2f}, {part.high:.2f}]"] if part.n else []
    if part.impossible:
        texts.append(f"{part.refused:,} of {part.impossible:,} refused")
    return "; ".join(texts)


MOST, FIRST = 6, 4
RUN_COLUMNS = (Column("run", width=230),)
PAIR_COLUMNS = (Column("run", width=230), Column("against", width=230))
TESTS = "lab:tests"
JUDGED_AFTER = {"hit@1": 1, "recall@3": 3, "ndcg@10": 10}  # measure: the depth of the judged share behind it
Results = Mapping[str, Mapping[str, Any]]


def leaderboard(shown: ShownRuns) -> dict[str, str]:
    results = {run.id: run.result for run in shown.runs}
    measure = select(
        st.container(), shown.state, shown.linked, "measure", "Measure", list(MEASURE_WORDS), show=measure_name,
        width=330,
    )  # fmt: skip
    chosen = choose_some(
        shown.state, shown.linked, "runs", "Runs to compare", [run.id for run in shown.runs], start=[run.id for run in shown.runs[:FIRST]],
        show=shown.names.__getitem__, most=MOST, note="Each pair is tested, and the tests are corrected for their number.",
    )  # fmt: skip
    ordered = sorted(shown.runs, key=lambda run: -results[run.id][measure])
    stored = {run.catalog_fingerprint: run.catalog for run in shown.runs}
    unchanged = {key: shown.app.lab_runs.unchanged(key, catalog) for key, catalog in stored.items()}
    frame = pd.DataFrame(
        [_line(run, shown.names[run.id], results[run.id], unchanged[run.catalog_fingerprint]) for run in ordered]
    )
    table(frame, RUN_COLUMNS, key="lab:leaderboard")
    st.caption(
        "Means over answerable tasks, with 95 % intervals by bootstrap over tasks. Names are those of ir_measures. "
        "**Refused rightly**: impossible tasks without a candidate. **Judged@k**: share of the first k tools with a judgment; "
        "unjudged tools count as wrong until *grade…* on Decision, Compare or Call grades them. **Median**: time of a decision on the machine of the run. "
        "**Solved** and its money: simulated with declared statistics; intervals over seeds. A task of several steps is solved if all steps "
        "are. Routers find tools by the probability of fit, except in runs named with *similarity = views*. "
        "The encoder was tuned on all shipped tasks but the everyday questions."
    )
    chosen_runs = replace(shown, runs=[run for run in ordered if run.id in chosen])
    texts = _compare(chosen_runs, results, measure) | breakdown(chosen_runs, measure)
    return texts | {"runs": ",".join(chosen), "measure": measure} | one_run(replace(shown, runs=ordered))


def _compare(shown: ShownRuns, results: Results, measure: str) -> dict[str, str]:
    runs, names = shown.runs, shown.names
    texts: dict[str, str] = {}
    if not runs:
        return texts
    played_runs = [run for run in runs if results[run.id].get("usd_per_solved") is not None]
    columns = st.grid(2, min_column_width=420, gap="small")
    with columns.cell():
        labels = [names[run.id] for run in runs]
        values = [results[run.id][measure] for run in runs]
        bounds = [_bounds(results[run.id], measure) for run in runs]
        chart(intervals(labels, values, bounds, measure=MEASURES[measure]), key="lab:intervals")
    if played_runs:
        with columns.cell():
            cost = select(
                st.container(), shown.state, shown.linked, "cost", "Success against", list(COSTS),
                show=lambda name: COSTS[name].name, width=140,
            )  # fmt: skip
            texts["cost"] = "" if cost == MONEY else cost
            rates, costs = ([_interval(results[run.id], key) for run in played_runs] for key in ("success_rate", cost))
            chart(frontier([names[run.id] for run in played_runs], rates, costs, cost=cost), key="lab:frontier")
            st.caption(
                "Outcomes are drawn from declared statistics. ◆: no other run solves as much for less. Bars: 95 % over seeds."
            )
    else:
        st.caption(
            "These runs have no simulated outcomes. With *Play the tasks out* a run has money, time and tokens of solved tasks."
        )
    if len(runs) > 1:
        _tests(shown, results, measure)
    return texts


def _tests(shown: ShownRuns, results: Results, measure: str) -> None:
    # a run is tested against the runs before it: the present setting, then from the worst to the best
    runs = sorted(reversed(shown.runs), key=lambda run: run.id != shown.present)
    request = (measure, *(run.id for run in runs))
    stored: tuple[object, tuple[Compared, ...]] | None = st.session_state.get(TESTS)
    if stored is None or stored[0] != request:
        values = [task_values(shown.tasks, results[run.id], MEASURES[measure]) for run in runs]
        stored = st.session_state[TESTS] = (request, compared(values, MEASURES[measure]))
    pairs = stored[1]
    if not pairs:
        st.info("No task has a right tool, so there is nothing to test.", icon=":material/info:")
        return
    st.markdown(f"**Are the differences significant?** {escaped(measure_name(measure))}")
    rows = sorted(pairs, key=lambda pair: (runs[pair.a].id != shown.present, pair.p_holm))
    frame = pd.DataFrame([_pair(pair, [shown.names[run.id] for run in runs]) for pair in rows])
    table(frame, PAIR_COLUMNS, key="lab:tests-table")
    st.caption(
        f"Paired randomisation test over {pairs[0].n:,} tasks; p is corrected by Holm for the {len(pairs)} pair{'s' if len(pairs) > 1 else ''} "
        "shown. **Tasks needed**: the number of tasks that shows a difference of this size at 5 % with a power of 80 %."
    )


def _line(run: LabRun, name: str, result: Mapping[str, Any], same_catalog: bool) -> dict[str, str]:
    usd = result.get("usd_per_solved")
    return {
        "run": one_line(name, 120), "solved, simulated": _figure(result, "success_rate"),
        "money each": "–" if usd is None else units.price(None if result.get("unpriced_tries") and not usd else usd),
        **{column: text for key in MEASURE_WORDS for column, text in _measure(result, key)},
        "refused rightly": _figure(result, "rejection"), "median": f"{result['latency_ms_p50']:.1f} ms",
        "steps solved": _figure(result, "step_success_rate"), "catalog": "unchanged" if same_catalog else "changed since", "when": f"{run.at:%Y-%m-%d %H:%M}",
        "id": run.id[:8],
    }  # fmt: skip


def _measure(result: Mapping[str, Any], key: str) -> Iterator[tuple[str, str]]:
    """Yields a measure, followed by the judged share if it is the last measure of its depth."""
    yield MEASURE_WORDS[key][0], _figure(result, key)
    if key in JUDGED_AFTER:
        share = result.get(f"judged@{JUDGED_AFTER[key]}")
        yield f"Judged@{JUDGED_AFTER[key]}", "–" if share is None else f"{share:.2f}"


def _pair(pair: Compared, names: Sequence[str]) -> dict[str, str]:
    effect = "–" if pair.effect_size is None else f"{pair.effect_size:.2f}"
    return {
        "run": one_line(names[pair.b], 100),
        "against": one_line(names[pair.a], 100),
        "difference": f"{units.plain(pair.difference, signed=True)} [{units.plain(pair.low, signed=True)}, {units.plain(pair.high, signed=True)}]",
        "p (Holm)": units.p_value(pair.p_holm).removeprefix("p ").removeprefix("= "),
        "significant at 5 %": "yes" if pair.p_holm < 0.05 else "no",
        "effect d": effect,
        "tasks needed": "–" if pair.tasks_needed is None else f"{pair.tasks_needed:,}",
        "won, lost, same": f"{pair.won}, {pair.lost}, {pair.same}",
    }


def _figure(result: Mapping[str, Any], key: str) -> str:
    value = result.get(key)
    if value is None:
        return "–"
    low, high = _bounds(result, key)
    return f"{value:z.3f}" if math.isnan(low) else f"{value:.3f} [{low:.2f}, {high:.2f}]"


def _bounds(result: Mapping[str, Any], key: str) -> tuple[float, float]:
    low, high = result["intervals"].get(key) or (math.nan, math.nan)
    return float(low), float(high)


def _interval(result: Mapping[str, Any], key: str) -> Interval:
    value = result.get(key)
    return Interval(math.nan if value is None else float(value), *_bounds(result, key))


# Measured once at the defaults, before anything was learnt: router, RR, share solved, USD per solved task, each with its interval.
EXAMPLE_TASKS, EXAMPLE_N = "everyday questions", 160
EXAMPLE = (
    ("ehrr", Interval(0.833, 0.780, 0.881), Interval(0.824, 0.816, 0.831), Interval(0.0090, 0.0088, 0.0092)),
    ("expected_value", Interval(0.806, 0.750, 0.856), Interval(0.815, 0.808, 0.821), Interval(0.0072, 0.0071, 0.0074)),
    ("rag_mcp", Interval(0.844, 0.793, 0.888), Interval(0.830, 0.823, 0.837), Interval(0.0110, 0.0108, 0.0112)),
    ("tool_attention", Interval(0.838, 0.787, 0.884), Interval(0.819, 0.812, 0.826), Interval(0.0103, 0.0101, 0.0105)),
)  # fmt: skip


def example_runs(titles: Mapping[str, str]) -> None:
    names = [titles[router] for router, *_ in EXAMPLE]
    st.markdown(f":gray-badge[example] {len(names)} routers over {EXAMPLE_N:,} {EXAMPLE_TASKS} of the sample catalog")
    with st.container(key="lab-example"):
        columns = st.grid(2, min_column_width=420, gap="small")
        with columns.cell():
            means, bounds = zip(*((rank.mean, (rank.low, rank.high)) for _, rank, *_ in EXAMPLE), strict=True)
            figure = intervals(names, means, bounds, measure=f"Example: {MEASURES['mrr']}")
            chart(figure, key="lab:example-intervals")
        with columns.cell():
            figure = frontier(names, [success for *_, success, _ in EXAMPLE], [money for *_, money in EXAMPLE])
            chart(figure, key="lab:example-frontier")


ETOM = "levels"
LEVEL_WORDS = {
    "L1": "the platform is named", "L2": "no platform is named; any equal tool is right",
    "L3": "a chain inside one server", "L4": "a chain across servers", "L5": "no tool can do it",
}  # fmt: skip


def levels(app: App, run: LabRun, tasks: Sequence[Task]) -> None:
    """Draw the button and the table. Draws nothing if no task has a level."""
    if not any(task.level in LEVELS for task in tasks):
        return
    about = (run.id, app.equal_sets.sets(run.catalog))
    level_runs: tuple[LevelRun, ...] | None = result(ETOM, about)
    if level_runs is None:
        start_button(
            st.container(), "ETOM's levels", partial(_start_levels, app, run, tasks, about), key="lab:levels", icon=":material/stairs:",
            help="Each task is routed again without a hint, and scored by the rule of its level.",
        )  # fmt: skip
        return
    frame = pd.DataFrame([_level_line(level_run) for level_run in level_runs])
    table(frame, key="lab:levels-table")
    sets = len(app.equal_sets.sets(run.catalog))
    st.caption(
        f"ETOM's measures over the current catalog: exact match, and F1 of the needed tools for chains. Tools of one of the catalog's {sets:,} "
        "equal function sets count as equal. The Equal view of the Catalog page makes the sets."
    )


def _start_levels(app: App, run: LabRun, tasks: Sequence[Task], about: object) -> None:
    def work(job: Job) -> tuple[LevelRun, ...]:
        parameters = app.routing.parameters(run.router, run.parameters)
        return app.lab.levels(tasks, catalog=run.catalog, router=run.router, parameters=parameters, progress=job.report)

    begin(ETOM, "Asking", sum(task.level in LEVELS for task in tasks), work, about)


def _level_line(level_run: LevelRun) -> dict[str, str]:
    return {
        "level": level_run.level, "request": LEVEL_WORDS[level_run.level], "tasks": f"{level_run.n:,}",
        "exact match": f"{level_run.scores['em']:.3f}", "F1": f"{level_run.scores['f1']:.3f}" if "f1" in level_run.scores else "–",
        "F1 by steps": ", ".join(f"{steps}: {scores['f1']:.3f} ({n:,})" for steps, (n, scores) in level_run.by_steps.items()) or "–",
        "median": f"{level_run.latency_ms_p50:.1f} ms",
    }  # fmt: skip


REPEAT = "repeat"
LISTED = 12
WORDS = {
    "catalog": "catalog", "catalog_fingerprint": "fingerprint of the catalog", "tasks": "tasks",
    "tasks_fingerprint": "fingerprint of the tasks", "hints": "server hints", "router": "router", "preset": "preset",
    "outcomes": "calls in the statistics", "labels": "labels", "calibration": "calibration in force", "seed": "seed",
    "parameters": "parameters", "versions": "versions", "played": "simulated with",
}  # fmt: skip


def one_run(shown: ShownRuns) -> dict[str, str]:
    st.markdown("**One run: its conditions, and its repetition**")
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    id_ = select(
        row, shown.state, shown.linked, "run", "Run", [run.id for run in shown.runs], show=shown.names.__getitem__,
        width=330,
    )  # fmt: skip
    run = next(run for run in shown.runs if run.id == id_)
    start_button(
        row, "Repeat", partial(_start, shown.app, run), key="lab:repeat", icon=":material/replay:",
        help="Measures the same again with the current catalog and labels, and shows the differences. Nothing is "
        "stored.",
    )  # fmt: skip
    repeated: Repeated | None = result(REPEAT, id_)
    if repeated is not None:
        _repeated(repeated)
    rows = [{"condition": WORDS.get(name, name), "value": _text(value)} for name, value in run.to_json().items()]
    with st.expander("Stored conditions"):
        table(rows, key="lab:conditions")
    levels(shown.app, run, shown.tasks)
    return {"run": id_ if id_ != shown.runs[0].id else ""}


def _start(app: App, run: LabRun) -> None:
    count = app.measuring.again(run).decisions
    begin(REPEAT, "Repeating", count, lambda job: app.measuring.repeat(run, job.report), run.id)


def _repeated(repetition: Repeated) -> None:
    if not repetition.other:
        st.success("Equal to the last byte, except for the times of decisions.", icon=":material/check:")
    else:
        st.warning(
            f"Different: {escaped(_listed(repetition.other), 300)}. Tasks with another rank of the first right tool: "
            f"{escaped(_listed(repetition.moved) or 'none', 600)}.",
            icon=":material/difference:",
        )
    if repetition.differing:
        words = ", ".join(WORDS.get(name, name) for name in repetition.differing)
        st.caption(f"Changed conditions: {escaped(words, 300)}.")
    if repetition.changes:
        text = _listed([f"{change.what} {one_line(change.name, 60)} {change.change}" for change in repetition.changes])
        st.caption(f"Changed in the catalog: {escaped(text, 900)}.")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _text(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return "none" if value in ("", None) else one_line(str(value), 300)
