"""Prices in the forms that servers and gateways publish, in USD per call. A tool without a price stays unpriced."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from core.importers.checks import number_fault, shown
from core.importers.entry import Entry, place

_META_KEYS = ("price_usd", "priceUsd", "cost_per_query")


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices in a server's entry: by tool name, and for every other tool (None: no price)."""

    by_tool: Mapping[str, float] = field(default_factory=dict[str, float])
    default: float | None = None

    def of(self, tool: str) -> float | None:
        """The price of one tool.

        >>> Prices({"search": 0.0}, default=0.01).of("search"), Prices().of("search")
        (0.0, None)
        """
        return self.by_tool.get(tool, self.default)


def read_prices(entry: Entry) -> Prices:
    """A server's `mcp_server_cost_info` (also inside `mcp_info` or `_meta`), else a price under its `_meta`."""
    info = _cost_info(entry)
    if info is None:
        return Prices(default=meta_price(entry))
    by_tool: dict[str, float] = {}
    for name, raw in (info.mapping("tool_name_to_cost_per_query") or {}).items():
        if fault := number_fault(raw):
            info.problem(f"tool_name_to_cost_per_query {shown(name)} {fault}")
        else:
            by_tool[name] = float(raw)
    return Prices(by_tool, info.number("default_cost_per_query"))


def _cost_info(entry: Entry) -> Entry | None:
    for holder in (entry, entry.child("mcp_info"), entry.child("_meta")):
        if holder is not None and (info := holder.child("mcp_server_cost_info")) is not None:
            return info
    return None


def meta_price(entry: Entry) -> float | None:
    """A price under `_meta`, directly or in one publisher's object of it; None where there is none.

    >>> from core.importers.reading import Reading
    >>> meta_price(Entry(Reading("a.json"), "", {"_meta": {"org.example/pricing": {"price_usd": 0.002}}}))
    0.002
    """
    meta = entry.child("_meta")
    if meta is None:
        return None
    nested = (
        Entry(entry.reading, place(meta.where, shown(key)), cast("dict[str, object]", value))
        for key, value in meta.value.items()
        if isinstance(value, dict)
    )
    for holder in (meta, *nested):
        for key in _META_KEYS:
            if key in holder.value and holder.value[key] is not None:
                return holder.number(key)
    return None
