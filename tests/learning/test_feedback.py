"""Labels through the app: the next decision follows, calls say nothing of fit, one visitor is bounded, equals share, files in and out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event

import pytest

from core.app import App
from core.calls.calls import CallService
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.feedback import By
from core.domain.outcome import OutcomeKind
from core.relevance.encoder import Vectors
from core.relevance.feedback import BOUND, HALF, shifts
from core.relevance.requests import RequestIndex
from tests.cases import each
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import Scripted, call, document, open_test_app

TEXT = "post a letter to my aunt"
READ, SEND, ECHO = "files::read", "mail::send", "raw::echo"
ANN, BOB = By("ann"), By("bob")
WORLD = {"catalog": "world"}


def shift(app: App, tool: str, text: str = TEXT) -> float:
    """A tool's shift by labels, in logits of p_fit."""
    learnt_shift = app.catalogs.learnt_shift("world", text)
    return 0.0 if learnt_shift is None else float(learnt_shift.values[app.catalogs.catalog("world").tool_row[tool]])


def fit(app: App, tool: str, text: str = TEXT) -> float:
    """p_fit of a tool, as routers see it."""
    match, _ = app.catalogs.context("world").matcher.fit(text, "")
    return float(match.tools[app.catalogs.catalog("world").tool_row[tool]])


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
    ann_label = app.feedback.label(TEXT, READ, right=True, by=ANN, note="my aunt keeps them as files", **WORLD)
    bob_label = app.feedback.label(f"{TEXT} today", SEND, right=False, by=BOB, **WORLD)
    moves = app.feedback.moved(TEXT, catalog="world")
    assert [(move.tool, move.by, move.label) for move in moves] == [
        (READ, "label", ann_label),
        (SEND, "label", bob_label),
    ]
    assert [move.query for move in moves] == [TEXT, f"{TEXT} today"]
    assert moves[0].move.cosine == pytest.approx(1.0)
    assert moves[0].move.logits == pytest.approx(shift(app, READ))
    assert app.feedback.moved("swallow words", catalog="world") == ()


def test_a_call_says_nothing_of_fit_however_it_ends_until_a_person_does(
    app: App, path: Path, calls_of: Callable[[Scripted], CallService]
) -> None:
    text = "read a file"
    decision, before = app.routing.route(text, catalog="world"), fit(app, ECHO, text)
    for kind in (OutcomeKind.OK, OutcomeKind.OK, OutcomeKind.TOOL_ERROR, OutcomeKind.TIMEOUT):
        calls_of(Scripted(kind)).run(call("echo", decision_id=decision.id))
    assert app.catalogs.statistics("world").version == 4  # the server's figures are learnt
    assert (shift(app, ECHO, text), fit(app, ECHO, text), app.feedback.moved(text, catalog="world")) == (0, before, ())
    app.feedback.label(text, ECHO, right=True, by=ANN, decision_id=decision.id, **WORLD)
    assert shift(app, ECHO, text) == pytest.approx(shifts(1.0))
    app.close()
    with open_test_app(path) as reopened:
        assert shift(reopened, ECHO, text) == pytest.approx(shifts(1.0))


def test_agents_count_little_and_a_person_outweighs_all_of_them(app: App) -> None:
    app.feedback.label(TEXT, READ, right=True, by=By("crab", "agent"), **WORLD)
    assert shift(app, READ) == pytest.approx(shifts(0.25))
    for number in range(9):
        app.feedback.label(TEXT, READ, right=True, by=By(f"crab {number}", "agent"), **WORLD)
    assert shift(app, READ) == pytest.approx(shifts(0.5))
    app.feedback.label(TEXT, READ, right=False, by=ANN, **WORLD)
    assert shift(app, READ) == pytest.approx(shifts(-0.5))


COPY, OWN = "disk::read", "files::readfile"


@pytest.fixture
def twins(app: App) -> App:
    """The world with a server `disk`, whose tool says what files::read says; a tool of the same server says nearly that."""
    servers = app.catalogs.catalog("world").servers
    disk = Server("disk", description="A disk.", tools=(Tool("disk", "read", "Read a file."),))
    extra_servers = [
        replace(s, tools=(*s.tools, Tool("files", "readfile", "Read a file."))) if s.name == "files" else s
        for s in servers
    ]
    app.catalogs.save(Catalog("world", (*extra_servers, disk)), "test")
    return app


def test_a_tool_that_does_the_same_elsewhere_shares_right_and_does_not_sink(twins: App) -> None:
    before = {tool: fit(twins, tool, "read a file") for tool in (READ, COPY, OWN, SEND)}
    twins.feedback.label("read a file", READ, right=True, by=ANN, **WORLD)
    after = {tool: fit(twins, tool, "read a file") for tool in (READ, COPY, OWN, SEND)}
    assert after[READ] > before[READ]
    assert after[COPY] > before[COPY]
    assert (shift(twins, COPY, "read a file"), shift(twins, OWN, "read a file")) == (pytest.approx(shifts(1.0)), 0)
    sources = {move.tool: move.shared_from for move in twins.feedback.moved("read a file", catalog="world")}
    assert sources == {READ: "", COPY: READ}
    twins.feedback.label("read a file", READ, right=False, by=ANN, **WORLD)
    assert (shift(twins, READ, "read a file"), shift(twins, COPY, "read a file")) == (pytest.approx(shifts(-1.0)), 0)


def test_what_people_judged_equal_shares_both_and_what_they_judged_different_neither(twins: App) -> None:
    twins.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    assert shift(twins, COPY) > 0
    twins.equal_sets.judge("world", READ, COPY, "different")
    assert shift(twins, COPY) == 0
    twins.equal_sets.judge("world", READ, SEND, "equal")
    assert shift(twins, SEND) == pytest.approx(shifts(1.0))
    twins.feedback.label(TEXT, READ, right=False, by=ANN, **WORLD)
    assert shift(twins, SEND) == pytest.approx(shifts(-1.0))
    twins.equal_sets.judge("world", READ, SEND, None)
    assert shift(twins, SEND) == 0


class Slow(WordEncoder):
    """Waits for the test when a text has this word."""

    WORD = "aunt"

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.go_on = Event(), Event()

    def encode(self, texts: Sequence[str]) -> Vectors:
        if any(self.WORD in text for text in texts):
            self.begun.set()
            self.go_on.wait(30)
        return super().encode(texts)


def test_no_call_waits_for_labels_that_are_embedded(path: Path) -> None:
    encoder = Slow()
    with open_test_app(path, encoder=encoder, caller=Scripted) as app, ThreadPoolExecutor(2) as threads:
        import_text(app.catalog_editor, document(), "world")
        decision = app.routing.route("swallow words", catalog="world")
        app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
        context = threads.submit(app.catalogs.context, "world")
        try:
            assert encoder.begun.wait(30)
            future = threads.submit(app.calls.run, call("echo", decision_id=decision.id), origin="agent")
            assert future.result(10).outcome.kind is OutcomeKind.OK
            app.feedback.label(TEXT, SEND, right=True, by=ANN, **WORLD)
            assert len(app.feedback.labels("world")) == 2
        finally:
            encoder.go_on.set()
        assert context.result(30) is not app.catalogs.context("world")  # it began without the second label
        assert shift(app, READ) == shift(app, SEND) == pytest.approx(BOUND / (HALF + 1))


def test_labels_about_tools_that_are_gone_are_kept_and_move_nothing(app: App) -> None:
    app.feedback.label(TEXT, READ, right=True, by=ANN, **WORLD)
    import_text(app.catalog_editor, json.dumps({"servers": [{"name": "mail", "tools": [{"name": "send"}]}]}), "world")
    assert app.catalogs.learnt_shift("world", TEXT) is None
    assert len(app.feedback.labels("world")) == 1


@each(
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
    with open_test_app(None) as other_app:
        import_text(other_app.catalog_editor, json.dumps({"servers": SERVERS}), "world")
        generated = json.dumps({**json.loads(text), "id": "2", "subtask": "copy", "provenance": {"rule": "definition"}})
        first = other_app.feedback.import_tasks(text + generated, source="a.jsonl", catalog="world")
        assert (first.added, first.known, first.passed_over, first.generated) == (2, 0, 1, 1)
        second = other_app.feedback.import_tasks(text, source="a.jsonl", catalog="world")
        assert (second.added, second.known, second.passed_over) == (0, 2, 1)
        assert {(label.tool, label.right, label.origin) for label in other_app.feedback.labels("world")} == {
            (READ, True, "file"),
            (SEND, False, "file"),
        }
        with pytest.raises(CatalogError, match=r"b\.jsonl"):
            other_app.feedback.import_tasks("{", source="b.jsonl", catalog="world")


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


def test_six_visitors_label_while_routers_decide(app: App) -> None:
    def visit(number: int) -> None:
        by = By(f"visitor {number}")
        for turn in range(3):
            app.feedback.label(f"{TEXT} {turn}", READ, right=True, by=by, **WORLD)
            decision = app.routing.route(f"{TEXT} {turn}", catalog="world")
            assert app.routing.decision(decision.id) is decision

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(visit, range(6)))
    assert len(app.feedback.labels("world")) == 18
    assert shift(app, READ, f"{TEXT} 0") >= shifts(6.0)


def test_requests_are_met_by_the_next_decision_and_a_label_keeps_their_index(app: App) -> None:
    def index() -> RequestIndex | None:
        return app.catalogs.learnt("world").requests

    assert index() is None
    app.requests.add_by_hand("world", READ, ["look into my diary"], ANN)
    learnt_index = index()
    assert learnt_index is not None
    assert list(learnt_index.texts) == ["look into my diary"]
    app.feedback.label(TEXT, SEND, right=True, by=ANN, **WORLD)
    assert index() is learnt_index
    app.requests.remove("world", READ, ["look into my diary"], ANN)
    assert index() is None


def test_new_requests_of_a_changed_tool_are_in_force_beside_many_stale_ones(app: App) -> None:
    for version in range(3):
        app.wordings.put("world", READ, f"Read it, version {version}.")
        assert READ in app.requests.lacking("world")
        app.requests.add_by_hand("world", READ, [f"look into diary {version} {page}" for page in range(12)], ANN)
        assert READ not in app.requests.lacking("world")
