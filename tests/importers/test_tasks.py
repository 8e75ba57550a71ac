"""Labelled tasks: what is taken, and that every fault names file, line and field."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.domain.errors import CatalogError
from core.domain.tasks import Step, Task
from core.importers import read_tasks
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
    ([], "line 2 is a list; give an object"),
    ({**GOOD, "id": None}, "line 2: id is missing"),
    ({**GOOD, "id": True}, "line 2: id is true or false; give text"),
    (GOOD, 'line 2: id "t1" is the same as that of line 1; rename one of them'),
    ({**GOOD, "subtask": " "}, "line 2: subtask is empty"),
    ({**GOOD, "subtask": None}, "line 2: subtask is empty"),
    ({**GOOD, "subtask": 5}, "line 2: subtask is a number; give text"),
    ({**GOOD, "relevant": None}, "line 2: relevant is missing; give a list of server::tool, empty where nothing can"),
    ({**GOOD, "relevant": "a::b"}, "line 2: relevant is text; give a list"),
    ({**GOOD, "relevant": ["a::b", "a"]}, "line 2: relevant[1] is not of the form server::tool"),
    ({**GOOD, "relevant": ["::b"]}, "line 2: relevant[0] is not of the form server::tool"),
    ({**GOOD, "relevant": [5]}, "line 2: relevant[0] is not of the form server::tool"),
    ({**GOOD, "grades": []}, "line 2: grades is a list; give an object"),
    ({**GOOD, "grades": {"a::b": float("nan")}}, 'line 2: grades "a::b" is NaN'),
    ({**GOOD, "grades": {"a::b": -1}}, 'line 2: grades "a::b" is -1'),
    ({**GOOD, "grades": {"a": 1}}, 'line 2: grades "a" is not of the form server::tool'),
    ({**GOOD, "plan": {}}, "line 2: plan is an object; give a list"),
    ({**GOOD, "plan": [5]}, "line 2: plan[0] is a number; give an object"),
    ({**GOOD, "plan": [{}]}, "line 2 → plan[0]: tool is not of the form server::tool"),
    ({**GOOD, "plan": [{**STEP, "needs": [1]}]}, "line 2 → plan[0]: needs[0] is not the position of a step"),
    ({**GOOD, "plan": [STEP, {**STEP, "needs": [False]}]}, "line 2 → plan[1]: needs[0] is not the position of a step"),
    ({**GOOD, "plan": [{**STEP, "needs": [-1]}]}, "line 2 → plan[0]: needs[0] is not the position of a step"),
    ({**GOOD, "plan": [{**STEP, "needs": [0]}]}, "line 2: plan has steps that wait for each other"),
    ({**GOOD, "plan": [{**STEP, "needs": [1]}, {**STEP, "needs": [0]}]}, "line 2: plan has steps that wait"),
    ({**GOOD, "level": "\ud800"}, "line 2: level holds half a character"),
]


@each(("task", "expected"), BROKEN, ids=[expected[:60] for _, expected in BROKEN])
def test_refused_with_file_line_and_field(task: Any, expected: str) -> None:
    with pytest.raises(CatalogError) as caught:
        read_tasks(lines(GOOD, task), source="t.jsonl")
    assert str(caught.value).startswith("t.jsonl: ")
    assert expected in str(caught.value)


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
    with pytest.raises(CatalogError, match=r"^t\.jsonl: ") as caught:
        read_tasks(text, source="t.jsonl")
    assert expected in str(caught.value)


JSON = st.recursive(st.none() | st.floats() | st.integers() | st.text(max_size=4), lambda i: st.lists(i, max_size=3))


@given(field=st.sampled_from([*GOOD, "grades", "plan", "level", "server_hint"]), value=JSON)
@settings(max_examples=50)
def test_no_value_makes_it_raise_anything_else(field: str, value: object) -> None:
    try:
        read_tasks(lines({**GOOD, field: value}), source="t.jsonl")
    except CatalogError as error:
        message = str(error)
        assert message.startswith("t.jsonl: ")
