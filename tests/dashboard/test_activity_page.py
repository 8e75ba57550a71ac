"""The Activity page as a visitor uses it, over a store in memory."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.errors import Refusal
from core.domain.events import OutcomeEvent, StatisticsEvent
from core.domain.outcome import CallMode, ToolCall
from core.governance.refusals import Wanted
from core.store.log import Event
from tests.dashboard.harness import app_with, charts, markdown_of, open_page, opened, text_of

HOSTILE = "<script>alert(1)</script> **bold** [x](http://evil) :red[y] $a$"
NOW = datetime.now(UTC)


@pytest.fixture(scope="module")
def events() -> list[Event]:
    """A decision with changed knobs, a simulated call on it, and a real call of a stranger that failed."""
    with opened() as app:
        knobs = app.routing.parameters("ehrr", {"k": 3})
        decision = app.routing.route(HOSTILE, catalog="search-15", parameters=knobs, server_hint="anything")
        assert decision.winner is not None
        server, tool = decision.winner.tool.split("::")
        app.calls.run(ToolCall(server, tool, {}, catalog="search-15", decision_id=decision.id), mode=CallMode.DRAWN)
        decision_event = app.store.activity.decision(decision.id)
        assert decision_event is not None
        call_events = app.store.activity.decision_outcomes(decision.id)
    failed = OutcomeEvent(
        "bad", NOW - timedelta(hours=2), None, "other", HOSTILE, HOSTILE, "crash", 1.5, None, 1, None, False, HOSTILE, "cli"
    )  # fmt: skip
    learnt = StatisticsEvent(failed.at, "bad", "other", HOSTILE, HOSTILE, 0.5, 0.1, 0.2, 1.5, 0.3, 0.4, 1.5, 7, 3)
    return [decision_event, *call_events, failed, learnt]


@pytest.fixture
def busy(app: App, events: list[Event]) -> App:
    app.store.events.append(*events)
    return app


app = app_with()
visit = partial(open_page, "activity")


def table(page: AppTest, number: int = 0) -> Any:
    return page.dataframe[number].value


def test_an_empty_store_says_what_the_page_is_for_and_where_to_begin(app: App) -> None:
    page = visit()
    assert "No activity yet" in text_of(page)
    assert [button.label for button in page.button] == ["Make the first decision"]
    assert not page.metric


def test_calls_are_listed_newest_first_with_texts_of_strangers_as_text(busy: App) -> None:
    page = visit()
    metrics = [
        {metric.label: (metric.value, metric.delta) for metric in view.metric}
        for view in (page, visit(simulated="yes"))
    ]
    assert [figures["Calls"] for figures in metrics] == [("1", "real · 1 simulated"), ("1", "simulated")]
    assert (metrics[0]["Spent"][0], metrics[0]["Unpriced calls"]) == ("–", ("1", "real · 0 simulated"))
    rows = table(page)
    assert rows["source"].tolist() == ["simulated", "real"]
    assert rows["server"].iloc[1] == HOSTILE
    assert rows["error"].iloc[1] == HOSTILE
    assert "alert" not in text_of(page)


def test_a_chosen_call_is_shown_whole_with_what_was_learnt(busy: App) -> None:
    page = visit(row="bad")
    assert page.query_params["row"] == "bad"
    record = dict(table(page, 1).to_numpy().tolist())
    assert record["price"] == "unpriced"
    assert record["for the sub-task"] == "no decision"
    assert page.code[0].value == HOSTILE
    assert dict(table(page, 2).to_numpy().tolist())["tool: success r"] == "40 %"
    assert "alert" not in text_of(page)
    assert "Call again" in [button.label for button in page.button]


def test_what_an_injected_network_did_is_a_badge_on_the_call(busy: App) -> None:
    call = next(iter(busy.store.events.outcomes("other")))
    busy.store.events.append(replace(call, id="troubled", kind="timeout", injected="no answer", origin="scenario"))
    page = visit(row="troubled")
    assert table(page)["injected"].tolist() == ["no answer", "", ""] or "no answer" in table(page)["injected"].tolist()
    assert ":gray-badge[:material/network_ping: network injected: no answer]" in text_of(page)
    assert "network injected" not in text_of(visit(row="bad"))


def test_a_call_that_changed_no_statistics_says_so(busy: App) -> None:
    call = next(iter(busy.store.events.outcomes("other")))
    learnt = StatisticsEvent(NOW, "", "other", HOSTILE, HOSTILE, 0.5, 0.1, 0.2, 1.5, 0.3, 0.4, 1.5, 7, 3)
    for changes in ({"kind": "not_tried"}, {"kind": "busy"}, {"injected": "no answer"}):
        id_ = "".join(changes.values())
        busy.store.events.append(replace(call, id=id_, **changes), replace(learnt, outcome_id=id_))
        assert "under an injected network do not change them" in text_of(visit(row=id_)), changes
    assert "Statistics after it, EHRR (8)" in text_of(visit(row="bad"))


def test_a_chosen_decision_shows_its_trace_its_knobs_and_its_calls(busy: App) -> None:
    id_ = busy.store.activity.decisions()["id"].iloc[0]
    page = visit(view="decisions", row=id_)
    assert table(page)["subtask"].tolist() == [HOSTILE]
    assert len(table(page, 1)) == 3  # k servers on the short-list
    assert table(page, 2)[""].iloc[0] == "★"
    assert table(page, 3).to_numpy().tolist() == [["k", "3", "5"]]
    assert table(page, 4)["source"].tolist() == ["simulated"]
    assert HOSTILE in [text.value for text in page.text]
    assert "alert" not in text_of(page)
    assert "Open in Decision" in [button.label for button in page.button]


def test_from_a_call_to_its_decision(busy: App) -> None:
    call = busy.store.activity.calls().iloc[0]
    page = visit(row=call["id"])
    page.button(key="activity.call.decision").click().run()
    assert not page.exception
    assert page.query_params["row"] == call["decision_id"]
    assert page.query_params["view"] == "decisions"


def test_a_filter_stands_in_the_url_and_can_be_cleared(busy: App) -> None:
    page = visit()
    page.multiselect(key="activity.kinds").set_value(["timeout"]).run()
    assert page.query_params["kinds"] == "timeout"
    assert "No call meets the filter" in text_of(page)
    page.button(key="activity.clear").click().run()
    assert "kinds" not in page.query_params
    assert len(table(page)) == 2
    page.selectbox(key="activity.server").set_value(HOSTILE).run()
    assert not page.exception
    assert table(page)["outcome"].tolist() == ["✗ crash"]
    assert page.selectbox(key="activity.tool").options == ["All tools", HOSTILE]
    page.text_input(key="activity.text").set_value("ALERT(1)").run()
    assert dict(page.query_params) == {"server": HOSTILE, "text": "ALERT(1)"}


def test_the_chosen_row_follows_its_call_when_newer_ones_come(busy: App) -> None:
    page = visit(row="bad")
    assert page.session_state["activity.table.calls"]["selection"]["rows"] == [1]
    newest = OutcomeEvent("new", NOW, None, "other", "s", "t", "ok", 0.1, None, 1, 0.001, False, "", "cli")
    busy.store.events.append(*(replace(newest, id=f"new{n}", at=NOW + timedelta(seconds=n)) for n in range(3)))
    page.run()
    assert not page.exception
    assert page.session_state["activity.table.calls"]["selection"]["rows"] == [4]
    assert page.query_params["row"] == "bad"


def test_long_histories_come_in_pages_and_another_filter_starts_at_the_first(busy: App) -> None:
    call = OutcomeEvent("n", NOW, None, "other", "s", "t", "ok", 0.1, None, 1, 0.001, False, "", "cli")
    busy.store.events.append(*(replace(call, id=f"n{n}", at=NOW - timedelta(days=1, seconds=n)) for n in range(150)))
    page = visit(page="2")
    assert len(table(page)) == 52
    assert "101 to 152 of 152 calls" in text_of(page)
    page.selectbox(key="activity.server").set_value("s").run()
    assert "1 to 100 of 150 calls" in text_of(page)
    assert "page" not in page.query_params
    assert "101 to 152 of 152 calls" in text_of(visit(page="9"))
    assert "1 to 100 of 152 calls" in text_of(visit(page="99999999999"))


def test_charts_are_drawn_for_the_filter(busy: App) -> None:
    page = visit(view="charts")
    figures = charts(page)
    assert len(figures) == 6
    text = json.dumps(figures)
    assert "Spent by server" in text
    assert "<script>" not in text
    assert "did not change the statistics" in text_of(visit(view="charts", simulated="yes"))


@pytest.fixture
def refusals(app: App) -> App:
    """Calls of two clients that the policy denies."""
    app.governance.set_policy(replace(app.governance.policy, deny=("*",)), origin="test")
    server = app.catalogs.catalog("search-15").servers[0]
    call = ToolCall(server.name, server.tools[0].name, {}, catalog="search-15")
    for client in (HOSTILE, "ann"):
        with pytest.raises(Refusal):
            app.governance.before(Wanted(client, call, server.tools[0], 100))
    app.store.events.flush()
    return app


def test_a_refused_request_says_what_would_allow_it_and_is_found_by_the_filter(refusals: App) -> None:
    rows = refusals.store.activity.refused()
    page = visit(view="refused", row=str(rows[rows["client"] == HOSTILE]["sequence"].iloc[0]))
    row = table(page).set_index("client").loc[HOSTILE]
    assert row["refused"] == "✗ not allowed"
    assert "To allow it" in text_of(page)
    assert "<script>" not in markdown_of(page)
    assert page.button(key="activity.refused.govern").label == "Open Govern"
    page = visit(view="refused", text="ann")
    assert table(page)["client"].tolist() == ["ann"]
    assert "Refused (1)" in str(page.segmented_control)
    assert "No refused request meets the filter" in text_of(visit(view="refused", text="nobody at all"))
