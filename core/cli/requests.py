"""`wayfare requests`: example requests of tools, from files, to files, and back."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from core.cli.options import catalog_option, common, opened, print_json, print_outcome, read_file
from core.domain.feedback import By
from core.services.learn.requests import GIVEN_BY, OPERATOR, lines

CLI = By(origin="cli")
SHOWN = 10  # skipped lines that are printed


@click.group()
def requests() -> None:
    """Import, export or undo example requests of tools, which make decisions better.

    A request is what somebody says who needs exactly one tool.

    Example: wayfare requests export --missing > missing.jsonl
    """


@requests.command(name="import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--source", default=OPERATOR, show_default=True, metavar="NAME", help=f"Who wrote them: {', '.join(GIVEN_BY)}."
)
@catalog_option
@common
def import_(file: Path, source: str, catalog: str, db: Path | None, as_json: bool) -> None:
    """Take requests from JSON Lines: {"tool": "server::tool", "requests": ["..."]}. `wayfare requests undo` takes them back.

    Example: wayfare requests import requests.jsonl --catalog work --source model
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        taken = app.requests.import_file(read_file(file), source_file=str(file), catalog=name, source=source, by=CLI)
    if as_json:
        print_json({
            "tools": taken.tools, "requests": taken.requests, "skipped": [asdict(one) for one in taken.skipped],
        })  # fmt: skip
        return
    click.echo(f"{taken.requests:,} requests of {taken.tools:,} tools were taken.")
    for one in taken.skipped[:SHOWN]:
        click.echo(f"line {one.line}: {one.why}")
    if len(taken.skipped) > SHOWN:
        click.echo(f"and {len(taken.skipped) - SHOWN:,} more; --json names all.")


@requests.command()
@click.option("--missing", is_flag=True, help="The tools that have none or stale ones, each with its definition.")
@catalog_option
@common
def export(missing: bool, catalog: str, db: Path | None, as_json: bool) -> None:
    """Print the requests of a catalog as JSON Lines, or with --missing the tools that lack them.

    Example: wayfare requests export --catalog sample
    """
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        rows = app.requests.missing(name) if missing else app.requests.rows(name)
    if as_json:
        print_json({"tools": rows})
    else:
        click.echo(lines(rows), nl=False)


@requests.command()
@catalog_option
@common
def undo(catalog: str, db: Path | None, as_json: bool) -> None:
    """Take back the newest change of a catalog's requests.

    Example: wayfare requests undo --catalog work
    """
    with opened(db) as app:
        done = app.requests.undo(app.catalogs.open(catalog).name, CLI)
    at = done.at.isoformat(timespec="seconds")
    print_outcome(
        {"tools": done.tools, "requests": done.requests, "source": done.source, "at": at},
        f"{done.requests:,} requests of {done.tools:,} tools are as they were before {at}.", as_json,
    )  # fmt: skip
