"""Findings on a catalog: Lint's findings, how often tools are found, and which tools are confused (`core.lab.findable`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from core.domain.english import opposite


class Severity(StrEnum):
    """How bad a finding is, worst first.

    Error: a model must not see it, or it cannot be called. Warning: it costs quality or trust. Note: worth knowing.
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
    """A finding of one rule.

    `tool` is "" if the finding concerns the whole server. `server` is "" too if it concerns the catalog. `where` names the
    text ("description"). `evidence` quotes it with invisible characters written out. `other` is the tool (`server::tool`)
    or server that it collides with.
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
    """All findings of a catalog, worst first. `waiting` names the rules that still wait for vectors."""

    catalog: str
    findings: tuple[Finding, ...] = ()
    waiting: tuple[str, ...] = ()

    @classmethod
    def of(cls, catalog: str, findings: Iterable[Finding], waiting: Iterable[str] = ()) -> LintReport:
        """Sorts the findings by severity, then in the order of the rules."""
        return cls(catalog, tuple(sorted(findings, key=lambda finding: finding.severity.rank)), tuple(waiting))

    def only(self, rules: Collection[str] = (), severity: Severity = Severity.NOTE) -> LintReport:
        """The findings of these rules (none: all rules) with at least this severity."""
        matches = (f for f in self.findings if f.severity.rank <= severity.rank and (not rules or f.rule in rules))
        return replace(self, findings=tuple(matches), waiting=tuple(r for r in self.waiting if not rules or r in rules))

    def counts(self) -> Mapping[Severity, int]:
        """The number of findings by severity, worst first.

        >>> dict(LintReport("empty").counts())
        {<Severity.ERROR: 'error'>: 0, <Severity.WARNING: 'warning'>: 0, <Severity.NOTE: 'note'>: 0}
        """
        counts = Counter(finding.severity for finding in self.findings)
        return {severity: counts[severity] for severity in Severity}

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


SELDOM = 0.5
"""A tool is seldom found if a smaller share of its requests ranks it among the first three."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A request of a tool that ranks another tool first."""

    text: str
    taken_for: str
    rank: int


@dataclass(frozen=True, slots=True)
class ToolFound:
    """Counts of a tool's requests: `of` all, `first` rank it first, `found` rank it among the first three. `missed` do not rank it first."""

    tool: str
    first: int
    found: int
    of: int
    missed: tuple[Missed, ...] = ()

    @property
    def seldom(self) -> bool:
        return self.found < SELDOM * self.of

    @property
    def taken_for(self) -> tuple[tuple[str, int], ...]:
        """The tools that were ranked first instead, with counts, most frequent first."""
        return tuple(Counter(request.taken_for for request in self.missed).most_common())


@dataclass(frozen=True, slots=True)
class Confused:
    """Two tools, `one` < `other`. `times` of `of` requests of `one` rank `other` first, `back` of `back_of` requests of `other` rank `one` first."""

    one: str
    other: str
    times: int
    of: int
    back: int
    back_of: int

    @property
    def both(self) -> int:
        return self.times + self.back

    @property
    def kind(self) -> Literal["opposite", "mutual", "one way"]:
        """Opposites by name are never equal. Mutual: each tool hides the other, so they may be equal. One way: one tool hides the other."""
        if opposite(*(tool.partition("::")[2] for tool in (self.one, self.other))):
            return "opposite"
        return "mutual" if self.times and self.back else "one way"

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each direction that occurs, the more frequent direction first."""
        ways = ((self.times, self.of, self.one, self.other), (self.back, self.back_of, self.other, self.one))
        return tuple(
            f"{times} of {total} requests of {tool} {'finds' if times == 1 else 'find'} {rival}."
            for times, total, tool, rival in sorted(ways, key=lambda way: -way[0]) if times
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Findable:
    """The estimate for a catalog: shares of requests in [0, 1], each with a 95 % interval over tools, and the tools, worst first.

    `left_out_1` and `left_out_3` are the shares of the left-out requests. `hit_1` and `hit_3` are these shares, corrected by
    labelled sets. `without` is the number of tools without requests. A large catalog is sampled: then `tools` are the drawn
    tools, `asked` counts their requests, and `requests` counts the requests of all tools.
    """

    hit_1: float
    hit_3: float
    left_out_1: float
    left_out_3: float
    interval_1: tuple[float, float]
    interval_3: tuple[float, float]
    tools: tuple[ToolFound, ...]
    without: int
    requests: int = 0

    @property
    def asked(self) -> int:
        return sum(tool.of for tool in self.tools)

    @property
    def sampled(self) -> str:
        """A sentence about the sample and its reason; "" if every request was ranked."""
        if self.asked >= self.requests:
            return ""
        return (
            f"{self.asked:,} of {self.requests:,} requests were ranked, all of each of {len(self.tools):,} tools that were drawn by chance: every "
            "request is ranked among all tools, which takes too long for all of them. The intervals allow for that; other tools are not listed."
        )

    @property
    def seldom(self) -> tuple[ToolFound, ...]:
        return tuple(tool for tool in self.tools if tool.seldom)

    def confused(self, least: int = 1) -> tuple[Confused, ...]:
        """Returns the pairs of tools that at least this many requests confuse, most frequent first."""
        totals = {entry.tool: entry.of for entry in self.tools}
        times = {(entry.tool, other): count for entry in self.tools for other, count in entry.taken_for}
        pairs = {(min(pair), max(pair)) for pair in times}
        candidates = (
            Confused(
                tool,
                other,
                times.get((tool, other), 0),
                totals.get(tool, 0),
                times.get((other, tool), 0),
                totals.get(other, 0),
            )
            for tool, other in pairs
        )
        return tuple(
            sorted(
                (pair for pair in candidates if pair.both >= least), key=lambda pair: (-pair.both, pair.one, pair.other)
            )
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """The effect of another description of a tool: its counts before (`now`) and after (`then`), and those of each near tool
    that changes."""

    now: ToolFound
    then: ToolFound
    others: tuple[tuple[ToolFound, ToolFound], ...]
