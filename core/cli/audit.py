"""`wayfare audit`: whether the log is what was written."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path

import click

from core.cli.opening import opened
from core.cli.options import common, print_json


@click.command()
@click.option(
    "--export", "file", type=click.Path(dir_okay=False, path_type=Path), help="Write every record, JSON Lines."
)
@click.option(
    "--head", metavar="HASH", default="", help="The newest hash must be this one, noted earlier or elsewhere."
)
@common
def audit(file: Path | None, head: str, db: Path | None, as_json: bool) -> None:
    """Verify the log: decisions, calls, labels, judgments, approvals and denials, and changes of parameters, prices, calibrations,
    clients and policies, each write sealed with the hash of the one before. Exits 1, naming the first write that is not what was
    sealed.

    Note the newest hash where nobody who writes the store can: it says that the log ends where it ended.

    Example: wayfare audit --export log.jsonl
    """
    lines: list[str] = []
    with opened(db) as app:
        found = app.store.events.audit(lines.append if file is not None else None)
    problem = found.problem
    if not problem and head and head.lower() != found.hash:
        problem = f"The newest hash is {found.hash}, not {head}."
    if file is not None:
        file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if as_json:
        print_json({"ok": not problem, **asdict(found), "problem": problem})
    elif problem:
        click.echo(problem, err=True)
    else:
        older = f"; {found.older:,} older ones were written before there were seals" if found.older else ""
        click.echo(
            f"{found.records:,} records in {found.seals:,} writes are what was sealed{older}.\nNewest hash: {found.hash}"
        )
    if problem:
        sys.exit(1)
