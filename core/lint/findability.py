"""Rules over what example requests tell: tools that would not be found, that are taken for each other, or whose requests are greedy.

The first two wait for an estimate (`core.lab.findable`), which the Catalog page and `wayfare findable` make.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.domain.catalog import Catalog
from core.domain.findings import Finding, Severity
from core.lint.base import Context, Rule

LEAST_REQUESTS = 4
LEAST_TIMES = 3


class OfRequests(Rule):
    severity = Severity.WARNING

    def _about(
        self, catalog: Catalog, tool: str, reason: str, *, where: str = "description", evidence: str, other: str = ""
    ) -> Iterator[Finding]:
        """Yields a finding. Yields nothing if the tool is gone since."""
        row = catalog.tool_row.get(tool)
        if row is not None:
            one = catalog.tools[row]
            yield self.finding(reason, server=one.server, tool=one.name, where=where, evidence=evidence, other=other)


class SeldomFound(OfRequests):
    id = "seldom_found"
    title = "Seldom found"
    why = "Agents see the first tools of a search. A tool that its own requests do not find there is never called."
    advice = "Describe it in the words of those who need it, or set it apart from the tool that it is taken for."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for one in () if context.findable is None else context.findable.seldom:
            if one.of >= LEAST_REQUESTS:
                other, times = one.taken_for[0]
                reason = (
                    f"{one.found} of its {one.of} requests find it among three; {times} of them find {other} first."
                )
                yield from self._about(catalog, one.tool, reason, evidence=one.missed[0].text, other=other)


class TakenForEachOther(OfRequests):
    id = "taken_for_each_other"
    title = "Taken for each other"
    why = "If both do the same, an auction may choose; if they are opposites, such as back and forward, the wrong one is called."
    advice = (
        "If they do the same, say so on the page Catalog under Equal. Else begin each description with the difference."
    )

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for pair in () if context.findable is None else context.findable.confused(LEAST_TIMES):
            if pair.kind != "one way":
                opposites = "They are opposites: " if pair.kind == "opposite" else ""
                reason = f"{opposites}{' '.join(pair.sentences)}"
                yield from self._about(catalog, pair.one, reason, evidence=pair.one, other=pair.other)


class GreedyRequests(OfRequests):
    id = "greedy_requests"
    title = "Greedy requests"
    why = "Such requests would draw every question to their tool, so none of them counts in a decision."
    advice = "Remove those that other tools answer better, and write what only this tool does."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for tool, requests in context.greedy.items():
            reason = f"Its {len(requests)} example requests do not count: they are near questions of every kind, or other tools are nearer to them."
            yield from self._about(catalog, tool, reason, where="requests", evidence=next(iter(requests), ""))
