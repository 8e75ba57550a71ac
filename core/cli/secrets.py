"""`wayfare secrets`: the values that servers need, such as tokens and passwords."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from core.catalogs.servers import ServerValue, with_scheme
from core.cli.options import catalog_option, common, opened, print_json, print_outcome, print_table
from core.domain.catalog import ServerId
from core.domain.errors import StoreBusyError, WayfareError
from core.domain.settings import Settings
from core.servers.secrets import SecretVault, vault_of

LIST, SET, REMOVE, HIDE, SHOW, HEADER = ACTIONS = ("list", "set", "remove", "hide", "show", "header")
STATES = {
    "kept": "kept",
    "missing": "missing",
    "environment": "from the environment",
    "written": "written in the catalog",
}


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default=LIST)
@click.argument("server", required=False)
@click.argument("name", required=False)
@catalog_option
@common
def secrets(action: str, server: str | None, name: str | None, catalog: str, db: Path | None, as_json: bool) -> None:
    """List the values that the servers of a catalog need, set or remove one, hide a written one, or show one that is no secret.

    `set` asks for the value, or reads it from standard input. No command prints a secret. `header` makes the connection send the header
    Authorization, or one that it leaves empty; `set` does that by itself.

    Example: wayfare secrets set github GITHUB_TOKEN --catalog mine
    """
    if action == LIST:
        if server is not None:
            raise click.UsageError("list takes neither SERVER nor NAME.")
        _list(catalog, db, as_json)
        return
    if server is None or name is None:
        raise click.UsageError(f"{action} needs a SERVER and a NAME.")
    said = _set(catalog, server, name, db) if action == SET else _changed(action, catalog, server, name, db)
    print_outcome({"server": server, "name": name, "done": action}, f"{name} of {server} is {said}", as_json)


def _changed(action: str, catalog: str, server: str, name: str, db: Path | None) -> str:
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        if action == REMOVE:
            app.values.remove(chosen, server, name)
            return "removed."
        if action == HEADER:
            app.values.send_header(chosen, server, name)
            return "sent with a value that is kept."
        if action == HIDE:
            app.values.hide(chosen, server, name)
            return f"a secret now. {app.vault.where}"
        app.values.show(chosen, server, name)
        return "written in the catalog now, as it is."


def _set(catalog: str, server: str, name: str, db: Path | None) -> str:
    """The value never becomes a word of a command: a running console reads the file of values, which it shares with this process."""
    value = asked_value(f"Value of {name}")
    try:
        with opened(db) as app:
            app.values.put(app.catalogs.open(catalog).name, server, name, value)
            return f"kept. {_where(app.vault)}"
    except StoreBusyError as error:
        from core.cli.joining import printed_by_owner

        settings = Settings.from_environment(db=db)
        printed_by_owner(["secrets", HEADER, server, name, "--catalog", catalog], settings, error)
        document = json.loads(printed_by_owner(["secrets", "list", "--catalog", catalog, "--json"], settings, error))
        vault = vault_of(settings)
        vault.put(
            ServerId(document["catalog"], server),
            _reference(document["values"], server, name),
            with_scheme(name, value),
        )
        return f"kept. The console that runs uses it with the next call. {_where(vault)}"


def _reference(values: list[dict[str, str | None]], server: str, name: str) -> str:
    of_server = [one for one in values if one["server"] == server and one["reference"]]
    for one in of_server:
        if name in {one["name"], one["reference"]}:
            return str(one["reference"])
    known = ", ".join(str(one["name"]) for one in of_server)
    raise WayfareError(f"Server {server!r} refers to no value {name!r}; it refers to: {known or 'none'}.")


def _where(vault: SecretVault) -> str:
    """Raises WayfareError if the value could not be written."""
    if vault.note:
        raise WayfareError(f"The value was not kept: {vault.note}")
    return vault.where


def asked_value(what: str) -> str:
    """Asks for a value without showing it, or reads it from standard input."""
    if sys.stdin.isatty():
        return click.prompt(what, hide_input=True, err=True)
    return sys.stdin.readline().rstrip("\r\n")


def _list(catalog: str, db: Path | None, as_json: bool) -> None:
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        found = app.values.list(chosen)
        where, note = app.vault.where, app.vault.note
    if as_json:
        print_json(
            {"catalog": chosen, "where": where, "note": note or None, "values": [_document(one) for one in found]}
        )
        return
    if found:
        print_table(("server", "name", "state", "about"), [_row(one) for one in found])
    else:
        click.echo(f"No server of {catalog} needs a value.")
    click.echo(note or where)


def _document(one: ServerValue) -> dict[str, object]:
    return {
        "server": one.server, "name": one.short_name, "reference": one.reference or None, "state": one.state, "set_at": one.set_at and one.set_at.isoformat(),
        "kind": one.kind or None,
    }  # fmt: skip


def _row(one: ServerValue) -> tuple[str, str, str, str]:
    about = f"set on {one.set_at:%Y-%m-%d}" if one.set_at else one.kind
    return one.server, one.short_name, STATES[one.state], about
