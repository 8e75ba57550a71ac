"""Completeness: the rooms in docs/architecture.md, every variable in docs/configuration.md, every letter in the glossary."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise

from core.domain.settings import Settings
from core.routers import ROUTERS
from tests.docs.markdown import ROOT, prose, text_of

PACKAGES = ("core", "dashboard", "sample_catalog")
GREEK = re.compile("[\u03b1-\u03c9]")


def test_the_rooms_are_drawn_in_the_order_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = [contract["layers"] for contract in contracts if contract["type"] == "layers"]
    drawing = (
        prose("docs/architecture.md").partition("A room imports only rooms below it")[2].partition("\nAnd across")[0]
    )
    lines = [
        re.findall(r"(?:^ {4}| {2,}(?=core\.|sample_))(core\.\w+|dashboard|sample_catalog\.\w+)", line)
        for line in drawing.splitlines()
    ]
    rooms = [room for line in lines for room in line]
    height = {room: number for number, line in enumerate(lines) for room in line}
    assert len(rooms) == len(set(rooms))
    layered = [[height[room] for room in re.findall(r"[\w.]+", layer)] for layer in layers]  # every room is drawn
    assert all(max(upper) < min(lower) for upper, lower in pairwise(layered))


def test_every_folder_of_core_is_a_room() -> None:
    folders = {path.parent.name for path in (ROOT / "core").glob("*/__init__.py")}
    assert folders <= set(re.findall(r"core\.(\w+)", prose("docs/architecture.md")))


def test_every_variable_is_in_the_configuration() -> None:
    code = "".join(path.read_text(encoding="utf-8") for name in PACKAGES for path in (ROOT / name).rglob("*.py"))
    documented = set(re.findall(r"^\| `(WAYFARE_\w+)`", text_of("docs/configuration.md"), flags=re.MULTILINE))
    assert documented == set(re.findall(r"WAYFARE_[A-Z_]*[A-Z]", code))


def test_the_defaults_are_those_of_the_settings() -> None:
    text = text_of("docs/configuration.md")
    for name in (Settings().db.name, Settings().models_folder.name, Settings().virtual_folder.name, "networks"):  # type: ignore[union-attr]
        assert name in text


def test_every_greek_letter_of_a_knob_is_in_the_glossary() -> None:
    glossary = text_of("docs/glossary.md")
    knobs = [knob for router in ROUTERS.values() for knob in router.parameters.knobs() if GREEK.search(knob.symbol)]
    assert knobs
    assert {f"{knob.symbol} ({knob.name})" for knob in knobs if f"`{knob.name}`" not in glossary} == set()


def test_every_knob_in_the_glossary_exists() -> None:
    rows = [line.split("|")[4] for line in text_of("docs/glossary.md").splitlines() if line.count("|") == 6]
    names = {name for cell in rows for name in re.findall(r"`(\w+)`", cell)}
    assert names <= {knob.name for router in ROUTERS.values() for knob in router.parameters.knobs()}
