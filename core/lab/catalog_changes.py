"""What routing reads of a catalog, small enough to keep beside a result; and what has changed since.

Texts and schemas are kept as digests, figures as they are, so that a change can be named.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, cast

from core.domain.catalog import Catalog, Server, Tool
from core.domain.scenario_run import fingerprint
from core.domain.statistics import Statistics

Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class CatalogDigest:
    """Of each server and tool by its id: digests of texts and schema, and the declared figures. Prices are those in force."""

    name: str
    servers: Entries
    tools: Entries

    @classmethod
    def of(cls, catalog: Catalog, statistics: Statistics) -> CatalogDigest:
        """What routing reads of a catalog now."""
        asks, prices = statistics.servers.ask_usd.tolist(), statistics.tools.price_usd.tolist()
        return cls(
            catalog.name,
            {one.name: _server(one, ask) for one, ask in zip(catalog.servers, asks, strict=True)},
            {one.id: _tool(one, price) for one, price in zip(catalog.tools, prices, strict=True)},
        )

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits: the same where routing reads the same. The order of servers and tools does not count."""
        return fingerprint([self.servers, self.tools])

    def to_json(self) -> dict[str, Any]:
        """The entry `catalog` of `wayfare bench --json`."""
        return {"fingerprint": self.fingerprint, **asdict(self)}

    @classmethod
    def parse(cls, document: object) -> CatalogDigest | None:
        """The digest in such an entry; None where there is none that can be read."""
        try:
            read = cast("dict[str, Any]", document)
            servers, tools = (_entries(read[layer]) for layer in ("servers", "tools"))
            return cls(str(read["name"]), servers, tools)
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


@dataclass(frozen=True, slots=True)
class Change:
    """A server or tool that is `added`, `removed` or `changed`, and then in which fields."""

    name: str
    what: str  # server or tool
    change: str
    fields: tuple[str, ...] = ()


def changes(before: CatalogDigest, now: CatalogDigest) -> tuple[Change, ...]:
    """Servers first, then tools, each in alphabetical order."""
    return (*_changed("server", before.servers, now.servers), *_changed("tool", before.tools, now.tools))


def _changed(what: str, before: Entries, now: Entries) -> list[Change]:
    found: list[Change] = []
    for name in sorted({*before, *now}):
        if name not in now:
            found.append(Change(name, what, "removed"))
        elif name not in before:
            found.append(Change(name, what, "added"))
        elif fields := tuple(key for key in now[name] if before[name].get(key) != now[name][key]):
            found.append(Change(name, what, "changed", fields))
    return found


def _server(server: Server, ask_usd: float) -> dict[str, Any]:
    figures = ("conn_s", "call_s", "success", "success_variance", "post_accept_failure")
    return {
        "description": fingerprint([server.title, server.description])[:8],
        "ask_usd": _known(ask_usd),
        **{name: getattr(server, name) for name in figures},
    }


def _tool(tool: Tool, price_usd: float) -> dict[str, Any]:
    return {
        "description": fingerprint([tool.title, tool.description])[:8],
        "schema": fingerprint(repr(tool.input_schema))[:8],
        "price_usd": _known(price_usd),
        "latency_s": tool.latency_s,
        "success": tool.success,
    }


def _entries(layer: dict[str, Any]) -> Entries:
    return {name: dict(entry) for name, entry in layer.items()}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
