"""Which browser is taken, and what is said where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from .chromium import NoBrowser, executable

NOWHERE = Path("/nowhere/chrome")


def test_the_named_one_comes_first_then_the_systems_then_playwrights_own(tmp_path: Path) -> None:
    own = tmp_path / "chrome"
    own.touch()
    assert executable({"CHROMIUM": "/opt/mine"}, own, lambda name: f"/usr/bin/{name}") == "/opt/mine"
    assert executable({}, own, lambda name: f"/usr/bin/{name}") == "/usr/bin/chromium"
    assert executable({}, own, {"google-chrome": "/usr/bin/google-chrome"}.get) == "/usr/bin/google-chrome"
    assert executable({}, own, lambda name: None) is None


def test_where_there_is_none_it_is_said_what_to_do() -> None:
    with pytest.raises(NoBrowser, match="need a Chromium and found none: install chromium"):
        executable({}, NOWHERE, lambda name: None)
