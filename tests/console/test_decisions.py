"""Decisions: recorded with their candidates and the parameters that changed, or not at all."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from core.console import Console
from core.decisions import DECISIONS_KEPT
from core.errors import ParameterError, UnknownNameError, WayfareError
from tests.console.world import Scripted, call, document, opened

TEXT = "read a file"


def parameter_events(console: Console) -> list[tuple[str, str, str]]:
    """Name, old and new value of each change, in order."""
    console.store.events.flush()
    lines = console.store.activity.export("parameters", "csv").decode().splitlines()
    return [(row["name"], row["old"], row["new"]) for row in csv.DictReader(lines)]


def route(console: Console, text: str = TEXT, *, record: bool = True, **settings: Any) -> Any:
    parameters = console.parameters("ehrr", settings)
    return console.route(text, catalog="world", parameters=parameters, record=record)


def test_an_unchanged_question_is_the_same_decision_recorded_once(console: Console) -> None:
    first = route(console)
    assert route(console) is first
    assert route(console, alpha_t=0.1) is not first
    console.desk.set_figure("world", first.winner.server, first.winner.tool.split("::")[1], 0.001)
    assert route(console).id != first.id
    console.store.events.flush()
    assert console.store.activity.decision_count() == 3


def test_a_decision_is_recorded_with_its_candidates(console: Console) -> None:
    decision = route(console, n=2, alpha_t=0.1)
    console.store.events.flush()
    kept = console.store.activity.decision(decision.id)
    assert (kept.catalog, kept.router, kept.subtask, kept.origin) == ("world", "ehrr", TEXT, "console")
    assert (kept.at, kept.winner, kept.reason) == (decision.at, "files::read", decision.reason)
    assert kept.expected_price_usd == 0.001
    assert kept.expected_time_s == pytest.approx(decision.winner.time_cost_s)
    assert kept.total_ms == decision.timings_ms["total"]
    assert json.loads(kept.parameters_json) == dict(decision.parameters)
    candidates = json.loads(kept.candidates_json)
    assert [c["tool"] for c in candidates] == [decision.tools.ids[row] for row in decision.candidates]
    assert [c["rank"] for c in candidates] == [1, 2]
    trace = json.loads(kept.trace_json)
    assert {s["server"] for s in trace["servers"]} == {"raw", "files", "mail"}
    assert [t["tool"] for t in trace["tools"] if t["dropped_by"] is None] == [c["tool"] for c in candidates]
    assert len(trace["tools"]) == 7


def test_a_decision_that_is_not_recorded_leaves_nothing(console: Console) -> None:
    before = console.store.activity.latest_sequence()
    decision = route(console, record=False, alpha_t=0.1)
    console.store.events.flush()
    assert decision.candidates
    assert console.decision(decision.id) is None
    assert console.store.activity.latest_sequence() == before
    route(console)
    assert parameter_events(console) == []


def test_changed_parameters_are_recorded_once_and_back_again(console: Console) -> None:
    route(console)
    assert parameter_events(console) == []
    route(console, alpha_t=0.5, budget_usd=0.01)
    route(console, alpha_t=0.5, budget_usd=0.01)
    assert sorted(parameter_events(console)) == [("alpha_t", "0.25", "0.5"), ("budget_usd", "None", "0.01")]
    route(console, budget_usd=0.01)
    assert parameter_events(console)[-1] == ("alpha_t", "0.5", "0.25")
    route(console)  # asked before: the decision is an old one, the change is not
    assert parameter_events(console)[-1] == ("budget_usd", "0.01", "None")
    assert len(parameter_events(console)) == 4


def test_no_candidate_is_a_decision_with_a_reason(console: Console) -> None:
    console.desk.import_text(document().replace('"Post letters."', '"Post letters.", "ask_usd": 0.5'), "world")
    decision = route(console, "send a letter", k=1, p_bs=0, p_ofs=0)
    console.store.events.flush()
    kept = console.store.activity.decision(decision.id)
    assert (decision.winner, kept.winner, kept.candidates_json) == (None, None, "[]")
    assert "accepted the posted price" in kept.reason
    assert (kept.expected_price_usd, kept.expected_time_s) == (None, None)


def test_wrong_requests_are_refused_and_not_recorded(console: Console) -> None:
    before = console.store.activity.latest_sequence()
    with pytest.raises(WayfareError, match="empty"):
        route(console, "  ")
    with pytest.raises(WayfareError, match="20,000"):
        route(console, "x" * 20_001)
    with pytest.raises(UnknownNameError, match="nope"):
        console.route(TEXT, catalog="nope")
    with pytest.raises(UnknownNameError, match="nope"):
        console.route(TEXT, catalog="world", router="nope")
    with pytest.raises(ParameterError, match="bogus"):
        route(console, bogus=1)
    console.store.events.flush()
    assert console.store.activity.latest_sequence() == before


def test_decisions_of_this_process_can_be_looked_up(console: Console) -> None:
    first = route(console)
    assert console.decision(first.id) is first
    for number in range(DECISIONS_KEPT):
        route(console, f"read file {number}")
    assert console.decision(first.id) is None
    console.store.events.flush()
    assert console.store.activity.decision(first.id).id == first.id


def test_an_unchanged_question_is_the_same_decision_until_something_is_learnt(console: Console, calls_of) -> None:
    first = route(console)
    assert route(console, f"  {TEXT} ") is first
    console.store.events.flush()
    assert console.store.activity.decision_count() == 1
    others = [route(console, alpha_t=0.1), route(console, "read the file")]
    calls_of(Scripted()).run(call("echo"))
    others.append(route(console))
    console.desk.set_figure("world", "raw", "echo", 0.1)
    others.append(route(console))
    assert len({first.id, *(other.id for other in others)}) == 5
    console.store.events.flush()
    assert console.store.activity.decision_count() == 5


def test_why(console: Console) -> None:
    decision = route(console)
    for name in (*decision.servers.names, *decision.tools.ids):
        assert console.why(decision, name).endswith(".")
    with pytest.raises(UnknownNameError, match=r"'nope'.*'world'"):
        console.why(decision, "nope")


def test_one_decision_after_the_other_is_in_order_after_reopening(console: Console, path) -> None:
    ids = [route(console, n=n).id for n in range(1, 20)]
    console.close()
    with opened(path) as again:
        listed = list(again.store.activity.decisions()["id"])
    assert listed == ids[::-1]


def test_two_consoles_decide_the_same(console: Console) -> None:
    with opened(None) as other:
        other.desk.import_text(document(), "world")
        ours, theirs = route(console), route(other)
    assert ours.tools.utility.tolist() == theirs.tools.utility.tolist()
    assert ours.candidates == theirs.candidates
