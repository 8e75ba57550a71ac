"""Calls to virtual servers through the app: real processes, nothing learnt but simulated statistics, billed as simulated calls are."""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np
import pytest

from core.app import App
from core.calls.calls import CallService
from core.decisions.routing import Asked
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.domain.params import AS_MEASURED, SIMULATED_TOO, NetworkMoment
from core.domain.statistics import Source, ToolStatistics
from core.virtual.multiply import Recipe
from tests.cases import each
from tests.importing import import_text
from tests.world import RAW, Scripted, call, figures

STILL = {"call_s": 0.0, "success": 1.0, "post_accept_failure": 0.0}
VIRTUAL = {
    "servers": [
        {"name": "books", "description": "Finds books.", "virtual": True, "tools": [
            {"name": "find_books", "description": "Books by title.", "price_usd": 0.002}, {"name": "free"},
        ], **STILL},
        {"name": "beside", "description": "Says that it is virtual.", "virtual": True, "tools": [{"name": "echo", "price_usd": 0.002}],
         "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}, **STILL},
        {"name": "real", "tools": [{"name": "echo"}], "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}, **STILL},
        {"name": "falling", "virtual": True, "tools": [{"name": "do", "price_usd": 0.002}], **{**STILL, "post_accept_failure": 1.0}},
    ]
}  # fmt: skip


@pytest.fixture
def virtual_app(app: App) -> App:
    """The app with the catalog above."""
    import_text(app.catalog_editor, json.dumps(VIRTUAL), "books")
    return app


def of_books(server: str, tool: str) -> ToolCall:
    return ToolCall(server, tool, {"title": "tides"}, catalog="books")


def test_nothing_is_learnt_and_it_would_cost_its_price(virtual_app: App) -> None:
    before = figures(virtual_app, "books")
    report = virtual_app.calls.run(of_books("books", "find_books"))
    outcome = report.outcome
    assert (outcome.kind, outcome.mode, outcome.price_usd) == (OutcomeKind.OK, CallMode.VIRTUAL, 0.002)
    assert outcome.connect_s > 0
    assert json.loads(outcome.content[1].text)["title"] == "tides"
    assert (report.server_before, report.tool_before) == (report.server_after, report.tool_after)
    assert figures(virtual_app, "books") == before
    assert virtual_app.calls.run(of_books("books", "free")).outcome.price_usd is None
    assert list(virtual_app.store.activity.calls()["simulated"]) == [True, True]


def test_simulated_calls_have_statistics_of_their_own_that_decisions_use_only_if_asked(virtual_app: App) -> None:
    routing, row = virtual_app.routing, virtual_app.catalogs.catalog("books").tool_row["books::find_books"]

    def tools(network: NetworkMoment) -> ToolStatistics:
        return routing.figures(Asked("books", routing.parameters("ehrr"), "books", network=network)).statistics.tools

    first, second = (virtual_app.calls.run(of_books("books", "find_books")).simulated for _ in range(2))
    assert (first.tool_before.calls, first.tool_after.calls, first.server_after.connects) == (0, 1, 0)
    assert (first.tool_after, first.server_after) == (second.tool_before, second.server_before)
    assert first.tool_after.success > first.tool_before.success
    assert (tools(AS_MEASURED).calls[row], tools(AS_MEASURED).success[row]) == (0, first.tool_before.success)
    with_simulated = tools(SIMULATED_TOO)
    assert (with_simulated.calls[row], with_simulated.success[row]) == (2, second.tool_after.success)
    assert np.flatnonzero(with_simulated.success_source == Source.SIMULATED).tolist() == [row]
    decision = routing.route("books by title", catalog="books", network=SIMULATED_TOO)
    assert (decision.network.simulated, virtual_app.store.activity.call_count()) == (True, 2)
    assert routing.decision(decision.id) is None  # not recorded


def test_any_server_can_be_called_virtually_beside_its_real_session(virtual_app: App) -> None:
    request = of_books("real", "echo")
    assert virtual_app.calls.run(request).outcome.mode is CallMode.REAL
    virtual = virtual_app.calls.run(request, mode=CallMode.VIRTUAL).outcome
    assert (virtual.kind, virtual.mode) == (OutcomeKind.OK, CallMode.VIRTUAL)
    assert "Simulated result of real::echo" in virtual.content[0].text
    assert virtual_app.calls.run(request).outcome.connect_s is None  # the real session was kept
    assert virtual_app.catalogs.statistics("books").version == 2
    assert {state.server_version for state in virtual_app.pool.states()} == {"0.9", "virtual"}


@each(
    ("mode", "server", "program"),
    [
        (CallMode.REAL, "books", "core.virtual"),
        (CallMode.REAL, "beside", RAW),
        (CallMode.VIRTUAL, "beside", "core.virtual"),
        (CallMode.VIRTUAL, "books", "core.virtual"),
    ],
)
def test_what_is_started(
    virtual_app: App, calls_of: Callable[[Scripted], CallService], mode: CallMode, server: str, program: str
) -> None:
    caller = Scripted()
    report = calls_of(caller).run(of_books(server, "echo" if server == "beside" else "free"), mode=mode)
    assert program in caller.connections[0].args
    assert report.outcome.mode is CallMode.VIRTUAL


def test_a_server_that_is_not_virtual_and_has_no_connection_is_still_not_connected(virtual_app: App) -> None:
    outcome = virtual_app.calls.run(call("read", server="files")).outcome
    assert (outcome.kind, outcome.mode) == (OutcomeKind.NOT_TRIED, CallMode.REAL)


def test_copies_are_kept_routed_to_and_called(virtual_app: App) -> None:
    recipe = Recipe(2, seed=4)
    catalog = virtual_app.catalog_editor.multiply("books", "books", recipe, name="copied")
    assert virtual_app.catalogs.catalog("copied") == catalog
    assert catalog.servers[1:3] == virtual_app.catalog_editor.copies("books", "books", recipe)
    assert [info.source for info in virtual_app.catalogs.infos() if info.name == "copied"] == [
        "books, books × 2, seed 4, spread 2"
    ]
    assert {"books", "books-1", "books-2"} <= set(
        virtual_app.routing.route("find books by title", catalog="copied").servers.names
    )
    outcome = virtual_app.calls.run(ToolCall("books-2", "free", {}, catalog="copied")).outcome
    assert (outcome.kind, outcome.mode) == (OutcomeKind.OK, CallMode.VIRTUAL)
