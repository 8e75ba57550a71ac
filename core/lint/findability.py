"""Rules over what example requests tell: tools that would not be found, that are taken for each other, or whose requests are greedy.

The first two wait for an estimate (`core.services.learn.findable`), which the Catalog page and `wayfare findable` make.
"""

from __future__ import annotations

from collections.abc import Iterator

from core.domain.catalog import Catalog
from core.domain.lint import Finding, Severity
from core.lint.base import Context, Rule

LEAST_REQUESTS = 4
LEAST_TIMES = 3


class SeldomFound(Rule):
    """Tools that less than half of their own requests find among three."""

    id = "seldom_found"
    title = "Seldom found"
    severity = Severity.WARNING
    why = "Agents see the first tools of a search. A tool that its own requests do not find there is never called."
    advice = "Describe it in the words of those who need it, or set it apart from the tool that it is taken for."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for one in () if context.findable is None else context.findable.seldom:
            row = catalog.tool_row.get(one.tool)
            if row is None or one.of < LEAST_REQUESTS:
                continue
            other, times = one.taken_for[0]
            yield self.finding(
                f"{one.found} of its {one.of} requests find it among three; {times} of them find {other} first.",
                server=catalog.tools[row].server, tool=catalog.tools[row].name, where="description",
                evidence=one.missed[0].text, other=other,
            )  # fmt: skip


class TakenForEachOther(Rule):
    """Two tools that are found in each other's place."""

    id = "taken_for_each_other"
    title = "Taken for each other"
    severity = Severity.WARNING
    why = "If both do the same, an auction may choose; if they are opposites, such as back and forward, the wrong one is called."
    advice = (
        "If they do the same, say so on the page Catalog under Equal. Else begin each description with the difference."
    )

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for pair in () if context.findable is None else context.findable.confused(LEAST_TIMES):
            row = catalog.tool_row.get(pair.one)
            if row is not None and pair.kind != "one way":
                yield self.finding(
                    f"{'They are opposites: ' if pair.kind == 'opposite' else ''}{' '.join(pair.sentences)}",
                    server=catalog.tools[row].server, tool=catalog.tools[row].name, where="description", evidence=pair.one,
                    other=pair.other,
                )  # fmt: skip


class GreedyRequests(Rule):
    """Tools whose example requests are near what is not theirs."""

    id = "greedy_requests"
    title = "Greedy requests"
    severity = Severity.WARNING
    why = "Such requests would draw every question to their tool, so none of them counts in a decision."
    advice = "Remove those that other tools answer better, and write what only this tool does."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for tool, requests in context.greedy.items():
            row = catalog.tool_row.get(tool)
            if row is not None:
                yield self.finding(
                    f"Its {len(requests)} example requests do not count: they are near questions of every kind, or other tools are nearer to them.",
                    server=catalog.tools[row].server, tool=catalog.tools[row].name, where="requests", evidence=next(iter(requests), ""),
                )  # fmt: skip
