"""One tool definition, as `tools/list` gives it, with the prices, times and rates that a catalog may add."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.domain.catalog import Tool, ToolHints
from core.domain.preconditions import Precondition
from core.importers.checks import kind
from core.importers.entry import Entry
from core.importers.prices import Prices, meta_price
from core.shared.json_schema import schema_fault


@dataclass
class ToolReader:
    """Reads the tools of one server and refuses a second one of the same name."""

    server: str
    prices: Prices = field(default_factory=Prices)
    _places: dict[str, str] = field(default_factory=dict[str, str])

    def read(self, entries: Iterable[Entry]) -> tuple[Tool, ...]:
        """The tools in their order; faults and remarks go to their entries."""
        return tuple(self._tool(entry) for entry in entries)

    def _tool(self, entry: Entry) -> Tool:
        name = entry.name()
        place = entry.where.rpartition(" → ")[2].split(" ")[0]
        if name and self._places.setdefault(name, place) != place:
            entry.problem(f"name is the same as that of {self._places[name]}; rename one of them")
        annotations = entry.child("annotations")
        description = entry.text("description")
        if not description.strip():
            entry.note("no description: it is found by its name alone")
        own_price = entry.number("price_usd")
        listed_price = meta_price(entry) if own_price is None else None
        return Tool(
            server=self.server,
            name=name,
            description=description,
            title=entry.line("title") or (annotations.line("title") if annotations else ""),
            input_schema=_input_schema(entry),
            output_schema=_schema(entry, "outputSchema"),
            hints=_hints(annotations),
            price_usd=next((p for p in (own_price, listed_price, self.prices.of(name)) if p is not None), None),
            latency_s=entry.number("latency_s"),
            success=entry.number("success", high=1.0),
            tier=entry.line("tier"),
            tier_reason=entry.text("tier_reason"),
            preconditions=_preconditions(entry),
        )


def _preconditions(entry: Entry) -> tuple[str, ...]:
    """The preconditions of a tool, each in its normal form; a text that is not one is a fault."""
    found: list[str] = []
    for position, text in enumerate(entry.list("preconditions")):
        if not isinstance(text, str):
            entry.problem(f"preconditions[{position}] is {kind(text)}; give text")
            continue
        try:
            found.append(str(Precondition.parse(text)))
        except ValueError as error:
            entry.problem(f"preconditions[{position}] {error}")
    return tuple(dict.fromkeys(found))


def _hints(annotations: Entry | None) -> ToolHints:
    if annotations is None:
        return ToolHints()
    return ToolHints(
        read_only=annotations.flag("readOnlyHint"),
        destructive=annotations.flag("destructiveHint"),
        idempotent=annotations.flag("idempotentHint"),
        open_world=annotations.flag("openWorldHint"),
    )


def _input_schema(entry: Entry) -> Mapping[str, Any] | None:
    if entry.get("inputSchema") is None:
        entry.note("no input schema: its arguments are not checked")
    return _schema(entry, "inputSchema")


def _schema(entry: Entry, key: str) -> Mapping[str, Any] | None:
    """A schema, unchanged. One that is not valid is kept with a remark: models still read it."""
    schema = entry.mapping(key)
    if schema is None:
        return None
    try:
        json.dumps(schema, allow_nan=False)
    except (TypeError, ValueError):
        entry.problem(f"{key} holds NaN, Infinity or a date; give numbers and text that JSON has")
        return None
    if fault := schema_fault(schema):
        entry.note(f"{key} {fault}: arguments are not checked against it")
    return schema
