"""The values that servers need, such as tokens and passwords, and sign-ins to servers over HTTP."""

from __future__ import annotations

import sys
import time
import webbrowser
from dataclasses import asdict
from functools import partial
from typing import Any

import click

from core.catalogs.server_sign_ins import ServerSignIn
from core.catalogs.servers import ServerValue, with_scheme
from core.cli import apps, options, output
from core.cli.joining import console_said
from core.cli.main import ServedError
from core.cli.options import option
from core.domain.catalog import ServerId
from core.domain.console import OwnerLeftError
from core.domain.errors import WayfareError
from core.domain.settings import Settings, launched, own_url
from core.gateway.door import console_of
from core.servers.secrets import SecretVault, client_secret_name, vault_of

for_option = option(
    "--for", "person", default="", metavar="NAME", help="A person or client, for a server to which each has their own."
)
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
@for_option
@options.of_catalog
def secrets(action: str, server: str | None, name: str | None, person: str, catalog: str) -> None:
    """List the values that the servers of a catalog need, set or remove one, hide a written one, or show one that is no secret.

    `set` asks for the value, or reads it from standard input. No command prints a secret. `header` makes the connection send the header
    Authorization, or one that it leaves empty; `set` does that by itself. `remove --for NAME` alone removes everything that a person has.

    Example: wayfare secrets set github GITHUB_TOKEN --catalog mine
    """
    if action == LIST:
        if server is not None:
            raise click.UsageError("list takes neither SERVER nor NAME.")
        _list(catalog, person)
        return
    if action == REMOVE and person and server is None:
        with apps.opened_catalog(catalog) as (app, _):
            app.values.forget_person(person)
            _where(app.vault)
        output.outcome({"person": person, "done": action}, f"The values and sign-ins of {person} are removed.")
        return
    if server is None or name is None:
        raise click.UsageError(f"{action} needs a SERVER and a NAME.")
    if person and action not in {SET, REMOVE}:
        raise click.UsageError(f"{action} is for all; --for goes with list, set and remove.")
    state = _set(catalog, server, name, person) if action == SET else _changed(action, catalog, server, name, person)
    output.outcome({"server": server, "name": name, "done": action}, f"{name} of {server} is {state}")


def _changed(action: str, catalog: str, server: str, name: str, person: str) -> str:
    with apps.opened_catalog(catalog) as (app, chosen):
        values = app.values
        work, done = {
            REMOVE: (partial(values.remove, person=person), "removed."),
            HEADER: (values.send_header, "sent with a value that is kept."),
            HIDE: (values.hide, "a secret now."),
            SHOW: (values.show, "written in the catalog now, as it is."),
        }[action]
        work(chosen, server, name)
        if action == REMOVE:
            _where(app.vault)
        return f"{done} {app.vault.where}" if action == HIDE else done


def _set(catalog: str, server: str, name: str, person: str) -> str:
    """Sets a value, which never becomes a word of a command. A running console reads the file of values, which it shares with this process."""
    value = asked_value(f"Value of {name}")
    try:
        with apps.opened_catalog(catalog) as (app, chosen):
            app.values.put(chosen, server, name, value, person)
            return f"kept. {_where(app.vault)}"
    except ServedError as error:
        settings = apps.settings()
        console_said(error.owner, ["secrets", HEADER, server, name, "--catalog", catalog])
        person_option = ["--for", person] if person else []
        document = console_said(error.owner, ["secrets", LIST, "--catalog", catalog, *person_option])
        vault, reference = vault_of(settings), _reference(document["values"], server, name, person)
        vault.put(ServerId(document["catalog"], server, person), reference, with_scheme(name, value))
        return f"kept. The console that runs uses it with the next call. {_where(vault)}"


def _reference(values: list[dict[str, str | None]], server: str, name: str, person: str) -> str:
    rows = [row for row in values if row["server"] == server and row["reference"] and row["person"] == (person or None)]
    for row in rows:
        if name in {row["name"], row["reference"]}:
            return str(row["reference"])
    names = ", ".join(str(row["name"]) for row in rows)
    suffix = " of each person's own" if person else ""
    raise WayfareError(f"Server {server!r} refers to no value {name!r}{suffix}; it refers to: {names or 'none'}.")


def _where(vault: SecretVault) -> str:
    """Raises WayfareError if the change could not be written."""
    if vault.note:
        raise WayfareError(f"The file of values was not changed: {vault.note}")
    return vault.where


def asked_value(what: str) -> str:
    """Asks for a value without showing it, or reads it from standard input, where it may have several lines. Raises WayfareError if it is
    empty or no text."""
    if sys.stdin.isatty():
        return click.prompt(what, hide_input=True, err=True)
    try:
        value = sys.stdin.read().rstrip("\r\n")
        value.encode()
    except UnicodeError:
        value = ""
    if not value or "\0" in value:
        raise WayfareError(f"{what} is empty or no text; give it on standard input.")
    return value


def _list(catalog: str, person: str) -> None:
    with apps.opened_catalog(catalog) as (app, chosen):
        values = app.values.list(chosen, person)
        owners = [_whose(app.vault, ServerId(chosen, value.server, value.person), person) for value in values]
        where, note = app.vault.where, app.vault.note
    output.listing(
        {"catalog": chosen, "where": where, "note": note or None, "values": list(map(_document, values))},
        ("server", "name", "state", "whose", "about"), list(map(_row, values, owners)), none=f"No server of {catalog} needs a value."
    )  # fmt: skip
    if not output.wants_json():
        click.echo(note or where)


def _document(value: ServerValue) -> dict[str, object]:
    return {
        "server": value.server, "name": value.short_name, "reference": value.reference or None, "state": value.state, "set_at": value.set_at and value.set_at.isoformat(),
        "kind": value.kind or None, "person": value.person or None,
    }  # fmt: skip


def _whose(vault: SecretVault, holder: ServerId, person: str) -> str:
    return "shared" if person and not holder.person else vault.whose(holder)


def _row(value: ServerValue, owner: str) -> tuple[str, ...]:
    about = f"set on {value.set_at:%Y-%m-%d}" if value.set_at else value.kind
    return value.server, value.short_name, STATES[value.state], owner, about


POLL_S = 1.0


@click.command()
@click.argument("server", required=False)
@option("--out", is_flag=True, help="Sign out: forget the tokens and the registered client, and revoke the tokens.")
@option("--client-id", default="", help="The id of a client that you registered, if the server registers none.")
@option("--client-secret", is_flag=True, help="Ask for that client's secret, or read it from standard input.")
@option("--no-wait", is_flag=True, help="Print the address and return. A console has to run: it takes the answer.")
@for_option
@options.of_catalog
def signin(
    server: str | None, person: str, out: bool, client_id: str, client_secret: bool, no_wait: bool, catalog: str
) -> None:
    """Sign in to a server over HTTP in the browser, sign out, or list the servers that may need it.

    The address is printed, and opened in the browser of this machine. The console takes the answer; without one, one is started in the
    background. Tokens are kept encrypted with the values of `wayfare secrets`,
    and renewed without you. Exits 1 if the sign-in was refused.

    Example: wayfare signin tickets --catalog mine
    """
    if client_secret and (not client_id or no_wait):
        raise click.UsageError("--client-secret needs --client-id, and the sign-in to be waited for.")
    if server is None:
        if out or client_id or no_wait:
            raise click.UsageError("Name the SERVER.")
        _list_sign_ins(catalog, person)
    elif out:
        with apps.opened_catalog(catalog) as (app, name):
            app.sign_ins.sign_out(name, server, person)
            _where(app.vault)
        output.outcome({"server": server, "state": "signed out"}, f"{server}: signed out.")
    elif no_wait:
        with apps.opened_catalog(catalog) as (app, name):
            if not launched().url:
                raise WayfareError(
                    "No console runs that could take the answer; leave --no-wait out, or start `wayfare up`."
                )
            app.sign_ins.begin(name, server, own_url(), client_id=client_id, person=person)
            status = _sign_in_document(app.sign_ins.of(name, server, person))
        output.outcome(status, f"Open {status['address']}")
    else:
        secret = asked_value(f"Secret of client {client_id}") if client_secret else ""
        try:
            status = _signed_in(server, person, catalog, client_id, secret, apps.settings())
        except OwnerLeftError:
            raise WayfareError("The console has ended, and the sign-in with it; begin it again.") from None
        output.outcome(status, f"{server}: {_words(status)}.")
        if status["state"] != "signed in":
            sys.exit(1)


def _signed_in(
    server: str, person: str, catalog: str, client_id: str, secret: str, settings: Settings
) -> dict[str, Any]:
    """The console runs the sign-in and takes the answer; this process shows the address and polls the state. A secret never becomes a
    word of a command; the console reads it from the file of values."""
    owner = console_of(settings)
    of_catalog, of_client = ["--catalog", catalog], ["--client-id", client_id] if client_id else []
    of_catalog += ["--for", person] if person else []
    if secret:
        name = str(console_said(owner, ["signin", *of_catalog])["catalog"])
        vault_of(settings).put(ServerId(name, server, person), client_secret_name(client_id), secret)
    status = console_said(owner, ["signin", server, "--no-wait", *of_client, *of_catalog])
    click.echo(f"Sign in at {status['address']}", err=output.wants_json())
    webbrowser.open(status["address"])
    while status["state"] == "waiting":
        time.sleep(POLL_S)
        document = console_said(owner, ["signin", *of_catalog])
        status = next(row for row in document["servers"] if row["server"] == server)
    return status


def _list_sign_ins(catalog: str, person: str) -> None:
    with apps.opened_catalog(catalog) as (app, name):
        docs = [_sign_in_document(sign_in) for sign_in in app.sign_ins.list(name, person)]
        owners = [app.vault.whose(ServerId(name, doc["server"], doc["person"])) for doc in docs]
    rows = [(doc["server"], owner, output.printable(_words(doc), 300)) for doc, owner in zip(docs, owners, strict=True)]
    output.listing(
        {"catalog": name, "servers": docs}, ("server", "whose", "sign-in"), rows, none=f"No server of {catalog} is reached over HTTP without a header of its own."
    )  # fmt: skip


def _sign_in_document(sign_in: ServerSignIn) -> dict[str, Any]:
    return {**asdict(sign_in), "until": sign_in.until and sign_in.until.isoformat(timespec="seconds")}


def _words(status: dict[str, Any]) -> str:
    until = f" until {status['until']}" if status["until"] and not status["renews"] else ""
    about = f": {status['about']}" if status["about"] else ""
    return f"{WORDS[status['state']]}{until}{about}"


WORDS = {
    "signed in": "signed in",
    "waiting": "waits for you in the browser",
    "refused": "not signed in",
    "needed": "needs a sign-in",
    "unknown": "not known whether it needs a sign-in",
}
