"""The registry's inputs: values of variables, headers and arguments that are fixed, have a default, or must be entered."""

from __future__ import annotations

import re

from core.domain.imports import Prompt
from core.importers.connections import scalar
from core.importers.entry import Entry
from core.importers.secrets import SecretExtractor, secret_name


def ask(entry: Entry, server: str, name: str) -> str:
    """Record that a value must be entered, and return its reference.

    >>> from core.importers.reading import Reading
    >>> reading = Reading("server.json")
    >>> ask(Entry(reading, "", {"description": "API key", "isSecret": True}), "io.github.x/weather", "KEY")
    '${input:io.github.x/weather/KEY}'
    >>> reading.prompts["io.github.x/weather/KEY"].secret
    True
    """
    key = secret_name(server, name)
    optional = "" if entry.flag("isRequired") else "optional: "
    description = f"{optional}{entry.text('description') or name}"
    entry.reading.prompt(Prompt(key, description, secret=entry.flag("isSecret") is True))
    return f"${{input:{key}}}"


def value_of(entry: Entry, server: str, name: str) -> str | None:
    """An input's value: the fixed one, a reference to one that must be entered, or the default; None where it may be left out."""
    fixed = entry.get("value")
    if fixed is not None:
        text = fill_in(entry, server, scalar(entry, "value", fixed))
        return SecretExtractor(entry, server).hide(name, text) if entry.flag("isSecret") else text
    default = entry.get("default")
    if entry.flag("isSecret") or (entry.flag("isRequired") and default is None):
        return ask(entry, server, name)
    return None if default is None else scalar(entry, "default", default)


def fill_in(entry: Entry, server: str, template: str) -> str:
    """A text with its `{variables}` filled in: by their values or by references to values that must be entered."""
    for name, variable in entry.named("variables"):
        if f"{{{name}}}" in template:
            value = value_of(variable, server, name)
            template = template.replace(f"{{{name}}}", ask(variable, server, name) if value is None else value)
    return template


def fill_in_all(entry: Entry, server: str, key: str) -> dict[str, str]:
    """Named inputs (variables or headers) that have a value, by name."""
    values: dict[str, str] = {}
    for item in entry.entries(key):
        name = item.name()
        value = value_of(item, server, name)
        if value is not None:
            values[name] = value
        elif name:
            item.note("optional and without a default: it is left out")
    return values


def arguments(entry: Entry, server: str, key: str) -> list[str]:
    """Command-line arguments in their order, positional and named; optional ones without a value are left out."""
    given: list[str] = []
    for position, item in enumerate(entry.entries(key)):
        flag = item.raw_text("name") if item.raw_text("type") != "positional" else ""
        label = re.sub(r"^-+", "", flag) or item.raw_text("valueHint") or f"{key}_{position}"
        value = value_of(item, server, label)
        if value is None and flag and not any(item.get(k) for k in ("format", "choices", "valueHint", "placeholder")):
            given.append(flag)
        elif value is not None:
            given += [flag, value] if flag else [value]
    return given
