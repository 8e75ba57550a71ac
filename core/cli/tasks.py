"""`wayfare tasks`: labelled tasks for a catalog, written by rules."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from core.cli.options import catalog_option, common, listed_run, opened, print_json, printable, write_file
from core.importers import tasks_text
from core.lab.lab_runs import STORED


@click.group()
def tasks() -> None:
    """Write labelled tasks for any catalog, by rules: direct and contextual questions, chains, impossible ones.

    Example: wayfare tasks write --catalog mine --out tasks.jsonl
    """


@tasks.command()
@click.option(
    "--count", default=20, show_default=True, type=click.IntRange(1, 1000), help="Tasks of each level at most."
)
@click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="The same seed writes the same tasks."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="Write the tasks to this file, for `wayfare bench --tasks`."
)
@catalog_option
@common
def write(count: int, seed: int, out: Path | None, catalog: str, db: Path | None, as_json: bool) -> None:
    """Write tasks of ETOM's five levels from example requests and definitions, as JSON Lines. Without --out they go to standard
    output, and the summary to standard error. Each task says in `provenance` how it was made. The Lab lists the last ones of a catalog.

    Example: wayfare tasks write --catalog mine --count 50 --out tasks.jsonl
    """
    with opened(db) as app, listed_run(app, "Writing tasks") as run:
        name = app.catalogs.open(catalog).name
        written = app.task_writing.write(name, count=count, seed=seed, progress=run)
        if written.tasks and name == catalog:  # not one of a file
            run.shows("lab", catalog=name, tasks=f"{STORED}{app.task_writing.keep(name, written.tasks)}")
    text = tasks_text(written.tasks)
    if out is not None:
        write_file(out, text)
    if as_json:
        pairs = [asdict(pair) for pair in written.proposals]
        print_json({
            "tasks": [json.loads(line) for line in text.splitlines()], "levels": written.levels, "dropped": written.dropped,
            "widened": written.widened, "remarks": written.remarks, "may_do_the_same": pairs,
        })  # fmt: skip
        return
    if out is None:
        click.echo(text, nl=False)
    for line in written.summary():
        click.echo(printable(line, 300), err=out is None)
