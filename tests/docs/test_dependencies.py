"""Every package that the code imports is declared in pyproject.toml."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("core", "dashboard", "sample_catalog")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


@cache
def code() -> str:
    """All our modules, one after another."""
    return "\n".join(file.read_text("utf-8") for folder in OURS for file in (ROOT / folder).rglob("*.py"))


def imports() -> set[str]:
    """The first names of all imported modules, at the top of a file or inside a function."""
    lines = re.findall(r"^\s*(?:from (\w+)[\w.]* import |import (\w[\w., ]*))", code(), flags=re.MULTILINE)
    modules = {piece.strip().partition(".")[0] for _, names in lines for piece in names.split(",")}
    return {source for source, _ in lines} | {name.partition(" as ")[0] for name in modules} - {""}


@cache
def distributions() -> Mapping[str, list[str]]:
    """The distributions of each package that is installed."""
    return packages_distributions()


def declared() -> set[str]:
    """The names of all distributions that are declared, with those of the extras."""
    extras = PYPROJECT["optional-dependencies"]
    lines = [*PYPROJECT["dependencies"], *(line for extra in extras.values() for line in extra)]
    return {canonical(re.split(r"[<>=!~\[ ]", line)[0]) for line in lines}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_import_is_of_a_declared_package() -> None:
    names = imports() - {"", *OURS, *sys.stdlib_module_names}
    by_module = distributions()
    missing = {
        name: sorted(by_module.get(name, ()))
        for name in names
        if not declared() & {canonical(d) for d in by_module.get(name, ())}
    }
    assert missing == {}


def test_every_package_of_a_run_is_imported_or_named_as_needed_by_another() -> None:
    by_module, modules = distributions(), {}
    for module, names in by_module.items():
        for name in names:
            modules.setdefault(canonical(name), set()).add(module)
    lines = {canonical(re.split(r"[<>=!~\[ ]", line)[0]) for line in PYPROJECT["dependencies"]}
    unused = {
        name for name in lines if not any(re.search(rf"\b{re.escape(m)}\b", code()) for m in modules.get(name, ()))
    }
    assert unused <= DATA


DATA = {"tzdata"}  # zoneinfo reads it if the system has no time zones
