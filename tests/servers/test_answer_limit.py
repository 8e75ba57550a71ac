"""An answer above the limit is an outcome of its call alone, however it comes; what is below it is passed on."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx2
import pytest

from core.domain.catalog import ToolHints
from core.domain.outcome import Outcome, OutcomeKind
from core.servers.messages import AnswerLimit, Body, TooLargeError
from core.servers.pool import PoolConfig
from core.servers.stdio import Lines

from .conftest import Bench

LIMIT = 100_000
BYTES = "The answer has more than 0.1 MB, which is the limit: ask for less at once, or raise WAYFARE_MAX_ANSWER_MB."
LISTS = BYTES.replace("0.1 MB", "5,000 lists and objects")


@pytest.fixture
def small(bench_with: Any) -> Bench:
    """A bench with a low limit."""
    return bench_with(PoolConfig(max_answer_bytes=LIMIT))


def said(outcome: Outcome) -> tuple[OutcomeKind, str, int]:
    """How a call ended."""
    return outcome.kind, outcome.error, outcome.attempts


def test_a_large_answer_of_a_process_ends_its_own_call(small: Bench, raw: Any) -> None:
    connection, safe = raw(), ToolHints(read_only=True)

    def call(tool: str, **arguments: Any) -> Outcome:
        return small.call(connection, tool, arguments, hints=safe)

    pid = call("pid").content[0].text
    assert len(call("large", size=LIMIT - 1_000).content[0].text) == LIMIT - 1_000
    for place in ("first", "last"):
        for size in (LIMIT, 5 * LIMIT):
            assert said(call("large", size=size, id=place)) == (OutcomeKind.TOOL_ERROR, BYTES, 1)
    assert said(call("large", size=1, lists=5_000)) == (OutcomeKind.TOOL_ERROR, LISTS, 1)
    assert call("large", size=LIMIT, id="notification").kind is OutcomeKind.OK  # what answers no call is left out
    assert small.pool.states()[0].stderr_lines[-1] == BYTES
    with ThreadPoolExecutor(2) as threads:
        others = threads.submit(call, "nap", seconds=0.2)
        assert threads.submit(call, "large", size=LIMIT).result().kind is OutcomeKind.TOOL_ERROR
        assert others.result().kind is OutcomeKind.OK
    assert call("pid").content[0].text == pid
    for size, place in ((LIMIT, "midst"), (101 * LIMIT, "first")):  # whose answer it is cannot be told, or not in time
        ended = small.call(connection, "large", {"size": size, "id": place})
        assert (ended.kind, BYTES in ended.error) == (OutcomeKind.CRASH, True)
    assert call("pid").content[0].text != pid


@pytest.mark.parametrize("flags", [(), ("json", "legacy")], ids=str)
def test_a_large_answer_over_http_ends_its_own_call(small: Bench, web: Any, flags: tuple[str, ...]) -> None:
    server = web(*flags)
    assert small.call(server.connection, "count").content[0].text == "1"
    assert (
        len(small.call(server.connection, "large", {"size": LIMIT // 2 - 1_000}).content[0].text) == LIMIT // 2 - 1_000
    )
    outcome = small.call(server.connection, "large", {"size": 3 * LIMIT}, hints=ToolHints(read_only=True))
    assert said(outcome) == (OutcomeKind.TOOL_ERROR, BYTES, 1)
    after = small.call(server.connection, "count")
    assert (after.content[0].text, after.connect_s) == ("2", None)


def test_a_compressed_answer_is_refused_because_its_size_is_not_known(small: Bench, web: Any) -> None:
    outcome = small.call(web("json", "zip").connection, "count")
    assert "compresses its answer although it was asked not to" in outcome.error


def test_a_stream_of_many_small_events_has_no_end_to_keep() -> None:
    async def read(*pieces: bytes, events: bool = True) -> int:
        async def body() -> Any:
            for piece in pieces:
                yield piece

        kind = "text/event-stream" if events else "text/plain"
        response = httpx2.Response(200, headers={"content-type": kind}, content=body())
        return sum([len(piece) async for piece in Body(response, AnswerLimit(100))])

    for end in (b"\n\n", b"\r\n\r\n", b"\r\r"):
        stream = (b"data: " + b"x" * 60 + end) * 50
        for size in (1, 7, 64, 1_000):
            pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
            assert anyio.run(read, *pieces) == 50 * len(b"data: " + b"x" * 60 + b"\n\n")
            with pytest.raises(TooLargeError):
                anyio.run(lambda pieces=pieces: read(*pieces, events=False))
            with pytest.raises(TooLargeError):
                anyio.run(read, *pieces, b"x" * 101)


def test_each_byte_of_a_line_is_kept_once_however_it_is_cut() -> None:
    text = b"\n".join(b"%d" % number * (number % 50) for number in range(2_000)) + b"\n"
    for size in (1, 3, 100, 10_000_000):
        lines = Lines(AnswerLimit(1_000))
        found = [line for start in range(0, len(text), size) for line in lines.add(text[start : start + size])]
        assert found == re.split(rb"\n", text)[:-1]
