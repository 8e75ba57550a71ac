"""Activity's replay of a day: the calls as they were, the same questions under the present knobs, and another gateway's file."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from functools import partial
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.events import OutcomeEvent
from tests.dashboard.harness import app_with, charts, checked, open_page, text_of, turn
from tests.dashboard.test_lab_page import CATALOG

HOSTILE = "<b>read</b> **a** file [x](http://evil)"
app = app_with({"small": CATALOG})
visit = partial(open_page, "activity", view="replay")


@pytest.fixture
def day(app: App) -> App:
    """An agent asked three questions and called the first candidate of each; the first call of each failed."""
    for task in ("send a letter", "read a file", HOSTILE):
        decision = app.routing.route(task, catalog="small", origin="agent", visitor="bot")
        assert decision.winner is not None
        server, tool = decision.winner.tool.split("::")
        for kind in ("timeout", "ok"):
            event = OutcomeEvent(
                f"{task} {kind}", decision.at, decision.id, "small", server, tool, kind, 0.2, None, 1, 0.001, kind == "ok", "",
                "agent", client="bot",
            )  # fmt: skip
            app.store.events.append(event)
            app.catalogs.observe(event)
    return app


def questions(page: AppTest) -> dict[str, list[str]]:
    return page.dataframe[1].value.to_dict("list")


def test_a_day_is_shown_and_a_turned_knob_changes_it(day: App) -> None:
    page = visit()
    assert "The same money, 0 of 3 answers lost: 0 of 3 questions have another first candidate" in text_of(page)
    measured = dict(page.dataframe[0].value[["figure", "measured"]].to_numpy().tolist())
    assert measured["calls"] == "6, 3 succeeded; simulated: 3"
    columns = questions(page)
    assert (columns["question"][2], columns["answer now"][0]) == (HOSTILE, "1 of 3")
    assert HOSTILE not in text_of(page)
    assert [len(trace["x"]) for trace in charts(page)[0]["data"]] == [3, 3, 3, 6, 3, 3]
    page = turn(page, "ask.knob.ehrr", budget_usd=0.0)
    assert "No money to compare, 3 of 3 answers lost: 3 of 3 questions have another first candidate" in text_of(page)
    columns = questions(page)
    assert columns["answer now"] == ["lost", "lost", "lost"]
    assert dict(parse_qsl(urlsplit(columns["now"][1]).query)) == {
        "q": "read a file", "catalog": "small", "router": "ehrr", "budget_usd": "0.0",
    }  # fmt: skip
    assert page.query_params["with"] == "ehrr~budget_usd=0.0"
    assert page.session_state["url:question"] == {"budget_usd": "0.0"}, "Ask has the same knobs"
    assert questions(visit(**{"with": "ehrr~budget_usd=0.0"}))["answer now"] == ["lost", "lost", "lost"]
    assert len(day.store.activity.decisions()) == 3


def test_one_session_is_chosen_or_all_of_a_catalog(day: App) -> None:
    old = day.store.activity.decision(day.store.activity.decisions()["id"][0])
    assert old is not None
    earlier = [("old", "other", timedelta(hours=2)), ("beside", "neighbour", timedelta(microseconds=1))]
    day.store.events.append(*(replace(old, id=id_, client=name, at=old.at - ago) for id_, name, ago in earlier))
    page = visit()
    assert len(questions(page)["question"]) == 3
    options = page.selectbox(key="activity.session").options
    assert options[0].startswith("bot, ")
    assert len(options) == 5
    assert len(questions(visit(session="old"))["question"]) == 1
    assert len(questions(visit(session="every:small"))["question"]) == 5


def test_a_file_of_another_gateway_is_replayed_also_in_an_empty_store(app: App) -> None:
    page = visit()
    page.selectbox(key="activity.file_catalog").set_value("small")
    lines = [
        {"time": "2026-11-28T09:00:00Z", "tool": "files::read", "ok": True},
        {"time": "2026-11-28T09:00:00Z", "question": HOSTILE, "tool": "files::read", "ok": True, "latency_s": 0.2},
    ]
    text = "\n".join(map(json.dumps, lines))
    page = checked(page.file_uploader[0].upload("day.jsonl", text.encode(), "text/plain").run())
    assert "Left out: 1 call before any question of their session." in text_of(page)
    assert "0 of 1 answers lost" in text_of(page)
    assert questions(page)["question"] == [HOSTILE]
    assert "then" not in questions(page)
    page = checked(page.file_uploader[0].upload("bad.jsonl", b'{"time": 1}', "text/plain").run())
    assert "bad.jsonl: line 1: time is a number; give text" in text_of(page)
