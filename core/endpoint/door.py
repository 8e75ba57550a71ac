"""The announcement of a store's owner: a small file beside the store. A process that finds the store locked reads the
address from it.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from core.shared.settings import IN_MEMORY


def door_file(db: Path | str) -> Path | None:
    """Returns the file in which the owner of a store writes its address, or None for a store in memory.

    >>> door_file("/data/w.duckdb").as_posix(), door_file(":memory:")
    ('/data/w.duckdb.door.json', None)
    """
    if str(db) == IN_MEMORY:
        return None
    file = Path(db).expanduser().absolute()
    return file.with_name(f"{file.name}.door.json")


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that has a store: its address, and the key for commands ("" if it takes no commands)."""

    url: str
    key: str = ""


@contextmanager
def announced(db: Path | str, owner: Owner) -> Generator[None]:
    """Announces the owner to other processes until the block ends. Only the process that has the store may announce."""
    file = door_file(db)
    if file is None:
        yield
        return
    text = json.dumps(asdict(owner))
    with suppress(OSError):  # the folder is not writable: other processes cannot join, everything else works
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_text(encoding="utf-8") == text:
                file.unlink()


def owner_of(db: Path | str) -> Owner | None:
    """Returns the process that was announced last, or None. It may have ended since: connecting tells."""
    file = door_file(db)
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, ValueError):
        return None
    known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    url, key = known.get("url"), known.get("key", "")
    return Owner(url, key) if isinstance(url, str) and isinstance(key, str) else None
