"""One finding in full: why it matters, what to do, and the text that it is about with the evidence marked."""

from __future__ import annotations

import streamlit as st

from core.domain.catalog import Catalog
from core.domain.lint import Finding, Severity
from core.lint import RULES
from core.lint.texts import Passage, server_passages, tool_passages
from core.shared.untrusted_text import visible
from dashboard.pages.catalog.lint.frames import SIGNS
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped

BEFORE, AFTER = 300, 1500  # characters shown around the evidence
BADGES = {Severity.ERROR: "red", Severity.WARNING: "orange", Severity.NOTE: "gray"}


def finding_detail(catalog: Catalog, finding: Finding) -> None:
    """Draw it below the table."""
    rule = RULES[finding.rule]
    with st.container(border=True):
        left, right = st.columns([1, 1.15], gap="large")
        with left:
            sign = f":{BADGES[finding.severity]}-badge[{SIGNS[finding.severity]}]"
            st.markdown(f"##### {sign} {escaped(rule.title)}")
            place = " › ".join(escaped(part) for part in (finding.server, finding.tool) if part)
            st.markdown(f"**{place or 'The whole catalog'}**  \n{escaped(finding.reason, 600)}")
            st.markdown(f"**Why it matters.** {escaped(rule.why)}")
            st.markdown(f"**What to do.** {escaped(finding.advice)}")
            _links(catalog, finding)
        with right:
            _text(catalog, finding)


def marked(text: str, evidence: str) -> str:
    r"""Markdown in which the first place of the evidence is marked; everything else is text, line by line.

    Only so much of a long text as stands around it. Without evidence, or where it is not found, nothing is marked.

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
    """Escaped text that keeps the space at its ends."""
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
    """The text with the evidence; of a finding without any, what the tool or the server says of itself."""
    passages = _passages(catalog, finding)
    evidence = finding.evidence.removesuffix("…")
    hit = next((p for p in passages if p.where == finding.where and evidence in visible(p.text)), None)
    shown = hit or next((p for p in passages if p.where == "description"), None)
    if shown is None:
        st.caption("There is no text to show.")
        return
    st.caption(f"The {shown.place.rstrip(',')}:" if finding.tool else f"The server's {shown.place.rstrip(',')}:")
    with st.container(height=300 if len(shown.text) > 1200 else "content", border=False):
        st.markdown(marked(visible(shown.text), evidence if hit else ""))
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
