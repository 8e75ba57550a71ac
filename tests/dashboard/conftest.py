"""Fixtures of all page tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import local_script_runner


@pytest.fixture(scope="session", autouse=True)
def installed_packages_scanned_once() -> Iterator[None]:
    """Each `AppTest` reads the metadata of all installed packages, to find components: half a second of its 0.56."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(scope="session", autouse=True)
def script_runs_joined() -> Iterator[None]:
    """An `AppTest` polls its script every millisecond, and takes the interpreter from it each time."""
    look = local_script_runner.require_widgets_deltas

    def join(runner: Any, limit_s: float) -> None:
        runner._script_thread.join(limit_s)
        look(runner, 0.0 if runner._script_thread.is_alive() else limit_s)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_script_runner, "require_widgets_deltas", join)
        yield
