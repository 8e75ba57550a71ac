"""`wayfare server`: one server of a catalog is added, removed, switched off and on, restarted, or asked again for its tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from core.cli.options import catalog_option, common, opened, print_json, printable, settings_of
from core.domain.catalog import Discovery, Imported
from core.importers import read_document
from core.shared.errors import CatalogError, ParameterError, StoreBusyError

ADD, REMOVE, ENABLE, DISABLE, RESTART, DISCOVER = ACTIONS = ("add", "remove", "enable", "disable", "restart", "discover")


@click.command()
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--url", default="", help="add: the address of a server over HTTP, in place of a command.")
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="add: a variable; may be repeated.")
@click.option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="add: a header; may be repeated.")
@catalog_option
@common
def server(
    action: str,
    name: str,
    command: tuple[str, ...],
    url: str,
    variables: tuple[str, ...],
    headers: tuple[str, ...],
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Add one server to a catalog, remove it, switch it off (disable) or on (enable), restart it, or take its tools live again
    (discover). The other servers of the catalog stay as they are.

    add takes a command after --, or --url. Secrets in values are kept where `wayfare secrets` keeps them. A server that is switched off is
    neither offered nor called, and keeps its statistics. Exits 1 if something was refused.

    Example: wayfare server add git --catalog mine -- uvx mcp-server-git
    """
    if action != ADD and (command or url or variables or headers):
        raise click.UsageError(f"{action} takes a NAME alone.")
    if action == ADD:
        if bool(command) is bool(url):
            raise click.UsageError("add needs a command after --, or --url.")
        _add(name, imported_server(name, command, url, pairs(variables), pairs(headers)), catalog, db, as_json)
        return
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        if action == DISCOVER:
            _report(action, chosen, name, app.servers.discover(chosen, name), as_json)
            return
        found = getattr(app.servers, action)(chosen, name)
    _report(action, chosen, name, found, as_json)


def pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """Returns `NAME=VALUE` texts as a mapping. Raises ParameterError that quotes no value."""
    for text in texts:
        if not text.partition("=")[1] or not text.partition("=")[0].strip():
            raise ParameterError("A variable or header is not written as NAME=VALUE; write for example --env LEVEL=debug.")
    return settings_of(texts)


def imported_server(
    name: str, command: tuple[str, ...], url: str, variables: dict[str, str], headers: dict[str, str]
) -> Imported:
    """Returns a server as the entry of a client configuration is read. Raises BrokenDocumentError."""
    entry = {"url": url, "headers": headers} if url else {"command": command[0], "args": command[1:], "env": variables}
    if url and variables:
        raise CatalogError("A server over HTTP has no variables; give --header.")
    if headers and not url:
        raise CatalogError("A command has no headers; give --env.")
    return read_document(json.dumps({"mcpServers": {name: entry}}), source="server add")


def _add(name: str, imported: Imported, catalog: str, db: Path | None, as_json: bool) -> None:
    try:
        with opened(db) as app:
            found = app.servers.add(catalog, imported)
    except StoreBusyError as error:
        _add_in_owner(name, imported, catalog, db, error, as_json)
        return
    _report(ADD, catalog, name, found, as_json, imported)
