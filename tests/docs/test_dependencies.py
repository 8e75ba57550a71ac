"""Every package that the code imports is declared in pyproject.toml."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
OURS = ("core", "dashboard", "sample_catalog")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def imports(file: Path) -> Iterator[str]:
    """The first names of all modules that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


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
    files = [file for folder in OURS for file in (ROOT / folder).rglob("*.py")]
    used = {name for file in files for name in imports(file)} - {*OURS, *sys.stdlib_module_names}
    known = distributions()
    missing = {
        name: sorted(known.get(name, ()))
        for name in used
        if not declared() & {canonical(d) for d in known.get(name, ())}
    }
    assert missing == {}


def test_every_package_of_a_run_is_imported_or_named_as_needed_by_another() -> None:
    files = [file for folder in OURS for file in (ROOT / folder).rglob("*.py")]
    text = "\n".join(file.read_text("utf-8") for file in files)
    known = distributions()
    modules = {}
    for module, names in known.items():
        for name in names:
            modules.setdefault(canonical(name), set()).add(module)
    lines = {canonical(re.split(r"[<>=!~\[ ]", line)[0]) for line in PYPROJECT["dependencies"]}
    unused = {name for name in lines if not any(re.search(rf"\b{re.escape(m)}\b", text) for m in modules.get(name, ()))}
    assert unused <= DATA


DATA = {"tzdata"}  # read by zoneinfo where the system has no time zones
