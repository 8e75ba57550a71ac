"""Labels through the app: the next decision follows, nothing simulated teaches, one visitor is bounded, files in and out."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.app import App
from core.domain.feedback import By
from core.domain.outcome import CallMode, OutcomeKind
from core.relevance.feedback import BOUND, HALF, shifts
from core.services.call.calls import CallService
from core.shared.errors import CatalogError, UnknownNameError, WayfareError
from tests.services.world import Scripted, call, open_test_app

TEXT = "post a letter to my aunt"
READ, SEND, ECHO = "files::read", "mail::send", "raw::echo"
ANN, BOB = By("ann"), By("bob")
WORLD = {"catalog": "world"}


def shift(app: App, tool: str, text: str = TEXT) -> float:
    """What labels do to a tool, in logits of p_fit."""
    found = app.catalogs.learnt_shift("world", text)
    return 0.0 if found is None else float(found.values[app.catalogs.catalog("world").tool_row[tool]])


def fit(app: App, tool: str, text: str = TEXT) -> float:
    """p_fit of a tool, as routers see it."""
    found, _ = app.catalogs.context("world").matcher.fit(text, "")
    return float(found.tools[app.catalogs.catalog("world").tool_row[tool]])


def test_a_label_moves_its_tool_at_once_and_taking_it_back_restores_it(app: App) -> None:
    before = {tool: fit(app, tool) for tool in (READ, SEND)}
    label = app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    assert shift(app, READ) == pytest.approx(BOUND / (HALF + 1))
    assert fit(app, READ) > before[READ]
    assert app.feedback.labels("world") == (label,)
    app.feedback.retract(label.id, by=BOB)
    assert {tool: fit(app, tool) for tool in (READ, SEND)} == before
    assert app.feedback.labels("world") == ()
    with pytest.raises(UnknownNameError, match="taken back already"):
        app.feedback.retract(label.id)


def test_should_have_been_puts_the_right_tool_before_the_shown_one(app: App) -> None:
    assert fit(app, SEND) > fit(app, READ)
    good, bad = app.feedback.should_have_been(TEXT, right=READ, shown=SEND, by=ANN, decision_id="d", **WORLD)
    assert (good.right, bad.right, good.decision_id, good.at) == (True, False, "d", bad.at)
    assert shift(app, SEND) == pytest.approx(-BOUND / (HALF + 1))
    assert fit(app, READ) > fit(app, SEND)
    with pytest.raises(WayfareError, match="right and wrong at once"):
        app.feedback.should_have_been(TEXT, right=READ, shown=READ, **WORLD)
    with pytest.raises(UnknownNameError):
        app.feedback.should_have_been(TEXT, right=ECHO, shown="moon::walk", **WORLD)
    assert len(app.feedback.labels("world")) == 2


def test_a_decision_that_is_kept_is_not_given_again_after_a_label(app: App) -> None:
    first = app.routing.route(TEXT, catalog="world")
    assert app.routing.route(TEXT, catalog="world") is first
    context = app.catalogs.context("world")
    app.feedback.label(TEXT, READ, right=True, **WORLD)
    assert app.catalogs.context("world") is not context
    second = app.routing.route(TEXT, catalog="world")
    assert second.id != first.id
    assert app.routing.route(TEXT, catalog="world") is second


def test_labels_of_one_catalog_move_no_other(app: App) -> None:
    app.catalog_editor.import_text(json.dumps({"servers": [{"name": "files", "tools": [{"name": "read"}]}]}), "second")
    app.feedback.label(TEXT, READ, right=True, **WORLD)
    assert app.catalogs.learnt_shift("second", TEXT) is None


def test_one_visitor_counts_once_and_another_counts_more(app: App) -> None:
    for _ in range(20):
        app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    assert shift(app, READ) == pytest.approx(shifts(1.0))
    app.feedback.label(TEXT, READ, right=True, by=BOB, **WORLD)
    assert shift(app, READ) == pytest.approx(shifts(2.0))
    app.feedback.label(TEXT, READ, right=False, by=ANN, **WORLD)
    assert shift(app, READ) == pytest.approx(0.0)
    assert len(app.feedback.labels("world")) == 2


def test_what_one_visitor_says_of_a_sub_task_is_found_and_what_it_replaced_does_not_come_back(app: App) -> None:
    app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    app.feedback.label(TEXT, SEND, right=True, by=BOB, **WORLD)
    app.feedback.label(TEXT, SEND, right=True, by=ANN, server_hint="post", **WORLD)
    wrong = app.feedback.label(TEXT, READ, right=False, by=ANN, **WORLD)
    assert app.feedback.said(f" {TEXT} ", by=ANN, **WORLD) == {READ: wrong}
    app.feedback.retract(wrong.id, by=ANN)
    assert app.feedback.said(TEXT, by=ANN, **WORLD) == {}
    assert shift(app, READ) == 0


def test_the_page_can_say_which_labels_moved_a_tool(app: App) -> None:
    mine = app.feedback.label(TEXT, READ, right=True, by=ANN, note="my aunt keeps them as files", **WORLD)
    theirs = app.feedback.label(f"{TEXT} today", SEND, right=False, by=BOB, **WORLD)
    moved = app.feedback.moved(TEXT, catalog="world")
    assert [(one.tool, one.by, one.label) for one in moved] == [(READ, "label", mine), (SEND, "label", theirs)]
    assert [one.subtask for one in moved] == [TEXT, f"{TEXT} today"]
    assert moved[0].move.cosine == pytest.approx(1.0)
    assert moved[0].move.logits == pytest.approx(shift(app, READ))
    assert app.feedback.moved("swallow words", catalog="world") == ()


def test_real_calls_that_end_well_teach_a_little_and_nothing_else_does(
    app: App, calls_of: Callable[[Scripted], CallService]
) -> None:
    decision = app.routing.route("read a file", catalog="world")
    asked = {"decision_id": decision.id}

    def seen() -> float:
        return shift(app, ECHO, "read a file")

    calls = calls_of(Scripted(OutcomeKind.TOOL_ERROR, OutcomeKind.TIMEOUT, OutcomeKind.CRASH))
    for _ in range(3):
        calls.run(call("echo", **asked))
    calls_of(Scripted()).run(call("echo"))  # of no decision
    calls_of(Scripted()).run(call("echo", **asked), mode=CallMode.DRAWN)
    calls_of(Scripted()).run(call("echo", **asked), mode=CallMode.VIRTUAL)
    assert seen() == 0
    calls_of(Scripted()).run(call("echo", **asked))
    assert seen() == pytest.approx(shifts(0.25))
    for _ in range(5):
        calls_of(Scripted()).run(call("echo", **asked))
    assert seen() == pytest.approx(shifts(0.5))
    (moved, *_) = app.feedback.moved("read a file", catalog="world")
    assert (moved.tool, moved.by, moved.subtask, moved.label) == (ECHO, "call", "read a file", None)
    app.feedback.label("read a file", ECHO, right=False, by=ANN, **WORLD)
    assert seen() < 0


def test_what_was_learnt_outlives_the_process(
    app: App, path: Path, calls_of: Callable[[Scripted], CallService]
) -> None:
    decision = app.routing.route("read a file", catalog="world")
    app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    calls_of(Scripted()).run(call("echo", decision_id=decision.id))
    before = (shift(app, READ), shift(app, ECHO, "read a file"))
    app.close()
    with open_test_app(path) as again:
        assert (shift(again, READ), shift(again, ECHO, "read a file")) == before
        assert before[1] > 0


def test_labels_about_tools_that_are_gone_are_kept_and_move_nothing(app: App) -> None:
    app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    app.catalog_editor.import_text(json.dumps({"servers": [{"name": "mail", "tools": [{"name": "send"}]}]}), "world")
    assert app.catalogs.learnt_shift("world", TEXT) is None
    assert len(app.feedback.labels("world")) == 1


@pytest.mark.parametrize(
    ("text", "tool", "catalog", "said"),
    [
        (TEXT, "mail::sendd", "world", "no tool 'mail::sendd' in catalog 'world'"),
        (TEXT, "", "world", "write server::tool"),
        (TEXT, READ, "nowhere", "no catalog 'nowhere'"),
        ("  ", READ, "world", "sub-task is empty"),
        ("x" * 20_001, READ, "world", "20,001 characters"),
    ],
)
def test_bad_input_is_one_sentence(app: App, text: str, tool: str, catalog: str, said: str) -> None:
    with pytest.raises(WayfareError, match=said):
        app.feedback.label(text, tool, right=True, catalog=catalog)
    if catalog == "world":
        assert app.feedback.labels("world") == ()


def test_they_go_out_and_come_in_as_labelled_tasks(app: App, path: Path) -> None:
    app.feedback.should_have_been(TEXT, right=READ, shown=SEND, server_hint="disk", by=ANN, **WORLD)
    app.feedback.label(TEXT, ECHO, right=True, server_hint="disk", by=ANN, **WORLD)
    app.feedback.label("swallow words", SEND, right=False, by=ANN, **WORLD)
    text = app.feedback.export("world")
    assert [json.loads(line) for line in text.splitlines()] == [
        {"id": "label-1", "subtask": TEXT, "server_hint": "disk", "relevant": [READ, ECHO], "wrong": [SEND]}
    ]
    file = path.with_suffix(".jsonl")
    file.write_text(text, encoding="utf-8")
    assert app.lab.read_tasks(file)[0].relevant == (READ, ECHO)
    with open_test_app(None) as other:
        other.catalog_editor.import_text(json.dumps({"servers": SERVERS}), "world")
        found = other.feedback.import_tasks(text, source="a.jsonl", catalog="world")
        assert (found.added, found.known, found.passed_over) == (2, 0, 1)
        again = other.feedback.import_tasks(text, source="a.jsonl", catalog="world")
        assert (again.added, again.known, again.passed_over) == (0, 2, 1)
        assert {(label.tool, label.right, label.origin) for label in other.feedback.labels("world")} == {
            (READ, True, "file"),
            (SEND, False, "file"),
        }
        with pytest.raises(CatalogError, match=r"b\.jsonl"):
            other.feedback.import_tasks("{", source="b.jsonl", catalog="world")


SERVERS = [
    {"name": "files", "tools": [{"name": "read", "description": "Read a file."}]},
    {"name": "mail", "tools": [{"name": "send", "description": "Send a letter."}]},
]


def test_a_label_of_a_sub_task_with_a_hint_is_met_without_one_and_with_another(app: App) -> None:
    before = fit(app, READ)
    app.feedback.label(TEXT, READ, right=True, server_hint="disk access", by=ANN, **WORLD)
    assert shift(app, READ) == pytest.approx(BOUND / (HALF + 1))
    assert fit(app, READ) > before
    with_hint, _ = app.catalogs.context("world").matcher.fit(TEXT, "something else")
    assert with_hint.learnt[app.catalogs.catalog("world").tool_row[READ]] == pytest.approx(BOUND / (HALF + 1))


def test_eight_visitors_label_while_routers_decide(app: App) -> None:
    def visit(number: int) -> None:
        by = By(f"visitor {number}")
        for turn in range(5):
            app.feedback.label(f"{TEXT} {turn}", READ, right=True, by=by, **WORLD)
            decision = app.routing.route(f"{TEXT} {turn}", catalog="world")
            assert app.routing.decision(decision.id) is decision

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(visit, range(8)))
    assert len(app.feedback.labels("world")) == 40
    assert shift(app, READ, f"{TEXT} 0") >= shifts(8.0)
