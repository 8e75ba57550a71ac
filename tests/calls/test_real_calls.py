"""The facade with real servers: failures are outcomes, cancelled calls teach nothing, secrets stay in memory."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from pathlib import Path

from core.app import App
from core.domain.catalog import ServerId
from core.domain.errors import StoreError
from core.domain.outcome import OutcomeKind, ToolCall
from core.domain.statistics import Source
from tests.importing import import_text
from tests.world import RAW, call, document, figures, open_test_app, under_way


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
    with open_test_app(path) as again:
        kinds = list(again.store.activity.calls()["kind"])
    assert kinds[-1] == "ok"
    assert set(kinds[:-1]) <= {"cancelled"}
    with suppress(StoreError):  # what came too late to be kept
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
