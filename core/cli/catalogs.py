"""Commands that add servers to a catalog (import, discover) and describe them in your own words (override)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.cli.options import (
    catalog_option,
    common,
    follow_option,
    one_of,
    opened,
    print_json,
    print_outcome,
    print_table,
    printable,
)
from core.domain.catalog import Follow, Note

if TYPE_CHECKING:
    from core.catalogs.catalog_editor import ImportReport


@click.command("import")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--find", is_flag=True, help="List the configurations of known clients in the home folder, and import none."
)
@click.option("--name", help="The catalog's name (default: the first file's name).")
@follow_option
@common
def import_(
    files: tuple[Path, ...], find: bool, name: str | None, follow: Follow | None, db: Path | None, as_json: bool
) -> None:
    """Import catalogs or client configurations as one catalog, all or nothing. The catalog follows its files.

    Example: wayfare import my_servers.json --name mine
    """
    if find is bool(files):
        raise click.UsageError("import needs FILES, or --find alone.")
    with opened(db) as app:
        if find:
            from core.cli.setup import print_found

            print_found(app, as_json)
            return
        report = app.catalog_editor.import_files(files, name, follow=follow)
    print_report(report, as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="The catalog's name (default: the file's name).")
@follow_option
@common
def discover(file: Path, name: str | None, follow: Follow | None, db: Path | None, as_json: bool) -> None:
    """Connect to the servers of a client configuration and import their current tools. The catalog follows the file.

    Exits 1 if a server or a tool was refused.

    Example: wayfare discover ~/.config/client/mcp.json --name mine
    """
    with opened(db) as app:
        report = app.catalog_editor.discover_file(file, name, follow=follow)
    print_report(report, as_json)
    if any(one.error or one.refused for one in report.discoveries):
        sys.exit(1)


def print_report(report: ImportReport, as_json: bool) -> None:
    imported = report.imported
    notes = [*imported.notes, *(Note(d.name, text) for d in report.discoveries for text in d.notes)]
    refused = [(d, d.error) for d in report.discoveries if d.error] + [
        (d, why) for d in report.discoveries for why in d.refused
    ]
    if as_json:
        print_json({
            "catalog": report.catalog,
            "format": imported.format,
            "servers": report.servers,
            "tools": report.tools,
            "left_out": imported.left_out,
            "notes": [{"where": n.where, "text": n.text} for n in notes],
            "refused": [{"server": d.name, "error": why, "kept": d.kept} for d, why in refused],
            "needs_discovery": [] if report.discoveries else list(imported.needs_discovery),
            "needs_values": [p.id for p in imported.prompts],
            "lint_errors": report.lint_errors,
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {report.catalog}: took {report.servers} server{'s' * (report.servers != 1)} with {report.tools} "
        f"tool{'s' * (report.tools != 1)} ({imported.format})."
    )
    for note in notes:
        click.echo(f"  note: {printable(note.where)}: {printable(note.text, 200)}")
    for discovery, why in refused:
        waits = " It is kept without tools." if discovery.error and discovery.server is not None else ""
        kept = " It stays as it was discovered before." if discovery.kept else waits
        click.echo(f"  refused: {printable(discovery.name)}: {printable(why, 300)}{kept}")
    if imported.needs_discovery and not report.discoveries:
        click.echo("  These servers list their tools themselves: run `wayfare discover` on the same file.")
    click.echo(f"  {_lint_line(report)}")


def _lint_line(report: ImportReport) -> str:
    count = report.lint_errors
    found = f"{count} error{'' if count == 1 else 's'}" if count else "no errors" if count == 0 else "not yet looked at"
    return f"lint: {found}; `wayfare lint --catalog {shlex.quote(printable(report.catalog))}` shows every finding."


@click.command()
@click.argument("place", metavar="[SERVER[::TOOL]]", required=False)
@click.option("--description", metavar="TEXT", help="Your own description, which decisions and clients get.")
@click.option("--remove", is_flag=True, help="Take the server's own description back.")
@catalog_option
@common
def override(
    place: str | None, description: str | None, remove: bool, catalog: str, db: Path | None, as_json: bool
) -> None:
    """Describe a tool or a server in your own words, without touching the server, or take its own words back.

    Without a name it lists your descriptions. One whose server speaks otherwise now does not count until you give it
    again.

    Example: wayfare override files::read --description "Show the text of a file." --catalog mine
    """
    if place is None:
        _list_wordings(catalog, db, as_json)
        return
    one_of({"--description": description is not None, "--remove": remove}, least=1)
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        if description is None:
            app.wordings.remove(chosen, place)
        else:
            app.wordings.put(chosen, place, description)
    done = "has the server's own description again" if remove else "has your description now"
    print_outcome({"place": place, "catalog": chosen, "removed": remove}, f"{printable(place)} {done}.", as_json)


def _list_wordings(catalog: str, db: Path | None, as_json: bool) -> None:
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        found, stale = app.wordings.list(chosen), app.wordings.stale(chosen)
    rows = [(f"{one.server}::{one.tool}" if one.tool else one.server, one, one not in stale) for one in found]
    if as_json:
        print_json(
            {"overrides": [{"place": at, "description": one.text, "counts": counts} for at, one, counts in rows]}
        )
        return
    print_table(
        ("place", "counts", "description"),
        [(at, "yes" if counts else "no, the server's words changed", one.text) for at, one, counts in rows],
    )
