"""Rules about the tokens that definitions take in every prompt."""

from __future__ import annotations

from collections.abc import Iterator

from core.domain.catalog import Catalog, Server
from core.domain.lint import Finding, Severity
from core.lint.base import Context, Rule, ServerRule

TOOL_TOKENS = 1000  # about seven usual tools: the median of two catalogs of real servers is 100 and 145, one in twenty has 500 to 800
SERVER_TOKENS = 10_000  # of one server: as much as a long document, before the first question
CATALOG_TOKENS = 32_000  # a quarter of a context of 128,000: more than what may be left for the work itself


class LargeTool(Rule):
    """One tool with a very long definition."""

    id = "large_tool"
    title = "Large definition"
    severity = Severity.WARNING
    why = f"A definition of more than {TOOL_TOKENS:,} tokens displaces about seven usual tools in every prompt."
    advice = "Shorten the description and the schema: fold rare parameters, drop examples, or split the tool."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for tool, tokens in zip(catalog.tools, context.tokens.tolist(), strict=True):
            if tokens > TOOL_TOKENS:
                yield self.finding(f"The definition takes {tokens:,} tokens.", server=tool.server, tool=tool.name)


class LargeServer(ServerRule):
    """A server whose tools together fill a prompt."""

    id = "large_server"
    title = "Large server"
    severity = Severity.NOTE
    why = f"A client that loads this server alone spends more than {SERVER_TOKENS:,} tokens on every request."
    advice = "Route to it instead of loading it whole, or switch off the tools that you do not need."

    def look(self, server: Server, rows: slice, context: Context) -> str:
        total = int(context.tokens[rows].sum())
        return (
            f"The definitions of its {len(server.tools)} tools take {total:,} tokens." if total > SERVER_TOKENS else ""
        )


class LargeCatalog(Rule):
    """A catalog that no model should be given whole."""

    id = "large_catalog"
    title = "Large catalog"
    severity = Severity.NOTE
    why = f"More than {CATALOG_TOKENS:,} tokens of definitions are a quarter of a usual context, and models choose worse among so many."
    advice = "Do not load it whole: let the router hand over a few candidates for each sub-task."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        total = int(context.tokens.sum())
        if total > CATALOG_TOKENS:
            yield self.finding(f"The definitions of all {len(catalog.tools):,} tools take {total:,} tokens.")
