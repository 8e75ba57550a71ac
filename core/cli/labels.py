"""`wayfare label`: what people say of decisions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from core.app import App, Settings, open_app
from core.cli.options import (
    catalog_option,
    common,
    one_of,
    print_json,
    print_outcome,
    print_table,
    read_file,
    write_file,
)
from core.domain.feedback import By, Label
from core.shared.errors import WayfareError

CLI = By(origin="cli")


@click.command()
@click.argument("text", required=False)
@click.option("--tool", default="", help="The tool that is judged, as server::tool.")
@click.option("--right/--wrong", "right", default=None, help="Whether it can do the sub-task.")
@click.option("--instead-of", default="", help="With --right: the tool that was shown, which is then wrong.")
@click.option("--hint", default="", help="The server hint that the sub-task was asked with.")
@click.option("--retract", default="", metavar="ID", help="Take a label back.")
@click.option("--list", "listed", is_flag=True, help="The labels of the catalog, newest first.")
@click.option(
    "--import", "imported", type=click.Path(path_type=Path), help="Take labels from labelled tasks, JSON Lines."
)
@click.option("--export", "exported", type=click.Path(path_type=Path), help="Write the labels as labelled tasks.")
@catalog_option
@common
def label(
    text: str | None,
    tool: str,
    right: bool | None,
    instead_of: str,
    hint: str,
    retract: str,
    listed: bool,
    imported: Path | None,
    exported: Path | None,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Say that a tool is right or wrong for a sub-task; the next decisions on like sub-tasks follow.

    Example: wayfare label "find a hotel in Lisbon" --tool hotels::search --right --instead-of calendar::find_free_time
    """
    one_of({"TEXT": text, "--retract": retract, "--list": listed, "--import": imported, "--export": exported})
    with open_app(Settings.from_environment(db=db)) as app:
        name = app.catalogs.open(catalog).name
        if text is not None:
            made = _labelled(app, name, text, tool, right=right, instead_of=instead_of, hint=hint)
            _print_labels(made, as_json=as_json)
        elif retract:
            _print_labels([app.feedback.retract(retract, by=CLI)], as_json=as_json)
        elif listed:
            _print_labels(app.feedback.labels(name), as_json=as_json)
        elif imported is not None:
            found = app.feedback.import_tasks(read_file(imported), source=str(imported), catalog=name)
            said = {"added": found.added, "known": found.known, "passed_over": found.passed_over}
            print_outcome(
                said, f"{found.added} labels added, {found.known} known, {found.passed_over} passed over.", as_json
            )
        elif exported is not None:
            lines = app.feedback.export(name)
            write_file(exported, lines)
            count = len(lines.splitlines())
            print_outcome(
                {"file": str(exported), "tasks": count}, f"{count} labelled sub-tasks written to {exported}.", as_json
            )


def _labelled(
    app: App, catalog: str, text: str, tool: str, *, right: bool | None, instead_of: str, hint: str
) -> Sequence[Label]:
    if not tool or right is None:
        raise WayfareError("A label needs --tool server::tool and --right or --wrong.")
    if not instead_of:
        return [app.feedback.label(text, tool, right=right, catalog=catalog, server_hint=hint, by=CLI)]
    if not right:
        raise WayfareError("--instead-of names the tool that was shown; it goes with --right.")
    return app.feedback.should_have_been(text, right=tool, shown=instead_of, catalog=catalog, server_hint=hint, by=CLI)


def _print_labels(labels: Sequence[Label], *, as_json: bool) -> None:
    if as_json:
        rows = [
            {
                "id": one.id,
                "at": one.at.isoformat(),
                "catalog": one.catalog,
                "subtask": one.subtask,
                "server_hint": one.server_hint,
                "tool": one.tool,
                "right": one.right,
                "origin": one.origin,
                "retracts": one.retracts or None,
            }
            for one in labels
        ]
        print_json({"labels": rows})
        return
    if not labels:
        click.echo("There is no label yet.")
        return
    print_table(
        ("id", "", "tool", "sub-task"),
        [(one.id, _word(one), one.tool, one.subtask) for one in labels],
    )


def _word(label: Label) -> str:
    if label.retracts:
        return "taken back"
    return "right" if label.right else "wrong"
