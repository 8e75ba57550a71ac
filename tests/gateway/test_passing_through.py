"""What passes through Wayfare unchanged, against the server itself: a large image, progress, and a client's time limit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types import ImageContent

from core.app import App
from core.gateway.base import Answer, EndpointOptions, Request
from core.gateway.joining import JoinedOwner
from tests.forking import FORKS
from tests.gateway.conftest import ROOT, Console, stdio, talk
from tests.gateway.serving import served as served_over_http
from tests.gateway.test_status import samples, total
from tests.importing import import_text


def gremlin() -> StdioServerParameters:
    """The server itself."""
    return StdioServerParameters(command=FORKS.python, args=["-m", "sample_catalog.runnable.gremlin"], cwd=ROOT)


CANCELLED = {"server": "gremlin", "outcome": "cancelled"}
CALLS = "wayfare_call_duration_seconds_count"


def test_a_large_image_passes_through_a_process_that_has_joined(app: App) -> None:
    raw = {"type": "stdio", "command": "${python}", "args": ["-S", str(ROOT / "tests/servers/programs/raw.py")]}
    tools = [{"name": "image", "description": "An image.", "inputSchema": {"type": "object"}}]
    import_text(
        app.catalog_editor, json.dumps({"servers": [{"name": "raw", "tools": tools, "connection": raw}]}), "world"
    )
    request = Request("execute_tool", {"tool": "raw::image", "arguments": {"size": 4_000_000}}, client="tests")

    async def joined(url: str) -> Answer:
        async with anyio.create_task_group() as tasks:
            answer = await JoinedOwner(url, EndpointOptions(catalog="world"), tasks, "", "one").call(request)
            tasks.cancel_scope.cancel()
        return answer

    with served_over_http(app, "world") as url:
        (image,) = anyio.run(joined, url).content
    assert isinstance(image, ImageContent)
    assert len(image.data) == 4_000_000


def test_progress_and_a_clients_limit_pass_through_the_stdio_side_and_the_console(
    console: Console, encoder_cache: Path
) -> None:
    """A call that the client gives up is cancelled at the server, and recorded as cancelled."""

    async def progress_of(client: Client, tool: str, arguments: dict[str, Any]) -> list[tuple[Any, ...]]:
        seen: list[tuple[Any, ...]] = []

        async def note(*args: Any) -> None:
            seen.append(args)

        await client.call_tool(tool, arguments, progress_callback=note)
        return seen

    steps = {"steps": 3, "pause_s": 0.05}
    direct = talk(gremlin(), lambda client: progress_of(client, "report_progress", steps))
    count = total(samples(console), CALLS, **CANCELLED)

    async def script(client: Client) -> list[tuple[Any, ...]]:
        seen = await progress_of(client, "execute_tool", {"tool": "gremlin::report_progress", "arguments": steps})
        with pytest.raises(MCPError):
            await client.call_tool("execute_tool", {"tool": "gremlin::hang"}, read_timeout_seconds=0.4)
        deadline = time.monotonic() + 20
        while total(await anyio.to_thread.run_sync(samples, console), CALLS, **CANCELLED) == count:
            assert time.monotonic() < deadline
        return seen

    assert talk(stdio(console.db, encoder_cache), script) == direct
