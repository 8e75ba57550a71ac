"""NetMCP's live mode: the tool that a router chooses is called over MCP, with the world's network injected.

Pool, limits and connections are the usual ones. A virtual server does not wait for its tool's time, so the measured time is
the network's:

    network = measured time of the call alone, without connecting; at least 1000 ms without an answer (an outage)

A crash that a virtual server draws from the catalog's figures is a failure of the tool, as in the simulation, not an outage.
"""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.domain.catalog import Connection, Server, Tool
from core.domain.events import OutcomeEvent
from core.domain.execution import Leave, always
from core.domain.outcome import CallMode, Outcome, OutcomeKind, ToolCall
from core.lab.scenarios.simulation import CallResult, World
from core.network.traces import OUTAGE_S, FaultKind, Injection
from core.servers.caller import McpCaller
from core.servers.pool import PoolConfig, SessionPool
from core.servers.secrets import SecretVault
from core.virtual.launch import virtual_connection
from core.virtual.schema_values import NoValueError, value_for

ORIGIN = "scenario"


class LiveCalls:
    """The `Call` of a live scenario for one router, with its own connections. A context manager; leaving it ends the connections.

    Virtual servers start from files in `virtual_folder`. `limit_s` bounds a call. Between two calls the pool's clock moves on by one
    step of the network, without waiting. A call without `leave` is simulated. Each outcome goes to `record`. Setting `cancel` ends
    the call under way.
    """

    def __init__(
        self,
        world: World,
        virtual_folder: Path,
        *,
        seed: int = 0,
        limit_s: float = OUTAGE_S,
        vault: SecretVault | None = None,
        record: Callable[[OutcomeEvent], None] = lambda _: None,
        leave: Leave = always,
        cancel: threading.Event | None = None,
    ) -> None:
        self._injection = Injection(world.traces, seed=seed, give_up_s=limit_s)
        self._passed_s = 0.0
        config = PoolConfig(probe_s=limit_s)
        self._pool = SessionPool(vault, config, injection=self._injection, clock=self._clock)
        self._caller = McpCaller(self._pool)
        self._limit_s = limit_s
        self._record = record
        self._leave = leave
        self._virtual_folder = virtual_folder
        self._cancel = cancel
        self._connections: dict[str, Connection] = {}

    def __call__(self, world: World, step: int, server: int, tool: int, payment_usd: float) -> CallResult:
        catalog = world.context.catalog
        owner, catalog_tool = catalog.servers[server], catalog.tools[tool]
        self._injection.at = world.lead_in + step
        self._passed_s += world.traces.step_s
        call = ToolCall(owner.name, catalog_tool.name, example_arguments(catalog_tool), self._limit_s, catalog.name)
        settle = self._leave(call, ORIGIN) if may_be_called(owner, catalog_tool) else None
        simulated = settle is None
        connection = self._virtual(owner) if simulated else owner.connection
        kind: OutcomeKind | None = None
        try:
            outcome = self._caller.call(call, catalog_tool, connection, cancel=self._cancel)
            kind = None if outcome.injected else outcome.kind
        finally:
            if settle is not None:
                settle(kind)
        if simulated:
            outcome = replace(outcome, mode=CallMode.VIRTUAL)
        outcome = replace(outcome, id=uuid.uuid4().hex, price_usd=outcome.kind.charged_usd(payment_usd))
        self._record(OutcomeEvent.of(outcome, ORIGIN))
        return CallResult(outcome.kind, self._network_s(outcome), not simulated, outcome.injected)

    def _network_s(self, outcome: Outcome) -> float:
        if not outcome.kind.post_accept_failure:
            return outcome.latency_s
        fault = self._injection.fault(outcome.call.server)
        reached = fault is None or fault.kind is FaultKind.DELAYED
        if outcome.simulated and outcome.kind is OutcomeKind.CRASH and reached:
            return outcome.latency_s
        return max(outcome.latency_s, OUTAGE_S)

    def _virtual(self, server: Server) -> Connection:
        if server.name not in self._connections:
            self._connections[server.name] = virtual_connection(server, self._virtual_folder, speed=0.0)
        return self._connections[server.name]

    def _clock(self) -> float:
        return time.perf_counter() + self._passed_s

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.close()


def may_be_called(server: Server, tool: Tool) -> bool:
    """Whether the server itself is called. It must not be virtual, and the tool must only read, because its arguments are made up. A
    virtual server simulates all other calls.

    >>> may_be_called(Server("a", connection=Connection("stdio", command="a")), Tool("a", "t"))
    False
    """
    return server.connection is not None and not server.virtual and tool.hints.read_only is True


def example_arguments(tool: Tool) -> dict[str, Any]:
    """Fixed arguments that the tool's schema admits, an example or made up. Empty if the schema admits nothing.

    >>> example_arguments(Tool("a", "t", input_schema={"properties": {"n": {"type": "integer", "enum": [7]}}, "required": ["n"]}))
    {'n': 7}
    >>> example_arguments(Tool("a", "t", input_schema={"examples": [{"n": 8}]}))
    {'n': 8}
    """
    try:
        return value_for({"type": "object", **(tool.input_schema or {})}, random.Random(tool.id))  # noqa: S311
    except NoValueError:
        return {}
