"""The tools that a client may see: those in its scope that are neither held back nor hidden by the policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from core.app import App
from core.domain.catalog import Tool
from core.gateway.base import Request

NOT_ALLOWED = "this client may not use them, or they wait for the operator because of their definition"
OUTSIDE = "it is outside the client's scope"
"""Never told, nor counted."""
MARKED = "Lint finds an error in their definition, which the operator sees on the page Catalog"
FITS_FROM = 0.3
PAUSED = "their servers are paused for now"


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of the candidates that a search shows, those with a caution last, and one sentence about each kind of
    hidden candidate. `nameless` means that the client may not know the names of some of these."""

    rows: tuple[int, ...]
    notes: tuple[str, ...]
    nameless: bool


@dataclass(frozen=True, slots=True)
class Offering:
    """The tools for one request. `marked` maps tools with a Lint error to that error, `paused` maps paused servers to
    the reason, `down` maps servers that are believed to be down to words about that. `unreachable` are those of them that a check
    in the background looks after: these come last. After time-outs only a call can tell, so the router decides when to try again."""

    app: App
    client: str
    catalog: str
    marked: Mapping[str, str]
    paused: Mapping[str, str]
    down: Mapping[str, str]
    unreachable: frozenset[str]

    @classmethod
    def of(cls, app: App, request: Request) -> Self:
        """Reads the current catalog, policy and breakers."""
        catalog = request.options.catalog
        now, states = app.settings.now(), app.health.down(catalog)
        return cls(
            app,
            request.client,
            catalog,
            app.lint_reports.errors(catalog),
            app.governance.paused(catalog),
            down={server: state.words(now) for server, state in states.items()},
            unreachable=frozenset(server for server, state in states.items() if state.next_check is not None),
        )

    @property
    def is_whole(self) -> bool:
        """Whether the client may see every tool that a decision in its scope has."""
        policy = self.app.governance.policy
        held = policy.lint_errors == "hidden" or policy.new_with_lint_errors
        return not ((self.marked and held) or (self.paused and policy.paused_servers == "hidden"))

    def names(self, tool: Tool) -> bool:
        """Whether a text for this client may name a tool."""
        return self._not_shown(tool) in {"", PAUSED}

    def shown(self, candidates: Mapping[int, Tool], most: int) -> Shown:
        """Returns what a search shows of its candidates, which come best first."""
        why = {row: self._not_shown(tool) for row, tool in candidates.items()}
        rows = [row for row in candidates if not why[row]][:most]
        rows.sort(key=lambda row: self.is_last(candidates[row]))
        counts = Counter(reason for reason in why.values() if reason)
        told = {reason: count for reason, count in counts.items() if reason != OUTSIDE}
        notes = [f"Candidates not shown: {count}, because {reason}." for reason, count in told.items()]
        servers = dict.fromkeys(tool.server for row, tool in candidates.items() if why[row] in {"", PAUSED})
        if servers and servers.keys() <= self.paused.keys():
            notes.append("Every tool that fits is on a server that is paused for now.")
            notes += [self.paused[server] for server in servers]
        return Shown(tuple(rows), tuple(notes), nameless=bool(counts.keys() - {PAUSED}))

    def is_last(self, tool: Tool) -> bool:
        """Whether a tool is listed after the others."""
        return bool(self._error(tool)) or tool.server in self.unreachable or tool.server in self.paused

    def caution(self, tool: Tool) -> str:
        """Returns what an agent should know before it calls a tool, or ""."""
        error, paused = self._error(tool), self.paused.get(tool.server, "")
        said = [f"Lint finds an error in its definition ({error})."] if error else []
        said += [f"Its server is {self.down[tool.server]}."] if tool.server in self.down else []
        return " ".join([*said, *([f"Its server is paused. {paused}"] if paused else [])])

    def fits_and_is_down(self, fits: Iterable[tuple[int, float, Tool]], most: int) -> tuple[tuple[int, str], ...]:
        """Returns the rows of the tools that fit best among those on servers that are down, and why each is not a candidate.

        `fits` has the row, the probability of fit and the tool.
        """
        seen = [
            one for one in fits if one[2].server in self.down and one[1] >= FITS_FROM and not self._not_shown(one[2])
        ]
        seen.sort(key=lambda one: -one[1])
        return tuple((row, f"Fits {fit:.0%}, {self.down[tool.server]}.") for row, fit, tool in seen[:most])

    def _not_shown(self, tool: Tool) -> str:
        """Returns why a search hides a tool, or ""."""
        policy, admission = self.app.governance.policy, self.app.governance.admission
        if admission.outside(self.client, self.catalog, tool):
            return OUTSIDE
        if not admission.allows(self.client, self.catalog, tool):
            return NOT_ALLOWED
        if policy.lint_errors == "hidden" and self._error(tool):
            return MARKED
        return PAUSED if policy.paused_servers == "hidden" and tool.server in self.paused else ""

    def _error(self, tool: Tool) -> str:
        """Returns the tool's Lint error. Returns "" if it has none, or if an operator approved the definition."""
        error = self.marked.get(tool.id, "")
        return "" if error and self.app.governance.definitions.approved(self.catalog, tool) else error
