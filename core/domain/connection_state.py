"""The state of one pooled connection, as pages show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from core.domain.catalog import Transport

State = Literal["idle", "connecting", "ready", "failed"]


@dataclass(frozen=True, slots=True)
class ConnectionState:
    """A snapshot of one server's connection. Texts are redacted; `connect_s` is the last measured connect time in s.

    `last_error` stays after a recovery: `state` says whether it still matters. `stderr_lines` are the newest lines that the
    server wrote to its standard error. `retry_s` is how long nobody tries to connect to it again.
    """

    server: str
    transport: Transport
    state: State
    since: datetime
    last_error: str
    protocol_version: str
    server_version: str
    calls: int
    connect_s: float | None
    stderr_lines: tuple[str, ...]
    pid: int | None
    retry_s: float = 0.0
    catalog: str = ""
