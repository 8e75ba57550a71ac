"""Calls of another gateway: in our shape, as mcpproxy-go exports its activity, and broken."""

from __future__ import annotations

import json
import math

import pytest

from core.domain.events import DecisionEvent, OutcomeEvent
from core.importers.reading import BrokenDocumentError
from core.importers.tasks import read_calls

AT = "2026-11-28T09:00:0{}Z"


def read(*lines: object) -> tuple[DecisionEvent | OutcomeEvent, ...]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return read_calls(text, source="day.jsonl", catalog="mine")


def call(second: int, **more: object) -> dict[str, object]:
    return {"time": AT.format(second), "session": "s", "tool": "files::read", "ok": True, **more}


def test_calls_belong_to_the_question_before_them_in_their_session() -> None:
    events = read(
        call(3, latency_s=0.5, price_usd=0.002, ok=False),
        call(1, question="read  a\nfile"),
        call(2, session="other"),
        call(4, question="read a file"),
        call(5, question="send a letter"),
        {"time": "2026-11-28T11:00:06+02:00", "session": "s", "question": "and then?"},
    )
    assert [event.subtask for event in events if isinstance(event, DecisionEvent)] == [
        "read a file",
        "send a letter",
        "and then?",
    ]
    calls = [event for event in events if isinstance(event, OutcomeEvent)]
    assert [(one.decision_id, one.kind, one.price_usd) for one in calls] == [
        ("line 2", "ok", None), (None, "ok", None), ("line 2", "tool_error", 0.002), ("line 2", "ok", None), ("line 5", "ok", None),
    ]  # fmt: skip
    assert math.isnan(calls[0].latency_s)
    assert calls[2].latency_s == 0.5


def test_activity_of_mcpproxy_go() -> None:
    said = {"session_id": "m", "status": "success", "id": "01J"}
    question, called = read(
        {"type": "system_start", "timestamp": AT.format(0), "status": "success"},
        {**said, "type": "internal_tool_call", "tool_name": "retrieve_tools", "arguments": {"query": "a bug", "limit": 5}, "timestamp": AT.format(1)},
        {**said, "type": "tool_call", "server_name": "github", "tool_name": "create_issue", "duration_ms": 245, "timestamp": "2026-11-28T10:00:02.123456789+01:00"},
        {**said, "type": "internal_tool_call", "tool_name": "call_tool_write", "timestamp": AT.format(3)},
    )  # fmt: skip
    assert isinstance(called, OutcomeEvent)
    assert (question.client, called.server, called.tool, called.kind) == ("m", "github", "create_issue", "ok")
    assert (called.decision_id, called.latency_s, called.price_usd) == (question.id, 0.245, None)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (["{"], "line 1, column 2 is not JSON"),
        ([call(1, question="q"), call(2, tool="read")], "line 2: tool is not of the form server::tool"),
        ([call(1, question="q", ok=None)], "line 1: ok is missing"),
        ([call(1, question="q", ok=1)], "line 1: ok is a number"),
        ([call(1, question="q", price_usd=-1)], "line 1: price_usd is -1"),
        ([call(1, question="q", time="noon")], "line 1: time is not in ISO 8601"),
        ([{"time": AT.format(1)}], "line 1: question and tool are missing"),
        ([call(1)], "no line has a question"),
        ([], "no line has a question"),
    ],
)
def test_a_broken_file_gets_one_sentence_with_its_line(lines: list[object], sentence: str) -> None:
    with pytest.raises(BrokenDocumentError) as caught:
        read(*lines)
    assert str(caught.value).startswith("day.jsonl: ")
    assert sentence in str(caught.value)
