"""`wayfare judgments`: lists, imports and exports sets of graded judgments."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click

from core.app import App
from core.cli.options import (
    catalog_option,
    common,
    opened,
    print_json,
    print_outcome,
    print_table,
    read_file,
    write_file,
)
from core.domain.feedback import FIRST_SET
from core.lab.judgments import Format

LIST, IMPORT, EXPORT = ACTIONS = ("list", "import", "export")
FORMATS: tuple[Format, ...] = get_args(Format)


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default=LIST)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--set", "set_name", default=FIRST_SET, show_default=True, metavar="NAME", help="The set of judgments.")
@click.option("--judge", default="", metavar="NAME", help="import: the judge, if the file names none.")
@click.option("--format", "form", type=click.Choice(FORMATS), help="export: jsonl unless FILE ends with .csv.")
@catalog_option
@common
def judgments(
    action: str,
    file: Path | None,
    set_name: str,
    judge: str,
    form: Format | None,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """List the judgment sets of a catalog, import or export one.

    A judgment is a judge's grade from 0 to 3 of a tool for a sub-task. JSON Lines and CSV hold all of it. The format `tasks` is the
    set as labelled tasks, with the median of the judges' grades.

    Example: wayfare judgments import ann.csv --set trip --judge ann
    """
    if (action in (IMPORT, EXPORT)) is not (file is not None):
        raise click.UsageError(f"{action} {'needs a FILE' if file is None else 'takes no FILE'}.")
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        if file is None:
            _list(app, name, as_json)
        elif action == IMPORT:
            found = app.judgments.import_(
                read_file(file), source=str(file), catalog=name, set_name=set_name, judge=judge
            )
            absent = f" {found.not_in_catalog} are of tools that {name} does not have." if found.not_in_catalog else ""
            print_outcome(
                asdict(found), f"{found.added} judgments added to {set_name!r}, {found.known} known.{absent}", as_json
            )
        else:
            text = app.judgments.export(name, set_name, form or ("csv" if file.suffix.lower() == ".csv" else "jsonl"))
            write_file(file, text)
            lines = len(text.splitlines())
            print_outcome({"file": str(file), "lines": lines}, f"{lines} lines written to {file}.", as_json)


def _list(app: App, catalog: str, as_json: bool) -> None:
    sets = app.judgments.sets(catalog)
    if as_json:
        print_json({"sets": [{"set": name, "judgments": count} for name, count in sets.items()]})
    elif sets:
        print_table(("judgments", "set"), [(f"{count:,}", name) for name, count in sets.items()])
    else:
        click.echo("There is no judgment yet. Judge on the pages Decision, Compare and Call, or import a file.")
