"""JSON Lines: labelled tasks, and the calls of another gateway; every fault names file, line and field."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import CatalogError
from core.domain.events import DecisionEvent, OutcomeEvent
from core.domain.tasks import Step, Task
from core.importers import read_tasks
from core.importers.reading import BrokenDocumentError
from core.importers.tasks import read_calls
from tests.cases import each

GOOD: dict[str, Any] = {"id": "t1", "subtask": "read a file", "relevant": ["files::read"]}


def lines(*tasks: Any) -> str:
    return "\n".join(json.dumps(task) for task in tasks)


def test_every_field_is_taken() -> None:
    task = {
        **GOOD,
        "server_hint": "files",
        "relevant": ["files::read", "a::b::c", "files::read"],
        "grades": {"files::read": 2},
        "level": "L1",
        "category": "Office",
        "plan": [{"tool": "files::list"}, {"tool": "files::read", "needs": [0], "equal": ["a::c"], "subtask": "read"}],
        "question": "What does it say?",
        "gap": "senses",
        "another": "is ignored",
    }
    assert read_tasks(lines(task) + "\n\n", source="t.jsonl") == (
        Task(
            id="t1",
            subtask="read a file",
            server_hint="files",
            relevant=("files::read", "a::b::c"),
            grades={"files::read": 2.0},
            level="L1",
            category="Office",
            plan=(Step("files::list"), Step("files::read", (0,), ("a::c",), "read")),
            question="What does it say?",
            gap="senses",
        ),
    )


def test_nothing_relevant_is_a_task_to_refuse_and_nulls_are_absent() -> None:
    task = {**GOOD, "id": 7, "relevant": [], "server_hint": None, "grades": None, "plan": None, "level": None}
    assert read_tasks(lines(task).encode(), source="t.jsonl") == (Task("7", "read a file"),)


STEP = {"tool": "a::b"}
BROKEN: list[tuple[Any, str]] = [
    (5, "line 2 is a number; give an object"),
    ({**GOOD, "id": None}, "line 2: id is missing"),
    (GOOD, 'line 2: id "t1" is the same as that of line 1; rename one of them'),
    ({**GOOD, "subtask": " "}, "line 2: subtask is empty"),
    ({**GOOD, "relevant": None}, "line 2: relevant is missing; give a list of server::tool, empty where nothing can"),
    ({**GOOD, "relevant": ["a::b", "a"]}, "line 2: relevant[1] is not of the form server::tool"),
    ({**GOOD, "relevant": ["::b"]}, "line 2: relevant[0] is not of the form server::tool"),
    ({**GOOD, "grades": {"a::b": float("nan")}}, 'line 2: grades "a::b" is NaN'),
    ({**GOOD, "grades": {"a": 1}}, 'line 2: grades "a" is not of the form server::tool'),
    ({**GOOD, "plan": [{}]}, "line 2 → plan[0]: tool is not of the form server::tool"),
    ({**GOOD, "plan": [{**STEP, "needs": [1]}]}, "line 2 → plan[0]: needs[0] is not the position of a step"),
    ({**GOOD, "plan": [STEP, {**STEP, "needs": [False]}]}, "line 2 → plan[1]: needs[0] is not the position of a step"),
    ({**GOOD, "plan": [{**STEP, "needs": [0]}]}, "line 2: plan has steps that wait for each other"),
    ({**GOOD, "plan": [{**STEP, "needs": [1]}, {**STEP, "needs": [0]}]}, "line 2: plan has steps that wait"),
    ({**GOOD, "level": "\ud800"}, "line 2: level holds half a character"),
]


@each(("task", "expected"), BROKEN, ids=[expected[:60] for _, expected in BROKEN])
def test_refused_with_file_line_and_field(task: Any, expected: str) -> None:
    with pytest.raises(CatalogError) as error:
        read_tasks(lines(GOOD, task), source="t.jsonl")
    assert str(error.value).startswith("t.jsonl: ")
    assert expected in str(error.value)


@each(
    ("text", "expected"),
    [
        ("", "it holds no task"),
        (lines(GOOD) + "\n{", "line 2, column 2 is not JSON"),
        ('{"id": "a", "id": "b"}', 'line 1: it has the key "id" twice'),
        ("[" * 100_000, "line 1 is not JSON"),
        (b"\xff", "byte 0 is not UTF-8"),
    ],
)
def test_text_without_tasks(text: str | bytes, expected: str) -> None:
    with pytest.raises(CatalogError, match=r"^t\.jsonl: ") as error:
        read_tasks(text, source="t.jsonl")
    assert expected in str(error.value)


JSON = st.recursive(st.none() | st.floats() | st.integers() | st.text(max_size=4), lambda i: st.lists(i, max_size=3))


@given(field=st.sampled_from([*GOOD, "grades", "plan", "level", "server_hint"]), value=JSON)
@settings(max_examples=50)
def test_no_value_makes_it_raise_anything_else(field: str, value: object) -> None:
    try:
        read_tasks(lines({**GOOD, field: value}), source="t.jsonl")
    except CatalogError as error:
        message = str(error)
        assert message.startswith("t.jsonl: ")


AT = "2026-11-28T09:00:0{}Z"


def read(*lines: object) -> tuple[DecisionEvent | OutcomeEvent, ...]:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    return read_calls(text, source="day.jsonl", catalog="mine")


def call(second: int, **fields: object) -> dict[str, object]:
    return {"time": AT.format(second), "session": "s", "tool": "files::read", "ok": True, **fields}


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
    assert [(outcome.decision_id, outcome.kind, outcome.price_usd) for outcome in calls] == [
        ("line 2", "ok", None), (None, "ok", None), ("line 2", "tool_error", 0.002), ("line 2", "ok", None), ("line 5", "ok", None),
    ]  # fmt: skip
    assert math.isnan(calls[0].latency_s)
    assert calls[2].latency_s == 0.5


def test_activity_of_mcpproxy_go() -> None:
    fields = {"session_id": "m", "status": "success", "id": "01J"}
    question, outcome = read(
        {"type": "system_start", "timestamp": AT.format(0), "status": "success"},
        {**fields, "type": "internal_tool_call", "tool_name": "retrieve_tools", "arguments": {"query": "a bug", "limit": 5}, "timestamp": AT.format(1)},
        {**fields, "type": "tool_call", "server_name": "github", "tool_name": "create_issue", "duration_ms": 245, "timestamp": "2026-11-28T10:00:02.123456789+01:00"},
        {**fields, "type": "internal_tool_call", "tool_name": "call_tool_write", "timestamp": AT.format(3)},
    )  # fmt: skip
    assert isinstance(outcome, OutcomeEvent)
    assert (question.client, outcome.server, outcome.tool, outcome.kind) == ("m", "github", "create_issue", "ok")
    assert (outcome.decision_id, outcome.latency_s, outcome.price_usd) == (question.id, 0.245, None)


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
    with pytest.raises(BrokenDocumentError) as error:
        read(*lines)
    assert str(error.value).startswith("day.jsonl: ")
    assert sentence in str(error.value)
