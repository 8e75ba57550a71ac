"""One JSON object of a document with its place in it, so that every problem names file, entry and field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from core.importers import checks
from core.importers.reading import Reading


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
        """Record a fault of this entry."""
        self.reading.problem(self.where, text)

    def note(self, text: str) -> None:
        """Record a remark on this entry."""
        self.reading.note(self.where, text)

    def get(self, key: str) -> Any:
        """The value under a key, whichever way it is spelled; None where it is absent or null."""
        found = self.value.get(key)
        return found if found is not None else self.value.get(re.sub(r"([A-Z])", r"_\1", key).lower())

    def raw_text(self, key: str) -> str:
        """A text, unchanged; "" where it is absent, null or (a fault) something else or too long."""
        raw = self.get(key)
        if raw is None:
            return ""
        if not isinstance(raw, str):
            self.problem(f"{key} is {checks.kind(raw)}; give text")
            return ""
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
        """An optional text brought on one line, such as a title."""
        text = " ".join(self.text(key).split())
        if fault := checks.line_fault(text):
            self.problem(f"{key} {fault}")
        return text

    def name(self, key: str = "name") -> str:
        """A name, unchanged; "" (and a fault) where it cannot be one."""
        known = len(self.reading.problems)
        name = self.raw_text(key)
        if len(self.reading.problems) == known and (fault := checks.name_fault(name)):
            self.problem(f"{key} {'is missing; give one' if self.get(key) is None else fault}")
            return ""
        return name

    def server_name(self) -> str:
        """A server's name; it admits no `::`."""
        name = self.name()
        if name:
            self.check_server_name(name)
        return name

    def check_server_name(self, name: str) -> None:
        """Record why a name, such as the key of this entry, cannot be a server's."""
        if fault := checks.server_name_fault(name):
            self.problem(f"name {fault}")

    def number(self, key: str, *, high: float | None = None) -> float | None:
        """A finite number of at least 0 (and at most `high`), None where it is absent."""
        raw = self.get(key)
        if raw is None:
            return None
        if fault := checks.number_fault(raw, high=high):
            self.problem(f"{key} {fault}")
            return None
        return float(raw)

    def flag(self, key: str) -> bool | None:
        """True or false, None where it is absent."""
        raw = self.get(key)
        if raw is None or isinstance(raw, bool):
            return raw
        self.problem(f"{key} is {checks.kind(raw)}; give true or false")
        return None

    def mapping(self, key: str) -> dict[str, Any] | None:
        """An object, None where it is absent."""
        raw = self.get(key)
        if raw is None or isinstance(raw, dict):
            return cast("dict[str, Any] | None", raw)
        self.problem(f"{key} is {checks.kind(raw)}; give an object")
        return None

    def list(self, key: str) -> list[Any]:
        """A list, empty where it is absent."""
        raw = self.get(key)
        if raw is None or isinstance(raw, list):
            return cast("list[Any]", raw or [])
        self.problem(f"{key} is {checks.kind(raw)}; give a list")
        return []

    def child(self, key: str) -> Entry | None:
        """The entry under a key."""
        value = self.mapping(key)
        return None if value is None else Entry(self.reading, place(self.where, key), value)

    def entries(self, key: str) -> Iterator[Entry]:
        """The objects of a list, each with its place and name."""
        return entries(self.reading, self.where, key, self.list(key))

    def named(self, key: str) -> Iterator[tuple[str, Entry]]:
        """The objects of an object: each key with its entry."""
        for name, item in (self.mapping(key) or {}).items():
            step = f"{key} {checks.shown(name)}"
            if isinstance(item, dict):
                yield name, Entry(self.reading, place(self.where, step), cast("dict[str, Any]", item))
            else:
                self.problem(f"{step} is {checks.kind(item)}; give an object")


def entries(reading: Reading, where: str, key: str, items: list[Any]) -> Iterator[Entry]:
    """The objects of a list, each with its place and name; anything else in it is a fault."""
    for position, item in enumerate(items):
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
