"""`wayfare signin`: sign-ins to servers over HTTP that ask for one."""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from core.catalogs.server_sign_ins import ServerSignIn
from core.cli.options import catalog_option, common, opened, print_json, print_outcome, print_table, printable
from core.cli.secrets import asked_value
from core.domain.catalog import ServerId
from core.domain.errors import StoreBusyError, WayfareError
from core.domain.settings import Settings, launched, own_url
from core.servers.secrets import client_secret_name, vault_of

POLL_S = 1.0


@click.command()
@click.argument("server", required=False)
@click.option(
    "--out", is_flag=True, help="Sign out: forget the tokens and the registered client, and revoke the tokens."
)
@click.option("--client-id", default="", help="The id of a client that you registered, if the server registers none.")
@click.option("--client-secret", is_flag=True, help="Ask for that client's secret, or read it from standard input.")
@click.option(
    "--no-wait", is_flag=True, help="Print the address and return. A console has to run: it takes the answer."
)
@catalog_option
@common
def signin(
    server: str | None,
    out: bool,
    client_id: str,
    client_secret: bool,
    no_wait: bool,
    catalog: str,
    db: Path | None,
    as_json: bool,
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
        _list(catalog, db, as_json)
    elif out:
        with opened(db) as app:
            app.sign_ins.sign_out(app.catalogs.open(catalog).name, server)
        print_outcome({"server": server, "state": "signed out"}, f"{server}: signed out.", as_json)
    elif no_wait:
        with opened(db) as app:
            name = app.catalogs.open(catalog).name
            if not launched().url:
                raise WayfareError(
                    "No console runs that could take the answer; leave --no-wait out, or start `wayfare up`."
                )
            app.sign_ins.begin(name, server, own_url(), client_id=client_id)
            found = _document(app.sign_ins.of(name, server))
        print_outcome(found, f"Open {found['address']}", as_json)
    else:
        secret = asked_value(f"Secret of client {client_id}") if client_secret else ""
        found = _signed_in(server, catalog, client_id, secret, Settings.from_environment(db=db), quiet=as_json)
        print_outcome(found, f"{server}: {_words(found)}.", as_json)
        if found["state"] != "signed in":
            sys.exit(1)


def _signed_in(
    server: str, catalog: str, client_id: str, secret: str, settings: Settings, *, quiet: bool
) -> dict[str, Any]:
    """The console runs the sign-in and takes the answer; this process shows the address and asks how it went. A secret never becomes a
    word of a command: the console reads it from the file of values."""
    from core.gateway.door import console_of

    console_of(settings)
    of_catalog, of_client = ["--catalog", catalog, "--json"], ["--client-id", client_id] if client_id else []
    if secret:
        name = str(_console_said(["signin", *of_catalog], settings)["catalog"])
        vault_of(settings).put(ServerId(name, server), client_secret_name(client_id), secret)
    found = _console_said(["signin", server, "--no-wait", *of_client, *of_catalog], settings)
    _show(found["address"], quiet=quiet)
    while found["state"] == "waiting":
        time.sleep(POLL_S)
        listed = _console_said(["signin", *of_catalog], settings)
        found = next(one for one in listed["servers"] if one["server"] == server)
    return found


def _console_said(words: list[str], settings: Settings) -> Any:
    from core.cli.joining import printed_by_owner

    ended = StoreBusyError("The console has ended, and the sign-in with it; begin it again.")
    return json.loads(printed_by_owner(words, settings, ended))


def _show(address: str, *, quiet: bool) -> None:
    click.echo(f"Sign in at {address}", err=quiet)
    webbrowser.open(address)


def _list(catalog: str, db: Path | None, as_json: bool) -> None:
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        found = [_document(one) for one in app.sign_ins.list(name)]
    if as_json:
        print_json({"catalog": name, "servers": found})
    elif found:
        print_table(("server", "sign-in"), [(one["server"], printable(_words(one), 300)) for one in found])
    else:
        click.echo(f"No server of {catalog} is reached over HTTP without a header of its own.")


def _document(one: ServerSignIn) -> dict[str, Any]:
    return {**asdict(one), "until": one.until and one.until.isoformat(timespec="seconds")}


def _words(found: dict[str, Any]) -> str:
    until = f" until {found['until']}" if found["until"] and not found["renews"] else ""
    about = f": {found['about']}" if found["about"] else ""
    return f"{WORDS[found['state']]}{until}{about}"


WORDS = {
    "signed in": "signed in",
    "waiting": "waits for you in the browser",
    "refused": "not signed in",
    "needed": "needs a sign-in",
    "unknown": "not known whether it needs a sign-in",
}
