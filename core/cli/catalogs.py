"""Commands that list (catalogs, routers, parameters) or add (import, discover)."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import Path

import click

from core.cli.opening import opened
from core.cli.options import common, print_json, print_table, printable
from core.services.catalog_editor import ImportReport


@click.command()
@common
def catalogs(db: Path | None, as_json: bool) -> None:
    """List the catalogs.

    Example: wayfare catalogs --json
    """
    with opened(db) as app:
        infos = app.catalogs.infos()
    if as_json:
        print_json(
            {"catalogs": [{"name": i.name, "servers": i.servers, "tools": i.tools, "source": i.source} for i in infos]}
        )
        return
    print_table(
        ("catalog", "servers", "tools", "source"), [(i.name, str(i.servers), str(i.tools), i.source) for i in infos]
    )


@click.command()
@common
def routers(db: Path | None, as_json: bool) -> None:  # noqa: ARG001 - the same options everywhere
    """List the routing algorithms.

    Example: wayfare routers
    """
    from core.routers import ROUTERS

    if as_json:
        print_json({
            "routers": [
                {"id": r.id, "title": r.title, "paper": r.paper, "summary": r.summary, "parameters": [k.name for k in r.parameters.knobs()]}
                for r in ROUTERS.values()
            ]
        })  # fmt: skip
        return
    for router in ROUTERS.values():
        names = ", ".join(knob.name for knob in router.parameters.knobs())
        click.echo(f"{router.id:<18}{router.title}")
        for line in (router.summary, f"Paper: {router.paper}.", f"Parameters: {names}."):
            click.echo(textwrap.fill(line, 110, initial_indent=" " * 18, subsequent_indent=" " * 18))


@click.command()
@click.option("--router", default="ehrr", show_default=True, help="The router whose parameters are listed.")
@common
def parameters(router: str, db: Path | None, as_json: bool) -> None:  # noqa: ARG001 - the same options everywhere
    """List a router's parameters with unit, range and default.

    Example: wayfare parameters --router ehrr
    """
    from core.routers import ROUTERS
    from core.shared.errors import UnknownNameError

    if router not in ROUTERS:
        raise UnknownNameError(f"There is no router {router!r}; choose one of: {', '.join(ROUTERS)}.")
    knobs = ROUTERS[router].parameters.knobs()
    if as_json:
        print_json({
            "router": router,
            "parameters": [
                {"name": k.name, "symbol": k.symbol, "default": k.default, "unit": k.unit, "low": k.low, "high": k.high,
                 "step": k.step, "group": k.group, "choices": list(k.choices), "help": k.help}
                for k in knobs
            ],
        })  # fmt: skip
        return
    rows = [(k.name, str(k.default), k.unit, "" if k.low is None else f"{k.low:g}..{k.high:g}", k.help) for k in knobs]
    print_table(("parameter", "default", "unit", "range", "what it does"), rows)


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="The catalog's name (default: the first file's name).")
@common
def import_(files: tuple[Path, ...], name: str | None, db: Path | None, as_json: bool) -> None:
    """Import catalogs or client configurations as one catalog, all or nothing.

    Example: wayfare import my_servers.json --name mine
    """
    with opened(db) as app:
        report = app.catalog_editor.import_files(files, name)
    _print_report(report, as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="The catalog's name (default: the file's name).")
@common
def discover(file: Path, name: str | None, db: Path | None, as_json: bool) -> None:
    """Connect to the servers of a client configuration and take their tools live.

    Example: wayfare discover ~/.config/client/mcp.json --name mine
    """
    with opened(db) as app:
        report = app.catalog_editor.discover_file(file, name)
    _print_report(report, as_json)


def _print_report(report: ImportReport, as_json: bool) -> None:
    imported = report.imported
    refused = [d for d in report.discoveries if d.server is None]
    if as_json:
        print_json({
            "catalog": report.catalog,
            "format": imported.format,
            "servers": report.servers,
            "tools": report.tools,
            "notes": [{"where": n.where, "text": n.text} for n in imported.notes],
            "refused": [{"server": d.name, "error": d.error} for d in refused],
            "needs_discovery": [] if report.discoveries else list(imported.needs_discovery),
            "needs_values": [p.id for p in imported.prompts],
            "lint_errors": report.lint_errors,
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {report.catalog}: took {report.servers} servers with {report.tools} tools ({imported.format})."
    )
    for note in imported.notes:
        click.echo(f"  note: {printable(note.where)}: {printable(note.text, 200)}")
    for discovery in refused:
        click.echo(f"  refused: {printable(discovery.name)}: {printable(discovery.error, 300)}")
    if imported.needs_discovery and not report.discoveries:
        click.echo("  These servers list their tools themselves: run `wayfare discover` on the same file.")
    click.echo(f"  {_lint_line(report)}")


def _lint_line(report: ImportReport) -> str:
    count = report.lint_errors
    found = f"{count} error{'' if count == 1 else 's'}" if count else "no errors"
    return f"lint: {found}; `wayfare lint --catalog {shlex.quote(printable(report.catalog))}` shows every finding."
