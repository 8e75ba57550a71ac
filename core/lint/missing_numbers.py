"""Prices, times and success rates that nobody declared: without them the router decides on assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from core.domain.catalog import Catalog, Server
from core.domain.lint import Finding, Severity
from core.lint.base import Context, Rule


class Unpriced(Rule):
    """Tools without a price: one finding for the catalog where none has any, else one a server."""

    id = "unpriced"
    title = "No price"
    severity = Severity.NOTE
    why = "An unpriced tool is not free: nothing is known, and the auction cannot compare it."
    advice = "Import prices, or set them on the Catalog page."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if catalog.tools and not context.priced.any():
            yield self.finding(f"None of the {len(catalog.tools):,} tools has a price.")
            return
        start = 0
        for server in catalog.servers:
            priced = context.priced[start : start + len(server.tools)]
            start += len(server.tools)
            if missing := int((~priced).sum()):
                yield self.finding(f"{missing} of its {len(server.tools)} tools have no price.", server=server.name)


class MissingFigures(Rule):
    """Servers that declare neither times nor success: one finding for the catalog where none does, else one each."""

    id = "missing_figures"
    title = "No times and success rates"
    severity = Severity.NOTE
    why = "Without declared figures every server starts from the same assumption, and only real calls tell them apart."
    advice = "Declare conn_s, call_s and success in the catalog, or let calls measure them."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - the servers say all
        silent = [server for server in catalog.servers if not _declares(server)]
        if silent and len(silent) == len(catalog.servers):
            yield self.finding(f"None of the {len(silent):,} servers declares times or success rates.")
            return
        for server in silent:
            yield self.finding("The server declares no times and no success rate.", server=server.name)


def _declares(server: Server) -> bool:
    own = (server.conn_s, server.call_s, server.success)
    return any(number is not None for number in own) or any(
        tool.latency_s is not None or tool.success is not None for tool in server.tools
    )
