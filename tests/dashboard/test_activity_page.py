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
from core.domain.events import OutcomeEvent, StatisticsEvent
from core.domain.outcome import CallMode, ToolCall
from core.store.log import Event
from dashboard.pages.activity.view import EXPORTS
from tests.dashboard.harness import app_with, charts, open_page, opened, text_of

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
        decided = app.store.activity.decision(decision.id)
        assert decided is not None
        called = app.store.activity.decision_outcomes(decision.id)
    failed = OutcomeEvent(
        "bad", NOW - timedelta(hours=2), None, "other", HOSTILE, HOSTILE, "crash", 1.5, None, 1, None, False, HOSTILE, "cli"
    )  # fmt: skip
    learnt = StatisticsEvent(failed.at, "bad", "other", HOSTILE, HOSTILE, 0.5, 0.1, 0.2, 1.5, 0.3, 0.4, 1.5, 7, 3)
    return [decided, *called, failed, learnt]


@pytest.fixture
def busy(app: App, events: list[Event]) -> App:
    app.store.events.append(*events)
    return app


app = app_with()
visit = partial(open_page, "activity")


def figures(page: AppTest) -> dict[str, tuple[str, str]]:
    return {metric.label: (metric.value, metric.delta) for metric in page.metric}


def table(page: AppTest, number: int = 0) -> Any:
    return page.dataframe[number].value


def test_decisions_without_a_call_are_no_matter_of_the_filter(app: App) -> None:
    app.routing.route("read a file", catalog="search-15")
    app.store.events.flush()
    page = visit()
    assert "There is no call yet." in text_of(page)
    assert "Three calls, as they will be listed" in text_of(page)
    assert "activity.clear" not in [button.key for button in page.button]


def test_an_empty_store_says_what_the_page_is_for_and_where_to_begin(app: App) -> None:
    page = visit()
    assert "No activity yet" in text_of(page)
    assert [button.label for button in page.button] == ["Make the first decision"]
    assert not page.metric


def test_figures_keep_simulated_calls_apart_and_count_unpriced_ones(busy: App) -> None:
    shown = figures(visit())
    assert shown["Decisions"][0] == "1"
    assert shown["Calls"] == ("1", "real · 1 simulated")
    assert shown["Success"][0] == "0 %"
    assert shown["Spent"][0] == "–"
    assert shown["Unpriced calls"] == ("1", "real · 0 simulated")
    assert figures(visit(simulated="yes"))["Calls"] == ("1", "simulated")
    assert figures(visit(simulated="no"))["Calls"] == ("1", "")


def test_figures_say_which_calls_of_the_table_they_leave_out(app: App, events: list[Event]) -> None:
    failed = next(event for event in events if isinstance(event, OutcomeEvent) and event.id == "bad")
    app.store.events.append(failed, replace(failed, id="injected", injected="fluctuating"))
    page = visit()
    assert (figures(page)["Calls"][0], len(table(page))) == ("2", 2)
    assert "Success and latency are of 1 of the 2 calls: 1 was cancelled or had an injected network." in text_of(page)


def test_calls_are_listed_newest_first_with_texts_of_strangers_as_text(busy: App) -> None:
    page = visit()
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


def test_a_link_with_nonsense_shows_everything(busy: App) -> None:
    page = visit(kinds="x", time="x", simulated="x", page="x", view="x", row="x")
    assert len(table(page)) == 2
    assert not dict(page.query_params).get("time")


def test_the_last_day_or_any_other_span(busy: App) -> None:
    assert len(table(visit(time="1h"))) == 1
    from_ = f"{NOW - timedelta(hours=3):%Y-%m-%dT%H:%M}"
    page = visit(time="between", **{"from": from_, "to": f"{NOW - timedelta(hours=1):%Y-%m-%dT%H:%M}"})
    assert table(page)["source"].tolist() == ["real"]
    assert page.query_params["from"] == from_


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
    drawn = charts(page)
    assert len(drawn) == 6
    text = json.dumps(drawn)
    assert "Spent by server" in text
    assert "<script>" not in text
    assert "did not change the statistics" in text_of(visit(view="charts", simulated="yes"))


def test_every_table_can_be_downloaded_in_both_formats(busy: App) -> None:
    links = [(button.proto.label, button.proto.url) for button in visit().get("link_button")]
    assert [(label, f"./export/{table}.{label.lower()}") for table in EXPORTS for label in ("CSV", "Parquet")] == links
