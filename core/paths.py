"""Where things are kept unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def cache_folder() -> Path:
    """`WAYFARE_CACHE`, or the user's cache folder: what is there can be made again."""
    return Path(os.environ.get("WAYFARE_CACHE") or platformdirs.user_cache_dir("wayfare")).expanduser()


def default_db() -> Path:
    """`WAYFARE_DB`, or a file in the user's data directory."""
    chosen = os.environ.get("WAYFARE_DB")
    return Path(chosen) if chosen else Path(platformdirs.user_data_dir("wayfare")) / "wayfare.duckdb"


def networks_folder(db: Path | None = None) -> Path:
    """Where the networks that somebody saved are: beside the store (None: `default_db()`)."""
    file = default_db() if db is None else db
    in_memory = str(file) == ":memory:"
    return (
        Path(platformdirs.user_data_dir("wayfare")) if in_memory else file.expanduser().absolute().parent
    ) / "networks"
