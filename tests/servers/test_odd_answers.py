"""Whatever a server answers, over stdio and HTTP, in both eras: its call ends at once and says why, and the session lives on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from core.domain.catalog import Connection, Tool, ToolHints
from core.domain.outcome import Outcome, OutcomeKind, ToolCall
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
]


@pytest.fixture(scope="module")
def http() -> Iterator[Any]:
    with writing.writing_server() as server:
        yield server


def connections(http: Any) -> dict[str, Connection]:
    """The same server by every transport, in both eras."""
    found = {
        f"stdio-{era}": Connection("stdio", command="${python}", args=("-S", writing.__file__, era))
        for era in ("legacy", "modern")
    }
    for path in ("legacy/json", "legacy/events", "modern/json", "modern/events", "moved/legacy/json"):
        found[path] = Connection("http", url=f"{http.url}/{path}")
    return {**found, "legacy/sse": Connection("sse", url=f"{http.url}/legacy/sse")}


def write(bench: Bench, connection: Connection, answer: bytes, *, tool: str = "write", **given: Any) -> Outcome:
    """Makes a call that may be repeated and gets these bytes."""
    hints = ToolHints(read_only=True, idempotent=True)
    call = ToolCall("server", tool, {"hex": answer.hex(), **given}, 20.0)
    return bench.caller.call(call, Tool("server", tool, hints=hints), connection)


def test_each_odd_answer_ends_its_own_call_at_once(shared: Bench, http: Any) -> None:
    for name, connection in connections(http).items():
        assert write(shared, connection, TEXT % b"fine").kind is OK
        for answer, kind, words in ANSWERS if name in ("stdio-legacy", "modern/events") else ANSWERS[::6]:
            began = time.monotonic()
            outcome = write(shared, connection, answer)
            said = outcome.content[0].text if kind is OK and outcome.content else outcome.error
            about = (name, answer[:80], outcome.error, said)
            assert (outcome.kind, outcome.attempts) == (kind, 1), about
            assert said.startswith(words) if words != "an error without a text" else words in said, about
            assert "pydantic" not in outcome.error, about
            assert time.monotonic() - began < 10, about
        assert write(shared, connection, TEXT % b"fine").connect_s is None, name


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
        before = len(http.sessions)
        del http.asked[:]
        outcome = write(shared, connection, TEXT % b"found", status=status, words=words, once=number)
        assert (outcome.kind, outcome.content[0].text) == (OK, "found"), (path, status)
        calls = [line for line in http.asked if line.startswith("tools/call")]
        assert len(calls) == 2, (path, status)
        assert (len(http.sessions) > before) == (path != "modern/json"), (path, status)
    lasting = write(shared, connections(http)["legacy/json"], b"", status=400, words="no such thing")
    assert (lasting.kind, lasting.error) == (ERROR, "HTTP 400 Bad Request: no such thing")


def test_other_statuses_give_the_servers_words_and_429_teaches_nothing(shared: Bench, http: Any) -> None:
    json_rpc = '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Busy, dear"}}'
    busy = "Server server is busy: HTTP 429 Too Many Requests: slow down. It may be called again in 20 s."
    for path in ("legacy/json", "modern/json", "modern/events", "legacy/sse"):
        connection = connections(http)[path]
        for status, words, kind, said in (
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
            assert (outcome.kind, outcome.attempts, outcome.error) == (kind, 1, said), (path, status)
            assert outcome.kind.counts == (kind is ERROR)
            assert not outcome.kind.post_accept_failure
        assert write(shared, connection, TEXT % b"fine").kind is OK
