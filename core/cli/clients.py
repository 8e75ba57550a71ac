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
from core.cli.options import option
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
@option(
    "--in-catalog",
    "catalogs",
    multiple=True,
    metavar="PATTERN",
    help="add, change: catalogs it may use (default: all).",
)
@option("--server", "servers", multiple=True, metavar="PATTERN", help="add, change: servers it may use (default: all).")
@option("--tool", "tools", multiple=True, metavar="PATTERN", help="add, change: tools it may use, as server::tool.")
@option("--read-only", is_flag=True, help="add, change: it may only use read-only tools.")
@option(
    "--per-minute",
    type=options.Finite(0),
    help="add, change: its rate limit; 0 is no limit (default: the policy's).",
)
@option(
    "--days",
    type=options.Finite(0, 36_500, min_open=True),
    help="add, change: the token expires after so many days (default: never).",
)
@option(
    "--role",
    "roles",
    multiple=True,
    type=click.Choice(tuple(ROLES)),
    help="add, change: a person: the token signs in to the pages with this role, and gives no access to /mcp; may be repeated.",
)
@option("--operator", is_flag=True, help="The same as --role admin.")
@option("--improve", is_flag=True, help="add, change: it may write example requests of the tools that it may use.")
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
            remark = app.governance.admission.without_token_words() if anonymous else "its token is no longer accepted."
            output.outcome({"client": name, "revoked": True}, f"{name} is revoked: {remark}")


def _made(name: str, token: str, about: str, *, person: bool) -> str:
    """Returns a new token, if there is one, and the rights of a request without a token."""
    opens = ", which signs in to the pages and" if person else ", which"
    line = f"The token of {name}{opens} is shown this once:\n{token}" if token else ""
    return "\n".join(filter(None, (line, about)))


def _list(client_list: tuple[Client, ...]) -> None:
    rows = [
        {
            "client": client.name,
            "revoked": client.revoked,
            "since": client.since.isoformat(),
            **json.loads(client.scope.to_json()),
        }
        for client in client_list
    ]
    output.listing(
        {"clients": rows}, ("client", "", "since", "may use"),
        [(client.name, _state(client), f"{client.since:%Y-%m-%d %H:%M}", client.scope.words()) for client in client_list],
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
        text = options.read_file(file).decode()
    except UnicodeDecodeError:
        raise WayfareError(f"{file} is not text in UTF-8.") from None
    if not text.strip():
        raise WayfareError(f"{file} is empty; give a policy, as `wayfare policy export` writes it.")
    return text


@click.command()
@click.argument("tool", metavar="[SERVER::TOOL]", required=False)
@option("--client", default=EACH, help="The client whose list has the tool; * is all.")
@option("--remove", is_flag=True, help="Take the pin away.")
@options.of_catalog
def pin(tool: str | None, client: str, remove: bool, catalog: str) -> None:
    """List a tool directly to clients of /mcp, beside search_tools, or print the pinned tools. Those that cannot be called now are left
    out of the lists, and say why.

    Example: wayfare pin unit-exchange::convert_units
    """
    if tool is None and (remove or client != EACH):
        raise click.UsageError("Name SERVER::TOOL.")
    with apps.opened() as app:
        governance = app.governance
        if tool is not None:
            target = Pin(f"{app.catalogs.open(catalog).name}/{tool}", client)
            if remove and target not in governance.policy.pinned:
                raise WayfareError(f"{tool} is not pinned for {client}; `wayfare pin` lists what is.")
            if not remove:
                app.catalogs.catalog(target.tool.partition("/")[0]).find(*tool.partition("::")[::2])
            governance.pin(target, on=not remove, origin="cli")
        pins = [(pin, app.preflight.gone(pin.tool, pin.client)) for pin in governance.policy.pinned]
    rows = [{"tool": pin.tool, "client": pin.client, "left_out": why} for pin, why in pins]
    lines = [(pin.tool, pin.client, f"left out: {why}" if why else "listed") for pin, why in pins]
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
            calls = [call.change for call in app.governance.waiting()]
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


def _waiting(calls: Sequence[ApprovalChange], held_tools: Sequence[HeldDefinition]) -> None:
    """Prints everything that waits for a person, with the full arguments of each call."""
    if output.wants_json():
        rows = [
            {"number": call.id, "client": call.client, "catalog": call.catalog, "tool": f"{call.server}::{call.tool}",
             "arguments": visible(call.arguments_json), "price_usd": call.price_usd, "reasons": call.reasons,
             "expires_at": call.expires_at.isoformat()}
            for call in calls
        ]  # fmt: skip
        definitions = {f"{definition.catalog}/{definition.tool.id}": definition.why for definition in held_tools}
        changes = {
            f"{definition.catalog}/{definition.tool.id}": {
                difference.part: _marked(difference) for difference in definition.differences
            }
            for definition in held_tools
        }
        output.document(
            {"calls": rows, "definitions": list(definitions), "held_because": definitions, "differences": changes}
        )
    elif calls or held_tools:
        lines = [(call.id, call.client, f"{call.server}::{call.tool}", call.reasons) for call in calls]
        lines += [(f"{definition.catalog}/{definition.tool.id}", "", "", definition.why) for definition in held_tools]
        output.table(("number", "client", "tool", "waits because"), lines)
        for item in calls:
            click.echo(f"\nArguments of {item.id}: {visible(item.arguments_json)}")
        for item in held_tools:
            for difference in item.differences:
                click.echo(f"\n{item.catalog}/{item.tool.id}, {difference.part}: {_marked(difference)}")
    else:
        click.echo("Nothing waits for a person.")


MARKS = {"removed": "[-{}-]", "added": "{{+{}+}}"}


def _marked(difference: PartDifference) -> str:
    return "".join(MARKS.get(piece.change, "{}").format(visible(piece.text)) for piece in difference.pieces)


@click.command()
@option(
    "--export",
    "file",
    type=options.File(dir_okay=False, path_type=Path),
    help="Write every record to a file, JSON Lines.",
)
@option("--head", metavar="HASH", default="", help="The expected newest hash, noted earlier.")
@options.common
def audit(file: Path | None, head: str) -> None:
    """Verify the log: decisions, calls, labels, judgments, approvals and denials, and changes of parameters, prices,
    calibrations, clients and policies. Each write is sealed with the hash of the one before. Exits 1 and names the
    first write that was changed.

    Note the newest hash in a place that no writer of the store can change: it proves that no newer write was removed.

    Example: wayfare audit --export log.jsonl
    """
    with apps.opened() as app, options.written(file) as write:
        report = app.store.events.audit(lambda line: write(f"{line}\n"))
    problem = report.problem
    if not problem and head and head.lower() != report.hash:
        problem = f"The newest hash is {report.hash}, not {head}."
    if output.wants_json():
        output.document({"ok": not problem, **asdict(report), "problem": problem})
    elif problem:
        click.echo(problem, err=True)
    else:
        older = f"; {report.older:,} older ones were written before there were seals" if report.older else ""
        lost = report.without_traces
        traces = f" Records up to {lost:,} have lost their traces, whose time is over." if lost else ""
        click.echo(
            f"{report.records:,} records in {report.seals:,} writes are unchanged{older}.{traces}\nNewest hash: {report.hash}"
        )
    if problem:
        sys.exit(1)
