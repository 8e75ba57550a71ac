"""A model of the test's own behind real HTTP, and the planner that asks it."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.planning.endpoint import LiteLlmEndpoint
from core.planning.model import ModelPlanner

_spec = importlib.util.spec_from_file_location("planning_endpoints", Path(__file__).with_name("endpoints.py"))
endpoints = importlib.util.module_from_spec(_spec)
sys.modules[_spec.name] = endpoints
_spec.loader.exec_module(endpoints)

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
