"""Whatever a server answers, of any size, over stdio and HTTP, in both eras: its call ends at once and says why, and the session goes on."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import httpx2
import pytest

from core.domain.catalog import Connection, Tool, ToolHints
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
from core.servers.messages import AnswerLimit, Body, TooLargeError
from core.servers.pool import PoolConfig
from core.servers.stdio import Lines
from tests.servers import writing

from .conftest import Bench

OK, ERROR = OutcomeKind.OK, OutcomeKind.TOOL_ERROR
UNREADABLE = "The answer cannot be read: "
TEXT = b'{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","content":[{"type":"text","text":"%s"}]}}'
DEEP = b'{"jsonrpc":"2.0","id":ID,"result":' + b'{"a":' * 900 + b"1" + b"}" * 901
ANSWERS = [  # the bytes, and how the call ends: its kind, and a part of the error or of the text
    (TEXT % rb"half \ud83d end", OK, "half � end"),
    (TEXT % b"bad \xff\xc3( end", OK, "bad �"),
    (TEXT % b"tab\there\x1b[31m", OK, "tab\there\x1b[31m"),
    (b'{"jsonrpc":"2.0","id":ID,"result":null}', ERROR, UNREADABLE + "its result is null."),
    (b'{"result":[{"type":"text"}],"jsonrpc":"2.0","id":ID}', ERROR, UNREADABLE + "its result is a list."),
    (b'{"jsonrpc":"2.0","id":ID,"result":"done"}', ERROR, UNREADABLE + "its result is no object."),
    (b'{"jsonrpc":"2.0","id":ID,"error":{"code":"E_QUOTA","message":"used up"}}', ERROR, "used up (E_QUOTA)"),
    (b'{"jsonrpc":"2.0","id":ID,"error":"used up"}', ERROR, "used up"),
    (b'{"jsonrpc":"2.0","id":ID,"error":{"reason":"used up"}}', ERROR, '{"reason": "used up"}'),
    (b'{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"Connection closed"}}', ERROR, "Connection closed"),
    (b'{"jsonrpc":"2.0","id":ID,"error":{"code":-32001,"message":"timed out"}}', ERROR, "timed out"),
    (DEEP, ERROR, UNREADABLE + "it is nested too deep."),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[', ERROR, UNREADABLE + "it is not JSON (Expecting value"),
    (b'[{"jsonrpc":"2.0","id":ID,"result":{"content":"alone"}}]', OK, "alone"),
    (b'{"jsonrpc":"2.0","id":ID,"error":null,"result":{"content":[],"isError":null}}', OK, ""),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"structuredContent":{"n":7},"_meta":[]}}', OK, '{"n": 7}'),
    (
        b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"noted","annotations":{"audience":"user"}}]}}',
        OK,
        "noted",
    ),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"chart","n":7}]}}', OK, '{"type": "chart", "n": 7}'),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":null,"isError":true}}', ERROR, "an error without a text"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":{"text":"untyped"},"isError":"no"}}', OK, "untyped"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":"failed","isError":{"code":7}}}', ERROR, "failed"),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"output":7}}', OK, '{"output": 7}'),
    (b'{"jsonrpc":"2.0","id":ID,"result":{}}', OK, ""),
    (b'{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":[7]}}', OK, "[7]"),
    (b'{"jsonrpc":"2.0","id":ID.0}', ERROR, UNREADABLE + "it has neither a result nor an error."),
    (b'{"id":ID,"result":{"content":"bare"}}', OK, "bare"),
    (b"done: " + TEXT % b"late", OK, "late"),
    (b'[{"jsonrpc":"2.0","method":"notifications/progress"},' + TEXT % b"batched" + b"]", OK, "batched"),
    (
        b'{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"Internal error","data":{"disk":"full"}}}',
        ERROR,
        'Internal error {"disk": "full"}',
    ),
]


@pytest.fixture(scope="module")
def http() -> Iterator[Any]:
    with writing.writing_server() as server:
        yield server


def connections(http: Any) -> dict[str, Connection]:
    """The same server by every transport, in both eras."""
    transports = {
        f"stdio-{era}": Connection("stdio", command="${python}", args=("-S", writing.__file__, era))
        for era in ("legacy", "modern")
    }
    for path in ("legacy/json", "legacy/events", "modern/json", "modern/events", "moved/legacy/json"):
        transports[path] = Connection("http", url=f"{http.url}/{path}")
    return {**transports, "legacy/sse": Connection("sse", url=f"{http.url}/legacy/sse")}


def write(bench: Bench, connection: Connection, answer: bytes, *, tool: str = "write", **arguments: Any) -> Outcome:
    """Makes a call that may be repeated and gets these bytes."""
    hints = ToolHints(read_only=True, idempotent=True)
    call = ToolCall("server", tool, {"hex": answer.hex(), **arguments}, 20.0)
    return bench.caller.call(call, Tool("server", tool, hints=hints), connection)


def test_each_odd_answer_ends_its_own_call_at_once(shared: Bench, http: Any) -> None:
    for name, connection in connections(http).items():
        assert write(shared, connection, TEXT % b"fine").kind is OK
        for answer, kind, words in ANSWERS if name in ("stdio-legacy", "modern/events") else ANSWERS[::6]:
            began = time.monotonic()
            outcome = write(shared, connection, answer)
            text = outcome.content[0].text if kind is OK and outcome.content else outcome.error
            about = (name, answer[:80], outcome.error, text)
            assert (outcome.kind, outcome.attempts) == (kind, 1), about
            assert text.startswith(words) if words != "an error without a text" else words in text, about
            assert "pydantic" not in outcome.error, about
            assert time.monotonic() - began < 10, about
        assert write(shared, connection, TEXT % b"fine").connect_s is None, name


def test_an_error_that_names_no_request_ends_no_call(shared: Bench, http: Any) -> None:
    """It may answer a notification."""
    error = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
    assert write(shared, connections(http)["stdio-legacy"], error + TEXT % b"done").kind is OK


def test_a_result_beside_its_output_schema_is_kept_and_says_so(shared: Bench, http: Any) -> None:
    for name in ("stdio-legacy", "modern/json"):
        connection = connections(http)[name]
        placed = write(shared, connection, TEXT % b"order 4711 was placed", tool="measure")
        assert (placed.kind, placed.content[0].text) == (OK, "order 4711 was placed"), name
        assert placed.error == (
            "The tool has run, but its result does not fit its output schema: it has no structured content."
        )
        in_text = write(shared, connection, TEXT % rb"{\"n\": 7}", tool="measure")
        assert (in_text.kind, in_text.structured, in_text.error) == (OK, {"n": 7}, ""), name


def test_a_session_is_lost_by_the_status_whatever_the_words(shared: Bench, http: Any) -> None:
    for number, (path, status, words) in enumerate((
        ("legacy/json", 404, "sitzung unbekannt"),
        ("legacy/events", 404, '{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"expired"}}'),
        ("modern/json", 404, "Not Found"),
        ("legacy/json", 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"no such thing"}}'),
        ("legacy/events", 400, "<html>gone</html>"),
        ("legacy/sse", 404, "Could not find session"),
    )):  # fmt: skip
        connection = connections(http)[path]
        assert write(shared, connection, TEXT % b"fine").kind is OK
        sessions = len(http.sessions)
        del http.asked[:]
        outcome = write(shared, connection, TEXT % b"found", status=status, words=words, once=number)
        assert (outcome.kind, outcome.content[0].text) == (OK, "found"), (path, status)
        calls = [line for line in http.asked if line.startswith("tools/call")]
        assert len(calls) == 2, (path, status)
        assert (len(http.sessions) > sessions) == (path != "modern/json"), (path, status)
    lasting = write(shared, connections(http)["legacy/json"], b"", status=400, words="no such thing")
    assert (lasting.kind, lasting.error) == (ERROR, "HTTP 400 Bad Request: no such thing")


def test_other_statuses_give_the_servers_words_and_429_teaches_nothing(shared: Bench, http: Any) -> None:
    json_rpc = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Busy, dear"}}'
    busy = "Server server is busy: HTTP 429 Too Many Requests: slow down. It may be called again in 20 s."
    for path in ("legacy/json", "modern/json", "modern/events", "legacy/sse"):
        connection = connections(http)[path]
        for status, words, kind, error in (
            (503, "no session", ERROR, "HTTP 503 Service Unavailable: no session"),
            (500, '{"error": "out of ink"}', ERROR, 'HTTP 500 Internal Server Error: {"error": "out of ink"}'),
            (502, "<html>Bad gateway</html>", ERROR, "HTTP 502 Bad Gateway"),
            (500, json_rpc, ERROR, "Busy, dear"),
            *(
                []
                if path == "legacy/sse"
                else [(203, "log in first", ERROR, "HTTP 203 Non-Authoritative Information without JSON: log in first")]
            ),
            (429, "slow down", OutcomeKind.BUSY, busy),
        ):
            outcome = write(shared, connection, b"", status=status, words=words, headers={"Retry-After": "20"})
            assert (outcome.kind, outcome.attempts, outcome.error) == (kind, 1, error), (path, status)
            assert outcome.kind.counts == (kind is ERROR)
            assert not outcome.kind.post_accept_failure
        assert write(shared, connection, TEXT % b"fine").kind is OK


LIMIT = 100_000
BYTES = "The answer has more than 0.1 MB, which is the limit: ask for less at once, or raise WAYFARE_MAX_ANSWER_MB."
LISTS = BYTES.replace("0.1 MB", "5,000 lists and objects")


@pytest.fixture
def small(bench_with: Any) -> Bench:
    """A bench with a low limit."""
    return bench_with(PoolConfig(max_answer_bytes=LIMIT))


def said(outcome: Outcome) -> tuple[OutcomeKind, str, int]:
    """Kind, error, attempts."""
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
    assert call("large", size=LIMIT, id="notification").kind is OutcomeKind.OK  # a message for no call is left out
    assert small.pool.states()[0].stderr_lines[-1] == BYTES
    with ThreadPoolExecutor(2) as threads:
        others = threads.submit(call, "nap", seconds=0.2)
        assert threads.submit(call, "large", size=LIMIT).result().kind is OutcomeKind.TOOL_ERROR
        assert others.result().kind is OutcomeKind.OK
    assert call("pid").content[0].text == pid
    for size, place in ((LIMIT, "midst"), (101 * LIMIT, "first")):  # its call cannot be told, or not in time
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
        split_lines = [line for start in range(0, len(text), size) for line in lines.add(text[start : start + size])]
        assert split_lines == re.split(rb"\n", text)[:-1]
