"""Findings on a catalog with their reasons, and the report that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """How bad a finding is, worst first.

    Error: do not put this before a model, or it cannot be called. Warning: it costs quality or trust. Note: worth knowing.
    """

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst.

        >>> Severity.NOTE.rank
        2
        """
        return tuple(Severity).index(self)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that one rule found.

    `tool` is "" if it concerns the whole server, `server` too where it concerns the catalog. `where` names the text
    ("description"), `evidence` quotes it with invisible characters written out; `other` is the tool (`server::tool`) or
    server that it collides with.
    """

    rule: str
    severity: Severity
    server: str
    tool: str
    evidence: str
    reason: str
    advice: str
    where: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings of one catalog, worst first. `waiting` names rules that need vectors which are not there yet."""

    catalog: str
    findings: tuple[Finding, ...] = ()
    waiting: tuple[str, ...] = ()

    @classmethod
    def of(cls, catalog: str, findings: Iterable[Finding], waiting: Iterable[str] = ()) -> LintReport:
        """The findings in their order: by severity, then as the rules found them."""
        return cls(catalog, tuple(sorted(findings, key=lambda finding: finding.severity.rank)), tuple(waiting))

    def only(self, rules: Collection[str] = (), severity: Severity = Severity.NOTE) -> LintReport:
        """The findings of these rules (all if none is named) that are at least this bad."""
        kept = (f for f in self.findings if f.severity.rank <= severity.rank and (not rules or f.rule in rules))
        return replace(self, findings=tuple(kept), waiting=tuple(r for r in self.waiting if not rules or r in rules))

    def counts(self) -> Mapping[Severity, int]:
        """The number of findings by severity, worst first.

        >>> dict(LintReport("empty").counts())
        {<Severity.ERROR: 'error'>: 0, <Severity.WARNING: 'warning'>: 0, <Severity.NOTE: 'note'>: 0}
        """
        found = Counter(finding.severity for finding in self.findings)
        return {severity: found[severity] for severity in Severity}

    def by_rule(self) -> Mapping[str, int]:
        """The number of findings by rule, in the order of the findings."""
        return dict(Counter(finding.rule for finding in self.findings))

    def to_json(self) -> dict[str, Any]:
        return {
            "catalog": self.catalog,
            "counts": {severity.value: count for severity, count in self.counts().items()},
            "by_rule": dict(self.by_rule()),
            "waiting": list(self.waiting),
            "findings": [asdict(finding) | {"severity": finding.severity.value} for finding in self.findings],
        }
