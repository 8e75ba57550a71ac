"""Calls with a scripted caller and with real servers: what is committed when, what is learnt, what a report says, and no secret."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import Thread

import pytest

from core.app import App
from core.calls.calls import CallService
from core.domain.catalog import Catalog, ServerId
from core.domain.errors import StoreError, UnknownNameError
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.domain.statistics import Source
from core.routers.ema import Rates
from core.routers.projection import StatisticsProjection
from tests.cases import each
from tests.importing import import_text
from tests.world import NOON, RAW, Scripted, call, document, figures, open_test_app, under_way

CallsOf = Callable[[Scripted], CallService]
KINDS = tuple(OutcomeKind)


def test_the_decision_is_committed_before_its_call_leaves(app: App, calls_of: CallsOf) -> None:
    decision_ids: list[str] = []

    def look(request: ToolCall) -> None:
        decision_ids.append(app.store.activity.decision(request.decision_id).id)
        assert app.store.activity.call_count() == 0

    decision = app.routing.route("echo words", catalog="world")
    calls_of(Scripted(meanwhile=look)).run(call("echo", decision_id=decision.id))
    assert decision_ids == [decision.id]
    (outcome,) = app.store.activity.decision_outcomes(decision.id)
    assert (outcome.server, outcome.tool, outcome.kind) == ("raw", "echo", "ok")


def test_an_agent_is_answered_while_the_disk_is_written_once_it_is_in_the_journal(
    app: App, calls_of: CallsOf, path: Path
) -> None:
    calls = calls_of(Scripted(error="sent with Authorization: Bearer abc"))
    with app.store._database.lock:  # nothing can be written
        assert calls.start(call("echo"), origin="agent").report(20).tool_after.calls == 1
        assert app.store.activity.call_count() == 0
        journaled = path.with_name(f"{path.name}.journal").read_text()
        assert "StatisticsEvent" in journaled
        assert ("Authorization" in journaled, "abc" in journaled) == (True, False)
    app.store.events.flush()
    assert app.store.activity.call_count() == 1


def test_a_call_begins_on_one_catalog_though_it_is_replaced_just_then(
    app: App, calls_of: CallsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    smaller, projection, savers = (
        Catalog("world", app.catalogs.catalog("world").servers[:1]),
        app.catalogs.projection,
        [],
    )

    def replaced_just_then(name: str, **options: bool) -> StatisticsProjection:
        if not savers:
            savers.append(Thread(target=app.catalogs.save, args=(smaller, "test")))
            savers[0].start()
            savers[0].join(0.2)
        return projection(name, **options)

    monkeypatch.setattr(app.catalogs, "projection", replaced_just_then)
    assert calls_of(Scripted()).run(call("send", server="mail")).outcome.kind is OutcomeKind.OK
    savers[0].join()
    assert app.store.activity.call_count() == 1


def test_a_report_has_the_figures_before_and_after_as_equation_8_says(app: App, calls_of: CallsOf) -> None:
    calls = calls_of(Scripted(*KINDS))
    reports = [calls.run(call("echo")) for _ in KINDS]
    for report in reports:
        o = report.outcome
        observed = {"y": o.kind.success, "fail": o.kind.post_accept_failure, "rates": Rates()}
        latency_s = None if o.kind is OutcomeKind.NOT_CONNECTED else o.latency_s
        if not o.kind.counts:
            assert (report.server_after, report.tool_after) == (report.server_before, report.tool_before)
            continue
        if o.kind is OutcomeKind.INVALID_ARGUMENTS:
            softly = (report.server_before, report.tool_before.rejected(Rates()))
            assert (report.server_after, report.tool_after) == softly
            continue
        after = report.server_before.after(latency_s=latency_s, connect_s=o.connect_s, **observed)
        assert report.server_after == after
        assert report.tool_after == report.tool_before.after(latency_s=latency_s, connect_s=None, **observed)
    for earlier, later in pairwise(reports):
        assert (earlier.server_after, earlier.tool_after) == (later.server_before, later.tool_before)


def test_a_report_and_a_drawn_call_count_the_time_since_the_last_call(
    app: App, calls_of: CallsOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, later = calls_of(Scripted(OutcomeKind.CRASH, OutcomeKind.INVALID_ARGUMENTS)), timedelta(hours=1)
    first = calls.run(call("echo"))
    monkeypatch.setattr(app.catalogs, "_now", lambda: NOON + later)
    drawn = calls.run(call("echo"), mode=CallMode.DRAWN).outcome
    assert drawn.latency_s == pytest.approx(first.tool_before.call_s) != first.tool_after.call_s
    calls.sanitised = lambda outcome: replace(outcome, started_at=NOON + later)
    report = calls.run(call("echo"))
    assert report.server_before == report.server_after
    assert report.server_before.success == pytest.approx(first.server_before.success)


def test_statistics_are_the_fold_of_the_events_and_survive_reopening(app: App, calls_of: CallsOf, path: Path) -> None:
    calls = calls_of(Scripted(*KINDS))
    for name in ("echo", "nap", "echo", "crash", "stall", "echo", "echo"):
        report = calls.run(call(name))
    before = figures(app)
    projection = StatisticsProjection(app.catalogs.catalog("world"))
    for outcome in app.store.events.outcomes("world"):
        projection.observe(outcome)
    assert projection.server(0) == report.server_after
    assert projection.snapshot().version == 6  # all but the cancelled one
    history = app.store.activity.statistics_history("world", "raw")
    assert history["server_success"].iloc[-1] == report.server_after.success
    assert history["tool_calls"].iloc[-1] == report.tool_after.calls
    app.close()
    with open_test_app(path) as reopened:
        assert figures(reopened) == before


def test_other_rates_fold_the_same_events(app: App, calls_of: CallsOf) -> None:
    fast = app.routing.parameters("ehrr", {"lambda_r": 0.5, "half_life_s": 0.0})
    assert app.catalogs.statistics("world", fast).tools.success[0] == 0.8
    calls_of(Scripted(OutcomeKind.TOOL_ERROR)).run(call("echo"))
    assert app.catalogs.statistics("world", fast).tools.success[0] == pytest.approx(0.4)
    plain = app.routing.parameters("ehrr", {"half_life_s": 0.0})
    assert app.catalogs.statistics("world", plain).tools.success[0] == pytest.approx(0.68)


@each("kind", KINDS)
def test_what_a_call_costs(app: App, calls_of: CallsOf, kind: OutcomeKind) -> None:
    answered = kind in {OutcomeKind.OK, OutcomeKind.TOOL_ERROR}
    assert calls_of(Scripted(kind)).run(call("echo")).outcome.price_usd == (0.002 if answered else 0)
    agreed = call("echo", payment_usd=0.03)
    assert calls_of(Scripted(kind)).run(agreed).outcome.price_usd == (0.03 if answered else 0)
    assert calls_of(Scripted(kind)).run(call("write", "files")).outcome.price_usd is None


def test_a_simulated_call_reaches_nobody_and_teaches_nothing(app: App, calls_of: CallsOf) -> None:
    caller = Scripted()
    before = figures(app)
    report = calls_of(caller).run(call("echo"), mode=CallMode.DRAWN)
    assert report.outcome.simulated
    assert (report.server_before, report.tool_before) == (report.server_after, report.tool_after)
    assert caller.calls == []
    assert figures(app) == before
    assert [row.simulated for row in app.store.activity.calls().itertuples()] == [True]


def test_progress_and_completion_can_be_watched(app: App, calls_of: CallsOf) -> None:
    handle = calls_of(Scripted()).start(call("echo"))
    assert handle.report(20).outcome.content[0].text == "done"
    assert handle.done
    assert (handle.progress.progress, handle.progress.total, handle.progress.message) == (1, 2, "half")


def test_unknown_tools_are_refused_before_anything_starts(app: App, calls_of: CallsOf) -> None:
    caller = Scripted()
    calls = calls_of(caller)
    with pytest.raises(UnknownNameError, match="echo, crash"):
        calls.start(call("nope"))
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        calls.start(call("echo", "nowhere"))
    with pytest.raises(UnknownNameError, match="'nope'"):
        calls.start(ToolCall("raw", "echo", catalog="nope"))
    assert caller.calls == []
    assert app.store.activity.call_count() == 0


@pytest.mark.parametrize("change", ["removed", "replaced"])
def test_a_call_whose_catalog_goes_away_meanwhile_is_recorded(app: App, calls_of: CallsOf, change: str) -> None:
    def go_away(_: ToolCall) -> None:
        if change == "removed":
            app.catalog_editor.remove("world")
        else:
            import_text(app.catalog_editor, '{"servers": [{"name": "new", "tools": [{"name": "tool"}]}]}', "world")

    report = calls_of(Scripted(meanwhile=go_away)).run(call("echo"))
    assert (report.outcome.kind, report.outcome.price_usd) == (OutcomeKind.OK, 0.002)
    assert report.server_after == report.server_before
    assert app.store.activity.call_count() == 1
    import_text(app.catalog_editor, document(), "world")
    assert app.catalogs.statistics("world").servers.calls[0] == 1


def test_a_real_call_is_measured(app: App) -> None:
    report = app.calls.run(call("echo", arguments={"words": "hello"}))
    assert report.outcome.kind is OutcomeKind.OK
    assert json.loads(report.outcome.content[0].text) == {"words": "hello"}
    assert report.outcome.connect_s > 0
    statistics = app.catalogs.statistics("world")
    assert (statistics.tools.calls[0], statistics.tools.latency_source[0]) == (1, Source.MEASURED)
    assert app.calls.run(call("echo")).outcome.connect_s is None  # a kept session


def test_the_first_success_of_a_server_that_starts_slowly_does_not_lower_its_utility(app: App) -> None:
    slow = {"type": "stdio", "command": "/bin/sh", "args": ["-c", f"sleep 2; exec {sys.executable} -S {RAW}"]}
    import_text(app.catalog_editor, document(connection=slow), "slow")

    def echo_now() -> tuple[float, float]:
        decision = app.routing.route("echo words", catalog="slow", record=False)
        tool = decision.tool_at(decision.tools.ids.index("raw::echo"))
        return tool.utility, tool.time_cost_s

    before = echo_now()
    outcome = app.calls.run(ToolCall("raw", "echo", catalog="slow")).outcome
    assert outcome.connect_s > 2 > outcome.latency_s
    utility, time_cost_s = echo_now()
    assert utility > before[0]
    app.pool.get().end(ServerId("slow", "raw"))
    assert echo_now()[1] > time_cost_s + 0.3  # it must connect again: 0.85 * 0.2 + 0.15 * 2 s at least


def test_a_cancelled_call_is_recorded_and_teaches_nothing(app: App) -> None:
    app.calls.run(call("echo"))
    before = figures(app)
    handle = app.calls.start(call("stall"))
    under_way(app, calls=2)
    assert not handle.done
    handle.cancel()
    report = handle.report(20)
    assert report.outcome.kind is OutcomeKind.CANCELLED
    assert (report.server_before, report.tool_before) == (report.server_after, report.tool_after)
    assert figures(app) == before
    assert list(app.store.activity.calls()["kind"]) == ["cancelled", "ok"]


def test_closing_ends_a_call_under_way(app: App, path: Path) -> None:
    app.calls.run(call("echo"))
    handle = app.calls.start(call("stall", timeout_s=60))
    under_way(app, calls=2)
    app.close()
    with open_test_app(path) as reopened:
        kinds = list(reopened.store.activity.calls()["kind"])
    assert kinds[-1] == "ok"
    assert set(kinds[:-1]) <= {"cancelled"}
    with suppress(StoreError):  # too late to be kept
        assert handle.report(20).outcome.kind is OutcomeKind.CANCELLED


def test_secrets_are_neither_in_the_store_nor_in_its_log(app: App, path: Path) -> None:
    secret = "correct-horse-battery-staple"
    command = {"command": "${python}", "args": ["-S", RAW, "--exit"], "env": {"LICENCE": secret}}
    config = json.dumps({"servers": [{"name": "vault", "tools": [{"name": "echo"}], "connection": command}]})
    import_text(app.catalog_editor, config, "secretive")
    report = app.calls.run(ToolCall("vault", "echo", catalog="secretive"))
    assert report.outcome.kind is OutcomeKind.NOT_CONNECTED
    assert "no licence for •••" in report.outcome.error
    stored = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"secret:vault/LICENCE" in stored
    assert secret.encode() not in stored
    assert secret not in repr(report)
