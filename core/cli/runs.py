"""`wayfare runs`: what the lab has measured, and the same again."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from core.app import App
from core.cli.lab_tables import print_changes, print_measures, print_played
from core.cli.opening import opened
from core.cli.options import common, print_json, print_table, printable
from core.cli.sweep import print_points
from core.domain.lab_run import LabRun, Sweep
from core.lab.sweep import SOLVED
from core.shared.errors import WayfareError

SHOWN = ("mrr", "hit@1", "recall@10", "rejection")


@click.command()
@click.argument("run_id", metavar="[ID]", default="")
@click.option("--repeat", is_flag=True, help="Make the run again; exit 1 where a task has another rank than then.")
@click.option("--limit", default=30, show_default=True, type=click.IntRange(1, 500), help="How many are listed.")
@common
def runs(run_id: str, repeat: bool, limit: int, db: Path | None, as_json: bool) -> None:
    """List the stored runs and sweeps, newest first; with an ID (or its beginning) show one, or make it again.

    A run is stored with what repeats it: fingerprints of catalog and tasks, parameters, what had been learnt, seed, versions.

    Example: wayfare runs 3fa9 --repeat
    """
    if repeat and not run_id:
        raise click.UsageError("--repeat needs the ID of a run.")
    with opened(db) as app:
        if not run_id:
            _list(app, limit, as_json)
            return
        found = app.lab_runs.find(run_id)
        same = _repeat(app, found, as_json) if repeat else _show(app, found, as_json)
    if not same:
        sys.exit(1)


def _list(app: App, limit: int, as_json: bool) -> None:
    kept, sweeps = app.lab_runs.runs(limit), app.lab_runs.sweeps(limit)
    if as_json:
        print_json({"runs": [_head(run) for run in kept], "sweeps": [_head(sweep) for sweep in sweeps]})
        return
    if not kept and not sweeps:
        click.echo("Nothing is stored yet; `wayfare bench` and `wayfare sweep` store what they measure.")
    if kept:
        print_table(
            ("run", "at", "router", "preset", "catalog", "tasks", *SHOWN),
            [(*_named(run), *(_figure(run.result.get(name)) for name in SHOWN)) for run in kept],
        )
    if sweeps:
        click.echo()
        print_table(
            ("sweep", "at", "router", "preset", "catalog", "tasks", "axes", "points"),
            [(*_named(one), ", ".join(_plan(one)["axes"]), f"{_plan(one)['points']:,}") for one in sweeps],
        )


def _show(app: App, found: LabRun | Sweep, as_json: bool) -> bool:
    result = found.result if isinstance(found, LabRun) else app.sweeps.document(found.id)
    if as_json:
        print_json({**_head(found), "result": result})
        return True
    for name, value in found.to_json().items():
        click.echo(f"{name:<20} {printable(value if isinstance(value, str) else json.dumps(value), 2000)}")
    if isinstance(found, Sweep):
        click.echo()
        print_points(result, [text.partition("=")[0].strip() for text in _plan(found)["axes"]], SOLVED)
        return True
    for name, value in result.items():
        if isinstance(value, int | float):
            click.echo(f"{name:<20} {value:.4g}")
    return True


def _repeat(app: App, found: LabRun | Sweep, as_json: bool) -> bool:
    if isinstance(found, Sweep):
        raise WayfareError(
            "A sweep is made again by the command that made it; what is stored of it is not computed twice."
        )
    again = app.measuring.repeat(found)
    if as_json:
        print_json({"run": _head(found), "result": again.made.entry, **again.to_json()})
        return not again.moved
    print_measures([again.made.run])
    print_played([] if again.made.played is None else [again.made.played])
    click.echo()
    click.echo(f"Other conditions than then: {', '.join(again.differing) or 'none'}.")
    print_changes(again.changes)
    click.echo(f"Not the same to the last byte: {', '.join(map(printable, again.other)) or 'nothing'}.")
    click.echo(f"Tasks with another rank than then: {', '.join(map(printable, again.moved)) or 'none'}.")
    return not again.moved


def _head(found: LabRun | Sweep) -> dict[str, Any]:
    plan = {"plan": _plan(found)} if isinstance(found, Sweep) else {}
    return {"id": found.id, "at": found.at.isoformat(), **found.to_json(), **plan}


def _plan(sweep: Sweep) -> dict[str, Any]:
    return json.loads(sweep.plan_json)


def _named(found: LabRun | Sweep) -> Sequence[str]:
    return (found.id, f"{found.at:%Y-%m-%d %H:%M}", found.router, found.preset, found.catalog, found.tasks)


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
