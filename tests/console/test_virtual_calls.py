"""Calls to virtual servers through the facade: real processes, nothing learnt, billed as simulated calls are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from core.calls import Calls
from core.console import Console
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.errors import CatalogError, WayfareError
from core.virtual.multiply import Recipe
from tests.console.world import RAW, Scripted, call, figures

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
def books(console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Console:
    """The console with the catalog above; virtual servers are written to a cache of their own."""
    monkeypatch.setenv("WAYFARE_CACHE", str(tmp_path))
    console.desk.import_text(json.dumps(VIRTUAL), "books")
    return console


def of_books(server: str, tool: str) -> ToolCall:
    return ToolCall(server, tool, {"title": "tides"}, catalog="books")


def test_nothing_is_learnt_and_it_would_cost_its_price(books: Console) -> None:
    before = figures(books, "books")
    report = books.call(of_books("books", "find_books"))
    outcome = report.outcome
    assert (outcome.kind, outcome.mode, outcome.price_usd) == (OutcomeKind.OK, CallMode.VIRTUAL, 0.002)
    assert outcome.connect_s > 0
    assert json.loads(outcome.content[1].text)["title"] == "tides"
    assert (report.server_before, report.tool_before) == (report.server_after, report.tool_after)
    assert figures(books, "books") == before
    assert books.call(of_books("books", "free")).outcome.price_usd is None
    assert list(books.store.activity.calls()["simulated"]) == [True, True]


def test_a_lost_virtual_server_is_simulated_as_well(books: Console) -> None:
    before = figures(books, "books")
    outcome = books.call(of_books("falling", "do")).outcome
    assert (outcome.kind, outcome.simulated, outcome.price_usd) == (OutcomeKind.CRASH, True, 0.0)
    assert figures(books, "books") == before


def test_a_virtual_server_with_a_connection_is_reached_by_it(books: Console) -> None:
    outcome = books.call(of_books("beside", "echo")).outcome
    assert json.loads(outcome.content[0].text) == {"title": "tides"}
    assert outcome.mode is CallMode.VIRTUAL


def test_any_server_can_be_called_virtually_beside_its_real_session(books: Console) -> None:
    request = of_books("real", "echo")
    assert books.call(request).outcome.mode is CallMode.REAL
    virtual = books.call(request, mode=CallMode.VIRTUAL).outcome
    assert (virtual.kind, virtual.mode) == (OutcomeKind.OK, CallMode.VIRTUAL)
    assert "Simulated result of real::echo" in virtual.content[0].text
    assert books.call(request).outcome.connect_s is None  # the real session was kept
    assert books.statistics("books").version == 2
    assert {state.server_version for state in books.connections()} == {"0.9", "virtual"}


@pytest.mark.parametrize(
    ("mode", "server", "program"),
    [
        (CallMode.REAL, "books", "core.virtual"),
        (CallMode.REAL, "beside", RAW),
        (CallMode.VIRTUAL, "beside", "core.virtual"),
        (CallMode.VIRTUAL, "books", "core.virtual"),
    ],
)
def test_what_is_started(
    books: Console, calls_of: Callable[[Scripted], Calls], mode: CallMode, server: str, program: str
) -> None:
    caller = Scripted()
    report = calls_of(caller).run(of_books(server, "echo" if server == "beside" else "free"), mode=mode)
    assert program in caller.connections[0].args
    assert report.outcome.mode is CallMode.VIRTUAL


def test_a_server_that_is_not_virtual_and_has_no_connection_is_still_not_connected(books: Console) -> None:
    outcome = books.call(call("read", server="files")).outcome
    assert (outcome.kind, outcome.mode) == (OutcomeKind.NOT_CONNECTED, CallMode.REAL)


def test_a_cache_that_cannot_be_written_is_said(
    books: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WAYFARE_CACHE", str(tmp_path / "file"))
    with pytest.raises(WayfareError, match="set WAYFARE_CACHE"):
        books.call(of_books("books", "free"))


def test_copies_are_kept_routed_to_and_called(books: Console) -> None:
    recipe = Recipe(2, seed=4)
    made = books.desk.multiply("books", "books", recipe, name="shelf")
    assert books.library.catalog("shelf") == made
    assert made.servers[1:3] == books.desk.copies("books", "books", recipe)
    assert [info.source for info in books.catalogs() if info.name == "shelf"] == ["books, books × 2, seed 4, spread 2"]
    assert {"books", "books-1", "books-2"} <= set(books.route("find books by title", catalog="shelf").servers.names)
    outcome = books.call(ToolCall("books-2", "free", {}, catalog="shelf")).outcome
    assert (outcome.kind, outcome.mode) == (OutcomeKind.OK, CallMode.VIRTUAL)


def test_a_catalog_that_may_not_be_kept_is_not(books: Console) -> None:
    with pytest.raises(CatalogError):
        books.desk.multiply("books", "books", Recipe(2), name="sample")
