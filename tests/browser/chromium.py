"""Chooses the tests' Chromium."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--disable-quic",
]


class NoBrowser(Exception):
    """There is none; the message says what to do."""


def executable(
    environment: Mapping[str, str], bundled: Path, which: Callable[[str], str | None] = shutil.which
) -> str | None:
    """$CHROMIUM, else the system's, else None for Playwright's own. Raises NoBrowser if there is none."""
    program = environment.get("CHROMIUM") or next((path for name in NAMES if (path := which(name))), None)
    if program is not None or bundled.is_file():
        return program
    raise NoBrowser(
        "The browser tests need a Chromium and found none: install chromium with the system's package manager, "
        "name one in CHROMIUM, or run `python -m playwright install chromium`."
    )
