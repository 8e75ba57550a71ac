"""Where things are kept unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_db() -> Path:
    """`WAYFARE_DB`, or a file in the user's data directory."""
    chosen = os.environ.get("WAYFARE_DB")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("wayfare")) / "wayfare.duckdb"
