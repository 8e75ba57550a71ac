"""Consoles that are closed, on a store of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.calls import Calls
from core.console import Console
from tests.console.world import Scripted, document, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test is."""
    return tmp_path / "wayfare.duckdb"


@pytest.fixture
def console(path: Path) -> Iterator[Console]:
    """A console with the catalog `world`; nothing has happened in it."""
    with opened(path) as console:
        console.desk.import_text(document(), "world")
        yield console


@pytest.fixture
def calls_of(console: Console) -> Iterator[Callable[[Scripted], Calls]]:
    """The console's calls, made by a scripted caller."""
    made: list[Calls] = []

    def make(caller: Scripted) -> Calls:
        made.append(Calls(console.store, console.library, lambda: caller, rng=np.random.default_rng(1)))
        return made[-1]

    yield make
    for calls in made:
        calls.close()
