"""The connection to a virtual server: a process over stdio, started from a catalog file of that one server."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from core.domain.catalog import Connection, Server
from core.shared.errors import WayfareError
from core.virtual.document import plain_server
from core.virtual.profiles import DEFAULT_PROFILE


def virtual_connection(
    server: Server,
    folder: Path,
    *,
    profile: str = DEFAULT_PROFILE,
    seed: int | None = None,
    speed: float = 1.0,
) -> Connection:
    """The connection to a virtual server. Its catalog is written into `folder` under its content's hash.

    Raises WayfareError where it cannot be written.
    """
    text = json.dumps({"servers": [plain_server(server)]})
    file = folder / f"{_digest(text)}.json"
    if not file.exists():
        _write(file, text)
    options = ["--profile", profile, "--speed", f"{speed:g}"] + ([] if seed is None else ["--seed", str(seed)])
    # -P: a folder `core` in the working directory is not ours
    return Connection("stdio", command="${python}", args=("-P", "-m", "core.virtual", str(file), *options))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _write(file: Path, text: str) -> None:
    """Whole or not at all: several processes may do so at once."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=".new-", suffix=".json")
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(scratch).replace(file)
    except OSError as error:
        raise WayfareError(
            f"The virtual server's catalog cannot be written to {file.parent} ({error.strerror}); "
            "set WAYFARE_CACHE to a folder that can be written."
        ) from None
