"""The stdio side, for clients that start a command: standard output carries the protocol and nothing else."""

from __future__ import annotations

import os
import signal
from functools import partial

import anyio
from mcp.server.stdio import stdio_server

from core.endpoint.joining import StdioBackend
from core.endpoint.options import EndpointOptions
from core.endpoint.server import mcp_server
from core.shared.settings import Settings


def serve_stdio(settings: Settings, options: EndpointOptions) -> None:
    """Speak MCP on standard input and output until the input ends. Raises WayfareError for what cannot be served."""
    options.parameters()  # said at the start, not with the first search
    backend = StdioBackend(settings, options)

    def leave(*_: object) -> None:
        backend.close()
        os._exit(0)  # a thread may block on the input, and native code may still run in another

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, leave)

    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            served = mcp_server(
                partial(backend.call, tasks),
                lambda _: options,
                listing=partial(backend.listed, tasks),
                part=partial(backend.part, tasks) if options.mirror else None,
            )
            async with stdio_server() as (reader, writer):
                await served.run(reader, writer, served.create_initialization_options())
            tasks.cancel_scope.cancel()

    anyio.run(run)
    leave()
