"""`wayfare signin`: sign-ins to servers over HTTP that ask for one."""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from core.app import App
from core.cli.options import catalog_option, common, opened, print_json, print_outcome, print_table, printable
from core.services.decide.server_sign_ins import PERSON_LIMIT_S, ServerSignIn
from core.shared.errors import StoreBusyError, WayfareError
from core.shared.settings import Settings, launched

POLL_S = 1.0


@click.command()
@click.argument("server", required=False)
@click.option(
    "--out", is_flag=True, help="Sign out: forget the tokens and the registered client, and revoke the tokens."
)
@click.option("--client-id", default="", help="The id of a client that you registered, if the server registers none.")
@click.option(
    "--no-wait", is_flag=True, help="Print the address and return. A console has to run: it takes the answer."
)
@catalog_option
@common
def signin(
    server: str | None, out: bool, client_id: str, no_wait: bool, catalog: str, db: Path | None, as_json: bool
) -> None:
    """Sign in to a server over HTTP in the browser, sign out, or list the servers that may need it.

    The address is printed, and opened in the browser of this machine. Tokens are kept encrypted with the values of `wayfare secrets`,
    and renewed without you. Exits 1 if the sign-in was refused.

    Example: wayfare signin tickets --catalog mine
    """
    if server is None:
        if out or client_id or no_wait:
            raise click.UsageError("Name the SERVER.")
        _list(catalog, db, as_json)
    elif out:
        with opened(db) as app:
            app.sign_ins.sign_out(app.catalogs.open(catalog).name, server)
        print_outcome({"server": server, "state": "signed out"}, f"{server}: signed out.", as_json)
    else:
        found = _signed_in(server, catalog, client_id, db, wait=not no_wait, quiet=as_json)
        if no_wait:
            print_outcome(found, f"Open {found['address']}", as_json)
            return
        print_outcome(found, f"{server}: {_words(found)}.", as_json)
        if found["state"] != "signed in":
            sys.exit(1)


def _signed_in(
    server: str, catalog: str, client_id: str, db: Path | None, *, wait: bool, quiet: bool
) -> dict[str, Any]:
    """The console runs the sign-in if there is one; this process shows the address and asks how it went."""
    try:
        with opened(db) as app, _console(app, wait=wait) as console:
            name = app.catalogs.open(catalog).name
            address = app.sign_ins.begin(name, server, console, client_id=client_id)
            if wait:
                _show(address, quiet=quiet)
                return _document(app.sign_ins.wait(name, server, PERSON_LIMIT_S))
            return _document(app.sign_ins.of(name, server))
    except StoreBusyError as error:
        from core.cli.joining import printed_by_owner

        settings, words = Settings.from_environment(db=db), ["--catalog", catalog, "--json"]
        begin = ["signin", server, "--no-wait", *words, *(["--client-id", client_id] if client_id else [])]
        found = json.loads(printed_by_owner(begin, settings, error))
        if not wait:
            return found
        _show(found["address"], quiet=quiet)
        while found["state"] == "waiting":
            time.sleep(POLL_S)
            listed = json.loads(printed_by_owner(["signin", *words], settings, error))
            found = next(one for one in listed["servers"] if one["server"] == server)
        return found


def _console(app: App, *, wait: bool) -> AbstractContextManager[str]:
    """Where the browser brings the answer: to the console of this process, or to a listener for as long as the command waits."""
    from core.endpoint.oauth_callback import listening

    if launched().url:
        return nullcontext(launched().url)
    if not wait:
        raise WayfareError("No console runs that could take the answer; leave --no-wait out, or start `wayfare up`.")
    return listening(app)


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
