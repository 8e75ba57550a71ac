"""One decision (route), one MCP call (call), and whether the tools of a job could be called (check)."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click
from pydantic_core import to_jsonable_python

from core.app import App
from core.calls.calls import CallReport
from core.cli import apps, options, output
from core.cli.options import option
from core.domain import units
from core.domain.decision import Decision
from core.domain.errors import Refusal, UnknownNameError, WayfareError
from core.domain.events import OPERATOR
from core.domain.execution import APPROVAL_DENIED, APPROVAL_NEEDED
from core.domain.json_schema import arguments_fault
from core.domain.outcome import CallMode, ContentBlock, ToolCall
from core.domain.params import Parameters
from core.domain.untrusted_text import visible
from core.governance.clients import ANONYMOUS
from core.governance.governed_calls import read_job
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Wanted
from core.importers.reading import kind
from core.routers.presets import read_preset
from core.routers.why import fit_sentence


@click.command()
@click.argument("text")
@options.router("The routing algorithm.")
@option("--hint", default="", help="The kind of server that is wanted.")
@options.settings
@options.preset_or_file
@options.network
@option("--at-once", is_flag=True, help="Decide by words alone if the catalog's vectors are not there yet.")
@options.of_catalog
def route(
    text: str,
    router: str,
    hint: str,
    settings: dict[str, str],
    preset: str,
    network: str,
    at: float,
    at_once: bool,
    catalog: str,
) -> None:
    """Decide which tool gets a sub-task, and show why. With `--set planner=model` the language model in
    WAYFARE_LLM_MODEL interprets the sub-task, for routers that use a planner.

    Example: wayfare route "sum a column of a CSV file" --set alpha_t=0.1
    """
    with apps.opened_catalog(catalog) as (app, name):
        decision = app.routing.route(
            text,
            catalog=name,
            router=router,
            parameters=_parameters(app, router, preset, settings),
            server_hint=hint,
            origin="cli",
            at_once=at_once,
            network=options.moment(network, at),
        )
    output.result(decision.to_json, lambda: _print_decision(decision))


def _parameters(app: App, router: str, preset: str, settings: Mapping[str, str]) -> Parameters:
    """Returns the parameters of a preset, by name or file, with the settings applied. Raises ParameterError,
    UnknownNameError."""
    if not preset.endswith(".toml"):
        return app.routing.parameters(router, settings, preset=preset)
    return read_preset(Path(preset), router, app.routing.parameters(router)).parameters.replaced(settings)


def _print_decision(decision: Decision) -> None:
    click.echo(decision.reason)
    if not decision.tools.ids:  # the reason says so
        return
    if decision.fit is not None:
        word = "" if decision.fit.confidence == "nothing" else f"{decision.fit.confidence.capitalize()}: "
        row = next(iter(decision.candidates), None)
        name = "" if row is None else output.printable(decision.tools.ids[row])
        click.echo(word + fit_sentence(decision.fit, row, name))
    if decision.planner != "none":
        click.echo(f"Planner: {output.printable(decision.planner)}.")
    if decision.stages:
        stages = [f"{stage.name} {stage.kept:,} of {stage.of:,} {stage.what}" for stage in decision.stages]
        click.echo(f"Stages: {', '.join(stages)}.")
    for number, step in enumerate(decision.steps):
        tools = ", ".join(output.printable(decision.tools.ids[row]) for row in step.candidates) or "no tool"
        needs = f" (needs {', '.join(map(str, step.needs))})" if step.needs else ""
        click.echo(f"Step {number}: {output.printable(step.query)}{needs}: {tools}")
    click.echo()
    servers = [(decision.server_at(row), decision.network_at(row)) for row in decision.shortlist()]
    network = {} if decision.network_trace is None else {"expertise": "expertise C", "network_score": "network N"}
    forms = {"similarity": ".3f", "time to success": "", "utility": ".3f", "posted price": "", "ask": ""}
    output.table(
        {"server": "", **forms, **dict.fromkeys(network.values(), ".3f"), "": ""},
        [
            (
                s.server,
                s.similarity,
                units.seconds(s.cost_s),
                s.utility,
                "–" if s.posted_price_usd is None else units.price(s.posted_price_usd),
                "no ask" if s.ask_usd is None else units.price(s.ask_usd),
                *(scores[key] for key in network),
                "accepts" if s.accepted else "rejects",
            )
            for s, scores in servers
        ],
    )
    click.echo()
    tools = decision.tools_at(decision.evaluated_tools()[:10])
    payment = {"payment": ""} if any(t.payment_usd != t.price_usd for t in tools) else {}
    output.table(
        {"tool": "", "similarity": ".3f", "time": "", "price": "", **payment, "utility": ".3f", "": ""},
        [
            (
                t.tool,
                t.similarity,
                units.seconds(t.time_cost_s),
                units.price(t.price_usd),
                *(units.price(t.payment_usd) for _ in payment),
                t.utility,
                f"candidate {t.rank}" if t.dropped_by is None else t.dropped_by.replace("_", " "),
            )
            for t in tools
        ],
    )


# `wayfare call`: one real MCP call.

MARKS = {
    CallMode.DRAWN: "simulated: no tool was called",
    CallMode.VIRTUAL: "simulated: a virtual server was called over MCP",
}


@click.command()
@click.argument("server")
@click.argument("tool")
@option("--args", "arguments", default="{}", show_default=False, help="The arguments as one JSON object.")
@option("--timeout", default=30.0, type=options.Finite(0.01, 3600), help="Time limit of the call in s.")
@option("--virtual", is_flag=True, help="Call a virtual server: real MCP, simulated results.")
@option("--simulate", is_flag=True, help="Make no call: draw an outcome from the known figures.")
@option("--dry-run", is_flag=True, help="Make no call: say what would stop it, and its price.")
@option("--approve", is_flag=True, help="Approve exactly this call, once, if the policy asks for approval.")
@options.of_catalog
def call(
    server: str,
    tool: str,
    arguments: str,
    timeout: float,
    virtual: bool,
    simulate: bool,
    dry_run: bool,
    approve: bool,
    catalog: str,
) -> None:
    """Make one MCP call and record its outcome. Exits 1 where the call did not end well; with --simulate there is none. A dry run exits 1
    if something stops the call.

    Example: wayfare call unit-exchange convert_units --args '{"value": 300, "source": "mi", "target": "km"}'
    """
    values = _object(arguments)
    mode = _mode(virtual=virtual, simulate=simulate)
    if (approve or dry_run) and (mode is not CallMode.REAL or (approve and dry_run)):
        raise WayfareError("--approve and --dry-run are for real calls, and exclude each other.")
    with apps.opened_catalog(catalog) as (app, name):
        _, definition = app.catalogs.catalog(name).find(server, tool)
        if fault := arguments_fault(definition.input_schema, values):
            raise WayfareError(f"--args does not fit the schema of {server}::{tool}: {fault}.")
        request = ToolCall(server, tool, values, timeout_s=timeout, catalog=name)
        if dry_run:
            verdict = app.preflight.checked([Wanted(OPERATOR, request, definition, 0)])[0]
            output.outcome(
                {"dry_run": True, **verdict.to_json()}, output.printable(f"{verdict.words} Nothing was called.", 2000)
            )
            sys.exit(1 if verdict.why else 0)
        try:
            approved_by = "cli" if approve else ""
            report = app.governed.by_person(request, mode=mode, origin="cli", approved_by=approved_by).report()
        except Refusal as refusal:
            raise WayfareError(_refused(refusal, request)) from None
    output.result(lambda: _document(report), lambda: _print_report(report))
    if mode is not CallMode.DRAWN and not report.outcome.kind.success:
        sys.exit(1)


def _mode(*, virtual: bool, simulate: bool) -> CallMode:
    if virtual and simulate:
        raise WayfareError("--virtual calls a virtual server and --simulate makes no call; give one of them.")
    return CallMode.VIRTUAL if virtual else CallMode.DRAWN if simulate else CallMode.REAL


def _refused(refusal: Refusal, call: ToolCall) -> str:
    """Returns why the call was refused, with advice for the command line."""
    accept_hint = (
        "See the page Govern, and accept it there or with `wayfare approvals approve "
        f"{call.catalog}/{call.server}::{call.tool}`."
    )
    advice = {
        APPROVAL_NEEDED: "Add --approve to approve exactly this call, once.",
        APPROVAL_DENIED: "Add --approve to approve it after all.",
        DEFINITION_CHANGED: accept_hint,
        DEFINITION_WAITS: accept_hint,
    }.get(refusal.error, refusal.advice)
    return f"{refusal.why} {advice}"


def _object(text: str) -> dict[str, Any]:
    try:
        values = json.loads(text)
        json.dumps(values, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise WayfareError(f"--args is not JSON ({error}); give one object such as '{{\"value\": 1}}'.") from None
    if not isinstance(values, dict):
        raise WayfareError(f"--args is {kind(values)}, not an object; give one such as '{{\"value\": 1}}'.")
    return cast("dict[str, Any]", values)


def _document(report: CallReport) -> dict[str, Any]:
    outcome = report.outcome
    return {
        "server": outcome.call.server,
        "tool": outcome.call.tool,
        "outcome": outcome.kind.value,
        "simulated": outcome.simulated,
        "mode": outcome.mode.value,
        "latency_s": outcome.latency_s,
        "connect_s": outcome.connect_s,
        "attempts": outcome.attempts,
        "price_usd": outcome.price_usd,
        "error": outcome.error,
        "content": [_block(block) for block in outcome.content],
        "structured": to_jsonable_python(outcome.structured, inf_nan_mode="null"),  # JSON has no NaN
        "statistics": {
            name: {
                "success": r.success,
                "latency_s": r.call_s,
                "post_accept_failure": r.post_accept_failure,
                "calls": r.calls,
            }
            for name, r in (("server_before", report.server_before), ("server_after", report.server_after))
        },
    }


def _block(block: ContentBlock) -> dict[str, Any]:
    document = {key: value for key, value in asdict(block).items() if value and key not in {"kind", "data"}}
    document = {"type": block.kind, **document}
    if block.data:
        document["data_base64"] = base64.b64encode(block.data).decode()
    return document


def _print_report(report: CallReport) -> None:
    outcome = report.outcome
    mark = f" ({MARKS[outcome.mode]})" if outcome.simulated else ""
    connect = "" if outcome.connect_s is None else f", connected in {units.seconds(outcome.connect_s)}"
    click.echo(
        f"{outcome.call.server}::{outcome.call.tool}: {outcome.kind.replace('_', ' ')}{mark} in "
        f"{units.seconds(outcome.latency_s)}{connect}, {units.price(outcome.price_usd)}"
    )
    if outcome.error:
        click.echo(output.printable(outcome.error, 2000))
    for block in outcome.content:
        if not block.text or block.text != outcome.error:  # the content of an error repeats its text
            click.echo(block_text(block))


def block_text(block: ContentBlock) -> str:
    """Returns a block of a result for the terminal: its text without invisible characters, or the kind and size of its
    data."""
    if block.text:
        return visible(block.text)
    size = f", {len(block.data):,} bytes" if block.data else ""
    return f"[{' '.join(filter(None, (block.kind, block.mime_type, output.printable(block.uri))))}{size}]"


@click.command()
@click.argument("file", type=options.PATH)
@option("--client", default="", help="The client that does the job (default: the one of FILE, else you).")
@options.of_catalog
def check(file: Path, client: str, catalog: str) -> None:
    """Check whether the tools of a job are there, healthy, allowed for the client and within budget. Nothing is called.

    FILE has one server::tool a line, or {"tools": ["server::tool"], "client": "ann", "calls": 3}. Exits 1 if a tool cannot be
    called, and says why; a call that a person has to approve is one of these.

    Example: wayfare check job.txt --client ann
    """
    job = read_job(options.read_file(file).decode(errors="replace"), str(file))
    with apps.opened() as app:
        name, caller = app.catalogs.open(catalog).name, client or job.client
        clients = app.governance.clients
        is_client = clients.in_force(caller) is not None
        if caller and clients.any_client and not is_client and caller != ANONYMOUS:
            raise UnknownNameError(f"There is no client {caller!r} in force; `wayfare clients` lists them.")
        caller = app.governance.admission.identified(caller, known=is_client) if caller else OPERATOR
        verdicts = app.preflight.check(name, dict.fromkeys(job.tools, job.calls), caller)
    ok = not any(verdict.why for verdict in verdicts)
    tools = [verdict.to_json() for verdict in verdicts]
    output.outcome(
        {"catalog": name, "client": caller, "ok": ok, "calls": job.calls, "tools": tools},
        "\n".join(output.printable(verdict.words, 2000) for verdict in verdicts),
    )
    if not ok:
        sys.exit(1)
