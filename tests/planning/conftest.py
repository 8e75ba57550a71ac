"""A model of the test's own behind real HTTP, and the planner that asks it."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.planning.model import ModelPlanner
from core.planning.model_endpoint import LiteLlmEndpoint
from tests.planning import endpoints

KEY = "sk-wayfare-0123456789-secret"


@pytest.fixture
def key() -> str:
    return KEY


@pytest.fixture
def endpoint() -> Iterator[Any]:
    """A local endpoint without a script yet: set `reactions`."""
    yield from endpoints.serving()
    with warnings.catch_warnings(action="ignore"), contextlib.suppress(RuntimeError):
        asyncio.get_event_loop().close()  # litellm leaves one in the main thread, and another test would be blamed
        asyncio.set_event_loop(None)


@pytest.fixture
def waits() -> list[float]:
    """The waits between attempts: nobody sleeps."""
    return []


@pytest.fixture
def asking(endpoint: Any, waits: list[float]) -> Callable[..., LiteLlmEndpoint]:
    """Our side of the endpoint."""

    def make(model: str = "small", **options: Any) -> LiteLlmEndpoint:
        return LiteLlmEndpoint(model, endpoint.url, KEY, sleep=waits.append, **options)

    return make


@pytest.fixture
def planner(asking: Callable[..., LiteLlmEndpoint]) -> ModelPlanner:
    return ModelPlanner(asking())
