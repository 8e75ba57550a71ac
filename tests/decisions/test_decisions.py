"""Decisions: recorded with their candidates and the parameters that changed, or not at all."""

from __future__ import annotations

import csv
import gc
import json
from dataclasses import replace
from typing import Any
from weakref import ref

import pytest

from core.app import App
from core.decisions.routing import DECISIONS_KEPT, Asked
from core.domain.errors import ParameterError, UnknownNameError, WayfareError
from core.relevance.scoring import understood
from tests.importing import import_text
from tests.world import Scripted, call, document

TEXT = "read a file"


def parameter_events(app: App) -> list[tuple[str, str, str]]:
    """Name, old and new value of each change, in order."""
    app.store.events.flush()
    lines = app.store.activity.export("parameters", "csv").decode().splitlines()
    return [(row["name"], row["old"], row["new"]) for row in csv.DictReader(lines)]


def route(app: App, text: str = TEXT, *, record: bool = True, **settings: Any) -> Any:
    parameters = app.routing.parameters("ehrr", settings)
    return app.routing.route(text, catalog="world", parameters=parameters, record=record)


def test_a_decision_is_recorded_with_its_candidates(app: App) -> None:
    decision = route(app, n=2, alpha_t=0.1, worthwhile=False)
    app.store.events.flush()
    stored = app.store.activity.decision(decision.id)
    assert (stored.catalog, stored.router, stored.subtask, stored.origin) == ("world", "ehrr", TEXT, "console")
    assert (stored.at, stored.winner, stored.reason) == (decision.at, "files::read", decision.reason)
    assert stored.expected_price_usd == 0.001
    assert stored.expected_time_s == pytest.approx(decision.winner.time_cost_s)
    assert stored.total_ms == decision.timings_ms["total"]
    assert json.loads(stored.parameters_json) == dict(decision.parameters)
    candidates = json.loads(stored.candidates_json)
    assert [c["tool"] for c in candidates] == [decision.tools.ids[row] for row in decision.candidates]
    assert [c["rank"] for c in candidates] == [1, 2]
    trace = json.loads(stored.trace_json)
    assert {s["server"] for s in trace["servers"]} == {"raw", "files", "mail"}
    assert [t["tool"] for t in trace["tools"] if t["dropped_by"] is None] == [c["tool"] for c in candidates]
    assert len(trace["tools"]) == 7


def test_a_context_that_a_call_made_old_is_let_go_and_the_next_shares_its_names(app: App) -> None:
    decision, old = route(app), app.catalogs.context("world")
    reference, names = ref(old), old.tool_ids
    app.calls.run(call("echo", decision_id=decision.id))
    new = app.catalogs.context("world")
    assert new is not old
    assert new.tool_ids is names
    del old
    gc.collect()
    assert reference() is None
    assert app.routing.decision(decision.id) is decision


def test_a_decision_that_is_not_recorded_leaves_nothing(app: App) -> None:
    before = app.store.activity.latest_sequence()
    decision = route(app, record=False, alpha_t=0.1)
    app.store.events.flush()
    assert decision.candidates
    assert app.routing.decision(decision.id) is None
    assert app.store.activity.latest_sequence() == before
    route(app)
    assert parameter_events(app) == []


def test_changed_parameters_are_recorded_once_and_back_again(app: App) -> None:
    route(app)
    assert parameter_events(app) == []
    route(app, alpha_t=0.5, budget_usd=0.01)
    route(app, alpha_t=0.5, budget_usd=0.01)
    assert sorted(parameter_events(app)) == [("alpha_t", "0.02", "0.5"), ("budget_usd", "None", "0.01")]
    route(app, budget_usd=0.01)
    assert parameter_events(app)[-1] == ("alpha_t", "0.5", "0.02")
    route(app)  # asked before: the decision is an old one, the change is not
    assert parameter_events(app)[-1] == ("budget_usd", "0.01", "None")
    assert len(parameter_events(app)) == 4


def test_no_candidate_is_a_decision_with_a_reason(app: App) -> None:
    import_text(app.catalog_editor, document().replace('"Post letters."', '"Post letters.", "ask_usd": 0.5'), "world")
    decision = route(app, "send a letter", k=1, p_bs=0, p_ofs=0)
    app.store.events.flush()
    stored = app.store.activity.decision(decision.id)
    assert (decision.winner, stored.winner, stored.candidates_json) == (None, None, "[]")
    assert "accepted the posted price" in stored.reason
    assert (stored.expected_price_usd, stored.expected_time_s) == (None, None)


def test_wrong_requests_are_refused_and_not_recorded(app: App) -> None:
    before = app.store.activity.latest_sequence()
    with pytest.raises(WayfareError, match="empty"):
        route(app, "  ")
    with pytest.raises(WayfareError, match="20,000"):
        route(app, "x" * 20_001)
    with pytest.raises(UnknownNameError, match="nope"):
        app.routing.route(TEXT, catalog="nope")
    with pytest.raises(UnknownNameError, match="nope"):
        app.routing.route(TEXT, catalog="world", router="nope")
    with pytest.raises(ParameterError, match="bogus"):
        route(app, bogus=1)
    app.store.events.flush()
    assert app.store.activity.latest_sequence() == before


def test_decisions_of_this_process_can_be_looked_up(app: App) -> None:
    first = route(app)
    assert app.routing.decision(first.id) is first
    for number in range(DECISIONS_KEPT):
        route(app, f"read file {number}")
    assert app.routing.decision(first.id) is None
    app.store.events.flush()
    assert app.store.activity.decision(first.id).id == first.id


def test_an_unchanged_question_is_the_same_decision_until_something_is_learnt(app: App, calls_of) -> None:
    first = route(app)
    assert route(app, f"  {TEXT} ") is first
    app.store.events.flush()
    assert app.store.activity.decision_count() == 1
    others = [route(app, alpha_t=0.1), route(app, "read the file")]
    calls_of(Scripted()).run(call("echo"))
    others.append(route(app))
    app.catalog_editor.set_figure("world", "raw", "echo", 0.1)
    others.append(route(app))
    assert len({first.id, *(other.id for other in others)}) == 5
    app.store.events.flush()
    assert app.store.activity.decision_count() == 5


def test_a_question_that_is_not_english_is_never_decided_surely(app: App) -> None:
    parameters = app.routing.parameters("ehrr")
    english, german = (
        app.routing.preview(Asked(text, parameters, "world"))
        for text in (TEXT, "lies bitte die Datei mit den Notizen vor")
    )
    assert (english.fit.language, german.fit.language, german.fit.confidence != "sure") == ("", "German", True)
    assert "reads as German" in german.reason
    assert "reads as" not in english.reason
    assert understood(replace(english.fit, confidence="sure"), german.query).confidence == "unsure"
