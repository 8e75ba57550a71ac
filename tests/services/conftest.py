"""Apps that are closed, on a store of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.app import App
from core.services.call.calls import CallService
from tests.services.world import Scripted, open_world


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test is."""
    return tmp_path / "wayfare.duckdb"


@pytest.fixture
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[App]:
    """An app with the catalog `world`; nothing has happened in it. Its store is a file where the test asks for its `path`."""
    with open_world(tmp_path / "wayfare.duckdb", in_memory="path" not in request.fixturenames) as app:
        yield app


@pytest.fixture
def calls_of(app: App) -> Iterator[Callable[[Scripted], CallService]]:
    """The app's calls, made by a scripted caller."""
    made: list[CallService] = []
    folder = app.settings.virtual_folder

    def make(caller: Scripted) -> CallService:
        rng = np.random.default_rng(1)
        made.append(CallService(app.store, app.catalogs, lambda: caller, rng=rng, virtual_folder=folder))
        return made[-1]

    yield make
    for calls in made:
        calls.close()
