"""One JSON object of a document with its place in it, so that every problem names file, entry and field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar, cast

from core.domain.catalog import Prompt, Tool, ToolHints
from core.domain.execution import Precondition
from core.domain.json_schema import schema_fault
from core.domain.leaks import DEFAULT
from core.domain.tasks import MOST_REQUESTS, cleaned, offered_requests
from core.importers import reading as checks
from core.importers.reading import Reading, kind, members, shown

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Entry:
    """An object at a place such as `servers[3] "weather"`. Every key is found in camelCase and in snake_case.

    >>> reading = Reading("a.json")
    >>> Entry(reading, 'servers[3] "weather"', {"ask_usd": -1}).number("ask_usd")
    >>> reading.problems
    ['a.json: servers[3] "weather": ask_usd is -1; give a number of at least 0 or leave it out.']
    """

    reading: Reading
    where: str
    value: Mapping[str, Any]

    def problem(self, text: str) -> None:
        self.reading.problem(self.where, text)

    def note(self, text: str) -> None:
        self.reading.note(self.where, text)

    def get(self, key: str) -> Any:
        """The value of a key in either spelling. Returns None for an absent key or null."""
        value = self.value.get(key)
        return value if value is not None else self.value.get(_snake_case(key))

    def raw_text(self, key: str) -> str:
        """Returns a text, unchanged, or "" if it is absent. Records a fault if it is too long or no text."""
        raw = self._of_kind(key, str, "text") or ""
        if len(raw) > checks.MAX_TEXT:
            self.problem(f"{key} has {len(raw):,} characters; use at most {checks.MAX_TEXT:,}")
            return ""
        return raw

    def text(self, key: str) -> str:
        """An optional text of several lines, cleaned of control characters."""
        cleaned, removed = checks.clean_text(self.raw_text(key))
        if removed:
            self.note(f"{key}: {removed} control character{'s' if removed > 1 else ''} removed")
        return cleaned

    def line(self, key: str) -> str:
        """An optional text joined to one line, such as a title."""
        text = " ".join(self.text(key).split())
        if fault := checks.line_fault(text):
            self.problem(f"{key} {fault}")
        return text

    def name(self, key: str = "name") -> str:
        """A name, unchanged. Records a fault and returns "" if it is unusable."""
        problem_count = len(self.reading.problems)
        name = self.raw_text(key)
        if len(self.reading.problems) == problem_count and (fault := checks.name_fault(name)):
            self.problem(f"{key} {'is missing; give one' if self.get(key) is None else fault}")
            return ""
        return name

    def server_name(self) -> str:
        name = self.name()
        if name:
            self.check_server_name(name)
        return name

    def check_server_name(self, name: str) -> None:
        """Records why a name, such as the key of this entry, cannot be a server's name."""
        if fault := checks.server_name_fault(name):
            self.problem(f"name {fault}")

    def number(self, key: str, *, high: float | None = None) -> float | None:
        """A finite number of at least 0 (and at most `high`), or None."""
        raw = self.get(key)
        if raw is None:
            return None
        if fault := checks.number_fault(raw, high=high):
            self.problem(f"{key} {fault}")
            return None
        return float(raw)

    def numbers(self, key: str) -> dict[str, float]:
        """The numbers of an object by name. Records a fault for each that `number` would not take."""
        raw_numbers, numbers = self.mapping(key) or {}, dict[str, float]()
        for name, raw in raw_numbers.items():
            if fault := checks.number_fault(raw):
                self.problem(f"{key} {checks.shown(name)} {fault}")
            else:
                numbers[name] = float(raw)
        return numbers

    def flag(self, key: str) -> bool | None:
        return self._of_kind(key, bool, "true or false")

    def mapping(self, key: str) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", self._of_kind(key, dict, "an object"))

    def list(self, key: str) -> list[Any]:
        return cast("list[Any]", self._of_kind(key, list, "a list") or [])

    def _of_kind(self, key: str, expected: type[T], words: str) -> T | None:
        raw = self.get(key)
        if raw is None or isinstance(raw, expected):
            return raw
        self.problem(f"{key} is {checks.kind(raw)}; give {words}")
        return None

    def child(self, key: str) -> Entry | None:
        value = self.mapping(key)
        return None if value is None else Entry(self.reading, place(self.where, key), value)

    def entries(self, key: str) -> Iterator[Entry]:
        return entries(self.reading, self.where, key, self.list(key))

    def named(self, key: str) -> Iterator[tuple[str, Entry]]:
        for name, item in (self.mapping(key) or {}).items():
            step = place(self.where, f"{key} {checks.shown(name)}")
            if isinstance(item, dict):
                yield name, Entry(self.reading, step, cast("dict[str, Any]", item))
            else:
                self.reading.problem(step, f"it is {checks.kind(item)}; give an object")


@cache
def _snake_case(key: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", key).lower()


def entries(reading: Reading, where: str, key: str, items: list[Any]) -> Iterator[Entry]:
    """Yields the objects of a list with their places and names. Records a fault for every other item."""
    for position, item in enumerate(items, start=0 if where else reading.first):
        step = f"{key}[{position}]"
        if not isinstance(item, dict):
            reading.problem(where, f"{step} is {checks.kind(item)}; give an object")
            continue
        value = cast("dict[str, Any]", item)
        name = value.get("name")
        label = f" {checks.shown(name)}" if isinstance(name, str) and name else ""
        yield Entry(reading, place(where, step + label), value)


def place(where: str, step: str) -> str:
    """One step further into a document.

    >>> place('servers[3] "weather"', "tools[1]")
    'servers[3] "weather" → tools[1]'
    """
    return f"{where} → {step}" if where else step


# Prices in the forms that servers and gateways publish, in USD per call. A tool without a price stays unpriced.

_META_KEYS = ("price_usd", "priceUsd", "cost_per_query")


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices in a server's entry: by tool name, and for every other tool (None: no price)."""

    by_tool: Mapping[str, float] = field(default_factory=dict[str, float])
    default: float | None = None

    def of(self, tool: str) -> float | None:
        """The price of one tool."""
        return self.by_tool.get(tool, self.default)


def read_prices(entry: Entry) -> Prices:
    """A server's `mcp_server_cost_info` (also inside `mcp_info` or `_meta`), else a price under its `_meta`."""
    holders = (entry, entry.child("mcp_info"), entry.child("_meta"))
    costs = (holder.child("mcp_server_cost_info") for holder in holders if holder is not None)
    info = next((cost for cost in costs if cost is not None), None)
    if info is None:
        return Prices(default=meta_price(entry))
    return Prices(info.numbers("tool_name_to_cost_per_query"), info.number("default_cost_per_query"))


def meta_price(entry: Entry) -> float | None:
    """A price under `_meta`, directly or in one publisher's object, or None."""
    meta = entry.child("_meta")
    if meta is None:
        return None
    nested = (Entry(entry.reading, place(meta.where, shown(key)), members(value)) for key, value in meta.value.items())
    for holder in (meta, *nested):
        for key in _META_KEYS:
            if key in holder.value and holder.value[key] is not None:
                return holder.number(key)
    return None


# Values that a user has to supply: the `inputs` of an editor's configuration.


def read_prompts(top: Entry) -> None:
    """Records every declared input, with its default. An input with `password` is a secret."""
    for position, entry in enumerate(top.entries("inputs")):
        problem_count = len(top.reading.problems)
        name = entry.name("id")
        secret = entry.flag("password") is True
        if name and any(c in name for c in "{}"):
            entry.problem("id holds a brace; rename it")
        if len(top.reading.problems) == problem_count:
            if name in top.reading.prompts:
                entry.problem(f"id is the same as that of an earlier input than inputs[{position}]; rename one of them")
            declare(entry, Prompt(name, entry.text("description"), secret), entry.get("default"))


def declare(entry: Entry, prompt: Prompt, default: object) -> None:
    """Records the value that an entry asks for. A default that is no plain text is left out, so that a person is asked."""
    entry.reading.prompt(prompt)
    if isinstance(default, str) and default and "${" not in default and re.fullmatch(DEFAULT, default):
        entry.reading.defaults[prompt.id] = default


# One tool definition of `tools/list`, with the prices, times and rates that a catalog may add.


def read_tools(
    entries: Iterable[Entry], server: str, prices: Prices | None = None, *, by_operator: bool = False
) -> tuple[Tool, ...]:
    """Reads the tools of one server. A second tool of one name is a fault. Only in the operator's own document example requests count."""
    tools: list[Tool] = []
    places: dict[str, str] = {}
    for entry in entries:
        tool = _tool(entry, server, prices or Prices(), places)
        tools.append(replace(tool, requests=_requests(entry)) if by_operator else tool)
    return tuple(tools)


def _tool(entry: Entry, server: str, prices: Prices, places: dict[str, str]) -> Tool:
    name = entry.name()
    position = entry.where.rpartition(" → ")[2].split(" ")[0]
    if name and places.setdefault(name, position) != position:
        entry.problem(f"name is the same as that of {places[name]}; rename one of them")
    annotations = entry.child("annotations") or Entry(entry.reading, entry.where, {})
    description = entry.text("description")
    if not description.strip():
        entry.note("no description: it is found by its name alone")
    if entry.get("inputSchema") is None:
        entry.note("no input schema: its arguments are not checked")
    own_price = entry.number("price_usd")
    listed_price = meta_price(entry) if own_price is None else None
    return Tool(
        server=server,
        name=name,
        description=description,
        title=entry.line("title") or annotations.line("title"),
        input_schema=_schema(entry, "inputSchema"),
        output_schema=_schema(entry, "outputSchema"),
        hints=_hints(annotations),
        price_usd=next((p for p in (own_price, listed_price, prices.of(name)) if p is not None), None),
        latency_s=entry.number("latency_s"),
        success=entry.number("success", high=1.0),
        tier=entry.line("tier"),
        tier_reason=entry.text("tier_reason"),
        preconditions=_preconditions(entry),
        offered=offered_requests(entry.get("_meta")),
    )


def _requests(entry: Entry) -> tuple[str, ...]:
    """Reads the example requests of a tool. Leaves out unusable requests and requests beyond the limit, with a note."""
    requests: dict[str, None] = {}
    for position, text in enumerate(entry.list("requests")):
        try:
            requests[cleaned(text)] = None
        except ValueError as error:
            entry.note(f"requests[{position}] {error}: it was left out")
    if len(requests) > MOST_REQUESTS:
        entry.note(f"{len(requests):,} example requests: the first {MOST_REQUESTS} were taken")
    return tuple(requests)[:MOST_REQUESTS]


def _preconditions(entry: Entry) -> tuple[str, ...]:
    """Reads the preconditions of a tool in their normal form. Another text is a fault."""
    conditions: list[str] = []
    for position, text in enumerate(entry.list("preconditions")):
        if not isinstance(text, str):
            entry.problem(f"preconditions[{position}] is {kind(text)}; give text")
            continue
        try:
            conditions.append(str(Precondition.parse(text)))
        except ValueError as error:
            entry.problem(f"preconditions[{position}] {error}")
    return tuple(dict.fromkeys(conditions))


def _hints(annotations: Entry) -> ToolHints:
    return ToolHints(
        *(annotations.flag(f"{name}Hint") for name in ("readOnly", "destructive", "idempotent", "openWorld"))
    )


def _schema(entry: Entry, key: str) -> Mapping[str, Any] | None:
    """Returns a schema, unchanged. An invalid schema is kept with a note, because models still read it."""
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
