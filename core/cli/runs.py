"""Stored runs and sweeps, a router under many parameters, and recorded sub-tasks decided again."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import click

from core.app import App
from core.cli import apps, options, output
from core.cli.lab_tables import print_changes, print_measures, print_played
from core.cli.options import option
from core.domain import units
from core.domain.errors import ParameterError, WayfareError
from core.domain.lab_runs import OPTUNA, LabRun, Sweep
from core.importers.tasks import read_calls
from core.lab.benchmark import MEASURES
from core.lab.lab import RANKED
from core.lab.lab_runs import Experiment
from core.lab.replay import Chosen, Replayed, ReplayTotals
from core.lab.sweep import OBJECTIVES, SECONDS, SOLVED, USD, read_axis
from core.lab.sweeps import GRID, RANDOM, SweepPlan
from core.routers.presets import DEFAULT_PRESET, PRESETS

LISTED = 20


@click.command()
@option("--tasks", required=True, type=options.PATH, help="Labelled tasks, JSON Lines.")
@option(
    "--axis", "axes", multiple=True, required=True, metavar="NAME=LOW:HIGH:STEP",
    help="A parameter and its values; or NAME=VALUE,VALUE. May be repeated.",
)  # fmt: skip
@options.router("The router of the parameters.")
@option("--random", "drawn", type=click.IntRange(1, 1_000_000), help="Draw this many random points instead of a grid.")
@option(
    "--optuna", "searched", type=click.IntRange(1, 100_000),
    help="Let Optuna search this many points for success, money and time at once.",
)  # fmt: skip
@option("--seed", default=0, type=options.SEED, help="Seed of --random and --optuna.")
@options.hints
@option(
    "--measure",
    default=SOLVED,
    type=click.Choice([*OBJECTIVES, *MEASURES]),
    help="The measure by which the table is sorted.",
)
@options.ray
@options.knobs
@options.of_catalog
def sweep(
    tasks: Path,
    axes: tuple[str, ...],
    router: str,
    drawn: int | None,
    searched: int | None,
    measure: str,
    ray: str,
    settings: dict[str, str],
    preset: str,
    catalog: str,
    **seed_and_hints: Any,
) -> None:
    """Measure a router under many parameters.

    Success, money and time are the averages of trying the candidates in order. Each point is stored: repeating the
    command resumes an interrupted sweep, and ends with the same bytes. `wayfare runs` lists the sweeps.

    Example: wayfare sweep --tasks tasks.jsonl --axis alpha_t=0:1:0.05 --axis kappa=0,100
    """
    options.one_of({"--random": drawn, "--optuna": searched}, least=0)
    options.one_of({"--optuna": searched, "--ray": ray}, least=0)  # each point of a search depends on the earlier ones
    with (
        apps.opened_even_if_busy() as app,
        apps.listed_run(app, "Sweeping") as run,
        apps.spread_over(ray, app) as spread,
    ):
        parameters = app.routing.parameters(router, {"n": RANKED, **settings}, preset=preset)
        sweep_axes = tuple(read_axis(text, type(parameters)) for text in axes)
        if len({axis.name for axis in sweep_axes}) < len(sweep_axes):
            raise ParameterError("Two --axis options name the same parameter; give its values in one.")
        method = RANDOM if drawn else OPTUNA if searched else GRID
        document = app.sweeps.run(
            Experiment(
                app.lab.read_tasks(tasks), source=str(tasks), catalog=app.lab_runs.open(catalog), router=router, preset=preset,
                parameters=parameters, **seed_and_hints,
            ),
            SweepPlan(sweep_axes, method, drawn or searched or 0),
            progress=run,
            spread=spread,
        )  # fmt: skip
        run.shows("lab", **app.lab_runs.place(app.lab_runs.find(document["sweep"])))
    show = partial(print_points, document, [axis.name for axis in sweep_axes], measure)
    output.result(lambda: {"router": router, "preset": preset, **document}, show)


def print_points(document: Mapping[str, Any], axes: Sequence[str], measure: str) -> None:
    """Prints the best points by a measure, and their number. A star marks the Pareto front of success, money and time."""
    points, front = document["points"], set(document["front"])
    down = OBJECTIVES.get(measure) == "minimize"
    best = sorted(points, key=lambda point: (point[measure] if down else -point[measure], point["number"]))
    measures = (SOLVED, USD, SECONDS, "mrr", "hit@1", "recall@10", "rejection")
    figures = {f"{name} *" if name == measure else name: ".4f" for name in measures}
    output.table(
        {"front": "", **dict.fromkeys(axes, ""), **figures},
        [
            (
                "*" if point["number"] in front else "",
                *(_number(point["values"][name]) for name in axes),
                *(point[name] for name in measures),
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


NAMED: tuple[str, ...] = ("at", "router", "preset", "catalog", "tasks")
SHOWN: tuple[str, ...] = ("mrr", "hit@1", "recall@10", "rejection")


@click.command()
@click.argument("run_id", metavar="[ID]", default="")
@option("--repeat", is_flag=True, help="Repeat the run; exit 1 if the rank of a task differs.")
@option("--limit", default=30, type=click.IntRange(1, 500), help="The number of listed runs.")
@options.common
def runs(run_id: str, repeat: bool, limit: int) -> None:
    """List the stored runs and sweeps, newest first. With an ID (or its beginning) show one, or repeat it.

    A run is stored with everything that repeats it: fingerprints of catalog and tasks, parameters, labels, seed,
    versions.

    Example: wayfare runs 3fa9 --repeat
    """
    if repeat and not run_id:
        raise click.UsageError("--repeat needs the ID of a run.")
    with apps.opened() as app:
        if not run_id:
            _list(app, limit)
        elif not repeat:
            _show(app, app.lab_runs.find(run_id))
        elif not _repeat(app, app.lab_runs.find(run_id)):
            sys.exit(1)


def _list(app: App, limit: int) -> None:
    stored, sweeps = app.lab_runs.runs(limit), app.lab_runs.sweeps(limit)
    if output.wants_json():
        output.document({"runs": [_head(run) for run in stored], "sweeps": [_head(sweep) for sweep in sweeps]})
        return
    if not stored and not sweeps:
        click.echo("Nothing is stored yet; `wayfare bench` and `wayfare sweep` store what they measure.")
    if stored:
        output.table(
            dict.fromkeys(("run", *NAMED), "") | dict.fromkeys(SHOWN, ".3f"),
            [(*_named(run), *map(run.result.get, SHOWN)) for run in stored],
        )
    output.part(
        dict.fromkeys(("sweep", *NAMED, "axes"), "") | {"points": ","},
        [(*_named(sweep), ", ".join(_plan(sweep)["axes"]), _plan(sweep)["points"]) for sweep in sweeps],
    )


def _show(app: App, stored: LabRun | Sweep) -> None:
    result = stored.result if isinstance(stored, LabRun) else app.sweeps.document(stored.id)
    if output.wants_json():
        output.document({**_head(stored), "result": result})
        return
    for name, value in stored.to_json().items():
        click.echo(f"{name:<20} {output.printable(value if isinstance(value, str) else json.dumps(value), 2000)}")
    if isinstance(stored, Sweep):
        click.echo()
        print_points(result, [text.partition("=")[0].strip() for text in _plan(stored)["axes"]], SOLVED)
        return
    for name, value in result.items():
        if isinstance(value, int | float):
            click.echo(f"{name:<20} {value:.4g}")


def _repeat(app: App, stored: LabRun | Sweep) -> bool:
    if isinstance(stored, Sweep):
        raise WayfareError("To repeat a sweep, give its command again; stored points are not computed twice.")
    again = app.measuring.repeat(stored)
    if output.wants_json():
        output.document({"run": _head(stored), "result": again.made.entry, **again.to_json()})
        return not again.moved
    print_measures([again.made.run])
    print_played([] if again.made.played is None else [again.made.played])
    click.echo()
    click.echo(f"Conditions that differ: {', '.join(again.differing) or 'none'}.")
    print_changes(again.changes)
    click.echo(f"Figures that differ: {', '.join(map(output.printable, again.other)) or 'none'}.")
    click.echo(f"Tasks whose rank differs: {', '.join(map(output.printable, again.moved)) or 'none'}.")
    return not again.moved


def _head(stored: LabRun | Sweep) -> dict[str, Any]:
    plan = {"plan": _plan(stored)} if isinstance(stored, Sweep) else {}
    return {"id": stored.id, "at": stored.at.isoformat(), **stored.to_json(), **plan}


def _plan(sweep: Sweep) -> dict[str, Any]:
    return json.loads(sweep.plan_json)


def _named(stored: LabRun | Sweep) -> Sequence[str]:
    return (stored.id, f"{stored.at:%Y-%m-%d %H:%M}", stored.router, stored.preset, stored.catalog, stored.tasks)


LISTED_CHANGES = 30


@click.command()
@click.argument("file", required=False, type=options.File(path_type=Path, exists=True, dir_okay=False))
@option("--router", default="", help="Another router, with its defaults and --set. [default: the recorded one]")
@option("--preset", default="", metavar="NAME", help=f"Instead of the recorded parameters: {', '.join(PRESETS)}.")
@option("--last", default=1_000, type=click.IntRange(1, 100_000), help="How many decisions.")
@options.settings
@options.of_catalog
def replay(
    file: Path | None, router: str, preset: str, last: int, settings: dict[str, str], catalog: str
) -> None:  # fmt: skip
    """Decide recorded sub-tasks again, with the statistics of their time, and compare winners and their costs.

    Without --router, --preset and --set the recorded parameters are used: any difference comes from a changed catalog
    or from new labels. With FILE, the calls of another gateway (JSON Lines: time, session, question, tool, ok, latency_s,
    price_usd, or the activity of mcpproxy-go), the tools that were called are compared with the decisions of now.

    Example: wayfare replay --set kappa=300
    """
    with apps.opened_catalog(catalog) as (app, name), apps.listed_run(app, "Deciding again") as run:
        run.shows("activity", view="replay", catalog=name)
        service = app.replay
        if file is None:
            rows = service.replay(name, router=router, preset=preset, settings=settings, decisions=last, progress=run)
        else:
            parameters = app.routing.parameters(router or "ehrr", settings, preset=preset or DEFAULT_PRESET)
            recorded = read_calls(file.read_bytes(), source=str(file), catalog=name)
            rows = service.replay_calls(recorded, router or "ehrr", parameters, decisions=last, progress=run)
    totals = ReplayTotals.of(rows)
    if output.wants_json():
        output.document({"totals": asdict(totals), "decisions": [row.to_json() for row in rows]})
        return
    click.echo(
        f"{totals.decisions:,} decisions, {totals.changed:,} with another winner: {totals.refused:,} have none now, "
        f"{totals.answered:,} have one only now. {totals.headline}."
    )
    click.echo()
    output.table(("", "measured", "projected then", "projected now"), totals.words())
    _print_changed([row for row in rows if row.changed])


def _print_changed(changed: Sequence[Replayed]) -> None:
    output.part(
        ("sub-task", "winner then", "winner now", "price", "expected s"),
        [
            (
                output.printable(row.subtask, 60), *(output.printable(winner.tool or "none") for winner in (row.then, row.now)),
                *map(" -> ".join, zip(_cost(row.then), _cost(row.now), strict=True)),
            )
            for row in changed[:LISTED_CHANGES]
        ],
    )  # fmt: skip
    if len(changed) > LISTED_CHANGES:
        click.echo(f"and {len(changed) - LISTED_CHANGES:,} more; --json has them all.")


def _cost(chosen: Chosen) -> tuple[str, str]:
    usd = "–" if chosen.tool is None else units.price(chosen.usd)
    return usd, "–" if chosen.s is None else f"{chosen.s:.2f}"
