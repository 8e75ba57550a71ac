"""Lint: the findings of a catalog, and the details of a finding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import streamlit as st

from core.app import App
from core.catalogs.lint_reports import findings_csv
from core.domain.catalog import Catalog
from core.domain.findings import Finding, LintReport, Severity
from core.domain.untrusted_text import one_line, visible
from core.lint import RULES
from core.lint.texts import Passage, server_passages, tool_passages
from dashboard import theme
from dashboard.pages.catalog import state
from dashboard.ui.catalog_frames import beginning, matching
from dashboard.ui.long_work import AT_ONCE, show_preparing, work_first
from dashboard.ui.table import Column, choice_table, frame_of, page_of, part, table_key
from dashboard.ui.text import counted, errors_shown, escaped
from dashboard.ui.url_state import open_page


class Look(NamedTuple):
    sign: str
    plural: str
    badge: str
    css: str


LOOKS: Mapping[str, Look] = {
    Severity.ERROR: Look(f"{theme.REJECTED_SIGN} error", "Errors", "red", f"color: {theme.REJECTED}; font-weight: 600"),
    Severity.WARNING: Look("! warning", "Warnings", "orange", f"color: {theme.TIME}; font-weight: 600"),
    Severity.NOTE: Look(f"{theme.DROPPED_SIGN} note", "Notes", "gray", f"color: {theme.MUTED}; font-weight: 400"),
}
CSS = {look.sign: look.css for look in LOOKS.values()}
MEANINGS = (
    "Error: do not show the tool to a model, or it cannot be called. Warning: a loss of quality or trust. "
    "Note: for information."
)
COLUMNS = (
    Column("severity", width=92, help=MEANINGS, cell=lambda finding: LOOKS[finding.severity].sign),
    Column("rule", width=176, cell=lambda finding: RULES[finding.rule].title),
    Column("server", width=130),
    Column("tool", width=160, help="Empty: the finding is about the whole server or catalog."),
    Column("reason", "finding", width=350, cell=lambda finding: one_line(finding.reason, 400)),
    Column(
        "evidence", width=380, help="The exact words. Select a row for the text around them.",
        cell=lambda finding: beginning(finding.evidence),
    ),
)  # fmt: skip


def finding_id(finding: Finding) -> str:
    """Returns the id of a finding in links, which is stable."""
    return "|".join((finding.rule, finding.server, finding.tool, finding.where, finding.other))


def finding_text(finding: Finding) -> str:
    return f"{finding.server}::{finding.tool}\n{RULES[finding.rule].title}\n{finding.reason}\n{finding.evidence}"


BEFORE, AFTER = 300, 1500  # characters shown around the evidence


def finding_detail(catalog: Catalog, finding: Finding) -> None:
    rule = RULES[finding.rule]
    with st.container(border=True):
        left, right = st.columns([1, 1.15], gap="large")
        with left:
            look = LOOKS[finding.severity]
            st.markdown(f"##### :{look.badge}-badge[{look.sign}] {escaped(rule.title)}")
            place = " › ".join(escaped(part) for part in (finding.server, finding.tool) if part)
            st.markdown(f"**{place or 'The whole catalog'}**  \n{escaped(finding.reason, 600)}")
            st.markdown(f"**Why it matters.** {escaped(rule.why)}")
            st.markdown(f"**What to do.** {escaped(finding.advice)}")
            _links(catalog, finding)
        with right:
            _text(catalog, finding)


def marked(text: str, evidence: str) -> str:
    r"""Returns escaped Markdown in which the first place of the evidence is marked.

    A long text is cut around it. Nothing is marked if there is no evidence or it is not found.

    >>> marked("Adds.\n<b>Never</b> tell", "<b>Never</b>")
    'Adds\\.  \n:orange-background[\\<b\\>Never\\<\\/b\\>] tell'
    """
    start = text.find(evidence) if evidence else -1
    end = start + len(evidence) if start >= 0 else 0
    low, high = max(0, start - BEFORE), min(len(text), end + AFTER)
    lines: list[str] = []
    place = low
    for line in text[low:high].split("\n"):
        first, last = max(start, place) - place, min(end, place + len(line)) - place
        if start >= 0 and first < last:
            lines.append(
                f"{_piece(line[:first])}:orange-background[{_piece(line[first:last]).strip()}]{_piece(line[last:])}"
            )
        else:
            lines.append(_piece(line))
        place += len(line) + 1
    cut = ("… " if low > 0 else "", " …" if high < len(text) else "")
    return cut[0] + "  \n".join(line for line in lines if line.strip()) + cut[1]


def _piece(text: str) -> str:
    inside = escaped(text, BEFORE + AFTER)
    return f"{' ' if text[:1].isspace() else ''}{inside}{' ' if inside and text[-1:].isspace() else ''}"


def _links(catalog: Catalog, finding: Finding) -> None:
    targets = {"Open the tool": f"{finding.server}::{finding.tool}", "Open the other tool": finding.other}
    with st.container(horizontal=True):
        for label, tool in targets.items():
            if tool in catalog.tool_row and st.button(
                label, icon=":material/construction:", key=f"catalog.lint.{label}"
            ):
                open_page("catalog", catalog=catalog.name, tool=tool)
        whole = not finding.tool and finding.server in catalog.server_row
        if whole and st.button("Open the server", icon=":material/dns:", key="catalog.lint.server"):
            open_page("catalog", catalog=catalog.name, server=finding.server)


def _text(catalog: Catalog, finding: Finding) -> None:
    """Draw the text with the evidence, or the description for a finding without evidence."""
    passages = _passages(catalog, finding)
    evidence = finding.evidence.removesuffix("…")
    hit = next((p for p in passages if p.where == finding.where and evidence in visible(p.text)), None)
    passage = hit or next((p for p in passages if p.where == "description"), None)
    if passage is None:
        st.caption("There is no text to show.")
        return
    st.caption(f"The {passage.place.rstrip(',')}:" if finding.tool else f"The server's {passage.place.rstrip(',')}:")
    with st.container(height=300 if len(passage.text) > 1200 else "content", border=False):
        st.markdown(marked(visible(passage.text), evidence if hit else ""))
    if finding.other in catalog.tool_row:
        other = catalog.tools[catalog.tool_row[finding.other]]
        st.caption(f"The description of {escaped(other.id)}:")
        st.markdown(marked(visible(other.description), "") or "–")


def _passages(catalog: Catalog, finding: Finding) -> tuple[Passage, ...]:
    tool = catalog.tool_row.get(f"{finding.server}::{finding.tool}") if finding.tool else None
    if tool is not None:
        return tool_passages(catalog.tools[tool])
    server = catalog.server_row.get(finding.server)
    return () if server is None else server_passages(catalog.servers[server])


SEVERITY, RULE = "catalog.lint.severity", "catalog.lint.rule"
EVERY, ALL_RULES = "all", "All rules"


def lint_body(app: App, catalog: Catalog, query: str, linked: Mapping[str, str]) -> dict[str, str]:
    """Draw the lint view. Returns the texts for the URL: severity, rule and the chosen finding."""
    report = _report(app, catalog)
    if report is None:
        return {name: linked.get(name, "") for name in ("severity", "rule", "finding")}
    with st.container(horizontal=True, vertical_alignment="center"):
        severity = _severity_choice(report, linked.get("severity", ""))
        rule = _rule_choice(report, severity, linked.get("rule", ""))
        findings = _filtered(report, severity, rule, query)
        st.space("stretch")
        _export(catalog.name, findings)
    chosen = _table(catalog, report, findings, linked.get("finding", ""), (severity, rule, query))
    if chosen is not None:
        finding_detail(catalog, chosen)
    return {
        "severity": "" if severity == EVERY else severity,
        "rule": rule,
        "finding": "" if chosen is None else finding_id(chosen),
    }


def _report(app: App, catalog: Catalog) -> LintReport | None:
    """Returns the report. Returns None while a large catalog is checked in the background; the view shows the progress."""
    name = catalog.name
    if len(catalog.tools) <= AT_ONCE:
        return app.lint_reports.report(name)
    report = app.lint_reports.known(name)
    if report is not None:
        return report
    work_first(
        f"catalog:lint.{name}", lambda job: app.lint_reports.report(name, progress=job.report), title=f"Lint of {name}"
    )
    return None


def complete(app: App, name: str) -> None:
    """Make the vectors that some rules need, and redraw. Does nothing if no rule waits. It is the last part of the page."""
    report = app.lint_reports.known(name)
    if report is None or not report.waiting:
        return
    titles = " and ".join(f"“{RULES[rule].title}”" for rule in report.waiting)
    st.caption(f"{titles} need the vectors of the tools, which are being made. The other findings are complete.")
    with errors_shown():
        show_preparing(app, name)
        st.rerun()


def _severity_choice(report: LintReport, linked: str) -> str:
    counts = report.counts()
    options = {
        EVERY: f"All {len(report.findings):,}",
        **{s.value: f"{LOOKS[s].plural} {n:,}" for s, n in counts.items()},
    }
    if st.session_state.get(SEVERITY) not in options:
        st.session_state[SEVERITY] = linked if linked in options else EVERY
    choice = st.segmented_control(
        "Severity", list(options), key=SEVERITY, format_func=options.__getitem__, required=True, help=MEANINGS,
        label_visibility="collapsed",
    )  # fmt: skip
    return choice or EVERY


def _rule_choice(report: LintReport, severity: str, linked: str) -> str:
    selection = replace(report, findings=tuple(f for f in report.findings if severity in {EVERY, f.severity}))
    options = {ALL_RULES: ALL_RULES} | {rule: f"{RULES[rule].title} · {n:,}" for rule, n in selection.by_rule().items()}
    options |= {rule: f"{RULES[rule].title} · …" for rule in report.waiting}
    if st.session_state.get(RULE) not in options:
        st.session_state[RULE] = linked if linked in options else ALL_RULES
    choice = st.selectbox(
        "Rule", list(options), key=RULE, format_func=options.__getitem__, label_visibility="collapsed", width=300
    )
    return "" if choice == ALL_RULES else choice


def _filtered(report: LintReport, severity: str, rule: str, query: str) -> list[Finding]:
    findings = [f for f in report.findings if severity in {EVERY, f.severity} and rule in {"", f.rule}]
    if not query.strip():
        return findings
    return [f for f, is_match in zip(findings, matching(map(finding_text, findings), query), strict=True) if is_match]


def _table(
    catalog: Catalog, report: LintReport, findings: list[Finding], linked: str, selection: tuple[str, ...]
) -> Finding | None:
    if not report.findings:
        st.success("No findings in this catalog.", icon=":material/verified:")
        return None
    if not findings:
        st.info("No finding meets the filter.", icon=":material/search_off:")
        st.button("Clear the filter", key="catalog.lint.clear", icon=":material/backspace:", on_click=_clear)
        return None
    st.caption(f"{counted(len(findings), 'finding')}. Choose a row for the text, the reason and the advice.")
    place = next((row for row, item in enumerate(findings) if finding_id(item) == linked), None) if linked else None
    all_rows = np.arange(len(findings))
    rows = page_of(all_rows, f"catalog.lint.{catalog.name}", chosen=place)
    row = choice_table(
        frame_of([findings[row] for row in rows.tolist()], COLUMNS).style.map(CSS.__getitem__, subset=["severity"]), COLUMNS,
        labels=rows.tolist(),
        key=table_key("lint", catalog.name, *selection, str(len(report.waiting)), part(all_rows, rows)),
        chosen=place, about=f"Findings in {catalog.name}",
    )  # fmt: skip
    return None if row is None else findings[row]


def _export(name: str, findings: list[Finding]) -> None:
    st.download_button(
        "CSV", data=lambda: findings_csv(findings), file_name=f"wayfare-lint-{name}.csv", mime="text/csv",
        key="catalog.lint.export", icon=":material/download:", on_click="ignore", disabled=not findings,
        help="The findings below, with advice.",
    )  # fmt: skip


def _clear() -> None:
    st.session_state[SEVERITY], st.session_state[RULE], st.session_state[state.QUERY] = EVERY, ALL_RULES, ""
