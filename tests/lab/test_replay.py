"""Replay: decisions are repeated in order between the outcomes before and after them."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest

from core.app import App
from core.catalogs.loaded_catalog import FROM_FILE
from core.domain.errors import ParameterError, WayfareError
from core.domain.events import ActivityFilter, OutcomeEvent, Override
from core.governance.policy import Scope
from core.importers.tasks import read_calls
from core.lab.replay import Chosen, Replayed, ReplayTotals
from tests.importing import import_text
from tests.world import NOON

TEXT = "Read a file."


@pytest.fixture
def twins(app: App) -> App:
    """Two equal servers; the first is cheaper."""
    servers = [
        {
            "name": name,
            "description": "Read files.",
            "ask_usd": 0.0,
            "tools": [{"name": "read", "description": TEXT, "price_usd": price, "latency_s": 0.3, "success": 0.9}],
        }
        for name, price in (("alpha", 0.001), ("beta", 0.002))
    ]
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "twins")
    return app


def failed(app: App, number: int, server: str = "alpha") -> None:
    """A call that the server answered with an error, after a long time."""
    event = OutcomeEvent(
        id=f"o{number}", at=NOON + timedelta(seconds=number), decision_id=None, catalog="twins", server=server, tool="read",
        kind="tool_error", latency_s=9.0, connect_s=None, attempts=1, price_usd=0.001, simulated=False, error="no",
        origin="test",
    )  # fmt: skip
    app.store.events.append(event)
    app.catalogs.observe(event)


def decided(app: App, **changes: object) -> str | None:
    """The winner of a recorded decision."""
    parameters = app.routing.parameters("ehrr", changes, preset="paper")
    winner = app.routing.route(TEXT, catalog="twins", parameters=parameters).winner
    return None if winner is None else winner.tool


def test_each_decision_has_the_statistics_of_its_time(twins: App) -> None:
    recorded = [decided(twins)]
    for number in range(6):
        failed(twins, number)
    recorded.append(decided(twins))
    for number in range(6, 20):
        failed(twins, number, server="beta")
    recorded.append(decided(twins))
    assert recorded == ["alpha::read", "beta::read", "alpha::read"]
    rows = twins.replay.replay("twins")
    assert [row.now.tool for row in rows] == recorded
    assert [(row.now.usd, row.now.s) for row in rows] == [(row.then.usd, row.then.s) for row in rows]
    assert [row.then.tokens for row in rows] == [row.now.tokens for row in rows]
    assert len(twins.store.activity.decisions()) == 3


def test_older_calls_of_another_store_count_before_the_calls_since(twins: App) -> None:
    """As in the catalog after an import."""
    for number in range(6):
        failed(twins, number)
    recorded = [decided(twins)]
    month_ago = NOON - timedelta(days=30)
    others = [replace(called("alpha"), id=f"f{number}", at=month_ago, origin=FROM_FILE) for number in range(60)]
    twins.store.events.append(*others)
    twins.catalogs.read_anew()
    recorded.append(decided(twins))
    rows = twins.replay.replay("twins")
    assert [row.now.tool for row in rows] == recorded == ["beta::read", "beta::read"]
    assert [row.now.s for row in rows] == [row.then.s for row in rows]


def test_a_price_set_by_hand_counts_from_then_on(twins: App) -> None:
    dear = {"p_ofs": 0.2}
    decided(twins, **dear)
    twins.catalogs.set_override(Override("twins", "alpha", "read", "price_usd", 0.01, NOON))
    decided(twins, **dear)
    rows = twins.replay.replay("twins")
    assert [row.now.usd for row in rows] == [row.then.usd for row in rows] != [0.001, 0.001]


def test_an_open_session_spares_the_time_to_connect(twins: App, monkeypatch: pytest.MonkeyPatch) -> None:
    state = SimpleNamespace(server="alpha", state="ready", catalog="twins", owner_key="", connection=None)
    decided(twins)
    for kind, sessions in (("ok", [state]), ("crash", [])):
        event = replace(called("alpha", kind), at=datetime.now(UTC), origin="console")
        twins.store.events.append(event)
        twins.catalogs.observe(event)
        monkeypatch.setattr(twins.routing._sessions, "states", lambda sessions=sessions: sessions)
        decided(twins)
    rows = twins.replay.replay("twins")
    assert [row.now.s for row in rows] == pytest.approx([row.then.s for row in rows])
    assert rows[1].then.s < rows[0].then.s


def test_other_parameters_and_another_router(twins: App) -> None:
    decided(twins)
    (capped,) = twins.replay.replay("twins", settings={"budget_usd": 0.0015, "n": 1})
    assert (capped.changed, capped.now.tool) == (False, "alpha::read")
    assert capped.now.tokens < capped.then.tokens
    (refused,) = twins.replay.replay("twins", settings={"budget_usd": 0})
    assert (refused.changed, refused.now) == (True, Chosen(None, None, None, 0))
    (replayed,) = twins.replay.replay("twins", router="full_catalog")
    decision = twins.routing.route(TEXT, catalog="twins", router="full_catalog", record=False)
    assert (replayed.router, replayed.now.tool) == ("ehrr", decision.winner.tool)
    with pytest.raises(ParameterError, match="alpha_t"):
        twins.replay.replay("twins", router="sonar", settings={"alpha_t": 1})


def test_routers_without_a_setting_are_left_out(twins: App) -> None:
    decided(twins)
    twins.routing.route(TEXT, catalog="twins", router="sonar")
    assert [row.router for row in twins.replay.replay("twins", settings={"alpha_t": 0.1})] == ["ehrr"]
    assert [row.router for row in twins.replay.replay("twins", decisions=1)] == ["sonar"]
    with pytest.raises(WayfareError, match="by a router that has nope"):
        twins.replay.replay("twins", settings={"nope": 1})
    with pytest.raises(WayfareError, match="Nothing was decided in catalog 'world'"):
        twins.replay.replay("world")


def called(server: str, kind: str = "ok", decision: str | None = None, usd: float | None = 0.001) -> OutcomeEvent:
    return OutcomeEvent(
        f"c{server}{kind}{decision}", NOON, decision, "twins", server, "read", kind, 0.3, None, 1, usd, False, "", "agent"
    )  # fmt: skip


def test_calls_stand_beside_their_questions_and_the_filter_chooses(twins: App) -> None:
    for visitor, origin in (("bot", "agent"), ("", "console"), ("other", "agent")):
        decision = twins.routing.route(TEXT, catalog="twins", visitor=visitor, origin=origin, anew=True)
        twins.store.events.append(called("alpha", "timeout", decision.id, 0.0), called("beta", decision=decision.id))
    (row,) = twins.replay.replay("twins", where=ActivityFilter(client="bot"))
    assert [call.kind for call in row.calls] == ["timeout", "ok"]
    assert (row.answer, row.lost, row.changed) == ("beta::read", False, False)
    (of_bot,) = twins.replay.replay("twins", where=ActivityFilter(client="bot"), settings={"n": 1})
    assert (of_bot.offered, of_bot.lost, of_bot.projected_usd) == (("alpha::read",), True, None)
    assert len(twins.replay.replay("twins")) == 3


def test_a_client_is_offered_what_it_may_see(twins: App) -> None:
    twins.routing.route(TEXT, catalog="twins", visitor="bot", origin="agent")
    twins.governance.clients.make("bot", Scope(servers=("beta",)), origin="test")
    (row,) = twins.replay.replay("twins")
    assert (row.then.tool, row.offered) == ("alpha::read", ("beta::read",))


def test_calls_of_another_gateway_are_compared_with_the_tools_that_were_called(twins: App) -> None:
    lines = [
        {"time": "2026-11-28T09:00:00Z", "question": TEXT, "tool": "beta::read", "ok": True, "price_usd": 0.5},
        {"time": "2026-11-28T09:00:01Z", "question": "Read it.", "tool": "gamma::read", "ok": True},
        {"time": "2026-11-28T09:00:02Z", "question": "Read all.", "tool": "beta::read", "ok": False},
    ]
    recorded = read_calls("\n".join(map(json.dumps, lines)), source="day.jsonl", catalog="twins")
    parameters = twins.routing.parameters("ehrr", preset="paper")
    rows = twins.replay.replay_calls(recorded, "ehrr", parameters)
    assert [(row.then.tool, row.now.tool, row.absent, row.lost) for row in rows] == [
        ("beta::read", "alpha::read", False, False), ("gamma::read", "alpha::read", True, False), ("beta::read", "alpha::read", False, False),
    ]  # fmt: skip
    old, new = rows[0].then, rows[0].now
    assert (old.usd, new.usd) == (0.002, 0.001), "by the prices of the catalog, not what the other gateway charged"
    totals = ReplayTotals.of(rows)
    assert (totals.compared, totals.solved, totals.absent, totals.lost) == (1, 2, 1, 0)
    assert (totals.projected_usd_then, totals.projected_usd_now) == (old.usd / old.success, new.usd / new.success)
    assert totals.headline == "50 % less money, 0 of 1 answers lost"
    assert (totals.paid_usd, totals.unpriced) == (0.5, 2)
    assert not twins.store.activity.decision_count()


def test_a_pause_begins_a_session(twins: App) -> None:
    decided(twins)
    twins.store.events.flush()
    (event,) = (twins.store.activity.decision(id_) for id_ in twins.store.activity.decisions()["id"])
    for minute in (10, 41, 40):
        begin = event.at + timedelta(minutes=minute)
        twins.store.events.append(
            replace(event, id=f"{minute}", at=begin), replace(event, id=f"bot {minute}", at=begin, client="bot")
        )
    sessions = twins.store.activity.sessions()
    assert {(row.client, row.id, row.decisions) for row in sessions.itertuples()} == {
        ("", event.id, 4), ("bot", "bot 10", 3),
    }  # fmt: skip
    twins.store.events.append(replace(event, id="late", at=event.at + timedelta(minutes=72)))
    assert sorted(twins.store.activity.sessions()["decisions"]) == [1, 3, 4]


def test_the_totals_compare_what_can_be_compared() -> None:
    def row(then: Chosen, now: Chosen) -> Replayed:
        return Replayed("d", NOON, TEXT, "ehrr", then, now)

    a, b, unpriced = Chosen("a", 0.25, 1.0, 10), Chosen("b", 0.5, 2.0, 20), Chosen("c", None, 4.0, 40)
    no_tool = Chosen(None, None, None, 0)
    totals = ReplayTotals.of([row(a, a), row(a, b), row(b, unpriced), row(a, no_tool), row(no_tool, b)])
    assert (totals.decisions, totals.changed, totals.refused, totals.answered, totals.both) == (5, 4, 1, 1, 3)
    assert (totals.usd_then, totals.usd_now, totals.unpriced_then, totals.unpriced_now) == (1.0, 0.75, 0, 1)
    assert (totals.s_then, totals.s_now, totals.tokens_then, totals.tokens_now) == (4.0, 7.0, 40, 70)
    real, simulated = called("alpha", usd=0.5), replace(called("alpha", usd=None), simulated=True)
    paid = ReplayTotals.of([replace(row(a, a), calls=(real, simulated))]).words()[1]
    assert paid[1] == "500 m$; simulated: 0 m$"
