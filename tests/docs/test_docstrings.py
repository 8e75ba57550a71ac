"""The examples in docstrings hold."""

from __future__ import annotations

import doctest
import importlib
from collections import defaultdict
from io import StringIO
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS: dict[str, list[str]] = defaultdict(list)
"""The modules with examples by their room; a module without one is not imported for this."""
for source in sorted(file for top in ("core", "dashboard") for file in (ROOT / top).rglob("*.py")):
    if ">>> " in source.read_text(encoding="utf-8"):
        module = ".".join(source.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        ROOMS[".".join(module.split(".")[:2])].append(module)


@pytest.mark.parametrize("room", ROOMS)
def test_the_examples_of_a_room_hold(room: str) -> None:
    wrong, run = StringIO(), 0
    for name in ROOMS[room]:
        for examples in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), name):
            run += doctest.DocTestRunner(verbose=False).run(examples, out=wrong.write).attempted
    assert not wrong.getvalue(), wrong.getvalue()
    assert run >= len(ROOMS[room])
