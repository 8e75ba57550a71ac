"""`wayfare lint`: faults of a catalog, each with advice."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import click

from core.cli.options import catalog_option, common, listed_run, opened, print_json, printable
from core.domain.errors import UnknownNameError
from core.domain.findings import Finding, LintReport, Severity
from core.lint import RULES

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
