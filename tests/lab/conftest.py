"""Fixtures that hand a test the helper files of tests/routers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def worlds():
    """Catalogs, scenes and a matcher written by hand."""
    path = Path(__file__).parents[1] / "routers" / "worlds.py"
    spec = importlib.util.spec_from_file_location("wayfare_tests_worlds_of_lab", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module
