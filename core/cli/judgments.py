"""`wayfare judgments`: imports and exports sets of graded judgments, measures their agreement, and writes runs as TREC
files.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any, get_args

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
from core.domain.lab_runs import LabRun
from core.lab.agreement import RULE_WORDS, RULES, Agreement, judged_tasks
from core.lab.stored_runs import run_file, run_qrels
from core.services.lab.judgments import Format
from core.shared.errors import WayfareError

LIST, IMPORT, EXPORT, AGREEMENT = ACTIONS = ("list", "import", "export", "agreement")
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: dict[str, Format] = {".csv": "csv", ".qrels": "qrels"}


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default=LIST)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--set", "set_name", default=FIRST_SET, show_default=True, metavar="NAME", help="The set of judgments.")
@click.option("--judge", default="", metavar="NAME", help="import: the judge, if the file names none.")
@click.option("--tasks", type=click.Path(path_type=Path), help="import of qrels: labelled tasks with the query ids.")
@click.option(
    "--settle", default="median", show_default=True, metavar="|".join((*RULES, "judge:NAME")),
    help="export of qrels and tasks: the rule for a grade on which judges differ. judge:NAME exports only that judge's grades, in any format.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="export: jsonl unless FILE ends with .csv or .qrels."
)
@click.option(
    "--run", "run_id", default="", metavar="ID", help="export: a stored run as a TREC run file, or its qrels."
)
@catalog_option
@common
def judgments(
    action: str,
    file: Path | None,
    set_name: str,
    judge: str,
    tasks: Path | None,
    settle: str,
    form: Format | None,
    run_id: str,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """List the judgment sets of a catalog, import or export one, or show the agreement of its judges.

    A judgment is a judge's grade from 0 to 3 of a tool for a sub-task. JSON Lines and CSV hold all of it. TREC qrels
    hold one grade for each query id and tool. The format `tasks` is the set as labelled tasks, whose ids are those
    query ids.

    Example: wayfare judgments import ann.qrels --set trip --judge ann --tasks tasks.jsonl
    """
    if (action in (IMPORT, EXPORT)) is not (file is not None):
        raise click.UsageError(f"{action} {'needs a FILE' if file is None else 'takes no FILE'}.")
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        if file is None:
            (_list if action == LIST else _agreement)(app, name, set_name, as_json)
        elif action == IMPORT:
            known = () if tasks is None else app.lab.read_tasks(tasks)
            found = app.judgments.import_(
                read_file(file), source=str(file), catalog=name, set_name=set_name, judge=judge, tasks=known
            )
            absent = f" {found.not_in_catalog} are of tools that {name} does not have." if found.not_in_catalog else ""
            print_outcome(
                asdict(found), f"{found.added} judgments added to {set_name!r}, {found.known} known.{absent}", as_json
            )
        else:
            form = form or SUFFIXES.get(file.suffix.lower(), "jsonl")
            text = _run(app, run_id, form) if run_id else app.judgments.export(name, set_name, form, settle)
            write_file(file, text)
            lines = len(text.splitlines())
            print_outcome({"file": str(file), "lines": lines}, f"{lines} lines written to {file}.", as_json)


def _run(app: App, run_id: str, form: Format) -> str:
    run = app.lab_runs.find(run_id)
    if not isinstance(run, LabRun):
        raise WayfareError(f"{run_id} is a sweep; name a run, which `wayfare runs` lists.")
    return run_qrels(app.lab_runs.tasks(run)) if form == "qrels" else run_file(run)


def _list(app: App, catalog: str, _set_name: str, as_json: bool) -> None:
    sets = app.judgments.sets(catalog)
    if as_json:
        print_json({"sets": [{"set": name, "judgments": count} for name, count in sets.items()]})
    elif sets:
        print_table(("judgments", "set"), [(f"{count:,}", name) for name, count in sets.items()])
    else:
        click.echo("There is no judgment yet. Judge on the pages Route, Compare, Call and Lab, or import a file.")


def _agreement(app: App, catalog: str, set_name: str, as_json: bool) -> None:
    found = app.judgments.agreement(catalog, set_name)
    settled = {rule: app.judgments.settled(catalog, set_name, rule) for rule in RULES}
    rows: dict[str, dict[str, Any]] = {
        rule: {
            "settled": sum(map(len, grades.values())),
            "left_out": found.units - sum(map(len, grades.values())),
            "tasks": len(judged_tasks(grades)[0]),
        }
        for rule, grades in settled.items()
    }
    if as_json:
        print_json({"set": set_name, **asdict(found), "rules": rows})
        return
    print_table(("judgments", "judge"), [(f"{count:,}", judge) for judge, count in found.judges.items()])
    click.echo()
    click.echo(_alpha(found))
    click.echo()
    print_table(
        ("rule", "settled", "left out", "tasks", "a tool's grade is"),
        [(rule, *(f"{row[key]:,}" for key in row), RULE_WORDS[rule]) for rule, row in rows.items()],
    )


def _alpha(found: Agreement) -> str:
    counted = f"{found.shared:,} of {found.units:,} judged tools have two judges or more; on {found.same:,} of them all judges agree."
    if found.alpha is None:
        return f"{counted} Krippendorff's alpha is not defined: it needs tools with two judges, and grades that are not all equal."
    bounds = "" if found.low is None or found.high is None else f" [{found.low:.3f}, {found.high:.3f}]"
    return f"Krippendorff's alpha, ordinal: {found.alpha:.3f}{bounds}. {counted}"
