"""Commands that list (routers, parameters), add (import, discover), check (lint) or copy (virtual, multiply)."""

from __future__ import annotations

import shlex
import sys
import textwrap
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import click

from core.cli.options import (
    catalog_option,
    common,
    db_option,
    follow_option,
    listed_run,
    one_of,
    opened,
    print_json,
    print_outcome,
    print_table,
    printable,
)
from core.domain.catalog import Follow, Note
from core.domain.errors import UnknownNameError
from core.domain.findings import Finding, LintReport, Severity
from core.virtual.launch import DEFAULT_PROFILE, PROFILES
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES, Recipe, server_of

if TYPE_CHECKING:
    from core.catalogs.catalog_editor import ImportReport


@click.command()
@common
def routers(db: Path | None, as_json: bool) -> None:  # noqa: ARG001 - the same options everywhere
    """List the routing algorithms.

    Example: wayfare routers
    """
    from core.routers import ROUTERS

    if as_json:
        print_json({
            "routers": [
                {"id": r.id, "title": r.title, "paper": r.paper, "summary": r.summary, "parameters": [k.name for k in r.parameters.knobs()]}
                for r in ROUTERS.values()
            ]
        })  # fmt: skip
        return
    for router in ROUTERS.values():
        names = ", ".join(knob.name for knob in router.parameters.knobs())
        click.echo(f"{router.id:<18}{router.title}")
        for line in (router.summary, f"Paper: {router.paper}.", f"Parameters: {names}."):
            click.echo(textwrap.fill(line, 110, initial_indent=" " * 18, subsequent_indent=" " * 18))


@click.command()
@click.option("--router", default="ehrr", show_default=True, help="The router whose parameters are listed.")
@common
def parameters(router: str, db: Path | None, as_json: bool) -> None:  # noqa: ARG001 - the same options everywhere
    """List a router's parameters with unit, range and default.

    Example: wayfare parameters --router ehrr
    """
    from core.domain.errors import UnknownNameError
    from core.routers import ROUTERS

    if router not in ROUTERS:
        raise UnknownNameError(f"There is no router {router!r}; choose one of: {', '.join(ROUTERS)}.")
    knobs = ROUTERS[router].parameters.knobs()
    if as_json:
        print_json({
            "router": router,
            "parameters": [
                {"name": k.name, "symbol": k.symbol, "default": k.default, "unit": k.unit, "low": k.low, "high": k.high,
                 "step": k.step, "group": k.group, "choices": list(k.choices), "help": k.help}
                for k in knobs
            ],
        })  # fmt: skip
        return
    rows = [(k.name, str(k.default), k.unit, "" if k.low is None else f"{k.low:g}..{k.high:g}", k.help) for k in knobs]
    print_table(("parameter", "default", "unit", "range", "what it does"), rows)


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--name", help="The catalog's name (default: the first file's name).")
@follow_option
@common
def import_(files: tuple[Path, ...], name: str | None, follow: Follow | None, db: Path | None, as_json: bool) -> None:
    """Import catalogs or client configurations as one catalog, all or nothing. The catalog follows its files.

    Example: wayfare import my_servers.json --name mine
    """
    with opened(db) as app:
        report = app.catalog_editor.import_files(files, name, follow=follow)
    print_report(report, as_json)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", help="The catalog's name (default: the file's name).")
@follow_option
@common
def discover(file: Path, name: str | None, follow: Follow | None, db: Path | None, as_json: bool) -> None:
    """Connect to the servers of a client configuration and import their current tools. The catalog follows the file.

    Exits 1 if a server or a tool was refused.

    Example: wayfare discover ~/.config/client/mcp.json --name mine
    """
    with opened(db) as app:
        report = app.catalog_editor.discover_file(file, name, follow=follow)
    print_report(report, as_json)
    if any(one.error or one.refused for one in report.discoveries):
        sys.exit(1)


def print_report(report: ImportReport, as_json: bool) -> None:
    imported = report.imported
    notes = [*imported.notes, *(Note(d.name, text) for d in report.discoveries for text in d.notes)]
    refused = [(d, d.error) for d in report.discoveries if d.error] + [
        (d, why) for d in report.discoveries for why in d.refused
    ]
    if as_json:
        print_json({
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
        click.echo(f"  note: {printable(note.where)}: {printable(note.text, 200)}")
    for discovery, why in refused:
        waits = " It is kept without tools." if discovery.error and discovery.server is not None else ""
        kept = " It stays as it was discovered before." if discovery.kept else waits
        click.echo(f"  refused: {printable(discovery.name)}: {printable(why, 300)}{kept}")
    if imported.needs_discovery and not report.discoveries:
        click.echo("  These servers list their tools themselves: run `wayfare discover` on the same file.")
    click.echo(f"  {_lint_line(report)}")


def _lint_line(report: ImportReport) -> str:
    count = report.lint_errors
    found = f"{count} error{'' if count == 1 else 's'}" if count else "no errors" if count == 0 else "not yet looked at"
    return f"lint: {found}; `wayfare lint --catalog {shlex.quote(printable(report.catalog))}` shows every finding."


# `wayfare lint`: faults of a catalog, each with advice.

SHOWN = 10  # findings of one rule, unless rules are asked for by name


@click.command()
@click.option("--rule", "rules", multiple=True, metavar="RULE", help="Only this rule; may be repeated.")
@click.option(
    "--severity",
    default=Severity.NOTE.value,
    show_default=True,
    type=click.Choice([severity.value for severity in Severity]),
    help="Only findings of at least this severity.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 if the shown findings include an error.")
@catalog_option
@common
def lint(rules: tuple[str, ...], severity: str, strict: bool, catalog: str, db: Path | None, as_json: bool) -> None:
    """Find poor descriptions, colliding names, broken schemas and text that tries to instruct a model.

    Example: wayfare lint --catalog my_servers.json --severity warning
    """
    least = Severity(severity)
    vectors = _needs_vectors(rules, least)
    with opened(db) as app:
        name = app.catalogs.open(catalog).name
        if vectors and not as_json:
            app.catalogs.prepare(name, _report_once())
        with listed_run(app, "Looking for flaws") as run:
            run.shows("catalog", view="lint", catalog=name)
            found = app.lint_reports.report(name, vectors=vectors, progress=run)
        report = found.only(rules, least)
    if as_json:
        print_json(report.to_json())
    else:
        print_report_of_linting(report, everything=bool(rules))
    if strict and report.counts()[Severity.ERROR]:
        sys.exit(1)


def _needs_vectors(rules: tuple[str, ...], least: Severity) -> bool:
    """Whether a chosen rule needs vectors. Raises UnknownNameError for an unknown rule."""
    from core.lint import RULES

    for rule in rules:
        if rule not in RULES:
            raise UnknownNameError(f"There is no rule {rule!r}; choose among: {', '.join(RULES)}.")
    asked = (rule for name, rule in RULES.items() if not rules or name in rules)
    return any(rule.needs_vectors and rule.severity.rank <= least.rank for rule in asked)


def _report_once() -> Callable[[int, int], None]:
    """Returns a progress callback that says once, on standard error, that texts have to be embedded first."""
    reported: list[bool] = []

    def report(done: int, total: int) -> None:  # noqa: ARG001 - the library's signature
        if not reported:
            click.echo(f"Embedding {total:,} texts once, to find near duplicates…", err=True)
        reported.append(True)

    return report


def print_report_of_linting(report: LintReport, *, everything: bool) -> None:
    from core.lint import RULES

    counted = ", ".join(
        f"{count:,} {severity}{'' if count == 1 else 's'}" for severity, count in report.counts().items()
    )
    click.echo(f"Catalog {printable(report.catalog)}: {counted}.")
    if not report.findings:
        click.echo("Nothing found.")
    for rule_id, group in groupby(report.findings, key=lambda finding: finding.rule):
        rule, findings = RULES[rule_id], list(group)
        click.echo(f"\n{rule.severity.upper()}  {rule.title} ({len(findings):,})  --rule {rule.id}")
        click.echo(f"  Why: {rule.why}")
        click.echo(f"  Do:  {rule.advice}")
        for finding in findings if everything else findings[:SHOWN]:
            click.echo(f"  - {_line(finding)}")
        if not everything and len(findings) > SHOWN:
            click.echo(f"  … and {len(findings) - SHOWN:,} more: --rule {rule.id} shows them all.")


def _line(finding: Finding) -> str:
    place = "::".join(part for part in (finding.server, finding.tool) if part)
    line = printable(f"{place}: {finding.reason}" if place else finding.reason, 300)
    return f"{line} “{printable(finding.evidence)}”" if finding.evidence and finding.where != "name" else line


# Commands about virtual servers: serve one to any client, multiply one.

PROFILES_HELP = " ".join(f"{name}: {profile.help}" for name, profile in PROFILES.items())


@click.command(epilog=f"Profiles. {PROFILES_HELP}")
@click.argument("server")
@click.option(
    "--http", "port", type=click.IntRange(0, 65535), help="Listen on 127.0.0.1:PORT (0: a free one), not stdio."
)
@click.option(
    "--profile", default=DEFAULT_PROFILE, show_default=True, type=click.Choice(tuple(PROFILES)), help="How it behaves."
)
@click.option(
    "--seed", type=int, help="Makes results and failures repeatable; without it failures differ at each start."
)
@click.option(
    "--speed",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0, 100),
    help="Factor on every wait; 0 never waits.",
)
@catalog_option
@db_option
def virtual(
    server: str, port: int | None, profile: str, seed: int | None, speed: float, catalog: str, db: Path | None
) -> None:
    """Serve one server of a catalog over real MCP with simulated results, by default on stdio.

    Example: wayfare virtual web-search --http 8700 --profile flaky
    """
    with opened(db, alone=True) as app:
        found = server_of(app.catalogs.open(catalog), server)
    from core.virtual.server import Behaviour, serve_http, serve_stdio

    behaviour = Behaviour(profile, seed, speed)
    if port is None:
        serve_stdio(found, behaviour)
    else:
        serve_http(found, behaviour, port)


@click.command()
@click.argument("server")
@click.option("--copies", required=True, type=click.IntRange(1, MOST_COPIES), help="The number of virtual copies.")
@click.option("--name", default="", help="The new catalog's name (default: made from catalog, server and number).")
@click.option("--seed", default=0, show_default=True, type=int, help="Another seed gives other words and numbers.")
@click.option(
    "--spread", default=2.0, show_default=True, type=click.FloatRange(1, HIGHEST_SPREAD),
    help="Largest factor, up or down, on the declared times, prices and odds.",
)  # fmt: skip
@click.option("--replace", is_flag=True, help="Leave the original server out.")
@catalog_option
@common
def multiply(
    server: str,
    copies: int,
    name: str,
    seed: int,
    spread: float,
    replace: bool,
    catalog: str,
    db: Path | None,
    as_json: bool,
) -> None:
    """Make a new catalog with virtual copies of one server: other names, words and numbers.

    Example: wayfare multiply unit-exchange --copies 4 --name exchanges
    """
    with opened(db) as app:
        source = app.catalogs.open(catalog).name
        made = app.catalog_editor.multiply(source, server, Recipe(copies, seed, spread, not replace), name=name)
        known = app.catalogs.catalog(source).server_row
    fresh = [one for one in made.servers if one.name not in known]
    if as_json:
        print_json({
            "catalog": made.name, "servers": len(made.servers), "tools": len(made.tools), "copied": server,
            "copies": [{"name": one.name, "description": one.description, "tools": len(one.tools)} for one in fresh],
        })  # fmt: skip
        return
    click.echo(
        f"Catalog {made.name}: {len(made.servers)} servers with {len(made.tools)} tools, {copies} of them virtual copies of {server}."
    )
    print_table(("copy", "description"), [(one.name, one.description) for one in fresh])


@click.command()
@click.argument("place", metavar="[SERVER[::TOOL]]", required=False)
@click.option("--description", metavar="TEXT", help="Your own description, which decisions and clients get.")
@click.option("--remove", is_flag=True, help="Take the server's own description back.")
@catalog_option
@common
def override(
    place: str | None, description: str | None, remove: bool, catalog: str, db: Path | None, as_json: bool
) -> None:
    """Describe a tool or a server in your own words, without touching the server, or take its own words back.

    Without a name it lists your descriptions. One whose server speaks otherwise now does not count until you give it
    again.

    Example: wayfare override files::read --description "Show the text of a file." --catalog mine
    """
    if place is None:
        _list_wordings(catalog, db, as_json)
        return
    one_of({"--description": description is not None, "--remove": remove}, least=1)
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        if description is None:
            app.wordings.remove(chosen, place)
        else:
            app.wordings.put(chosen, place, description)
    done = "has the server's own description again" if remove else "has your description now"
    print_outcome({"place": place, "catalog": chosen, "removed": remove}, f"{printable(place)} {done}.", as_json)


def _list_wordings(catalog: str, db: Path | None, as_json: bool) -> None:
    with opened(db) as app:
        chosen = app.catalogs.open(catalog).name
        found, stale = app.wordings.list(chosen), app.wordings.stale(chosen)
    rows = [(f"{one.server}::{one.tool}" if one.tool else one.server, one, one not in stale) for one in found]
    if as_json:
        print_json(
            {"overrides": [{"place": at, "description": one.text, "counts": counts} for at, one, counts in rows]}
        )
        return
    print_table(
        ("place", "counts", "description"),
        [(at, "yes" if counts else "no, the server's words changed", one.text) for at, one, counts in rows],
    )
