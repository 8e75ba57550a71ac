"""A model of the test's own behind real HTTP, and the planner that asks it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.planning.model import ModelPlanner
from core.planning.model_endpoint import ModelEndpoint
from tests.planning import endpoints

KEY = "sk-wayfare-0123456789-secret"


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def endpoint() -> Iterator[Any]:
    """A local endpoint without a script yet: set `reactions`."""
    yield from endpoints.serving()


@pytest.fixture
def waits() -> list[float]:
    """The waits between attempts, without sleeping."""
    return []


@pytest.fixture
def asking(endpoint: Any, waits: list[float]) -> Callable[..., ModelEndpoint]:
    """Our side of the endpoint."""

    async def sleep(wait_s: float) -> None:
        waits.append(wait_s)

    def make(model: str = "small", url: str = endpoint.url, **options: Any) -> ModelEndpoint:
        return ModelEndpoint(model, url, KEY, sleep=sleep, **options)

    return make


@pytest.fixture
def planner(asking: Callable[..., ModelEndpoint]) -> ModelPlanner:
    return ModelPlanner(asking())


@pytest.fixture
def db(tmp_path: Path, warm_store: Path, encoder_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store with the sample, for an app or a command."""
    monkeypatch.setenv("WAYFARE_CACHE", str(encoder_cache))
    return Path(shutil.copy(warm_store, tmp_path / "wayfare.duckdb"))


@pytest.fixture
def of_model(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables for the endpoint with a model of the price table. Attempts do not wait."""
    monkeypatch.setattr("core.planning.model_endpoint.WAIT_S", 0.0)
    return {"WAYFARE_LLM_MODEL": "gpt-4o-mini", "WAYFARE_LLM_BASE_URL": endpoint.url, "WAYFARE_LLM_API_KEY": KEY}


@pytest.fixture
def model(of_model: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The model in the environment of this process."""
    for name, value in of_model.items():
        monkeypatch.setenv(name, value)
