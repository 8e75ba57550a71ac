"""A trouble-maker for tests: its tools fail, hang, crash and answer oddly because you ask them to."""

import base64
import json
import math
import os
import random
import struct
import time
import wave
import zlib
from collections.abc import Callable
from io import BytesIO
from typing import Annotated, Any, Literal

import anyio
from mcp.server.mcpserver import Audio, Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import BlobResourceContents, CallToolResult, EmbeddedResource, ResourceLink, TextContent, ToolAnnotations
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import BREAKS, READS, serve

RANDOM = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
ODD_TEXTS = {
    "control_characters": "bell \a, null \0, escape \x1b[31mred\x1b[0m, back\b\b\b\b, carriage\rreturn",
    "markup": "<script>alert('hello')</script> <img src=x onerror=alert(1)> **bold** $x^2$ [link](javascript:alert(1))",
    "right_to_left": "invoice\u202efdp.exe and \u2066isolated\u2069 text",
    "invisible": "pass\u200bword with zero\u200dwidth\ufeff characters",
    "lone_accents": "Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319\u0324alg\u0324\u035eo",
    "empty": "",
    "looks_like_an_error": "Error executing tool odd_text: this is an ordinary answer that reads like an error",
}
STREAMS: dict[int, random.Random] = {}


class Measured(BaseModel):
    """What `break_promise` promises to return."""

    celsius: float
    station: str


async def break_promise(
    what: Annotated[Literal["type", "missing", "nothing"], Field(description="How to break the schema")] = "type",
) -> Measured:
    """Return structured content that does not fit the declared output schema."""
    content: dict[str, dict[str, Any] | None] = {
        "type": {"celsius": "warm", "station": "roof"},
        "missing": {"station": "roof"},
        "nothing": None,
    }
    text = TextContent(text=json.dumps(content[what]))
    return CallToolResult(content=[text], structured_content=content[what])  # type: ignore[return-value]


def _unchecked(fn: Callable[..., Any]) -> Tool:
    """A tool that publishes its output schema although its results are not checked against it."""
    tool = Tool.from_function(fn, title="Broken promise", annotations=READS)
    tool.fn_metadata.output_model = None
    return tool


server = MCPServer(
    "gremlin",
    title="Gremlin",
    description="A fault bench for testing clients: errors, crashes, hangs, slowness and odd content, all on request.",
    instructions="Everything here goes wrong on purpose. Do not route real work to it.",
    version="1.0.0",
    log_level="WARNING",
    tools=[_unchecked(break_promise)],
)


@server.tool(title="Polite failure", annotations=READS)
async def fail_politely(message: Annotated[str, Field(description="Text of the error")] = "nothing to be done") -> str:
    """Fail with a tool error that carries a message, as a tool does that anticipated the problem."""
    raise ToolError(message)


@server.tool(title="Unexpected exception", annotations=READS)
async def fail_unexpectedly(
    kind: Annotated[Literal["division", "lookup", "recursion"], Field(description="Which exception")] = "division",
) -> float:
    """Fail with an exception that nobody caught; the caller does not see its text."""
    if kind == "division":
        return 1 / (len(kind) - 8)
    if kind == "lookup":
        return ODD_TEXTS["missing"]
    raise RecursionError("as deep as it gets")


@server.tool(title="Fail sometimes", annotations=RANDOM)
async def fail_sometimes(
    probability: Annotated[float, Field(description="How often to fail", ge=0, le=1)] = 0.3,
    seed: Annotated[int, Field(description="Which series of outcomes")] = 7,
) -> str:
    """Fail with a given probability; the series of outcomes depends on the seed alone."""
    stream = STREAMS.setdefault(seed, random.Random(seed))  # noqa: S311 - repeatable on purpose
    if stream.random() < probability:
        raise ToolError("bad luck this time")
    return "good luck this time"


@server.tool(title="Hang", annotations=READS)
async def hang() -> str:
    """Never answer; the server itself stays alive and serves other calls."""
    await anyio.sleep_forever()
    return "unreachable"


@server.tool(title="Freeze", annotations=BREAKS)
async def freeze(seconds: Annotated[float, Field(description="For how long", ge=0, le=60)] = 10) -> str:
    """Block the whole server for some seconds: no call to it is answered meanwhile."""
    time.sleep(seconds)
    return f"frozen for {seconds:g} s"


@server.tool(title="Crash", annotations=BREAKS)
async def crash(exit_code: Annotated[int, Field(description="Exit code of the process", ge=0, le=255)] = 3) -> str:
    """End the server process at once, without an answer."""
    os._exit(exit_code)


@server.tool(title="Answer slowly", annotations=READS)
async def answer_slowly(seconds: Annotated[float, Field(description="Wait this long", ge=0, le=120)] = 2) -> str:
    """Answer correctly after some seconds."""
    await anyio.sleep(seconds)
    return f"answered after {seconds:g} s"


@server.tool(title="Report progress", annotations=READS)
async def report_progress(
    ctx: Context,
    steps: Annotated[int, Field(description="Number of progress reports", ge=1, le=100)] = 5,
    pause_s: Annotated[float, Field(description="Time between reports", ge=0, le=5)] = 0.2,
) -> str:
    """Take several steps and report progress after each."""
    for step in range(1, steps + 1):
        await anyio.sleep(pause_s)
        await ctx.report_progress(step, steps, f"step {step} of {steps}")
    return f"{steps} steps done"


@server.tool(title="Odd text", annotations=READS)
async def odd_text(
    kind: Annotated[
        Literal[
            "control_characters", "markup", "right_to_left", "invisible", "lone_accents", "empty", "looks_like_an_error"
        ],
        Field(description="What is odd about it"),
    ],
) -> str:
    """Return text that a careless screen shows wrongly: control characters, markup, right-to-left marks and more."""
    return ODD_TEXTS[kind]


@server.tool(title="Huge text", annotations=READS)
async def huge_text(kilobytes: Annotated[int, Field(description="Size", ge=1, le=20_000)] = 1_000) -> str:
    """Return a text of many kilobytes in numbered lines."""
    return "".join(f"{line:>15}\n" for line in range(kilobytes * 64))


@server.tool(title="Wrong answer", annotations=READS)
async def wrong_sum(
    a: Annotated[int, Field(description="First number")], b: Annotated[int, Field(description="Second number")]
) -> int:
    """Add two numbers and be off by one, without any sign of an error."""
    return a + b + 1


@server.tool(title="Every content type", annotations=READS)
async def every_content() -> list[TextContent | Image | Audio | EmbeddedResource | ResourceLink]:
    """Return one small piece of every content type: text, picture, sound, embedded resource and resource link."""
    mime, data = "application/octet-stream", base64.b64encode(b"\0\1\2").decode()
    blob = BlobResourceContents(uri="gremlin://bytes", mime_type=mime, blob=data)
    return [
        TextContent(text="text"),
        Image(data=_tiny_png(), format="png"),
        Audio(data=_short_tone(), format="wav"),
        EmbeddedResource(resource=blob),
        ResourceLink(name="bytes", uri="gremlin://bytes", mime_type=mime, size=3),
    ]


@server.resource("gremlin://bytes", mime_type="application/octet-stream")
def three_bytes() -> bytes:
    """Three bytes that are no text."""
    return b"\0\1\2"


def _tiny_png(side: int = 16) -> bytes:
    """A square with a colour gradient."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(v for x in range(side) for v in (16 * x, 16 * y, 160)) for y in range(side))
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _short_tone(rate: int = 8_000) -> bytes:
    """A quarter of a second of concert pitch."""
    samples = (int(9_000 * math.sin(2 * math.pi * 440 * i / rate)) for i in range(rate // 4))
    buffer = BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setparams((1, 2, rate, 0, "NONE", ""))
        sound.writeframes(b"".join(struct.pack("<h", sample) for sample in samples))
    return buffer.getvalue()


if __name__ == "__main__":
    serve(server)
