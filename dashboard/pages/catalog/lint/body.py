"""The findings of a catalog: how many of each severity, a filter, a table to sort and export, and the chosen one.

Owns the keys `catalog.lint.*`.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog
from core.domain.lint import Finding, LintReport, Severity
from core.lint import RULES
from core.services.decide.catalog_editor import findings_csv
from core.shared.errors import WayfareError
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports.documents import counted
from dashboard.pages.catalog.lint.finding import finding_detail
from dashboard.pages.catalog.lint.frames import (
    COLUMNS,
    MEANINGS,
    PLURALS,
    finding_id,
    finding_text,
    lint_frame,
    severity_colour,
)
from dashboard.ui.catalog_frames import matching
from dashboard.ui.choice_table import choice_table, table_key
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.text import escaped

SEVERITY, RULE = "catalog.lint.severity", "catalog.lint.rule"
EVERY, ALL_RULES = "all", "All rules"


def lint_body(app: App, catalog: Catalog, query: str, linked: Mapping[str, str]) -> dict[str, str]:
    """Draw it; returns the texts for the URL: severity, rule and the chosen finding."""
    report = app.lint_reports.report(catalog.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        severity = _severity_choice(report, linked.get("severity", ""))
        rule = _rule_choice(report, severity, linked.get("rule", ""))
        shown = _filtered(report, severity, rule, query)
        st.space("stretch")
        _export(catalog.name, shown)
    chosen = _table(catalog, report, shown, linked.get("finding", ""), (severity, rule, query))
    if chosen is not None:
        finding_detail(catalog, chosen)
    return {
        "severity": "" if severity == EVERY else severity,
        "rule": rule,
        "finding": "" if chosen is None else finding_id(chosen),
    }


def complete(app: App, name: str) -> None:
    """Make the vectors that rules wait for, below everything else, and draw again; nothing where none waits."""
    report = app.lint_reports.report(name)
    if not report.waiting:
        return
    titles = " and ".join(f"“{RULES[rule].title}”" for rule in report.waiting)
    st.caption(f"{titles} compare the tools' vectors, which are being made. The other findings are complete.")
    try:
        show_preparing(app, name)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.rerun()


def _severity_choice(report: LintReport, linked: str) -> str:
    counts = report.counts()
    options = {EVERY: f"All {len(report.findings):,}", **{s.value: f"{PLURALS[s]} {n:,}" for s, n in counts.items()}}
    if st.session_state.get(SEVERITY) not in options:
        st.session_state[SEVERITY] = linked if linked in options else EVERY
    picked = st.segmented_control(
        "Severity", list(options), key=SEVERITY, format_func=options.__getitem__, required=True, help=MEANINGS,
        label_visibility="collapsed",
    )  # fmt: skip
    return picked or EVERY


def _rule_choice(report: LintReport, severity: str, linked: str) -> str:
    """The rules that found something of this severity, with how much."""
    found = report if severity == EVERY else _of(report, Severity(severity))
    options = {ALL_RULES: ALL_RULES} | {rule: f"{RULES[rule].title} · {n:,}" for rule, n in found.by_rule().items()}
    options |= {rule: f"{RULES[rule].title} · …" for rule in report.waiting}
    if st.session_state.get(RULE) not in options:
        st.session_state[RULE] = linked if linked in options else ALL_RULES
    picked = st.selectbox(
        "Rule", list(options), key=RULE, format_func=options.__getitem__, label_visibility="collapsed", width=300
    )
    return "" if picked == ALL_RULES else picked


def _of(report: LintReport, severity: Severity) -> LintReport:
    return LintReport(report.catalog, tuple(f for f in report.findings if f.severity is severity))


def _filtered(report: LintReport, severity: str, rule: str, query: str) -> list[Finding]:
    found = [f for f in report.findings if severity in {EVERY, f.severity} and rule in {"", f.rule}]
    return [f for f, meant in zip(found, matching(map(finding_text, found), query), strict=True) if meant]


def _table(
    catalog: Catalog, report: LintReport, shown: list[Finding], wanted: str, selection: tuple[str, ...]
) -> Finding | None:
    if not report.findings:
        st.success("Nothing found: no rule has anything to say about this catalog.", icon=":material/verified:")
        return None
    if not shown:
        st.info("No finding meets the filter.", icon=":material/search_off:")
        st.button("Clear the filter", key="catalog.lint.clear", icon=":material/backspace:", on_click=_clear)
        return None
    st.caption(f"{counted(len(shown), 'finding')}. Choose a row to read the text, why it matters and what to do.")
    ids = [finding_id(finding) for finding in shown]
    row = choice_table(
        lint_frame(shown).style.map(severity_colour, subset=["severity"]),
        COLUMNS,
        labels=list(range(len(shown))),
        key=table_key("lint", catalog.name, *selection, str(len(report.waiting))),
        chosen=ids.index(wanted) if wanted in ids else None,
        about=f"Findings in {catalog.name}",
    )
    return None if row is None else shown[row]


def _export(name: str, shown: list[Finding]) -> None:
    st.download_button(
        "CSV",
        data=lambda: findings_csv(shown),
        file_name=f"wayfare-lint-{name}.csv",
        mime="text/csv",
        key="catalog.lint.export",
        icon=":material/download:",
        on_click="ignore",
        disabled=not shown,
        help="The findings below, with what to do.",
    )


def _clear() -> None:
    st.session_state[SEVERITY], st.session_state[RULE], st.session_state[state.QUERY] = EVERY, ALL_RULES, ""
