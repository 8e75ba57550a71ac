"""Example requests of tools, how often the tools are found by them, and faults of a catalog."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from core.cli import apps, options, output
from core.cli.joining import console_said
from core.cli.main import ServedError
from core.cli.options import option
from core.domain import units
from core.domain.console import Owner
from core.domain.errors import UnknownNameError, WayfareError
from core.domain.feedback import By
from core.domain.findings import Findable, Finding, LintReport, Severity
from core.learning.requests import GIVEN_BY, MODEL, NONE_TAKEN, OPERATOR, lines
from core.lint import RULES

if TYPE_CHECKING:
    from core.learning.request_writing import WritingRun


CLI = By(origin="cli")
SHOWN = 10  # skipped lines that are printed


@click.group()
def requests() -> None:
    """Import, export, undo or have a model write example requests of tools, which make decisions better. An example request is what
    somebody says who needs exactly that tool.

    Example: wayfare requests export --missing > missing.jsonl
    """


@requests.command(name="import")
@click.argument("file", type=options.PATH)
@option("--source", default=OPERATOR, metavar="NAME", help=f"Who wrote them: {', '.join(GIVEN_BY)}.")
@options.of_catalog
def import_(file: Path, source: str, catalog: str) -> None:
    """Take requests from JSON Lines: {"tool": "server::tool", "requests": ["..."]}. `wayfare requests undo` takes them back.

    Example: wayfare requests import requests.jsonl --catalog work --source model
    """
    with apps.opened_catalog(catalog) as (app, name):
        report = app.requests.import_file(
            options.read_file(file), source_file=str(file), catalog=name, source=source, by=CLI
        )
    words = [f"{report.requests:,} requests of {report.tools:,} tools were taken."]
    words += [f"line {skip.line}: {skip.why}" for skip in report.skipped[:SHOWN]]
    if len(report.skipped) > SHOWN:
        words.append(f"and {len(report.skipped) - SHOWN:,} more; --json names all.")
    skipped = [asdict(skip) for skip in report.skipped]
    output.outcome({"tools": report.tools, "requests": report.requests, "skipped": skipped}, "\n".join(words))


@requests.command()
@option("--missing", is_flag=True, help="The tools that have none or stale ones, each with its definition.")
@options.of_catalog
def export(missing: bool, catalog: str) -> None:
    """Print the requests of a catalog as JSON Lines, or with --missing the tools that lack them.

    Example: wayfare requests export --catalog sample
    """
    with apps.opened_catalog(catalog) as (app, name):
        rows = app.requests.missing(name) if missing else app.requests.rows(name)
    output.result(lambda: {"tools": rows}, lambda: click.echo(lines(rows), nl=False))


@requests.command()
@options.of_catalog
def undo(catalog: str) -> None:
    """Take back the newest change of a catalog's requests.

    Example: wayfare requests undo --catalog work
    """
    with apps.opened_catalog(catalog) as (app, name):
        change = app.requests.undo(name, CLI)
    time = change.at.isoformat(timespec="seconds")
    output.outcome(
        {"tools": change.tools, "requests": change.requests, "source": change.source, "at": time},
        f"{change.requests:,} requests of {change.tools:,} tools are as they were before {time}."
    )  # fmt: skip


# `wayfare requests write`: a model writes missing requests. The store is open while requests are read or stored, not while
# the model answers; each batch is stored at once.


@requests.command()
@option("--model", default="", metavar="NAME", help="The model that writes (default: WAYFARE_LLM_MODEL).")
@option("--limit-usd", type=options.Finite(0), help="Stop before more than this is spent.")
@option("--yes", is_flag=True, help="Begin without asking.")
@options.of_catalog
def write(
    model: str, limit_usd: float | None, yes: bool, catalog: str
) -> None:  # fmt: skip
    """Have a language model write requests for the tools that lack them. Prints an estimate of tokens and money and asks before it
    begins. A run that was ended goes on where it stopped.

    The endpoint is set by WAYFARE_LLM_BASE_URL and WAYFARE_LLM_API_KEY, or follows from the model's name.

    Example: wayfare requests write --model gpt-4o-mini --catalog work --limit-usd 0.50
    """
    from core.learning.request_writing import RequestWriter, WritingRun, writing_endpoint

    if output.wants_json() and not yes:
        raise click.UsageError("--json cannot ask; give --yes with it.")
    endpoint = writing_endpoint(apps.settings().environment, model)
    writer, rows = RequestWriter(endpoint, endpoint.price_usd), _missing(catalog)
    estimate = writer.estimate(rows)
    if limit_usd is not None and estimate.usd is None:
        raise WayfareError(f"The price of {endpoint.model!r} is unknown, so --limit-usd cannot be kept; leave it out.")
    if rows and not output.wants_json():
        click.echo(
            f"{len(rows):,} tools lack requests. {endpoint.model} would take about: {estimate.words()}.", err=True
        )
    if rows and not yes:
        click.confirm("Begin?", abort=True, err=True)
    run = WritingRun(writer, partial(_keep, catalog), limit_usd)
    run.write(rows, lambda: None if output.wants_json() else click.echo(f"{run.words()}.", err=True))
    _print_run(run, len(_missing(catalog)), endpoint.model)


def _missing(catalog: str) -> list[dict[str, Any]]:
    try:
        with apps.opened_catalog(catalog) as (app, name):
            return app.requests.missing(name)
    except ServedError as error:
        return console_said(error.owner, ["requests", "export", "--missing", "--catalog", catalog])["tools"]


def _keep(catalog: str, texts_by_tool: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Stores the requests of some tools. Returns the numbers of taken tools and requests, and the skipped lines."""
    try:
        with apps.opened_catalog(catalog) as (app, name):
            rows = [(line, tool, texts) for line, (tool, texts) in enumerate(texts_by_tool.items(), 1)]
            return asdict(app.requests.add(name, rows, source=MODEL, by=CLI))
    except ServedError as error:
        return _kept_by(error.owner, catalog, texts_by_tool)


def _kept_by(owner: Owner, catalog: str, texts_by_tool: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "requests.jsonl"
        options.write_file(file, lines({"tool": key, "requests": texts} for key, texts in texts_by_tool.items()))
        try:
            return console_said(owner, ["requests", "import", str(file), "--source", MODEL, "--catalog", catalog])
        except WayfareError as error:
            if NONE_TAKEN not in str(error):
                raise
            return {"tools": 0, "requests": 0, "skipped": [{"why": str(error)}]}


def _print_run(run: WritingRun, left: int, model: str) -> None:
    if output.wants_json():
        output.document({
            "model": model, "tools": run.tools, "requests": run.requests, "left": left,
            **asdict(run.spent), "skipped": run.skipped, "stopped": run.stopped,
        })  # fmt: skip
    else:
        for why in run.skipped[:SHOWN]:
            click.echo(output.printable(why, 300), err=True)
        if run.stopped:
            click.echo(output.printable(run.stopped, 500), err=True)
        rest = f"; {left:,} tools still lack some, the same command goes on" if left else ""
        click.echo(f"{run.requests:,} requests of {run.tools:,} tools were written{rest}.")
    if run.failed:
        sys.exit(1)


LISTED_TOOLS = 20
NAMED = 3


@click.command()
@option(
    "--min", "least", type=options.Finite(0, 1), help="Exit 1 if fewer than this share of requests find their tool among three."
)  # fmt: skip
@options.of_catalog
def findable(least: float | None, catalog: str) -> None:
    """Estimate from example requests how often each tool would be found, the worst first, and what it is taken for.

    A quarter of each tool's requests is left out in turn and ranked by what the others teach. Tools that do the same count
    as one. The shares are corrected by what labelled catalogs tell of such estimates.

    Example: wayfare findable --catalog mine --min 0.8
    """
    with apps.opened_catalog(catalog) as (app, name), apps.listed_run(app, "Ranking requests") as run:
        run.shows("catalog", view="findable", catalog=name)
        estimate = app.findable.estimate(name, run)
    output.result(lambda: document(estimate), lambda: _print_found(estimate))
    if least is not None and estimate.hit_3 < least:
        click.echo(f"About {units.share(estimate.hit_3)} found among three is less than --min {least:g}.", err=True)
        sys.exit(1)


def document(found: Findable) -> dict[str, object]:
    """Returns the estimate as JSON: shares in [0, 1]; `found` counts the first three places."""
    return {
        "hit@1": round(found.hit_1, 4),
        "hit@3": round(found.hit_3, 4),
        "interval": {"hit@1": [*found.interval_1], "hit@3": [*found.interval_3]},
        "left_out": {"hit@1": round(found.left_out_1, 4), "hit@3": round(found.left_out_3, 4)},
        "without_requests": found.without,
        "asked": found.asked,
        "requests": found.requests,
        "tools": [
            {
                "tool": row.tool, "first": row.first, "found": row.found, "of": row.of,
                "taken_for": [{"tool": other, "times": times} for other, times in row.taken_for],
            }
            for row in found.tools
        ],
    }  # fmt: skip


def _print_found(estimate: Findable) -> None:
    for name, share, (low, high), left_out in (
        ("first", estimate.hit_1, estimate.interval_1, estimate.left_out_1),
        ("among three", estimate.hit_3, estimate.interval_3, estimate.left_out_3),
    ):
        click.echo(
            f"About {units.share(share)} of requests would find their tool {name} (95 %: {units.share(low)} to {units.share(high)}); "
            f"{units.share(left_out)} of those left out did."
        )
    if estimate.sampled:
        click.echo(estimate.sampled)
    if estimate.without:
        single = estimate.without == 1
        click.echo(
            f"{estimate.without:,} {'tool has' if single else 'tools have'} no requests, so nothing is known of {'it' if single else 'them'}."
        )
    rows = [
        (
            output.printable(row.tool), f"{row.first} of {row.of}", f"{row.found} of {row.of}",
            ", ".join(f"{output.printable(other)} ({times})" for other, times in row.taken_for[:NAMED]),
        )
        for row in estimate.tools[:LISTED_TOOLS] if row.first < row.of
    ]  # fmt: skip
    if not rows:
        click.echo("Every request that was left out finds its tool first.")
        return
    output.table(("tool", "first", "among three", "taken for"), rows)


SHOWN_FINDINGS = 10  # findings of one rule, unless rules are named


@click.command()
@option("--rule", "rules", multiple=True, metavar="RULE", help="Only this rule; may be repeated.")
@option(
    "--severity",
    default=Severity.NOTE.value,
    type=click.Choice([severity.value for severity in Severity]),
    help="Only findings of at least this severity.",
)
@option("--strict", is_flag=True, help="Exit with 1 if the shown findings include an error.")
@options.of_catalog
def lint(rules: tuple[str, ...], severity: str, strict: bool, catalog: str) -> None:
    """Find poor descriptions, colliding names, broken schemas and text that tries to instruct a model.

    Example: wayfare lint --catalog my_servers.json --severity warning
    """
    least = Severity(severity)
    vectors = _needs_vectors(rules, least)
    with apps.opened_catalog(catalog) as (app, name):
        if vectors and not output.wants_json():
            app.catalogs.prepare(name, _report_once())
        with apps.listed_run(app, "Looking for flaws") as run:
            run.shows("catalog", view="lint", catalog=name)
            full_report = app.lint_reports.report(name, vectors=vectors, progress=run)
        report = full_report.only(rules, least)
    output.result(report.to_json, lambda: print_report_of_linting(report, everything=bool(rules)))
    if strict and report.counts()[Severity.ERROR]:
        sys.exit(1)


def _needs_vectors(rules: tuple[str, ...], least: Severity) -> bool:
    """Whether a chosen rule needs vectors. Raises UnknownNameError for an unknown rule."""
    for rule in rules:
        if rule not in RULES:
            raise UnknownNameError(f"There is no rule {rule!r}; choose among: {', '.join(RULES)}.")
    chosen_rules = (rule for name, rule in RULES.items() if not rules or name in rules)
    return any(rule.needs_vectors and rule.severity.rank <= least.rank for rule in chosen_rules)


def _report_once() -> Callable[[int, int], None]:
    """Returns a progress callback that reports once, on standard error, that texts are embedded first."""
    reported: list[bool] = []

    def report(done: int, total: int) -> None:  # noqa: ARG001 - the library's signature
        if not reported:
            click.echo(f"Embedding {total:,} texts once, to find near duplicates…", err=True)
        reported.append(True)

    return report


def print_report_of_linting(report: LintReport, *, everything: bool) -> None:
    counted = ", ".join(
        f"{count:,} {severity}{'' if count == 1 else 's'}" for severity, count in report.counts().items()
    )
    click.echo(f"Catalog {output.printable(report.catalog)}: {counted}.")
    if not report.findings:
        click.echo("Nothing found.")
    for rule_id, group in groupby(report.findings, key=lambda finding: finding.rule):
        rule, findings = RULES[rule_id], list(group)
        click.echo(f"\n{rule.severity.upper()}  {rule.title} ({len(findings):,})  --rule {rule.id}")
        click.echo(f"  Why: {rule.why}")
        click.echo(f"  Do:  {rule.advice}")
        for finding in findings if everything else findings[:SHOWN_FINDINGS]:
            click.echo(f"  - {_finding(finding)}")
        if not everything and len(findings) > SHOWN_FINDINGS:
            click.echo(f"  … and {len(findings) - SHOWN_FINDINGS:,} more: --rule {rule.id} shows them all.")


def _finding(finding: Finding) -> str:
    place = "::".join(name for name in (finding.server, finding.tool) if name)
    line = output.printable(f"{place}: {finding.reason}" if place else finding.reason, 300)
    return f"{line} “{output.printable(finding.evidence)}”" if finding.evidence and finding.where != "name" else line
