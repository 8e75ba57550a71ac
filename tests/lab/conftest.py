"""Fixtures that hand a test the helper files of tests/routers."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.decision import SubDecision
from core.routers.simple_retrieval import SimpleRetrieval


def _helper(path: Path):
    spec = importlib.util.spec_from_file_location(f"wayfare_tests_{path.stem}_of_lab", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def worlds():
    """Catalogs, scenes and a matcher written by hand."""
    return _helper(Path(__file__).parents[1] / "routers" / "worlds.py")


@pytest.fixture(scope="session")
def searching():
    """Five search servers that words alone find, among others."""
    return _helper(Path(__file__).with_name("search_world.py"))


@pytest.fixture(scope="session")
def routed():
    """A decision of the plainest router over a scene; `steps` are candidates by step, other fields as they are named."""

    def route(scene, *, steps=(), **fields):
        decision = SimpleRetrieval().route("anything", scene)
        parts = tuple(SubDecision(str(number), rows) for number, rows in enumerate(steps))
        return replace(decision, steps=parts, **fields)

    return route
