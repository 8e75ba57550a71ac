"""How each server wants to be greeted, as its last connection found out: the next one need not probe for it, also of another process."""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

import httpx2
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, METHOD_NOT_FOUND, REQUEST_TIMEOUT, DiscoverResult
from mcp_types.version import LATEST_MODERN_VERSION

from core.domain.catalog import Connection
from core.domain.errors import WayfareError

Way = Literal["probe", "legacy", "modern", "sse"]
"""`legacy` begins with `initialize`, `modern` with `server/discover`, `probe` with the latter and falls back to the former. `sse` is legacy
over the older transport, at an address that was given as that of the newer one."""
MODES: dict[Way, Any] = {"probe": "auto", "modern": LATEST_MODERN_VERSION}
MOST = 2000
REFUSES_POST = ("HTTP 400", "HTTP 404", "HTTP 405")


@dataclass
class Greetings:
    """The ways that worked, in a file, or in memory without one. A file that cannot be written loses only time."""

    file: Path | None = None
    _known: dict[str, str] = field(default_factory=dict[str, str])

    def of(self, connection: Connection) -> Way:
        """Returns the way that worked last."""
        way: Any = self._read().get(_digest(connection))
        return way if way in get_args(Way) else "probe"

    def keep(self, connection: Connection, way: Way) -> None:
        """Keeps the way that worked; `probe` forgets it."""
        known, key = self._read(), _digest(connection)
        if known.get(key, "probe") == way:
            return
        known.pop(key, None)
        if way != "probe":
            known[key] = way
        self._known = dict(list(known.items())[-MOST:])
        if self.file is not None:
            with suppress(OSError):
                self.file.parent.mkdir(parents=True, exist_ok=True)
                new = self.file.with_name(f"{self.file.name}.{os.getpid()}")
                new.write_text(json.dumps(self._known))
                new.replace(self.file)

    def _read(self) -> dict[str, str]:
        if self.file is not None:
            with suppress(OSError, ValueError):
                found: Any = json.loads(self.file.read_text())
                self._known = found if isinstance(found, dict) else {}
        return self._known


def _digest(connection: Connection) -> str:
    words = (connection.transport, connection.command, connection.args, connection.cwd, connection.url)
    return hashlib.sha256(repr(words).encode()).hexdigest()[:24]


def next_way(way: Way, transport: str, error: Exception | None, last_words: str) -> Way | None:
    """Returns the way to try after one that failed, or None. Without an error the time was up."""
    if error is None:
        return "legacy" if way == "modern" else None  # an older version may be silent at `server/discover`
    if isinstance(error, OSError | WayfareError | httpx2.TransportError):
        return None
    if transport != "stdio" or not isinstance(error, MCPError):
        if way == "probe" and isinstance(error, MCPError) and error.code == METHOD_NOT_FOUND:
            return "modern"  # it knows no `initialize`: it was too slow for the probe before
        first = "sse" if transport == "http" and last_words.startswith(REFUSES_POST) else None
        return first if way == "probe" else "probe"
    if error.code == CONNECTION_CLOSED:  # some servers end at a request before `initialize`
        return "probe" if way == "legacy" else "legacy"
    return "legacy" if way == "modern" else "modern"


async def discover(client: Client) -> None:
    """Greets a server from 2026-07-28 on. Asks again while it starts, because the SDK does not wait for that. Raises MCPError."""
    while True:
        try:
            found = await client.session.send_discover(LATEST_MODERN_VERSION)
            break
        except MCPError as error:
            if error.code != REQUEST_TIMEOUT:
                raise
    client.session.adopt(DiscoverResult.model_validate(found))
