"""A model of the test's own behind real HTTP, and the planner that asks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
    """The waits between attempts: nobody sleeps."""
    return []


@pytest.fixture
def asking(endpoint: Any, waits: list[float]) -> Callable[..., ModelEndpoint]:
    """Our side of the endpoint."""

    def make(model: str = "small", **options: Any) -> ModelEndpoint:
        return ModelEndpoint(model, endpoint.url, KEY, sleep=waits.append, **options)

    return make


@pytest.fixture
def planner(asking: Callable[..., ModelEndpoint]) -> ModelPlanner:
    return ModelPlanner(asking())
