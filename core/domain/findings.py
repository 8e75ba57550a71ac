"""Findings on a catalog: what Lint found, and how often tools would be found and what they are taken for (`core.lab.findable`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Literal

from core.domain.english import opposite


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


SELDOM = 0.5
"""A tool that a smaller share of its requests finds among three is seldom found."""


@dataclass(frozen=True, slots=True)
class Missed:
    """A request of a tool that another tool is ranked first for."""

    text: str
    taken_for: str
    rank: int


@dataclass(frozen=True, slots=True)
class ToolFound:
    """How often a tool is `first`, and `found` among the first three, `of` so many requests. `missed` are those where it is not first."""

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
        """The tools that were ranked first in its place, with how often, most often first."""
        return tuple(Counter(one.taken_for for one in self.missed).most_common())


@dataclass(frozen=True, slots=True)
class Confused:
    """Two tools, `one` < `other`: `times` of `of` requests of `one` find `other` first, and `back` of `back_of` the other way."""

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
        """Opposites by name, which are never equal; tools that are taken for each other, which may be; or one tool that hides another."""
        if opposite(*(tool.partition("::")[2] for tool in (self.one, self.other))):
            return "opposite"
        return "mutual" if self.times and self.back else "one way"

    @property
    def sentences(self) -> tuple[str, ...]:
        """One sentence for each direction that occurs, the more frequent one first."""
        ways = ((self.times, self.of, self.one, self.other), (self.back, self.back_of, self.other, self.one))
        return tuple(
            f"{times} of {of} requests of {meant} {'finds' if times == 1 else 'find'} {found}."
            for times, of, meant, found in sorted(ways, key=lambda way: -way[0]) if times
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Findable:
    """The estimate for a catalog: shares of requests in [0, 1], each with a 95 % interval over tools, and the tools, worst first.

    `hit_1` and `hit_3` are corrected by what labelled sets tell of such estimates; `left_out_1` and `left_out_3` are the shares of
    the left-out requests themselves. `without` is the number of tools that have no requests, of which nothing is known. A
    large catalog is sampled: `tools` are then those that were drawn, `asked` the requests of them, and `requests` those of all tools.
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
        return sum(one.of for one in self.tools)

    @property
    def sampled(self) -> str:
        """What was drawn and why, in one sentence; "" if every request was ranked."""
        if self.asked >= self.requests:
            return ""
        return (
            f"{self.asked:,} of {self.requests:,} requests were ranked, all of each of {len(self.tools):,} tools that were drawn by chance: every "
            "request is ranked among all tools, which takes too long for all of them. The intervals allow for that; other tools are not listed."
        )

    @property
    def seldom(self) -> tuple[ToolFound, ...]:
        return tuple(one for one in self.tools if one.seldom)

    def confused(self, least: int = 1) -> tuple[Confused, ...]:
        """Returns the pairs of tools of which one is taken for the other by at least this many requests, most often first."""
        of = {one.tool: one.of for one in self.tools}
        times = {(one.tool, other): count for one in self.tools for other, count in one.taken_for}
        pairs = {(min(pair), max(pair)) for pair in times}
        found = (
            Confused(
                one, other, times.get((one, other), 0), of.get(one, 0), times.get((other, one), 0), of.get(other, 0)
            )
            for one, other in pairs
        )
        return tuple(
            sorted((pair for pair in found if pair.both >= least), key=lambda pair: (-pair.both, pair.one, pair.other))
        )


@dataclass(frozen=True, slots=True)
class Preview:
    """What another description of a tool would change: how it is found now and then, and each near tool that is found more or
    less often."""

    now: ToolFound
    then: ToolFound
    others: tuple[tuple[ToolFound, ToolFound], ...]
