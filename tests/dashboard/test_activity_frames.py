"""The tables, figures and links of the Activity page."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO

import pandas as pd
import pytest

from core.app import App
from core.domain.events import ActivityFilter, DecisionEvent, OutcomeEvent, ParameterEvent
from core.store import Store
from dashboard.pages.activity.decisions import candidates_frame, changed, parameters, route_query, shortlist_frame
from dashboard.pages.activity.frames import decision_columns, decision_styler
from dashboard.pages.activity.totals import totals, where
from dashboard.pages.activity.view import changes_frame
from dashboard.ui.table import frame_of
from tests.cases import each
from tests.dashboard.harness import app_with

T0 = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
HOSTILE = "[x](http://evil) <b>\n:red[y]\u202e"
SERVER = {"server": "files", "similarity": 0.5, "cost_s": 1.5, "utility": 0.25, "accepted": True, "ask_usd": None}
TOOL = {
    "tool": "files::read",
    "similarity": 0.5,
    "time_cost_s": 0.1,
    "utility": 0.25,
    "price_usd": None,
    "payment_usd": 0.078,
    "success": 0.9,
}
DECISION = DecisionEvent(
    id="d1", at=T0, catalog="demo", router="ehrr", subtask=HOSTILE, server_hint="", parameters_json='{"k": 3, "n": 3}',
    winner="files::read", reason="it won", expected_price_usd=None, expected_time_s=0.1, total_ms=3.25,
    candidates_json=json.dumps([TOOL]), trace_json=json.dumps({"servers": [SERVER], "tools": []}), origin="cli",
)  # fmt: skip
CALL = OutcomeEvent("o1", T0, "d1", "demo", "files", "read", "ok", 0.5, None, 1, 0.002, False, "", "console")
EVENTS = (
    DECISION,
    replace(DECISION, id="d2", at=T0 + timedelta(seconds=9), winner=None, expected_time_s=None, reason="no server"),
    CALL,
    replace(CALL, id="o2", at=T0 + timedelta(seconds=1), kind="crash", price_usd=None, error=HOSTILE, connect_s=0.25),
    replace(CALL, id="o3", at=T0 + timedelta(seconds=2), kind="cancelled", latency_s=99.0, decision_id=None),
    replace(CALL, id="o4", at=T0 + timedelta(seconds=3), simulated=True, price_usd=0.5),
    ParameterEvent(T0, "ehrr", "k", "5", "3", "=cli"),
    ParameterEvent(T0 + timedelta(seconds=1), "ehrr", "k", "3", "4", "console"),
)


app = app_with()


@pytest.fixture
def store(app: App) -> Store:
    app.store.events.append(*EVENTS)
    return app.store


def test_decisions_say_how_their_calls_ended_and_what_is_unpriced(store: Store) -> None:
    decisions = store.activity.decisions()
    frame = frame_of(decisions.itertuples(), decision_columns(store.activity.calls(), "UTC"))
    assert frame["winner"].tolist() == ["none", "★ files::read (unpriced)"]
    assert frame["outcomes"].tolist() == ["not called", "1 ✗ crash, 1 ✓ ok; simulated: 1 ✓ ok"]
    assert "100 ms" in decision_styler(frame).to_html()
    assert candidates_frame(DECISION)[["price", "payment"]].to_numpy().tolist() == [["unpriced", "78 m$"]]


def test_totals_keep_simulated_and_unpriced_calls_apart_and_cancelled_ones_out_of_success(
    app: App, store: Store
) -> None:
    real, simulated = totals(app, ActivityFilter())
    assert (real.calls, real.judged, real.success, real.p95_s, real.unpriced) == (3, 2, 0.5, 0.5, 1)
    assert real.spent_usd == pytest.approx(0.004)
    assert (simulated.calls, simulated.spent_usd, simulated.success) == (1, 0.5, 1.0)
    only = totals(app, ActivityFilter(kinds=("crash",)))[0]
    assert (only.spent_usd, only.unpriced) == (None, 1)


def test_a_decision_opens_with_the_same_question_and_knobs() -> None:
    defaults = {"k": 5, "n": 3}
    assert changed(parameters(DECISION), defaults) == {"k": 3}
    assert route_query(DECISION, defaults, "demo") == {"q": HOSTILE, "k": "3"}
    other = replace(DECISION, router="sonar", server_hint="fast", parameters_json='{"gone": 1, "n": null}')
    assert route_query(other, defaults, "sample") == {
        "q": HOSTILE, "hint": "fast", "catalog": "demo", "router": "sonar", "n": "None",
    }  # fmt: skip


@each("text", ["", "[]", "{}", "nonsense", '{"servers": 3}', "[1, null]", '{"servers": [[]]}'])
def test_documents_of_another_shape_count_as_empty(text: str) -> None:
    odd = replace(DECISION, trace_json=text, candidates_json=text, parameters_json=text)
    assert shortlist_frame(odd).empty
    assert candidates_frame(odd).empty
    assert isinstance(parameters(odd), dict)


def test_a_filter_is_read_from_texts_and_what_means_nothing_is_passed_over() -> None:
    activity_filter = where(
        {"catalog": "demo", "server": "files", "tool": "read", "kinds": "ok,nonsense", "time": "1h", "simulated": "no"},
        T0,
        "UTC",
    )
    assert activity_filter == ActivityFilter(
        catalog="demo", server="files", tool="read", kinds=("ok",), since=T0 - timedelta(hours=1), simulated=False
    )
    assert (
        where({"tool": "read", "time": "x", "simulated": "x", "from": "2026-01-01T00:00"}, T0, "UTC")
        == ActivityFilter()
    )
    between = where({"time": "between", "from": "2026-03-01T10:00", "to": "nonsense"}, T0, "Europe/Berlin")
    assert between.since == datetime(2026, 3, 1, 9, tzinfo=UTC)
    assert between.until is None


def test_parameter_changes_are_listed_newest_first(store: Store) -> None:
    frame = changes_frame(pd.read_parquet(BytesIO(store.activity.export("parameters", "parquet"))), "UTC")
    assert frame[["parameter", "from", "to", "changed by"]].to_numpy().tolist() == [
        ["k", "3", "4", "console"],
        ["k", "5", "3", "=cli"],
    ]
