"""Serving a virtual server until the client disconnects (stdio) or the process is stopped (HTTP)."""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from core.domain.catalog import Server
from core.shared.errors import WayfareError
from core.virtual.connection_drop import DROP, dropping
from core.virtual.failure_model import FailureModel
from core.virtual.profiles import DEFAULT_PROFILE, PROFILES
from core.virtual.server import Context, Drop, VirtualServer

CRASHED = 70  # the exit code of a simulated crash


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How a virtual server behaves. `speed` is a factor on every wait: 1 is real time, 0 never waits.

    A seed makes results and failures repeatable. Without one the results are those of seed 0, and each start fails elsewhere.
    """

    profile: str = DEFAULT_PROFILE
    seed: int | None = None
    speed: float = 1.0


def virtual_server(server: Server, behaviour: Behaviour, drop: Drop) -> VirtualServer:
    """The server as it will behave. Raises WayfareError for a profile that is not there."""
    if behaviour.profile not in PROFILES:
        raise WayfareError(f"There is no profile {behaviour.profile!r}; choose one of: {', '.join(PROFILES)}.")
    rng = random.Random(behaviour.seed)  # noqa: S311 - a simulation, not a secret
    failures = FailureModel(server, PROFILES[behaviour.profile], rng=rng, speed=behaviour.speed)
    return VirtualServer(server, failures, drop=drop, seed=behaviour.seed or 0)


def serve_stdio(server: Server, behaviour: Behaviour, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Speak MCP on standard input and output until the input ends. A simulated crash ends the process."""
    served = virtual_server(server, behaviour, _crash).mcp
    signal.signal(signal.SIGINT, _leave)  # a thread blocks on the input: the process would not end otherwise
    sleep(PROFILES[behaviour.profile].start_s * behaviour.speed)

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await served.run(reader, writer, served.create_initialization_options())

    anyio.run(run)


def serve_http(server: Server, behaviour: Behaviour, port: int, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Speak streamable HTTP on http://127.0.0.1:PORT/mcp (port 0: a free one) and print the URL on standard error.

    A simulated crash drops the connection of its call. Raises WayfareError where the port is taken.
    """
    import uvicorn

    served = virtual_server(server, behaviour, _drop).mcp
    try:
        listener = socket.create_server(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or "no port has this number"
        raise WayfareError(f"Cannot listen on 127.0.0.1:{port} ({reason}); choose another --http port.") from None
    signal.signal(signal.SIGINT, _leave)  # before the URL is printed: from then on it may be stopped
    sleep(PROFILES[behaviour.profile].start_s * behaviour.speed)
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    print(f"Virtual server {server.name} ({behaviour.profile}) on {url}", file=sys.stderr, flush=True)
    app = dropping(served.streamable_http_app())
    # critical: uvicorn need not report a connection that was dropped on purpose
    config = uvicorn.Config(app, log_level="critical", access_log=False, timeout_graceful_shutdown=1)
    uvicorn.Server(config).run(sockets=[listener])


async def _crash(_: Context) -> None:
    print("Simulated crash: the virtual server ends after it accepted a call.", file=sys.stderr, flush=True)
    os._exit(CRASHED)


async def _drop(context: Context) -> None:
    request: Any = context.request
    request.scope[DROP].set()


def _leave(*_: object) -> None:
    os._exit(130)
