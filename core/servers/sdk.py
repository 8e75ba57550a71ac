"""Everything that Wayfare takes from inside the MCP SDK, and from inside the processes that it starts, for want of a public
way. No other module does."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import httpx2
from anyio.abc import Process
from mcp.client import session
from mcp.client.auth import OAuthClientProvider
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.os.win32.utilities import (
    FallbackProcess,
    close_process_job,
    create_windows_process,
    get_windows_executable_command,
    terminate_windows_process_tree,
)

__all__ = [
    "FallbackProcess",
    "close_process_job",
    "create_windows_process",
    "get_windows_executable_command",
    "terminate_posix_process_tree",
    "terminate_windows_process_tree",
]


def limit_probes(limit_s: float) -> None:
    """Sets how long the SDK waits for the answer that tells a server's protocol: 10 s without this."""
    session.DISCOVER_TIMEOUT_SECONDS = limit_s


def close_pipes(process: Process | FallbackProcess) -> None:
    """Closes the transport that asyncio keeps open for an ended process, while a descendant has one of its pipes."""
    transport: Any = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


class AuthorizationFlow(OAuthClientProvider):
    """The SDK's flow, with a step before the authorization, and the request that renews a token."""

    def before_authorization(self) -> None:
        """Called with the metadata and the registered client in `context`, before a person is asked."""

    async def refresh_request(self) -> httpx2.Request:
        return await self._refresh_token()

    async def _perform_authorization(self) -> httpx2.Request:
        self.before_authorization()
        return await super()._perform_authorization()
