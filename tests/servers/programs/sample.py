"""A stdio server that does on request what servers do: answer, stall, die. Run as a script."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)

READ_ONLY = ToolAnnotations(title="From annotations", read_only_hint=True, open_world_hint=False)
server = MCPServer("sample", version="1.2.3", title="Sample", instructions="A server for tests.")


@server.tool(annotations=READ_ONLY)
async def echo(text: str) -> str:
    """Gives the text back."""
    return text


@server.tool(title="Everything")
async def everything() -> CallToolResult:
    """One block of every type."""
    return CallToolResult(
        content=[
            TextContent(text="plain"),
            ImageContent(data="iVBORw==", mime_type="image/png"),
            AudioContent(data="UklGRg==", mime_type="audio/wav"),
            EmbeddedResource(resource=TextResourceContents(uri="file:///a.txt", mime_type="text/plain", text="inside")),
            EmbeddedResource(resource=BlobResourceContents(uri="file:///a.bin", mime_type="x/y", blob="AAEC")),
            ResourceLink(uri="file:///far.txt", name="far", mime_type="text/plain", description="far away"),
            ImageContent(data="*", mime_type="image/png"),
        ],
        structured_content={"n": 1},
    )


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Reports progress `count` times."""
    for number in range(1, count + 1):
        await ctx.report_progress(number, count, f"step {number}")
    return "done"


@server.tool()
async def slow(seconds: float) -> str:
    """Waits, interruptibly."""
    await asyncio.sleep(seconds)
    return "slept"


@server.tool()
async def hang() -> str:
    """Blocks the whole server."""
    time.sleep(600)
    return "never"


@server.tool()
async def crash(times: int = 10**9, counter: str = "", say: str = "") -> str:
    """Ends the process; with a counter file only as often as asked, counting every call there."""
    done = 0
    if counter:
        path = Path(counter)
        done = int(path.read_text()) if path.exists() else 0
        path.write_text(str(done + 1))
    if done < times:
        print(say or "about to crash", file=sys.stderr, flush=True)
        os._exit(3)
    return "survived"


@server.tool()
async def fail(message: str) -> str:
    """An error of the tool's own."""
    raise ToolError(message)


@server.tool()
async def pid() -> int:
    """The process id."""
    return os.getpid()


@server.tool()
async def say(text: str) -> str:
    """Writes to standard error."""
    print(text, file=sys.stderr, flush=True)
    return "said"


@server.tool()
async def environment(name: str) -> str:
    """An environment variable."""
    return os.environ.get(name, "")


@server.tool()
async def size(text: str) -> int:
    """The length of a text."""
    return len(text)


def main() -> None:
    """Count the start if asked to, print rubbish if asked to, serve."""
    if starts := os.environ.get("STARTS"):
        with Path(starts).open("a") as file:
            file.write("started\n")
    if os.environ.get("RUBBISH"):
        print("Welcome to my server!\n{not json", flush=True)
    server.run("stdio")


if __name__ == "__main__":
    main()
