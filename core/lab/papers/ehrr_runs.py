"""EHRR's experiments without a model, on the sample: its 95 tasks of six categories are routed once each and played out.

Played out (`core.lab.execution`): candidates are tried in order, at most three; a right tool succeeds by its declared reliability. The
paper has a model that loops over ROUTE and EXECUTE, and another that judges the traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from statistics import fmean

import numpy as np

from core.domain.task import Task
from core.lab.execution import ExecutionRun
from core.lab.papers.ehrr import CATEGORIES, INVALID_CALLS, SPENT, SUCCESS_RATES
from core.lab.papers.ehrr_ablation import ablation
from core.lab.papers.ehrr_recovery import WORLDS, recovery
from core.lab.papers.ehrr_routed import DIFFERS, LAB, PLAYED, ROUTERS, THEIRS, Routed
from core.lab.papers.material import SAMPLE, Material
from core.lab.papers.report import Chart, Column, Kind, Row, Series, Table, Value, pair, rounded
from core.lab.recovery import CURES


def experiments(material: Material) -> tuple[tuple[Table, ...], tuple[Chart, ...]]:
    """Tables IV, VI, VII, VIII, Figures 2 to 15 as far as they go, and recovery after an outage."""
    tasks = material.tasks("ehrr_categories")
    material.say("EHRR: 95 tasks by four routers")
    routed = {name: Routed.of(material, tasks, router, preset, n=3) for name, (router, preset) in ROUTERS.items()}
    runs = {(name, of): one.played(material, of) for name, one in routed.items() for of in ("", *CATEGORIES)}
    material.say("EHRR: ablations")
    parts = ablation(material, tasks)
    material.say(f"EHRR: recovery after an outage, {WORLDS} worlds of 1,000 calls for each of {len(CURES)} cures")
    back, curves = recovery()
    rates = _by_category(
        "VI", "Table VI, Figures 2, 3 · success rate", SUCCESS_RATES, runs, 3, lambda run, _: run.success_rate.mean
    )
    calls = _by_category(
        "VII", "Table VII, Figures 4, 5 · invalid route and tool calls", INVALID_CALLS, runs, 1,
        lambda run, count: run.invalid_calls.mean * count,
    )  # fmt: skip
    charts = (_bars(rates), *_cumulative(material, tasks, routed), _utilities(material, tasks, routed), curves)
    return (_distribution(tasks), rates, calls, _spent(routed, runs), parts, back), charts


def _distribution(tasks: Sequence[Task]) -> Table:
    rows = [
        Row(name, Kind.OURS, {"n": pair(float(count), float(sum(t.category == name for t in tasks)))})
        for name, count in CATEGORIES.items()
    ]
    return Table(
        "IV", "Table IV · tasks by category", "How many tasks each category has.", "tasks of existing benchmarks",
        "95 tasks written for the sample", (Column("n", "Tasks", 0),), tuple(rows),
        differs="The same distribution; the tasks themselves are ours, as the paper's are not printed.", link=LAB,
    )  # fmt: skip


def _by_category(
    id_: str, title: str, published: Mapping[str, tuple[Mapping[str, float], float]],
    runs: Mapping[tuple[str, str], ExecutionRun], digits: int, measure: Callable[[ExecutionRun, int], float],
) -> Table:  # fmt: skip
    rows: list[Row] = []
    for category in (*CATEGORIES, ""):
        values: dict[str, tuple[Value, Value]] = {
            model: pair(rates[category] if category else overall, None) for model, (rates, overall) in published.items()
        }
        count = CATEGORIES.get(category, sum(CATEGORIES.values()))
        values |= {name: pair(None, measure(runs[name, category], count)) for name in ROUTERS}
        rows.append(Row(category or "Overall", Kind.OURS, values))
    columns = (
        *(Column(model, f"EHRR, {model}", digits) for model in published),
        *(Column(name, name, digits) for name in ROUTERS),
    )
    about = "Their two columns are EHRR with two models; ours are routers without one."
    return Table(id_, title, about, THEIRS, PLAYED, columns, tuple(rows), differs=DIFFERS, link=LAB)


def _spent(routed: Mapping[str, Routed], runs: Mapping[tuple[str, str], ExecutionRun]) -> Table:
    names = tuple(ROUTERS)
    rows = [
        Row(name, Kind.MODEL, dict(zip(names, (pair(one, None) for one in spent), strict=False)), why="Whole dialogues of a model.")
        for name, (spent, _) in SPENT.items()
    ]  # fmt: skip
    count = sum(CATEGORIES.values())
    rows += [
        Row("Ours, tokens", Kind.OURS, {name: pair(None, float(sum(_tokens(routed[name])))) for name in names}),
        Row("Ours, USD", Kind.OURS, {name: pair(None, runs[name, ""].usd_per_task.mean * count) for name in names}),
    ]
    return Table(
        "VIII", "Table VIII · tokens and tool cost of all tasks", "What candidates put before a model, and what the tools that are tried cost.",
        THEIRS, PLAYED + "; tokens of the definitions, counted with cl100k_base", tuple(Column(name, name, 2) for name in names), tuple(rows),
        differs="Ours counts one turn a task, theirs every turn of a dialogue. " + DIFFERS, link=LAB,
    )  # fmt: skip


def _tokens(of: Routed) -> list[int]:
    exposures = [of.decisions[task.id].exposure for task in of.tasks]
    return [one.exposed + one.cached for one in exposures]


def _bars(table: Table) -> Chart:
    names = tuple(row.name for row in table.rows)
    series = [Series(f"EHRR, {m} (paper)", names, _side(table, m, 0), theirs=True) for m in SUCCESS_RATES]
    series += [Series(f"{name}, ours", names, _side(table, name, 1)) for name in ROUTERS]
    return Chart(
        "fig2",
        "Figures 2, 3: success rate by category",
        table.about,
        "",
        "success rate",
        "bar",
        tuple(series),
        differs=DIFFERS,
        link=LAB,
    )


def _side(table: Table, key: str, side: int) -> tuple[float | None, ...]:
    values = [row.values[key][side] for row in table.rows]
    return tuple(value if isinstance(value, float) else None for value in values)


def _cumulative(material: Material, tasks: Sequence[Task], routed: Mapping[str, Routed]) -> tuple[Chart, Chart]:
    numbers = tuple(float(at + 1) for at in range(len(tasks)))
    tokens = [Series(name, numbers, tuple(map(float, accumulate(_tokens(one))))) for name, one in routed.items()]
    prices = material.context(SAMPLE).statistics.tools.price_usd
    usd: list[Series] = []
    for name, one in routed.items():
        first = [one.decisions[task.id].candidates[:1] for task in tasks]
        spent = accumulate(float(np.nan_to_num(prices[rows[0]])) if rows else 0.0 for rows in first)
        usd.append(Series(name, numbers, tuple(rounded(value) for value in spent)))
    about = "In the order of the file, by category. The paper's lines are pictures without figures."
    return (
        Chart("fig6", "Figures 6, 7: tokens so far", about, "tasks", "tokens", "line", tuple(tokens), log_y=True, differs=DIFFERS, link=LAB),
        Chart("fig8", "Figures 8, 9: price of the winners so far", about, "tasks", "USD", "line", tuple(usd), differs=DIFFERS, link=LAB),
    )  # fmt: skip


def _utilities(material: Material, tasks: Sequence[Task], routed: Mapping[str, Routed]) -> Chart:
    """U of (7) of the winners, for all routers by the same formula: that of EHRR ranking all tools flat."""
    flat = Routed.of(material, tasks, "ehrr", hierarchy=False, auction=False)
    series: list[Series] = []
    for name, one in routed.items():
        means: list[float | None] = []
        for category in CATEGORIES:
            of = [task.id for task in tasks if task.category == category and one.decisions[task.id].candidates]
            found = [float(flat.decisions[id_].tools.utility[one.decisions[id_].candidates[0]]) for id_ in of]
            means.append(rounded(fmean(found)) if found else None)
        series.append(Series(name, tuple(CATEGORIES), tuple(means)))
    about = "Utility (7) of the tool that each router puts first, by the parameters of Table V. The paper's bars are a picture."
    return Chart(
        "fig12",
        "Figures 10 to 13: average utility by category",
        about,
        "",
        "utility U",
        "bar",
        tuple(series),
        differs=DIFFERS,
        link=LAB,
    )
