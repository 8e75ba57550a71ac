"""Apps that are closed, on a store of their own."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from core.app import App
from core.services.call.calls import CallService
from tests.services.world import Scripted, document, open_test_app


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test is."""
    return tmp_path / "wayfare.duckdb"


@pytest.fixture(scope="session")
def world_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the catalog `world`: to copy it takes a quarter of the time in which it is made."""
    file = tmp_path_factory.mktemp("world") / "wayfare.duckdb"
    with open_test_app(file) as app:
        app.catalog_editor.import_text(document(), "world")
    return file


@pytest.fixture
def app(path: Path, world_store: Path) -> Iterator[App]:
    """An app with the catalog `world`; nothing has happened in it."""
    shutil.copy(world_store, path)
    with open_test_app(path) as app:
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
