"""How a process that finds the store taken learns where its owner can be reached: a small file beside the store."""

from __future__ import annotations

import json
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

from core.shared.settings import IN_MEMORY


def door_file(db: Path | str) -> Path | None:
    """Where the owner of a store writes its address; None for a store in memory.

    >>> door_file("/data/w.duckdb").as_posix(), door_file(":memory:")
    ('/data/w.duckdb.door.json', None)
    """
    if str(db) == IN_MEMORY:
        return None
    file = Path(db).expanduser().absolute()
    return file.with_name(f"{file.name}.door.json")


@contextmanager
def announced(db: Path | str, url: str) -> Generator[None]:
    """While this process serves the store's endpoint at `url`, others find it. Only who has the store may announce."""
    file = door_file(db)
    if file is None:
        yield
        return
    text = json.dumps({"pid": os.getpid(), "url": url})
    with suppress(OSError):  # a folder that takes no further file: nobody can join, all else works
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_text(encoding="utf-8") == text:
                file.unlink()


def owners_url(db: Path | str) -> str | None:
    """The address that was announced last; None where there is none. Whether its process still has the store, who connects finds out."""
    file = door_file(db)
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, ValueError):
        return None
    if not isinstance(found, dict):
        return None
    url = cast("dict[str, Any]", found).get("url")
    return url if isinstance(url, str) else None
