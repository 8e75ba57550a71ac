"""A snapshot: the state of the console under a name, and what two of them differ in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from core.domain.scenario_run import fingerprint

Texts = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConsoleState:
    """What the console shows and decides with.

    `pages` has for each page that was visited what its link says (query, catalog, router, knobs, filters). `catalogs` has the
    fingerprint of each catalog that a page shows; `calibrations` the file of the calibration in force there, "" for none;
    `networks` the file of each network somebody saved that a page shows.
    """

    pages: Mapping[str, Texts]
    catalogs: Texts
    calibrations: Texts
    networks: Texts

    def to_json(self) -> dict[str, Any]:
        """As the store and a file keep it."""
        return {name: getattr(self, name) for name in ("pages", "catalogs", "calibrations", "networks")}

    @classmethod
    def parse(cls, document: object) -> ConsoleState:
        """From what `to_json` gave. Raises ValueError that says what is wrong."""
        if not isinstance(document, dict):
            raise ValueError("it is no object")
        found = cast("dict[str, object]", document)
        pages = {name: _texts(texts, f"pages.{name}") for name, texts in _object(found.get("pages"), "pages").items()}
        return cls(pages, *(_texts(found.get(name), name) for name in ("catalogs", "calibrations", "networks")))


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state of the console as the store has it; `state_json` is a `ConsoleState`."""

    name: str
    at: datetime
    state_json: str

    @property
    def state(self) -> ConsoleState:
        """What it keeps."""
        return ConsoleState.parse(json.loads(self.state_json))


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two states do not have in common: `where` it is (a page, catalog, calibration, network), its name, and the
    texts of both, "" where a state does not have it."""

    where: str
    name: str
    one: str
    other: str


def differences(one: ConsoleState, other: ConsoleState) -> tuple[Difference, ...]:
    """What differs, page by page and then the rest, names in alphabetical order.

    >>> paper = ConsoleState({"route": {"q": "a", "k": "3"}}, {}, {}, {})
    >>> [(d.where, d.name, d.one, d.other) for d in differences(paper, ConsoleState({"route": {"q": "a"}}, {}, {}, {}))]
    [('route', 'k', '3', '')]
    """
    parts: list[tuple[str, Texts, Texts]] = [
        (page, one.pages.get(page, {}), other.pages.get(page, {})) for page in dict.fromkeys((*one.pages, *other.pages))
    ]
    parts += [
        ("catalog", one.catalogs, other.catalogs),
        ("calibration", _named(one.calibrations), _named(other.calibrations)),
        ("network", _named(one.networks), _named(other.networks)),
    ]
    return tuple(
        Difference(where, name, before.get(name, ""), after.get(name, ""))
        for where, before, after in parts
        for name in sorted({*before, *after})
        if before.get(name, "") != after.get(name, "")
    )


def _named(files: Texts) -> Texts:
    """Files by what tells them apart: the name in each, and the first digits of its fingerprint."""
    return {of: f"{json.loads(text)['name']} ({fingerprint(text)[:6]})" if text else "" for of, text in files.items()}


def _object(value: object, where: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is no object")
    return cast("dict[str, object]", value)


def _texts(value: object, where: str) -> dict[str, str]:
    found = _object(value, where)
    for name, text in found.items():
        if not isinstance(text, str):
            raise ValueError(f"{where}.{name} is no text")
    return cast("dict[str, str]", found)
