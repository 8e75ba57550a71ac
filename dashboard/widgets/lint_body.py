"""The findings of a catalog: how many of each severity, a filter, a table to sort and export, and the chosen one.

Owns the keys `catalog.lint.*`.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.console import Console
from core.domain.catalog import Catalog
from core.domain.lint import Finding, LintReport, Severity
from core.errors import WayfareError
from core.lint import RULES
from dashboard.widgets import catalog_state as state
from dashboard.widgets.catalog_frames import matching
from dashboard.widgets.catalog_table import choice_table, table_key
from dashboard.widgets.import_documents import counted
from dashboard.widgets.lint_finding import finding_detail
from dashboard.widgets.lint_frames import (
    COLUMNS,
    MEANINGS,
    PLURALS,
    finding_id,
    finding_text,
    lint_file,
    lint_frame,
    severity_colour,
)
from dashboard.widgets.preparing import show_preparing
from dashboard.widgets.text import escaped

SEVERITY, RULE = "catalog.lint.severity", "catalog.lint.rule"
EVERY, ALL_RULES = "all", "All rules"


def lint_body(console: Console, catalog: Catalog, query: str, kept: Mapping[str, str]) -> dict[str, str]:
    """Draw it; returns the texts for the URL: severity, rule and the chosen finding."""
    report = console.desk.lint(catalog.name)
    with st.container(horizontal=True, vertical_alignment="center"):
        severity = _severity_choice(report, kept.get("severity", ""))
        rule = _rule_choice(report, severity, kept.get("rule", ""))
        shown = _filtered(report, severity, rule, query)
        st.space("stretch")
        _export(catalog.name, shown)
    chosen = _table(catalog, report, shown, kept.get("finding", ""), (severity, rule, query))
    if chosen is not None:
        finding_detail(catalog, chosen)
    return {
        "severity": "" if severity == EVERY else severity,
        "rule": rule,
        "finding": "" if chosen is None else finding_id(chosen),
    }


def complete(console: Console, name: str) -> None:
    """Make the vectors that rules wait for, below everything else, and draw again; nothing where none waits."""
    report = console.desk.lint(name)
    if not report.waiting:
        return
    titles = " and ".join(f"“{RULES[rule].title}”" for rule in report.waiting)
    st.caption(f"{titles} compare the tools' vectors, which are being made. The other findings are complete.")
    try:
        show_preparing(console, name)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.rerun()


def _severity_choice(report: LintReport, kept: str) -> str:
    counts = report.counts()
    said = {EVERY: f"All {len(report.findings):,}", **{s.value: f"{PLURALS[s]} {n:,}" for s, n in counts.items()}}
    if st.session_state.get(SEVERITY) not in said:
        st.session_state[SEVERITY] = kept if kept in said else EVERY
    picked = st.segmented_control(
        "Severity", list(said), key=SEVERITY, format_func=said.__getitem__, required=True, help=MEANINGS,
        label_visibility="collapsed",
    )  # fmt: skip
    return picked or EVERY


def _rule_choice(report: LintReport, severity: str, kept: str) -> str:
    """The rules that found something of this severity, with how much."""
    found = report if severity == EVERY else _of(report, Severity(severity))
    said = {ALL_RULES: ALL_RULES} | {rule: f"{RULES[rule].title} · {n:,}" for rule, n in found.by_rule().items()}
    said |= {rule: f"{RULES[rule].title} · …" for rule in report.waiting}
    if st.session_state.get(RULE) not in said:
        st.session_state[RULE] = kept if kept in said else ALL_RULES
    picked = st.selectbox(
        "Rule", list(said), key=RULE, format_func=said.__getitem__, label_visibility="collapsed", width=300
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
        data=lambda: lint_file(shown),
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
