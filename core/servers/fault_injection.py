"""Connections with an injected network: each message to a server is delayed, gets lost, or breaks the connection.

The faults act below the protocol, where the network is: connecting, listing tools, calls and probes all meet them. Time
limits, cancelling, retries and reconnecting remain the pool's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from mcp.client import Transport
from mcp.server.mcpserver import MCPServer
from mcp.shared.message import SessionMessage

from core.network.traces import Fault, FaultKind, Injection
from core.servers.secrets import Launch
from core.servers.stdio import StderrLog
from core.servers.threads import NotConnectedError
from core.servers.transports import OpenTarget, WrappedStream


def injected(open_target: OpenTarget, injection: Injection, server: str) -> OpenTarget:
    """Returns a function that opens the target of `open_target` through the injected network. A server in this process
    has no network."""

    def opened(launch: Launch, stderr_log: StderrLog, on_end: Callable[[], None]) -> Transport | MCPServer:
        target = open_target(launch, stderr_log, on_end)
        if isinstance(target, MCPServer):
            return target
        return _troubled(target, injection, partial(injection.fault, server), on_end)

    return opened


@asynccontextmanager
async def _troubled(
    target: Transport, injection: Injection, fault: Callable[[], Fault | None], on_end: Callable[[], None]
) -> AsyncGenerator[Any]:
    await _reached(fault(), injection.give_up_s)
    async with target as (reader, writer):
        yield reader, TroubledStream(writer, fault, on_end)


async def _reached(fault: Fault | None, give_up_s: float) -> None:
    """Waits for the injected connection time. Raises NotConnectedError if connecting fails."""
    if fault is None:
        return
    if fault.kind is FaultKind.DROPPED:
        raise NotConnectedError("the injected network refused the connection")
    if fault.kind is FaultKind.SILENT:
        await anyio.sleep(give_up_s)
        raise NotConnectedError(f"no answer within {give_up_s:g} s, in the injected network")
    await anyio.sleep(fault.delay_s)


@dataclass
class TroubledStream(WrappedStream):
    """A write stream whose messages meet faults. Messages are delayed in parallel: delays do not add up."""

    fault: Callable[[], Fault | None]
    on_end: Callable[[], None]

    async def send(self, item: SessionMessage, /) -> None:
        """Sends a message, later or never. Raises BrokenResourceError if the connection breaks; it is closed then."""
        fault = self.fault()
        if fault is not None:
            if fault.kind is FaultKind.SILENT:
                return
            if fault.kind is FaultKind.DROPPED:
                self.on_end()
                raise anyio.BrokenResourceError
            await anyio.sleep(fault.delay_s)
        await self.stream.send(item)
