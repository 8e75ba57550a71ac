"""Which Chromium the tests drive."""

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
    """$CHROMIUM, else the system's, else None for Playwright's own. Raises NoBrowser where there is none of them."""
    chosen = environment.get("CHROMIUM") or next((found for name in NAMES if (found := which(name))), None)
    if chosen is not None or bundled.is_file():
        return chosen
    raise NoBrowser(
        "The browser tests need a Chromium and found none: install chromium with the system's package manager, "
        "name one in CHROMIUM, or run `python -m playwright install chromium`."
    )
