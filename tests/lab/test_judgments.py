"""Judgment sets through the app: judged, taken back, measured with, and out and in again with nothing lost."""

from __future__ import annotations

import pytest

from core.app import App
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.feedback import AskedQuery, Judgment
from tests.cases import each

READ, WRITE, SEND, ECHO = "files::read", "files::write", "mail::send", "raw::echo"
ASKED = "read a file"
WORLD = {"catalog": "world", "set_name": "trip"}


def judge(app: App, tool: str, grade: int, *, who: str = "ann", asked: str = ASKED, **more: str) -> Judgment:
    return app.judgments.judge(asked, tool, grade, judge=who, **(WORLD | more))


def test_a_judgment_is_kept_replaced_and_taken_back(app: App) -> None:
    first = judge(app, READ, 1, note="  a\x1bn after-thought ")
    assert first.note == "an after-thought"
    second = judge(app, READ, 3)
    bob = judge(app, READ, 0, who="bob")
    assert app.judgments.judgments("world", "trip") == (second, bob)
    assert app.judgments.graded(judge="ann", **WORLD) == {(AskedQuery(ASKED), READ): second}
    app.judgments.take_back(second)
    assert app.judgments.judgments("world", "trip") == (bob,)
    judge(app, SEND, 2, set_name="mail")
    assert app.judgments.sets("world") == {"mail": 1, "trip": 1}
    app.judgments.take_back(bob)
    with pytest.raises(UnknownNameError, match="no judgment set 'trip'; it has: mail"):
        app.judgments.judgments("world", "trip")


@each(
    ("change", "said"),
    [
        ({"tool": "files::fly"}, "no tool 'files::fly'"),
        ({"grade": 4}, "A grade is 0, 1, 2 or 3, not 4"),
        ({"note": "x" * 2001}, "The note has 2,001 characters"),
        ({"judge": " "}, "The judge has no name"),
        ({"set_name": "x" * 81}, "The name of the set has 81 characters"),
        ({"subtask": " "}, "sub-task is empty"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence_and_nothing_is_kept(
    app: App, change: dict[str, object], said: str
) -> None:
    values = {"subtask": ASKED, "tool": READ, "grade": 1, "judge": "ann", **WORLD, **change}
    with pytest.raises(WayfareError, match=said):
        app.judgments.judge(values.pop("subtask"), values.pop("tool"), values.pop("grade"), **values)  # type: ignore[arg-type]
    assert app.judgments.sets("world") == {}


def two_judges(app: App) -> None:
    for who, grades in (("ann", (3, 1, 0)), ("bob", (2, 1, 3))):
        for tool, grade in zip((READ, WRITE, SEND), grades, strict=True):
            judge(app, tool, grade, who=who, note=f'{who}\'s, "why" of\n{tool}')
    judge(app, ECHO, 2, asked="echo words", server_hint="voices")
    judge(app, SEND, 0, asked="fly to the moon")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_out_and_in_again_nothing_is_lost(app: App, form: str) -> None:
    two_judges(app)
    text = app.judgments.export("world", "trip", form)
    found = app.judgments.import_(text.encode(), source="x", catalog="world", set_name="copy")
    assert (found.added, found.known, found.not_in_catalog) == (8, 0, 0)
    assert app.judgments.export("world", "copy", form) == text
    again = app.judgments.import_(text, source="x", catalog="world", set_name="copy")
    assert (again.added, again.known) == (0, 8)


def test_a_bad_file_takes_nothing_and_changes_nothing(app: App) -> None:
    two_judges(app)
    before = app.store.judgments.history("world")
    bad = app.judgments.export("world", "trip", "jsonl").replace('"grade": 2', '"grade": 9', 1)
    with pytest.raises(CatalogError, match=r'j\.jsonl: line 4: grade is "9"; give 0, 1, 2 or 3'):
        app.judgments.import_(bad, source="j.jsonl", catalog="world", set_name="trip")
    assert app.store.judgments.history("world") == before


def test_tools_that_the_catalog_does_not_have_are_kept_and_counted(app: App) -> None:
    line = '{"subtask": "read", "tool": "gone::read", "grade": 2, "judge": "ann"}'
    found = app.judgments.import_(line, source="x", **WORLD)
    assert (found.added, found.not_in_catalog) == (1, 1)
    assert app.judgments.tasks("world", "trip")[0][0].relevant == ("gone::read",)


def test_a_set_is_labelled_tasks_by_the_median_of_its_judges(app: App) -> None:
    two_judges(app)
    tasks, left_out = app.judgments.tasks("world", "trip")
    assert [(task.subtask, task.relevant, task.grades) for task in tasks] == [
        (ASKED, (READ, WRITE), {READ: 2.0, WRITE: 1.0, SEND: 0.0}), ("echo words", (ECHO,), {ECHO: 2.0}),
    ]  # fmt: skip
    assert left_out == 1
