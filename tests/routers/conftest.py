"""Fixtures that hand a test the helper files beside this one."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest


def _helper(name: str):
    spec = importlib.util.spec_from_file_location(f"wayfare_tests_{name}", Path(__file__).with_name(f"{name}.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def worlds():
    """Catalogs, scenes and a matcher written by hand."""
    return _helper("worlds")


@pytest.fixture(scope="session")
def naive():
    """EHRR in plain loops."""
    return _helper("naive")


@pytest.fixture(scope="session")
def spoken():
    """A planner and a matcher that answer by the text."""
    return _helper("spoken")
