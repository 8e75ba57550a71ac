"""`wayfare clients`: names and tokens of the endpoint's clients; `policy`, `approvals` and `audit`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from core.cli import apps, options, output
from core.domain.errors import WayfareError
from core.domain.events import ApprovalChange
from core.domain.people import ROLES, Role
from core.domain.untrusted_text import visible
from core.governance.budgets import EACH
from core.governance.clients import ANONYMOUS, Client
from core.governance.definitions import HeldDefinition, PartDifference
from core.governance.policy import Pin, Scope, from_toml, to_toml

LIST, ADD, CHANGE, REVOKE = ACTIONS = ("list", "add", "change", "revoke")


@click.command()
@click.argument("action", type=click.Choice(ACTIONS), default=LIST)
@click.argument("name", required=False)
@click.option(
    "--in-catalog",
    "catalogs",
    multiple=True,
    metavar="PATTERN",
    help="add, change: catalogs it may use (default: all).",
)
@click.option(
    "--server", "servers", multiple=True, metavar="PATTERN", help="add, change: servers it may use (default: all)."
)
@click.option(
    "--tool", "tools", multiple=True, metavar="PATTERN", help="add, change: tools it may use, as server::tool."
)
@click.option("--read-only", is_flag=True, help="add, change: it may only use read-only tools.")
@click.option(
    "--per-minute", type=click.FloatRange(0), help="add, change: its rate limit; 0 is no limit (default: the policy's)."
)
@click.option(
    "--days",
    type=click.FloatRange(0, min_open=True),
    help="add, change: the token expires after so many days (default: never).",
)
@click.option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(tuple(ROLES)),
    help="add, change: a person: the token signs in to the pages with this role, and gives no access to /mcp; may be repeated.",
)
@click.option("--operator", is_flag=True, help="The same as --role admin.")
@click.option(
    "--improve", is_flag=True, help="add, change: it may write example requests of the tools that it may use."
)
@options.common
def clients(
    action: str, name: str | None, days: float | None, roles: tuple[Role, ...], operator: bool, **use: Any
) -> None:
    """List the clients of the endpoint and the people at the pages, add one, change what one may use, or revoke one. A token is
    shown once; only its hash is kept. A changed client keeps its token.

    The client `anonymous` has no token: it covers all requests of this machine without a token, once there is another
    client or a budget.

    A viewer sees every view; an operator may also change knobs and labels, and call tools; an approver approves; an admin may
    do everything.

    Example: wayfare clients add ann --role operator
    """
    if (action == LIST) is not (name is None):
        raise click.UsageError(f"{action} {'takes no NAME' if name else 'needs a NAME'}.")
    until = None if days is None else (datetime.now(UTC) + timedelta(days=days)).isoformat(timespec="seconds")
    person: bool = operator or bool(roles)
    roles = ("admin",) if operator and roles else roles
    scope = Scope(pages=person, until=until, roles=roles, **use)
    if person and scope != Scope(pages=True, until=until, roles=roles):
        raise click.UsageError("--role and --operator are for the pages; they do not go with options about tools.")
    with apps.opened() as app:
        register = app.governance.clients
        if name is None:
            _list(register.all())
            if register.any_client and not output.wants_json():
                click.echo(app.governance.admission.without_token_words())
        elif action == ADD:
            token = register.make(name, scope, origin="cli")
            about = "" if person else app.governance.admission.without_token_words()
            output.outcome(
                {"client": name, "token": token or None, "without_token": about or None},
                _made(name, token, about, person=person),
            )
        elif action == CHANGE:
            register.change(name, scope, origin="cli")
            output.outcome(
                {"client": name, **json.loads(scope.to_json())},
                f"{name} may use from its next request on: {scope.words()}.",
            )
        else:
            register.revoke(name, origin="cli")
            anonymous = name == ANONYMOUS
            said = app.governance.admission.without_token_words() if anonymous else "its token is no longer accepted."
            output.outcome({"client": name, "revoked": True}, f"{name} is revoked: {said}")


def _made(name: str, token: str, about: str, *, person: bool) -> str:
    """Returns a new token, if there is one, and the rights of a request without a token."""
    opens = ", which signs in to the pages and" if person else ", which"
    line = f"The token of {name}{opens} is shown this once:\n{token}" if token else ""
    return "\n".join(filter(None, (line, about)))


def _list(found: tuple[Client, ...]) -> None:
    rows = [
        {"client": one.name, "revoked": one.revoked, "since": one.since.isoformat(), **json.loads(one.scope.to_json())}
        for one in found
    ]
    output.listing(
        {"clients": rows}, ("client", "", "since", "may use"),
        [(one.name, _state(one), f"{one.since:%Y-%m-%d %H:%M}", one.scope.words()) for one in found],
        none="There is no client with a token; this machine needs none. `wayfare clients add NAME` makes one."
    )  # fmt: skip


def _state(client: Client) -> str:
    if client.revoked:
        return "revoked"
    return "expired" if client.scope.expired(datetime.now(UTC)) else ""


POLICY_ACTIONS = ("show", "import", "export")


@click.command()
@click.argument("action", type=click.Choice(POLICY_ACTIONS), default="show")
@click.argument("file", type=options.PATH, required=False)
@options.common
def policy(action: str, file: Path | None) -> None:
    """Show the policy for agents as TOML, import one, or export it to a file: approvals, budgets, rates, breakers,
    lists.

    Example: wayfare policy export policy.toml
    """
    if (action == "show") is not (file is None):
        raise click.UsageError(f"{action} {'takes no FILE' if file else 'needs a FILE'}.")
    with apps.opened() as app:
        if action == "import" and file is not None:
            app.governance.set_policy(from_toml(_text(file)), origin="cli")
        text, digest = to_toml(app.governance.policy), app.governance.policy.digest
    if file is None:
        output.outcome({"digest": digest, "toml": text}, text.rstrip())
        return
    if action == "export":
        options.write_file(file, text)
    done = "in force" if action == "import" else f"written to {file}"
    output.outcome({"digest": digest, "file": str(file)}, f"The policy {digest[:12]} is {done}.")


def _text(file: Path) -> str:
    try:
        return options.read_file(file).decode()
    except UnicodeDecodeError:
        raise WayfareError(f"{file} is not text in UTF-8.") from None


@click.command()
@click.argument("tool", metavar="[SERVER::TOOL]", required=False)
@click.option("--client", default=EACH, show_default=True, help="The client whose list has the tool; * is all.")
@click.option("--remove", is_flag=True, help="Take the pin away.")
@options.catalog
@options.common
def pin(tool: str | None, client: str, remove: bool, catalog: str) -> None:
    """List a tool directly to clients of /mcp, beside search_tools, or print the pinned tools. Those that cannot be called now are left
    out of the lists, and say why.

    Example: wayfare pin unit-exchange::convert_units
    """
    with apps.opened() as app:
        governance = app.governance
        if tool is not None:
            wanted = Pin(f"{app.catalogs.open(catalog).name}/{tool}", client)
            if remove and wanted not in governance.policy.pinned:
                raise WayfareError(f"{tool} is not pinned for {client}; `wayfare pin` lists what is.")
            if not remove:
                app.catalogs.catalog(wanted.tool.partition("/")[0]).find(*tool.partition("::")[::2])
            governance.pin(wanted, on=not remove, origin="cli")
        found = [(one, app.preflight.gone(one.tool, one.client)) for one in governance.policy.pinned]
    rows = [{"tool": one.tool, "client": one.client, "left_out": why} for one, why in found]
    lines = [(one.tool, one.client, f"left out: {why}" if why else "listed") for one, why in found]
    output.listing({"pinned": rows}, ("tool", "client", ""), lines, none="No tool is pinned.")


DECISIONS = ("list", "approve", "deny")


@click.command()
@click.argument("action", type=click.Choice(DECISIONS), default="list")
@click.argument("number", required=False)
@options.common
def approvals(action: str, number: str | None) -> None:
    """List the calls, with their arguments, and the changed definitions that wait for a person, and approve or deny
    one.

    A new tool in which Lint finds an error waits, too, once there is a client. NUMBER is the number of a call, or the tool of a definition as CATALOG/SERVER::TOOL.

    Example: wayfare approvals approve 1f0c9a2e
    """
    if (action == "list") is not (number is None):
        raise click.UsageError(f"{action} {'takes no NUMBER' if number else 'needs a NUMBER'}.")
    with apps.opened() as app:
        if number is None:
            calls = [one.change for one in app.governance.waiting()]
            _waiting(calls, app.governance.definitions.held())
            return
        approve = action == "approve"
        catalog, slash, tool = number.partition("/")
        if slash:
            app.governance.definitions.decide(catalog, tool, approve=approve, origin="cli")
        else:
            app.governance.decide(number, approve=approve, origin="cli")
        done = "approved" if approve else "denied"
        output.outcome({"number": number, "decided": done}, f"{number} is {done}.")


def _waiting(calls: Sequence[ApprovalChange], held: Sequence[HeldDefinition]) -> None:
    """Prints everything that waits for a person, with the full arguments of each call."""
    if output.wants_json():
        rows = [
            {"number": one.id, "client": one.client, "catalog": one.catalog, "tool": f"{one.server}::{one.tool}",
             "arguments": visible(one.arguments_json), "price_usd": one.price_usd, "reasons": one.reasons,
             "expires_at": one.expires_at.isoformat()}
            for one in calls
        ]  # fmt: skip
        definitions = {f"{one.catalog}/{one.tool.id}": one.why for one in held}
        changes = {
            f"{one.catalog}/{one.tool.id}": {part.part: _marked(part) for part in one.differences} for one in held
        }
        output.document(
            {"calls": rows, "definitions": list(definitions), "held_because": definitions, "differences": changes}
        )
    elif calls or held:
        lines = [(one.id, one.client, f"{one.server}::{one.tool}", one.reasons) for one in calls]
        lines += [(f"{one.catalog}/{one.tool.id}", "", "", one.why) for one in held]
        output.table(("number", "client", "tool", "waits because"), lines)
        for one in calls:
            click.echo(f"\nArguments of {one.id}: {visible(one.arguments_json)}")
        for one in held:
            for part in one.differences:
                click.echo(f"\n{one.catalog}/{one.tool.id}, {part.part}: {_marked(part)}")
    else:
        click.echo("Nothing waits for a person.")


MARKS = {"removed": "[-{}-]", "added": "{{+{}+}}"}


def _marked(part: PartDifference) -> str:
    return "".join(MARKS.get(piece.change, "{}").format(visible(piece.text)) for piece in part.pieces)


@click.command()
@click.option(
    "--export",
    "file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write every record to a file, JSON Lines.",
)
@click.option("--head", metavar="HASH", default="", help="The expected newest hash, noted earlier.")
@options.common
def audit(file: Path | None, head: str) -> None:
    """Verify the log: decisions, calls, labels, judgments, approvals and denials, and changes of parameters, prices,
    calibrations, clients and policies. Each write is sealed with the hash of the one before. Exits 1 and names the
    first write that was changed.

    Note the newest hash in a place that no writer of the store can change: it proves that no newer write was removed.

    Example: wayfare audit --export log.jsonl
    """
    with apps.opened() as app, options.written(file) as write:
        found = app.store.events.audit(lambda line: write(f"{line}\n"))
    problem = found.problem
    if not problem and head and head.lower() != found.hash:
        problem = f"The newest hash is {found.hash}, not {head}."
    if output.wants_json():
        output.document({"ok": not problem, **asdict(found), "problem": problem})
    elif problem:
        click.echo(problem, err=True)
    else:
        older = f"; {found.older:,} older ones were written before there were seals" if found.older else ""
        lost = found.without_traces
        traces = f" Records up to {lost:,} have lost their traces, whose time is over." if lost else ""
        click.echo(
            f"{found.records:,} records in {found.seals:,} writes are unchanged{older}.{traces}\nNewest hash: {found.hash}"
        )
    if problem:
        sys.exit(1)
