"""Prices, times and success rates that nobody declared: without them the router decides on assumptions."""

from __future__ import annotations

from collections.abc import Iterator

from core.domain.catalog import Catalog, Server
from core.domain.lint import Finding, Severity
from core.lint.base import Context, ServerRule


class Unpriced(ServerRule):
    """Tools without a price: one finding for the catalog where none has any, else one a server."""

    id = "unpriced"
    title = "No price"
    severity = Severity.NOTE
    why = "An unpriced tool is not free: nothing is known, and the auction cannot compare it."
    advice = "Import prices, or set them on the Catalog page."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if catalog.tools and not context.priced.any():
            yield self.finding(f"None of the {len(catalog.tools):,} tools has a price.")
        else:
            yield from super().check(catalog, context)

    def look(self, server: Server, rows: slice, context: Context) -> str:
        missing = int((~context.priced[rows]).sum())
        return f"{missing} of its {len(server.tools)} tools have no price." if missing else ""


class MissingFigures(ServerRule):
    """Servers that declare neither times nor success: one finding for the catalog where none does, else one each."""

    id = "missing_figures"
    title = "No times and success rates"
    severity = Severity.NOTE
    why = "Without declared figures every server starts from the same assumption, and only real calls tell them apart."
    advice = "Declare conn_s, call_s and success in the catalog, or let calls measure them."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if catalog.servers and not any(map(_declares, catalog.servers)):
            yield self.finding(f"None of the {len(catalog.servers):,} servers declares times or success rates.")
        else:
            yield from super().check(catalog, context)

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - the server says all
        return "" if _declares(server) else "The server declares no times and no success rate."


def _declares(server: Server) -> bool:
    own = (server.conn_s, server.call_s, server.success)
    return any(number is not None for number in own) or any(
        tool.latency_s is not None or tool.success is not None for tool in server.tools
    )
