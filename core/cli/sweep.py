"""`wayfare sweep`: labelled tasks over a grid of parameters, or a search among them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from core.cli.opening import opened_even_if_busy, spread_over
from core.cli.options import (
    catalog_option,
    common,
    one_of,
    preset_option,
    print_json,
    print_table,
    ray_option,
    set_option,
    settings_of,
)
from core.cli.progress import TerminalProgress
from core.lab.axes import read_axis
from core.lab.measures import MEASURES
from core.lab.sweep import OBJECTIVES, SECONDS, SOLVED, USD
from core.services.lab import RANKED
from core.services.sweeps import GRID, OPTUNA, RANDOM, SweepPlan
from core.shared.errors import ParameterError
from core.shared.progress import Step, silent

LISTED = 20


@click.command()
@click.option("--tasks", required=True, type=click.Path(path_type=Path), help="Labelled tasks, JSON Lines.")
@click.option(
    "--axis", "axes", multiple=True, required=True, metavar="NAME=LOW:HIGH:STEP",
    help="A parameter and its values; or NAME=VALUE,VALUE. May be repeated.",
)  # fmt: skip
@click.option("--router", default="ehrr", show_default=True, help="Whose parameters they are.")
@click.option("--random", "drawn", type=click.IntRange(1, 1_000_000), help="Draw so many points instead of a grid.")
@click.option(
    "--optuna", "searched", type=click.IntRange(1, 100_000),
    help="Let Optuna search with so many points for success, money and time at once.",
)  # fmt: skip
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of --random and --optuna.")
@click.option("--hints/--no-hints", default=True, show_default=True, help="Give the tasks' server hints to the router.")
@click.option(
    "--measure", default=SOLVED, show_default=True, type=click.Choice([*OBJECTIVES, *MEASURES]),
    help="What the table is sorted by.",
)  # fmt: skip
@ray_option
@set_option
@preset_option
@catalog_option
@common
def sweep(
    tasks: Path,
    axes: tuple[str, ...],
    router: str,
    drawn: int | None,
    searched: int | None,
    seed: int,
    hints: bool,
    measure: str,
    ray: str,
    settings: tuple[str, ...],
    preset: str,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Measure a router under many parameters.

    Success, money and time are what trying its candidates in order comes to on average. Each point is stored: the same command
    takes up a sweep that was interrupted, and ends with the same bytes. `wayfare runs` lists the sweeps.

    Example: wayfare sweep --tasks tasks.jsonl --axis alpha_t=0:1:0.05 --axis kappa=0,100
    """
    one_of({"--random": drawn, "--optuna": searched}, least=0)
    one_of({"--optuna": searched, "--ray": ray}, least=0)  # each point of a search follows from those before it
    with opened_even_if_busy(db) as app, spread_over(ray, app) as spread:
        parameters = app.routing.parameters(router, {"n": RANKED, **settings_of(settings)}, preset=preset)
        read = tuple(read_axis(text, type(parameters)) for text in axes)
        if len({axis.name for axis in read}) < len(read):
            raise ParameterError("Two of --axis name the same parameter; give its values in one.")
        method = RANDOM if drawn else OPTUNA if searched else GRID
        report = TerminalProgress() if sys.stderr.isatty() else silent
        document = app.sweeps.run(
            app.lab.read_tasks(tasks),
            SweepPlan(read, method, drawn or searched or 0),
            source=str(tasks),
            catalog=app.lab_runs.open(catalog),
            router=router,
            preset=preset,
            parameters=parameters,
            hints=hints,
            seed=seed,
            progress=lambda done, of: report(Step("Sweeping", done, of)),
            spread=spread,
        )
        report(None)
    if as_json:
        print_json({"router": router, "preset": preset, **document})
        return
    print_points(document, [axis.name for axis in read], measure)


def print_points(document: Mapping[str, Any], axes: Sequence[str], measure: str) -> None:
    """The best points by a measure, and how many there are; a star is on the Pareto front of success, money and time."""
    points, front = document["points"], set(document["front"])
    down = OBJECTIVES.get(measure) == "minimize"
    best = sorted(points, key=lambda point: (point[measure] if down else -point[measure], point["number"]))
    shown = (SOLVED, USD, SECONDS, "mrr", "hit@1", "recall@10", "rejection")
    header = [f"{name} *" if name == measure else name for name in shown]
    print_table(
        ("front", *axes, *header),
        [
            (
                "*" if point["number"] in front else "",
                *(_number(point["values"][name]) for name in axes),
                *("–" if point[name] is None else f"{point[name]:.4f}" for name in shown),
            )
            for point in best[:LISTED]
        ],
    )
    click.echo()
    click.echo(
        f"{len(points):,} points, the best {min(LISTED, len(points))} by {measure}; {len(front)} on the front of success, money and"
        f" time. `wayfare runs {document['sweep'][:8]} --json` has them all."
    )


def _number(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
