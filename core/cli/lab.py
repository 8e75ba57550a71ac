"""`wayfare bench` and `wayfare calibrate`: what labelled tasks say of routers, and of a threshold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from core.cli.options import catalog_option, common, print_json, print_table, set_option, settings_of
from core.console import Console
from core.domain.decision import Decision
from core.domain.task import Task
from core.lab.levels import LevelRun, run_levels

RANKED = "10"  # bench looks deeper than a decision does, unless --set n= says otherwise


@click.command()
@click.option("--tasks", required=True, type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines.")
@click.option("--router", "routers", multiple=True, default=("ehrr",), show_default=True, help="May be repeated.")
@click.option("--hints/--no-hints", default=True, show_default=True, help="Give the tasks' server hints to the router.")
@set_option
@catalog_option
@common
def bench(
    tasks: Path,
    routers: tuple[str, ...],
    hints: bool,
    settings: tuple[str, ...],
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Measure how well routers rank the right tools.

    Tasks of levels L1 to L5 are also asked as a person would, and scored as ETOM does, below the table.

    Example: wayfare bench --tasks tasks.jsonl --catalog catalog.json --router ehrr --json
    """
    with Console.open(db) as console:
        name = console.open_catalog(catalog)
        labelled = console.read_tasks(tasks)
        values = {"n": RANKED, **settings_of(settings)}
        runs = [
            console.benchmark(
                labelled, catalog=name, router=router, parameters=console.parameters(router, values), server_hints=hints
            )
            for router in routers
        ]
        levelled = () if as_json else _levelled(console, labelled, name, routers, values)
    if as_json:
        print_json({"runs": [run.to_json() for run in runs]})
        return
    measures = list(runs[0].measures)
    print_table(
        ("router", "n", *measures, "rejection", "p50 ms", "p95 ms"),
        [
            (
                run.router,
                str(run.n),
                *(f"{run.measures[m]:.3f}" for m in measures),
                "–" if run.rejection is None else f"{run.rejection:.3f}",
                f"{run.latency_ms_p50:.2f}",
                f"{run.latency_ms_p95:.2f}",
            )
            for run in runs
        ],
    )
    if levelled:
        click.echo()
        print_table(
            ("router", "level", "n", "exact match", "F1", "p50 ms"),
            [
                (
                    run.router,
                    run.level,
                    str(run.n),
                    f"{run.scores['em']:.3f}",
                    f"{run.scores['f1']:.3f}" if "f1" in run.scores else "–",
                    f"{run.latency_ms_p50:.2f}",
                )
                for run in levelled
            ],
        )


def _levelled(
    console: Console, tasks: Sequence[Task], catalog: str, routers: Sequence[str], values: Mapping[str, str]
) -> tuple[LevelRun, ...]:
    def asked(router: str) -> Callable[[str], Decision]:
        parameters = console.parameters(router, values)
        return lambda text: console.route(text, catalog=catalog, router=router, parameters=parameters, record=False)

    return tuple(run for router in routers for run in run_levels(router, tasks, asked(router)))


@click.command()
@click.option("--tasks", required=True, type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines.")
@set_option
@catalog_option
@common
def calibrate(tasks: Path, settings: tuple[str, ...], catalog: str, db: Path | None, as_json: bool) -> None:
    """Fit the threshold of Tool Attention to labelled tasks: theta from 0.10 to 0.50, the best F1 wins.

    Example: wayfare calibrate --tasks tasks.jsonl --catalog catalog.json --set n=8
    """
    with Console.open(db) as console:
        name = console.open_catalog(catalog)
        parameters = console.parameters("tool_attention", settings_of(settings))
        fit = console.middleware.calibrate(console.read_tasks(tasks), catalog=name, parameters=parameters)
    if as_json:
        print_json(fit.to_json())
        return
    print_table(
        ("theta", "precision", "recall", "F1", "active tools", "rejection", ""),
        [
            (
                f"{point.theta:.2f}",
                *(f"{figure:.3f}" for figure in (point.precision, point.recall, point.f1)),
                f"{point.active:.1f}",
                "–" if point.rejection is None else f"{point.rejection:.3f}",
                "best" if point is fit.best else "",
            )
            for point in fit.points
        ],
    )
