"""Commands that bring servers in (import, discover, setup), and describe them in your own words (override)."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.app import App
from core.cli import apps, options, output
from core.cli.options import option
from core.cli.servers import refusals
from core.domain.catalog import Follow, Note
from core.domain.console import owner_of
from core.domain.errors import WayfareError
from core.gateway.endpoint import own_tokens
from core.governance.client_setup import (
    CLIENTS,
    TURNS,
    WAYS,
    FoundConfiguration,
    SetupClient,
    Way,
    client_of,
    found_configurations,
    target_of,
    visits_of,
)
from core.governance.clients import Visit

if TYPE_CHECKING:
    from core.catalogs.catalog_editor import ImportReport


@click.command("import")
@click.argument("files", nargs=-1, type=options.PATH)
@option("--find", is_flag=True, help="List the configurations of known clients in the home folder, and import none.")
@option("--name", help="The catalog's name (default: the first file's name).")
@options.follow
@options.common
def import_(files: tuple[Path, ...], find: bool, name: str | None, follow: Follow | None) -> None:
    """Import catalogs or client configurations as one catalog, all or nothing. The catalog follows its files.

    Example: wayfare import my_servers.json --name mine
    """
    if find is bool(files):
        raise click.UsageError("import needs FILES, or --find alone.")
    with apps.opened() as app:
        if find:
            print_found(app)
            return
        report = app.catalog_editor.import_files(files, name, follow=follow)
    print_report(report)


@click.command()
@click.argument("file", type=options.PATH)
@option("--name", help="The catalog's name (default: the file's name).")
@options.follow
@options.common
def discover(file: Path, name: str | None, follow: Follow | None) -> None:
    """Connect to the servers of a client configuration and import their current tools. The catalog follows the file.

    Exits 1 if a server or a tool was refused.

    Example: wayfare discover ~/.config/client/mcp.json --name mine
    """
    with apps.opened() as app:
        report = app.catalog_editor.discover_file(file, name, follow=follow)
    print_report(report)
    if any(discovery.error or discovery.refused for discovery in report.discoveries):
        sys.exit(1)


def print_report(report: ImportReport) -> None:
    imported = report.imported
    notes = [*imported.notes, *(Note(d.name, text) for d in report.discoveries for text in d.notes)]
    refused = [(d, why) for d in report.discoveries for why in refusals(d)]
    if output.wants_json():
        output.document({
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
        click.echo(f"  note: {output.printable(note.where)}: {output.printable(note.text, 200)}")
    for discovery, why in refused:
        without = "kept without tools" if discovery.server is not None else "left out; run this again once it answers"
        remark = " It stays as it was." if discovery.kept else f" It is {without}." if discovery.error else ""
        click.echo(
            f"  refused: {output.printable(discovery.name)}: {output.printable(why.removesuffix('.'), 300)}.{remark}"
        )
    if imported.needs_discovery and not report.discoveries:
        click.echo("  These servers list their tools themselves: run `wayfare discover` on the same file.")
    click.echo(f"  {_lint_line(report)}")


def _lint_line(report: ImportReport) -> str:
    count = report.lint_errors
    words = f"{count} error{'' if count == 1 else 's'}" if count else "no errors" if count == 0 else "not yet looked at"
    return (
        f"lint: {words}; `wayfare lint --catalog {shlex.quote(output.printable(report.catalog))}` shows every finding."
    )


@click.command()
@click.argument("place", metavar="[SERVER[::TOOL]]", required=False)
@option("--description", metavar="TEXT", help="Your own description, which decisions and clients get.")
@option("--remove", is_flag=True, help="Take the server's own description back.")
@options.of_catalog
def override(place: str | None, description: str | None, remove: bool, catalog: str) -> None:
    """Describe a tool or a server in your own words, without touching the server, or take its own words back.

    Without a name it lists your descriptions. One whose server speaks otherwise now does not count until you give it
    again.

    Example: wayfare override files::read --description "Show the text of a file." --catalog mine
    """
    if place is None:
        if remove or description is not None:
            raise click.UsageError("Name SERVER or SERVER::TOOL.")
        _list_wordings(catalog)
        return
    options.one_of({"--description": description is not None, "--remove": remove}, least=1)
    with apps.opened_catalog(catalog) as (app, chosen):
        if description is None:
            app.wordings.remove(chosen, place)
        else:
            app.wordings.put(chosen, place, description)
    done = "has the server's own description again" if remove else "has your description now"
    output.outcome({"place": place, "catalog": chosen, "removed": remove}, f"{output.printable(place)} {done}.")


def _list_wordings(catalog: str) -> None:
    with apps.opened_catalog(catalog) as (app, chosen):
        wordings, stale = app.wordings.list(chosen), app.wordings.stale(chosen)
    rows = [
        (f"{wording.server}::{wording.tool}" if wording.tool else wording.server, wording, wording not in stale)
        for wording in wordings
    ]
    table = [(key, "yes" if used else "no, the server's words changed", wording.text) for key, wording, used in rows]
    output.result(
        lambda: {
            "overrides": [{"place": key, "description": wording.text, "counts": used} for key, wording, used in rows]
        },
        lambda: output.table(("place", "counts", "description"), table),
    )


@click.command()
@click.argument("client", required=False, metavar="[CLIENT]")
@option("--over", type=click.Choice(WAYS), help="The transport (default: http where the client can, else stdio).")
@option("--token", "token_client", metavar="NAME", help="Make a client NAME and put its token into the text.")
@option("--import", "imports", is_flag=True, help="Ask the servers of its configuration for their tools, as a catalog.")
@options.of_catalog
def setup(client: str | None, over: Way | None, token_client: str | None, imports: bool, catalog: str) -> None:
    """Print the exact text that connects CLIENT, and tell whether its first request has come. Without CLIENT, list the clients and
    the client configurations of this machine with the tokens of their tools. Client files are never written to.

    CLIENT is one of claude-code, claude-desktop, vscode, cursor, codex, gemini-cli, windsurf, zed, inspector, python, typescript.

    Example: wayfare setup claude-code
    """
    if client is None and (over or token_client or imports):
        raise click.UsageError("--over, --token and --import need a CLIENT.")
    with apps.opened() as app:
        if client is None:
            _overview(app)
        elif imports:
            _import(app, client_of(client))
        else:
            _one_client(app, client_of(client), over, token_client, catalog)


def _one_client(app: App, client: SetupClient, over: Way | None, token_client: str | None, catalog: str) -> None:
    way = over or client.ways[0]
    client.text(way, target_of(app.settings))  # a wrong transport fails before a token is made
    app.catalogs.catalog(catalog)
    token = app.governance.clients.make(token_client, origin="cli") if token_client else ""
    console = owner_of(app.settings.db)
    target = target_of(app.settings, catalog, token, "" if console is None else console.url)
    text, visits = client.text(way, target), visits_of(app.governance.visits, client, token_client or "")
    if output.wants_json():
        output.document({
            "client": client.id,
            "over": way,
            "where": client.where,
            "text": text,
            "token": token or None,
            "first_request": _first(visits),
        })  # fmt: skip
        return
    click.echo(f"{client.title} over {way}. {client.where}\n\n{text}\n")
    if token:
        click.echo(f"The token of {token_client} is shown this once.")
    if client.note:
        click.echo(client.note)
    if way == "http" and console is None:
        click.echo("A console has to run at that address: `wayfare up`.")
    if why := app.catalogs.without_tools(catalog):
        click.echo(f"{why} A client finds nothing in it.")
    click.echo(_came(client, visits))


def _import(app: App, client: SetupClient) -> None:
    configs = (config for config in found_configurations(app.catalogs, Path.home()) if config.client is client)
    path = next((config.path for config in configs if config.others is not None), None)
    if path is None:
        raise WayfareError(
            f"No configuration of {client.title} with servers was found in the home folder; see `wayfare setup`."
        )
    print_report(app.catalog_editor.discover_file(path, client.id))


def _came(client: SetupClient, visits: tuple[Visit, ...]) -> str:
    if (first := _earliest(visits)) is None:
        return f"No request of {client.title} has come yet; run `wayfare setup {client.id}` again after it started."
    latest = f", its latest at {visits[0].last:%Y-%m-%d %H:%M:%S}" if visits[0].last else ""
    name = output.printable(visits[0].name)
    return f"Its first request came at {first.first:%Y-%m-%d %H:%M:%S} UTC, as {name!r}{latest}."


def _first(visits: tuple[Visit, ...]) -> dict[str, Any] | None:
    if (first := _earliest(visits)) is None:
        return None
    latest = visits[0].last and visits[0].last.isoformat()
    return {"name": first.name, "at": first.first.isoformat(), "latest": latest}


def _earliest(visits: tuple[Visit, ...]) -> Visit | None:
    return min(visits, key=lambda visit: visit.first, default=None)


def _overview(app: App) -> None:
    visits = {client.id: visits_of(app.governance.visits, client) for client in CLIENTS.values()}
    if not output.wants_json():
        rows = [(c.id, c.title, ", ".join(c.ways), _short(visits[c.id])) for c in CLIENTS.values()]
        output.table(("client", "", "over", "first request"), rows)
        click.echo()
    clients = [
        {"client": c.id, "title": c.title, "over": c.ways, "first_request": _first(visits[c.id])}
        for c in CLIENTS.values()
    ]
    print_found(app, clients=clients)


def print_found(app: App, **beside: Any) -> None:
    """Prints the client configurations of this machine, and the command that imports each."""
    configs = found_configurations(app.catalogs, Path.home())
    if output.wants_json():
        output.document({**beside, "configurations": [_as_json(config) for config in configs]})
        return
    for config in configs:
        click.echo(f"{config.client.title}: {config.path}\n  {_found_words(config)}")
        if not config.problem and len(config.known) < len(config.servers):
            click.echo(f"  wayfare setup {config.client.id} --import")
    if not configs:
        click.echo("No client configuration with servers was found in the home folder.")


def _short(visits: tuple[Visit, ...]) -> str:
    first = _earliest(visits)
    return "none yet" if first is None else f"{first.first:%Y-%m-%d %H:%M} UTC"


def _found_words(config: FoundConfiguration) -> str:
    """Returns the cost of a configuration, now and with Wayfare, in sentences."""
    if config.problem:
        return output.printable(config.problem, 300)
    count, beside = len(config.servers), " beside Wayfare" if config.has_wayfare else ""
    servers = f"{count} server{'s' * (count != 1)}{beside}"
    if not config.known:
        return f"{servers}. Their tools are counted once they are imported."
    meter = config.meter(own_tokens())
    counted, projected = meter.counted, meter.projected
    rest = len(config.servers) - len(config.known)
    more = f" The tools of {rest} more are not known." if rest else ""
    return (
        f"{servers}. Counted: {counted.tools} tools, {counted.definitions:,} tokens a turn; with Wayfare {own_tokens():,} and the "
        f"answers of its searches. Projected for {TURNS} turns: {projected.all_tools.tokens:,} against {projected.decision.tokens:,}.{more}"
    )


def _as_json(config: FoundConfiguration) -> dict[str, Any]:
    return {
        "client": config.client.id,
        "file": str(config.path),
        "problem": config.problem or None,
        "servers": list(config.servers),
        "known": list(config.known),
        "tools": config.tools,
        "tokens": config.tokens if config.known else None,
        "tokens_with_wayfare": own_tokens(),
        "has_wayfare": config.has_wayfare,
    }
