"""`wayfare catalogs` and `wayfare server`: the files of catalogs; one server of a catalog is added, removed, switched off and on, restarted, or asked again for its tools."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.catalogs.servers import keep_values
from core.cli import apps, options, output
from core.cli.joining import joined
from core.cli.main import ServedError
from core.cli.options import option
from core.domain.catalog import Connection, Discovery, Follow, Imported, ServerId
from core.domain.errors import CatalogError, ParameterError
from core.importers import read_document
from core.servers.secrets import vault_of

if TYPE_CHECKING:
    from core.app import App
    from core.catalogs.followed import FileState

ADD, REMOVE, ENABLE, DISABLE, RESTART, DISCOVER = ACTIONS = (
    "add",
    "remove",
    "enable",
    "disable",
    "restart",
    "discover",
)


@click.command()
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@option("--registry", is_flag=True, help="add: take NAME from the MCP Registry, and hold it until enable.")
@option("--url", default="", help="add: the address of a server over HTTP, in place of a command.")
@option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="add: a variable; may be repeated.")
@option("--header", "headers", multiple=True, metavar="NAME=VALUE", help="add: a header; may be repeated.")
@option("--cwd", type=options.PATH, help="add: the command's working directory (default: this one).")
@options.of_catalog
def server(
    action: str,
    name: str,
    command: tuple[str, ...],
    registry: bool,
    url: str,
    variables: tuple[str, ...],
    headers: tuple[str, ...],
    cwd: Path | None,
    catalog: str,
) -> None:
    """Add one server to a catalog, remove it, switch it off or on, restart it, or take its tools live again.

    The other servers of the catalog stay as they are. add takes a command after --, or --url. Secrets in values are kept where `wayfare secrets` keeps them. A server that is switched off is
    neither offered nor called, and keeps its statistics. add --registry fetches a published server and holds it, switched off. Exits 1 if something was refused.

    Example: wayfare server add git --catalog mine -- uvx mcp-server-git
    """
    more = bool(command or url or variables or headers or cwd)
    if more + registry > (action == ADD):
        raise click.UsageError(f"{action} takes a NAME alone{' beside --registry' * registry}.")
    if more or (action == ADD and not registry):
        if bool(command) is bool(url):
            raise click.UsageError("add needs a command after --, or --url.")
        folder = apps.expanded(cwd).absolute() if cwd else Path.cwd()
        imported = imported_server(name, command, url, pairs(variables), pairs(headers), folder)
        _add(name, imported, catalog)
        return
    with apps.opened() as app:
        edit = app.servers
        if registry:
            _report("hold", catalog, name, None, edit.hold(catalog, name))
            return
        chosen = app.catalogs.open(catalog).name
        work = {
            REMOVE: edit.remove,
            ENABLE: edit.enable,
            DISABLE: edit.disable,
            RESTART: edit.restart,
            DISCOVER: edit.discover,
        }
        discovery = work[action](chosen, name)
    _report(action, chosen, name, discovery)


def pairs(texts: tuple[str, ...]) -> dict[str, str]:
    """Returns `NAME=VALUE` texts as a mapping. Raises ParameterError that quotes no value."""
    for text in texts:
        if not text.partition("=")[1] or not text.partition("=")[0].strip():
            raise ParameterError(
                "A variable or header is not written as NAME=VALUE; write for example --env LEVEL=debug."
            )
    return options.settings_of(texts)


def imported_server(
    name: str, command: tuple[str, ...], url: str, variables: dict[str, str], headers: dict[str, str], folder: Path
) -> Imported:
    """Reads a server like an entry of a client configuration in a folder. Raises BrokenDocumentError."""
    entry = {"url": url, "headers": headers} if url else {"command": command[0], "args": command[1:], "env": variables}
    if url and variables:
        raise CatalogError("A server over HTTP has no variables; give --header.")
    if headers and not url:
        raise CatalogError("A command has no headers; give --env.")
    imported = read_document(json.dumps({"mcpServers": {name: entry}}), source="server add", folder=folder)
    if imported.itself:
        raise CatalogError("This is Wayfare itself, which is no server of its own; nothing was added.")
    return imported


def _add(name: str, imported: Imported, catalog: str) -> None:
    try:
        with apps.opened() as app:
            discovery = app.servers.add(catalog, imported)
    except ServedError as error:
        _add_in_owner(name, imported, catalog, error)
        return
    _report(ADD, catalog, name, discovery, imported)


def _add_in_owner(name: str, imported: Imported, catalog: str, error: ServedError) -> None:
    """Adds the server in the process that has the store, which has another working directory. Secrets go to the file of values, not
    into the words of a command."""
    settings = apps.settings()
    vault, server_id = vault_of(settings), ServerId(catalog, name)
    if imported.secrets and any(holder == server_id for holder, _ in vault.names()):
        raise CatalogError(f"Values are kept for a server {name!r} of catalog {catalog!r}; remove it first.")
    keep_values(vault, catalog, imported.servers, imported.secrets)
    connection = imported.servers[0].connection or Connection("stdio")
    words = ["server", "add", name, "--catalog", catalog, "--db", str(settings.db), *["--json"] * output.wants_json()]
    words += ["--url", connection.url] if connection.url else ["--cwd", connection.cwd]
    words += [word for pair in connection.env.items() for word in ("--env", "=".join(pair))]
    words += [word for pair in connection.headers.items() for word in ("--header", "=".join(pair))]
    words += ["--", connection.command, *connection.args] if connection.command else []
    code = joined(error.owner, words)
    if code in {None, 2}:  # no console took the command, or it refused all of it
        for value in imported.secrets:
            vault.remove(server_id, value)
    if code is None:
        raise error
    sys.exit(code)


DONE = {
    ADD: "is added",
    "hold": "is held, and not started before `wayfare server enable` switches it on",
    REMOVE: "is removed",
    ENABLE: "is switched on",
    DISABLE: "is switched off: it is neither offered nor called, and keeps its statistics",
    RESTART: "is restarted and answers",
    DISCOVER: "was asked",
}


def _report(action: str, catalog: str, name: str, result: Discovery | None, imported: Imported | None = None) -> None:
    """Prints the result. Exits 1 if the server or one of its tools was refused."""
    refused = [] if result is None else refusals(result)
    tools = len(result.server.tools) if result is not None and result.server is not None else None
    notes = [*(note.text for note in (imported.notes if imported else ())), *(result.notes if result else ())]
    suffix = "" if result is None else f" with {tools} tools" if not result.error else ", without new tools"
    lines = [f"{output.printable(name)} of catalog {output.printable(catalog)} {DONE[action]}{suffix}."]
    lines += [f"  note: {output.printable(text, 300)}" for text in notes]
    lines += [f"  refused: {output.printable(text, 300)}" for text in refused]
    document = {"catalog": catalog, "server": name, "done": action, "tools": tools, "notes": notes, "refused": refused}
    output.outcome(document, "\n".join(lines))
    if refused:
        sys.exit(1)


def refusals(discovery: Discovery) -> list[str]:
    """Returns why the server or some of its tools were refused."""
    return [*filter(None, [discovery.error]), *discovery.refused]


# `wayfare catalogs`: the catalogs, and the changes of the files that they follow.

LIST, TAKE, IGNORE, SET = FILE_ACTIONS = ("list", "take", "ignore", "follow")


@click.command()
@click.argument("action", type=click.Choice(FILE_ACTIONS), default=LIST)
@click.argument("name", required=False)
@options.follow
@options.common
def catalogs(action: str, name: str | None, follow: Follow | None) -> None:
    """List the catalogs, with changes of the files that they follow; take or ignore these.

    `follow NAME --follow show|take|off` chooses whether changes are shown, taken at once, or not looked for. take exits 1 if a server or a tool was refused.

    Example: wayfare catalogs take mine
    """
    if (action == LIST) is not (name is None) or (action == SET) is not (follow is not None):
        raise click.UsageError(f"{action} needs {NEEDED[action]}.")
    with apps.opened() as app:
        if name is not None:
            document = _followed(app, action, app.catalogs.open(name).name, follow)
            output.outcome(document, _followed_words(document))
            if document["refused"]:
                sys.exit(1)
            return
        infos, files = app.catalogs.infos(), app.followed.all()
        off = {name: [server.name for server in app.catalogs.catalog(name).off] for name in app.catalogs.stored()}
    if output.wants_json():
        output.document({
            "catalogs": [
                {"name": i.name, "servers": i.servers, "tools": i.tools, "source": i.source, "off": off.get(i.name, []),
                 **_file_json(files.get(i.name))}
                for i in infos
            ]
        })  # fmt: skip
        return
    output.table(
        ("catalog", "servers", "tools", "source"), [(i.name, str(i.servers), str(i.tools), i.source) for i in infos]
    )
    for catalog, names in off.items():
        if names:
            click.echo(f"{output.printable(catalog)}: switched off: {output.printable(', '.join(names))}.")
    for catalog, state in files.items():
        if state.problem:
            click.echo(f"{output.printable(catalog)}: {output.printable(state.problem, 300)}")
        elif state.changes:
            summary, quoted = "; ".join(map(str, state.changes)), shlex.quote(output.printable(catalog))
            click.echo(
                f"{output.printable(catalog)}: {output.printable(state.file.where, 200)} has changed: {output.printable(summary, 1000)}. "
                f"`wayfare catalogs take {quoted}` takes this over, `wayfare catalogs ignore {quoted}` leaves it."
            )


NEEDED = {
    LIST: "neither a NAME nor --follow",
    TAKE: "a NAME alone",
    IGNORE: "a NAME alone",
    SET: "a NAME and --follow",
}


def _followed(app: App, action: str, name: str, follow: Follow | None) -> dict[str, Any]:
    """Carries out one action on the file of a catalog. Returns the result as a document."""
    state, refused = None, list[str]()
    if action == SET and follow is not None:
        app.followed.set_follow(name, follow)
    else:
        state = app.followed.look(name)
        if action == TAKE:
            refused = [why for discovery in app.followed.take(name) for why in refusals(discovery)]
        else:
            app.followed.ignore(name)
    changes = [] if state is None else list(map(str, state.changes))
    return {"catalog": name, "done": action, "follow": follow, "changes": changes, "refused": refused}


def _followed_words(done: Mapping[str, Any]) -> str:
    summary = output.printable("; ".join(done["changes"]) or "nothing has changed", 1000)
    words = {
        TAKE: f"taken: {summary}.",
        IGNORE: f"left as it was: {summary}.",
        SET: f"changes of its file: {done['follow']}.",
    }
    return "\n".join([
        f"{output.printable(done['catalog'])}: {words[done['done']]}", *(f"  refused: {output.printable(reason, 300)}" for reason in done["refused"])
    ])  # fmt: skip


def _file_json(state: FileState | None) -> dict[str, Any]:
    if state is None:
        return {"file": None}
    changes = [asdict(change) for change in state.changes]
    return {"file": state.file.where, "follow": state.file.follow, "changes": changes, "problem": state.problem or None}
