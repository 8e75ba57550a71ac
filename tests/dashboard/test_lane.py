"""The fast lane: access, limits, the same answers as the page, and nothing stored."""

from __future__ import annotations

import json
import logging
from functools import partial
from typing import Any

import anyio
import pytest
from starlette.testclient import TestClient

from core.app import App
from core.decisions.routing import Asked
from core.domain.errors import ParameterError
from core.domain.tasks import Task
from dashboard.lane import LIMIT_BYTES, PATH, lanes
from dashboard.pages.route.view import TOKEN
from dashboard.pages.route.why import SCORE
from dashboard.theme import CHOSEN
from tests.cases import each
from tests.dashboard.harness import app_with, charts, checked, knob_panel_of, live_of, open_page, turn

OWN = {"host": "127.0.0.1:8501", "origin": "http://127.0.0.1:8501", "content-type": "application/json"}
CATALOG = {
    "servers": [
        {"name": "files", "tools": [{"name": "read", "description": "Reads a file.", "price_usd": 0.001}]},
        {"name": "mail", "tools": [{"name": "<b>send</b>", "description": "Sends a file."}]},
    ]
}
KNOBS = "ask.knob.ehrr"

app = app_with({"small": CATALOG, "other": CATALOG}, scope="module")
visit = partial(open_page, "route", q="read a file", catalog="small")


@pytest.fixture
def token() -> str:
    """A lane that echoes its values, and refuses or breaks on request."""

    def echo(values):
        if "refuse" in values:
            raise ParameterError("alpha = <b>\u202e is not a number; give a number.")
        return {"said": values["break"] if "break" in values else dict(values)}

    lanes.open("a token", {"decision": echo})
    return "a token"


def asked(body: object, **headers: str) -> tuple[int, dict[str, object]]:
    """Status and answer of one request from this machine."""
    from dashboard.app import app as served

    client = TestClient(served, base_url="http://127.0.0.1:8501", client=("127.0.0.1", 5))
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = client.post(PATH, content=content, headers={**OWN, **headers})
    return answer.status_code, answer.json()


def request(token: str, **values: object) -> dict[str, object]:
    return {"token": token, "kind": "decision", "values": values}


@each(
    ("body", "headers", "status", "said"),
    [
        (request("another"), {}, 404, "Reload it"),
        ({"token": "a token", "kind": "store", "values": {}}, {}, 404, "Reload it"),
        (request("a token"), {"origin": "https://evil.example"}, 403, "Pages of 'https://evil.example' may not"),
        (request("a token"), {"host": "evil.example:8501"}, 403, "The host 'evil.example:8501' is not one"),
        (request("a token"), {"content-type": "text/plain"}, 415, "application/json"),
        (b" " * (LIMIT_BYTES + 1), {}, 413, "65,536 bytes"),
        (b"{", {}, 400, "The body is not {"),
        (b"[" * 50_000, {}, 400, "The body is not {"),
        ([1], {}, 400, "The body is not {"),
        ({"token": ["a token"], "kind": "decision", "values": {}}, {}, 400, "The body is not {"),
        (request("a token", refuse=1), {}, 422, "alpha = <b>⟨U+202E⟩ is not a number; give a number."),
        (request("a token", **{"break": float("inf")}), {}, 500, "Release the knob"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(token: str, body, headers, status, said) -> None:
    assert asked(request(token, alpha=1)) == (200, {"said": {"alpha": 1}})
    code, answer = asked(body, **headers)
    assert code == status
    assert list(answer) == ["error"]
    assert said in answer["error"]
    assert "Traceback" not in answer["error"]


def test_a_page_that_leaves_before_its_request_is_read_is_no_error(caplog: pytest.LogCaptureFixture) -> None:
    from dashboard.app import app as served

    messages: list[Any] = []
    scope = {
        "type": "http", "method": "POST", "path": PATH, "query_string": b"", "scheme": "http", "server": ("127.0.0.1", 8501),
        "client": ("127.0.0.1", 5), "headers": [(name.encode(), value.encode()) for name, value in OWN.items()],
    }  # fmt: skip

    async def receive() -> dict[str, str]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        messages.append(message)

    anyio.run(served, scope, receive, send)
    assert [record.message for record in caplog.records if record.levelno >= logging.INFO] == []


def recorded(app: App) -> int:
    app.store.events.flush()
    return app.store.activity.decision_count()


def test_it_draws_what_the_page_draws_and_stores_only_what_is_settled_on(app: App) -> None:
    count = recorded(app)
    page = visit(q="read a file now")
    panel = knob_panel_of(page)
    assert panel["token"] == f"{page.session_state[TOKEN]}:{KNOBS}"
    status, answer = asked(request(panel["token"], **{**panel["values"], "alpha_t": 0.03}))
    assert status == 200
    assert recorded(app) == count + 1  # the decision of the visit

    settled = turn(page, KNOBS, alpha_t=0.03)
    assert recorded(app) == count + 2
    parts = {**live_of(settled), **{f"route:{name}": None for name in ("servers", "auction", "tools")}}
    assert set(answer["parts"]) == set(parts)
    assert {key: answer["parts"][key] for key in live_of(settled)} == live_of(settled)
    figures = [json.loads(answer["parts"][f"route:{name}"]) for name in ("servers", "auction", "tools")]
    assert figures == charts(settled)[:3]
    assert answer["winner"] == "files::read"


def test_labelled_tasks_are_scored_under_the_turned_values_and_then_drawn_with_the_page(app: App) -> None:
    assert SCORE not in live_of(visit())
    app.feedback.label("send it", "mail::<b>send</b>", right=True, catalog="small")
    page = visit()
    assert "Scoring" in live_of(page)[SCORE]
    panel = knob_panel_of(page)
    status, answer = asked({"token": panel["token"], "kind": "score", "values": {**panel["values"], "alpha_t": 2.0}})
    assert status == 200
    assert 'title="better">▼ from' in answer["parts"][SCORE], "less money or time"
    live = live_of(turn(page, KNOBS, alpha_t=2.0))
    assert live[SCORE] == answer["parts"][SCORE]
    page = turn(visit(q="send it"), KNOBS, alpha_t=2.0)
    page.session_state["route:score:send it"] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    assert checked(page.run()).dataframe[0].value["question"].tolist() == ["send it"]  # it is asked, and stays chosen


def test_tasks_that_cannot_be_scored_say_so_in_place_of_their_score(app: App) -> None:
    app.task_writing.keep("other", [Task("t", "fly to the moon")])
    panel = knob_panel_of(visit(catalog="other"))
    status, answer = asked({"token": panel["token"], "kind": "score", "values": panel["values"]})
    assert (status, answer["parts"][SCORE]) == (
        200, "<small>No task names a tool that can do it; give tasks that do.</small>",
    )  # fmt: skip


def test_winner_strips_have_a_colour_for_each_winner_and_say_who_wins_where(app: App) -> None:
    panel = knob_panel_of(visit())
    count = recorded(app)
    status, answer = asked({"token": panel["token"], "kind": "strips", "values": panel["values"]})
    assert (status, answer["question"]) == (200, '["small", "read a file", ""]')
    strips = answer["strips"]
    assert {"alpha_t", "kappa", "k"} <= set(strips)
    strip, expected = strips["alpha_t"], app.what_if.strips(
        Asked("read a file", app.routing.parameters("ehrr"), "small")
    )["alpha_t"]  # fmt: skip
    assert [band[:2] for band in strip["bands"]] == [[band.low, band.high] for band in expected.winners()]
    assert strip["bands"][0][2] == CHOSEN
    assert strip["bands"][-1][2] == ""  # no tool wins there
    assert strip["ticks"] == list(expected.breakpoints())
    assert [segment[:2] for segment in strip["segments"]] == [[piece.low, piece.high] for piece in expected.segments]
    low, high, words = next(segment for segment in strip["segments"] if segment[0] <= 0.02 < segment[1])
    assert words.startswith(f"αt {low:.4g} to {high:.4g} 1/s (now): files::read wins")
    assert "αt" in strip["about"]
    assert "no tool wins" in strip["about"]
    assert recorded(app) == count


def test_every_visitor_has_a_token_of_his_own_and_keeps_it_and_a_value_that_does_not_fit_is_a_sentence() -> None:
    first, second = visit(), visit()
    token = knob_panel_of(first)["token"]
    assert len(token) > 40
    assert knob_panel_of(turn(first, KNOBS, n=1))["token"] == token
    assert knob_panel_of(second)["token"] != token
    sentence = "alpha_t = 99.0 is outside 0.0 to 2.0; choose a value within that range."
    assert asked(request(token, alpha_t=99)) == (422, {"error": sentence})
    status, answer = asked(request(token, alpha_z=1))
    assert (status, answer["error"][:33]) == (422, "There is no parameter 'alpha_z'; ")
