"""Judgment sets through the app: judging, undoing, measuring, and export and import without loss."""

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
    earlier = judge(app, READ, 1, note="  a\x1bn after-thought ")
    assert earlier.note == "an after-thought"
    later = judge(app, READ, 3)
    bob = judge(app, READ, 0, who="bob")
    assert app.judgments.judgments("world", "trip") == (later, bob)
    assert app.judgments.graded(judge="ann", **WORLD) == {(AskedQuery(ASKED), READ): later}
    app.judgments.take_back(later)
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
    for name, grades in (("ann", (3, 1, 0)), ("bob", (2, 1, 3))):
        for tool, grade in zip((READ, WRITE, SEND), grades, strict=True):
            judge(app, tool, grade, who=name, note=f'{name}\'s, "why" of\n{tool}')
    judge(app, ECHO, 2, asked="echo words", server_hint="voices")
    judge(app, SEND, 0, asked="fly to the moon")


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_out_and_in_again_nothing_is_lost(app: App, form: str) -> None:
    two_judges(app)
    text = app.judgments.export("world", "trip", form)
    imported = app.judgments.import_(text.encode(), source="x", catalog="world", set_name="copy")
    assert (imported.added, imported.known, imported.not_in_catalog) == (8, 0, 0)
    assert app.judgments.export("world", "copy", form) == text
    repeated = app.judgments.import_(text, source="x", catalog="world", set_name="copy")
    assert (repeated.added, repeated.known) == (0, 8)


def test_a_bad_file_takes_nothing_and_changes_nothing(app: App) -> None:
    two_judges(app)
    history = app.store.judgments.history("world")
    bad = app.judgments.export("world", "trip", "jsonl").replace('"grade": 2', '"grade": 9', 1)
    with pytest.raises(CatalogError, match=r'j\.jsonl: line 4: grade is "9"; give 0, 1, 2 or 3'):
        app.judgments.import_(bad, source="j.jsonl", catalog="world", set_name="trip")
    assert app.store.judgments.history("world") == history


def test_tools_that_the_catalog_does_not_have_are_kept_and_counted(app: App) -> None:
    line = '{"subtask": "read", "tool": "gone::read", "grade": 2, "judge": "ann"}'
    imported = app.judgments.import_(line, source="x", **WORLD)
    assert (imported.added, imported.not_in_catalog) == (1, 1)
    assert app.judgments.tasks("world", "trip")[0][0].relevant == ("gone::read",)


def test_a_set_is_labelled_tasks_by_the_median_of_its_judges(app: App) -> None:
    two_judges(app)
    tasks, left_out = app.judgments.tasks("world", "trip")
    assert [(task.subtask, task.relevant, task.grades) for task in tasks] == [
        (ASKED, (READ, WRITE), {READ: 2.0, WRITE: 1.0, SEND: 0.0}), ("echo words", (ECHO,), {ECHO: 2.0}),
    ]  # fmt: skip
    assert left_out == 1
