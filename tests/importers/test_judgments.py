"""Judgments and labels in files: what goes out comes in as it was, and a fault is one sentence with its line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.errors import CatalogError
from core.domain.feedback import GRADES, AskedQuery, Judgment, LabelledQuery
from core.importers.judgments import csv_text, json_lines_text, read_judgments, read_labels
from core.importers.reading import BrokenDocumentError, clean_text
from tests.cases import each

visible = st.characters(
    codec="utf-8",
    exclude_categories=("Cc", "Cs", "Zl", "Zp"),
    exclude_characters="\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff",
)
words = st.text(visible, min_size=1, max_size=12)
queries = st.builds(AskedQuery, words.map(str.strip).filter(bool), words.map(str.strip))
tools = st.tuples(words.filter(lambda name: ":" not in name), words).map("::".join)
notes = st.text(st.characters(codec="utf-8"), max_size=30).map(lambda text: clean_text(text)[0].strip())
judges = words.map(lambda text: " ".join(text.split())).filter(bool)
times = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
judgments = st.lists(
    st.builds(
        lambda query, tool, grade, judge, note, at: Judgment(at, "c", "s", *query, tool, grade, judge, note, "file"),
        queries, tools, st.sampled_from(GRADES), judges, notes, times,
    ),
    min_size=1, max_size=6, unique_by=lambda judgment: (judgment.asked, judgment.tool, judgment.judge),
)  # fmt: skip
LINE = '{"subtask": "read", "tool": "f::r", "grade": 2, "judge": "ann"}'


@pytest.mark.parametrize("write", [json_lines_text, csv_text])
@given(given=judgments)
def test_every_judgment_comes_back_as_it_was(write: object, given: list[Judgment]) -> None:
    parsed = read_judgments(write(given).encode(), source="x")  # type: ignore[operator]
    assert [
        (judgment.asked, judgment.tool, judgment.grade, judgment.judge, judgment.note, judgment.at)
        for judgment in parsed
    ] == [
        (judgment.asked, judgment.tool, judgment.grade, judgment.judge, judgment.note, judgment.at)
        for judgment in given
    ]


def test_a_spreadsheet_runs_nothing_of_a_csv_file() -> None:
    judgment = Judgment(datetime(2026, 3, 1, tzinfo=UTC), "c", "s", "=1+1", "", "@f::r", 1, "-ann", "+note", "file")
    assert "'=1+1,,'@f::r,1,'-ann,'+note" in csv_text([judgment])


def test_a_file_of_another_program_needs_few_columns_in_any_order() -> None:
    (judgment,) = read_judgments("Grade;x,Tool,grade,subtask\n.,f::r,3,read\n", source="x.csv", judge="bob")
    assert (judgment.asked, judgment.tool, judgment.grade, judgment.judge, judgment.at) == (
        AskedQuery("read"),
        "f::r",
        3,
        "bob",
        None,
    )


def test_a_grade_is_a_whole_number() -> None:
    (judgment,) = read_judgments(LINE.replace("2", "2.0"), source="x.jsonl")
    assert repr(judgment.grade) == "2"


def test_lines_that_end_as_on_an_old_mac_are_lines() -> None:
    (judgment,) = read_judgments("tool,grade,subtask,judge\rf::r,3,read,ann\r", source="x.csv")
    assert (judgment.asked, judgment.tool, judgment.grade, judgment.judge) == (AskedQuery("read"), "f::r", 3, "ann")


@each(
    ("text", "said"),
    [
        ("", "j: it holds no judgment; give one a line."),
        ('{"subtask": "read", "tool": "f::r", "grade": 2}', "j: it does not name its judges; say whose judgments they are."),
        (LINE + '\n{"tool": "f::r", "grade": 2}', "j: line 2: subtask is missing; say what was to be done."),
        (LINE.replace("f::r", "f"), "j: line 1: tool is not of the form server::tool; write it so."),
        (LINE.replace("2", "4"), 'j: line 1: grade is "4"; give 0, 1, 2 or 3.'),
        (LINE.replace("2", "true"), 'j: line 1: grade is "True"; give 0, 1, 2 or 3.'),
        (LINE.replace(', "grade": 2', ""), "j: line 1: grade is missing; give 0, 1, 2 or 3."),
        (LINE.replace('"ann"', '"ann", "at": "noon"'), "j: line 1: at is not a time with a zone; write for example"),
        (LINE.replace('"ann"', '"ann", "note": "' + "x" * 2001 + '"'), "note has 2,001 characters; use at most 2,000."),
        (LINE.replace("ann", "a" * 81), "judge has 81 characters; use at most 80."),
        (f"{LINE}\n\n{LINE}", "j: line 3: it judges the tool of line 1 for the same sub-task again; keep one of them."),
        (f"{LINE}\n{{", "j: line 2, column 2 is not JSON; give one JSON object a line."),
        ("subtask,tool,grade\nread,f::r", "j: line 2: it has 2 fields, the first line 3; give as many."),
        ("subtask,tool,grade\nread,f::r,good", 'j: line 2: grade is "good"; give 0, 1, 2 or 3.'),
        ("q1 0 f::r 1", "j: line 1, column 1 is not JSON; give one JSON object a line."),
        (LINE.replace("read", "x" * 140_000), "j: line 1: subtask has 140,000 characters; use at most 100,000"),
    ],
)  # fmt: skip
def test_a_fault_is_one_sentence_with_its_line(text: str, said: str) -> None:
    judge = "ann" if text.startswith("subtask") else ""
    with pytest.raises(BrokenDocumentError) as error:
        read_judgments(text, source="j", judge=judge)
    assert said in str(error.value)
    assert str(error.value).endswith(".")


LABEL = {"id": "1", "subtask": " read a file ", "relevant": ["files::read"]}


def label_lines(*changes: dict[str, object]) -> str:
    return "\n\n".join(json.dumps({**LABEL, **change, "id": str(n)}) for n, change in enumerate(changes))


def test_labelled_tasks_are_labels() -> None:
    text = label_lines(
        {}, {"wrong": ["files::write", "files::read", "files::write"], "server_hint": "disk", "question": "q"}
    )
    assert read_labels(text, source="a.jsonl")[0] == (
        LabelledQuery("read a file", "", ("files::read",)),
        LabelledQuery("read a file", "disk", ("files::read",), ("files::write",), "q"),
    )
    assert read_labels(f"\ufeff{label_lines({})}".encode(), source="a.jsonl")[0] == (
        LabelledQuery("read a file", "", ("files::read",)),
    )


@each("wrong", ["files::write", [1], ["plain"], ["::x"], {"a": 1}])
def test_what_is_wrong_with_wrong_is_said_with_its_line(wrong: object) -> None:
    with pytest.raises(CatalogError, match=r"a.jsonl: line 3: wrong is no list of server::tool"):
        read_labels(label_lines({}, {"wrong": wrong}), source="a.jsonl")


@each("text", ["", "{", '{"id": "1"}', "[]", b"\xff"])
def test_other_files_are_refused_as_labelled_tasks_are(text: str | bytes) -> None:
    with pytest.raises(CatalogError, match=r"a\.jsonl"):
        read_labels(text, source="a.jsonl")
