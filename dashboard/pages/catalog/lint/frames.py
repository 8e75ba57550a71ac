"""Findings as a table, as a file, and in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from streamlit.column_config import TextColumn

from core.domain.lint import Finding, Severity
from core.lint import RULES
from dashboard import theme
from dashboard.ui.catalog_frames import one_line

SIGNS: Mapping[Severity, str] = {
    Severity.ERROR: f"{theme.REJECTED_SIGN} error",
    Severity.WARNING: "! warning",
    Severity.NOTE: f"{theme.DROPPED_SIGN} note",
}
COLOURS: Mapping[Severity, str] = {
    Severity.ERROR: theme.REJECTED,
    Severity.WARNING: theme.TIME,
    Severity.NOTE: theme.MUTED,
}
PLURALS: Mapping[Severity, str] = {
    Severity.ERROR: "Errors",
    Severity.WARNING: "Warnings",
    Severity.NOTE: "Notes",
}
MEANINGS = (
    "Error: do not put it before a model, or it cannot be called. Warning: it costs quality or trust. "
    "Note: worth knowing."
)
COLUMNS: dict[str, Any] = {
    "severity": TextColumn("severity", help=MEANINGS, width=92),
    "rule": TextColumn("rule", width=176),
    "server": TextColumn("server", width=130),
    "tool": TextColumn("tool", help="Empty: it concerns the whole server, or the whole catalog.", width=160),
    "reason": TextColumn("what was found", width=350),
    "evidence": TextColumn("evidence", help="The words as they stand; select a row to read around them.", width=380),
}


def lint_frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """One row for each finding, in their order."""
    return pd.DataFrame(
        {
            "severity": [SIGNS[finding.severity] for finding in findings],
            "rule": [RULES[finding.rule].title for finding in findings],
            "server": [finding.server for finding in findings],
            "tool": [finding.tool for finding in findings],
            "reason": [one_line(finding.reason, 400) for finding in findings],
            "evidence": [one_line(finding.evidence) for finding in findings],
        }
    )


def finding_id(finding: Finding) -> str:
    """What a link calls a finding: the same as long as it is found.

    >>> finding_id(Finding("unpriced", Severity.NOTE, "files", "", "", "", ""))
    'unpriced|files|||'
    """
    return "|".join((finding.rule, finding.server, finding.tool, finding.where, finding.other))


def finding_text(finding: Finding) -> str:
    """What the search box looks through."""
    return f"{finding.server}::{finding.tool}\n{RULES[finding.rule].title}\n{finding.reason}\n{finding.evidence}"


def severity_colour(word: str) -> str:
    """The style of a cell of the column `severity`."""
    severity = next(severity for severity, sign in SIGNS.items() if sign == word)
    return f"color: {COLOURS[severity]}; font-weight: {'400' if severity is Severity.NOTE else '600'}"
