"""Virtual servers in this process, and ways to call them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types
import pytest
from mcp import Client, MCPError

from core.domain.catalog import Server, Tool, ToolHints
from core.virtual.launch import PROFILES, Ending, FailureModel, PlannedCall
from core.virtual.server import Context, VirtualServer

CITY = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}
REPORT = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "celsius": {"type": "number", "minimum": -40, "maximum": 50}},
    "required": ["city", "celsius"],
    "additionalProperties": False,
}
WEATHER = Server(
    "weather",
    description="Forecasts for any place.",
    title="Weather",
    call_s=0.5,
    success=0.9,
    post_accept_failure=0.1,
    tools=(
        Tool(
            "weather",
            "get_forecast",
            "The forecast of a city.",
            title="Forecast",
            input_schema={**CITY, "x-origin": "kept"},
            output_schema=REPORT,
            hints=ToolHints(read_only=True, idempotent=True),
            latency_s=2.0,
        ),
        Tool("weather", "search_places", "Places by name with country and latitude.", input_schema=CITY),
        Tool("weather", "bare"),
    ),
)


class Scripted(FailureModel):
    """Plays planned calls; the last one repeats for ever."""

    def __init__(self, *failures: PlannedCall) -> None:
        super().__init__(WEATHER, PROFILES["steady"], rng=random.Random(0))
        self._failures = list(failures)

    def next(self, tool: Tool, _: Any = None) -> PlannedCall:
        return self._failures.pop(0) if len(self._failures) > 1 else self._failures[0]


FINE = PlannedCall(0.0, Ending.RESULT)


class Bench:
    """A virtual server over the in-memory transport; `waits` and `dropped` are its requests."""

    def __init__(self, server: Server = WEATHER, *failures: PlannedCall, seed: int = 0) -> None:
        self.waits: list[float] = []
        self.dropped: list[str] = []
        self.virtual = VirtualServer(
            server, Scripted(*(failures or (FINE,))), drop=self._drop, sleep=self._sleep, seed=seed
        )

    def ask(self, work: Callable[[Client], Awaitable[Any]], *, mode: str = "auto") -> Any:
        """The result of some work with a connected client."""

        async def run() -> Any:
            async with Client(self.virtual.mcp, mode=mode) as client:
                return await work(client)

        return asyncio.run(run())

    def call(self, tool: str, arguments: dict[str, Any] | None = None, **options: Any) -> mcp_types.CallToolResult:
        """The result of one call; the tools are listed before, so that the client checks the promises."""

        async def work(client: Client) -> mcp_types.CallToolResult | MCPError:
            await client.list_tools()
            try:
                return await client.call_tool(tool, arguments or {}, **options)
            except MCPError as error:
                return error  # raised outside of the client: it would arrive in a group

        result = self.ask(work)
        if isinstance(result, MCPError):
            raise result
        return result

    async def _sleep(self, wait_s: float) -> None:
        self.waits.append(wait_s)

    async def _drop(self, context: Context) -> None:
        self.dropped.append(context.method)
        raise ConnectionError("dropped")


@pytest.fixture
def bench() -> Callable[..., Bench]:
    """Makes benches."""
    return Bench
