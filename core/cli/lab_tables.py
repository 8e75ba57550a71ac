"""The tables of `wayfare bench` and `wayfare runs`: measures, comparisons, levels, played outcomes, and the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from core.cli import output
from core.domain.significance import Compared
from core.lab.benchmark import BenchmarkRun
from core.lab.execution import ExecutionRun
from core.lab.gate import Change, Gate, Moved
from core.lab.levels import LevelRun

LISTED = 20  # changes; all tasks are listed


def print_measures(runs: Sequence[BenchmarkRun]) -> None:
    shares = dict.fromkeys((*runs[0].measures, *runs[0].judged, "rejection"), ".3f")
    output.table(
        {"router": "", "n": "", **shares, "p50 ms": ".2f", "p95 ms": ".2f"},
        [
            (run.router, run.n, *run.measures.values(), *run.judged.values(), run.rejection, run.latency_ms_p50, run.latency_ms_p95)
            for run in runs
        ],
    )  # fmt: skip


def print_comparisons(runs: Sequence[BenchmarkRun], found: Sequence[Compared]) -> None:
    forms = {"p": ".4f", "p (Holm)": ".4f", "effect d": "+.2f", "won/lost/same": "", "tasks needed": ","}
    output.part(
        {"pair": "", **{pair.measure: "+.3f" for pair in found}, "95 %": "", **forms},
        [
            (
                f"{runs[pair.b].router} - {runs[pair.a].router}",
                pair.difference,
                f"{pair.low:+.3f} to {pair.high:+.3f}",
                pair.p,
                pair.p_holm,
                pair.effect_size,
                f"{pair.won}/{pair.lost}/{pair.same}",
                pair.tasks_needed,
            )
            for pair in found
        ],
    )


def print_played(played: Sequence[ExecutionRun]) -> None:
    forms = {"steps": ".3f", "m$ each": ".2f", "s each": ".2f", "tokens each": ",.0f", "invalid routes": ".2f"}
    columns = {"router": "", "solved": "", **forms, "invalid tools": ".2f", "value m$": ""}
    output.part(columns, list(map(_outcome, played)))


def print_levels(levelled: Sequence[LevelRun]) -> None:
    output.part(
        {"router": "", "level": "", "n": "", "exact match": ".3f", "F1": ".3f", "p50 ms": ".2f"},
        [
            (run.router, run.level, run.n, run.scores["em"], run.scores.get("f1"), run.latency_ms_p50)
            for run in levelled
        ],
    )
    for run in levelled:
        if len(run.by_steps) > 1:
            decay = ", ".join(f"{steps} steps {mean['f1']:.3f} (n = {n})" for steps, (n, mean) in run.by_steps.items())
            click.echo(f"{run.router} {run.level}, F1 by steps: {decay}")


def print_generated(count: int, tasks: int) -> None:
    if count:
        click.echo(f"\n{count:,} of {tasks:,} tasks were generated: nobody has checked their labels.")


def print_missing(labels: Mapping[str, Any]) -> None:
    """Prints the labels of tools that the catalog lacks, if there are any."""
    if tools := labels["tools"]:
        more = f" and {len(tools) - LISTED:,} more tools" if len(tools) > LISTED else ""
        click.echo(
            f"\n{labels['missing']:,} of {labels['labels']:,} labels ({labels['share']:.1%}) name tools that the catalog lacks, so no "
            f"router can find them: {', '.join(map(output.printable, tools[:LISTED]))}{more}."
        )


def print_gate(gate: Gate) -> None:
    """Prints the measures that fell, every lost and won task, the changes of the catalog, and the tasks that they
    affect."""
    for result in gate.runs:
        fell = ", ".join(f"{fall.measure} from {fall.was:.3f} to {fall.now:.3f}" for fall in result.fell)
        click.echo()
        click.echo(
            f"{result.router}: {f'quality fell: {fell}' if fell else f'no measure fell by more than {gate.tolerance:g}'}"
            f" ({result.tasks} tasks, lost {len(result.lost)}, won {len(result.won)})."
        )
        for name, tasks in (("lost", result.lost), ("won", result.won)):
            for task in tasks:
                click.echo(
                    f"  {name} {output.printable(task.id)}: {_place(task.was, task)}, now {_place(task.now, task)}"
                )
    if gate.changes:
        click.echo()
        print_changes(gate.changes)
        click.echo(f"Tasks at risk: {', '.join(map(output.printable, gate.at_risk)) or 'none'}.")


def print_changes(found: Sequence[Change]) -> None:
    if found:
        click.echo(f"The catalog has changed since, in {len(found)} servers and tools:")
    for change in found[:LISTED]:
        where = f" ({', '.join(change.fields)})" if change.fields else ""
        click.echo(f"  {change.what} {output.printable(change.name)} {change.change}{where}")
    if len(found) > LISTED:
        click.echo(f"  and {len(found) - LISTED:,} more")


def _place(rank: int | None, task: Moved) -> str:
    impossible = 0 in (task.was, task.now)
    if rank is None:
        return "not refused" if impossible else "not found"
    return "refused" if impossible else f"rank {rank}"


def _outcome(run: ExecutionRun) -> tuple[object, ...]:
    usd = run.usd_per_solved.mean
    return (
        run.router,
        f"{run.success_rate.mean:.3f} ±{run.success_rate.high - run.success_rate.mean:.3f}",
        run.step_success_rate.mean,
        "unpriced" if run.unpriced_tries and not usd else usd * 1e3,
        run.s_per_solved.mean,
        run.tokens_per_solved.mean,
        run.invalid_route_calls.mean,
        run.invalid_tool_calls.mean,
        f"{run.value.mean * 1e3:.1f} ±{(run.value.high - run.value.mean) * 1e3:.1f}",
    )
