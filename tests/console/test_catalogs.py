"""Catalogs: kept, replaced, removed; and the prices that an operator sets by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.calls import Calls
from core.console import Console
from core.domain.statistics import Source
from core.errors import CatalogError, UnknownNameError, WayfareError
from core.shipped import SHIPPED
from tests.console.world import Scripted, call, document, figures, opened

ONE = '{"servers": [{"name": "new", "description": "New.", "tools": [{"name": "tool", "description": "A tool."}]}]}'


def names(console: Console) -> list[str]:
    return [info.name for info in console.catalogs()]


def test_the_shipped_catalogs_are_first_and_need_no_store(console: Console) -> None:
    infos = console.catalogs()
    assert names(console) == [*SHIPPED, "world"]
    assert (infos[-1].servers, infos[-1].tools) == (3, 7)


def test_catalogs_survive_reopening(console: Console, path: Path) -> None:
    before = console.route("read a file", catalog="world", record=False)
    console.close()
    with opened(path) as again:
        after = again.route("read a file", catalog="world", record=False)
    assert after.tools.ids == before.tools.ids
    assert after.tools.utility.tolist() == before.tools.utility.tolist()


def test_a_broken_document_changes_nothing(console: Console) -> None:
    broken = json.loads(document())
    broken["servers"][2]["tools"].append({"name": "send"})
    with pytest.raises(CatalogError, match="send"):
        console.desk.import_text(json.dumps(broken), "world")
    with pytest.raises(CatalogError):
        console.desk.import_files([])
    assert len(console.library.catalog("world").tools) == 7


def test_a_new_import_replaces_the_catalog_and_keeps_its_calls(console: Console, calls_of) -> None:
    calls: Calls = calls_of(Scripted())
    calls.run(call("echo"))
    learnt = figures(console)
    console.desk.import_text(ONE, "world")
    assert console.route("a tool", catalog="world").tools.ids == ("new::tool",)
    console.desk.import_text(document(), "world")
    assert figures(console) == learnt


@pytest.mark.parametrize("name", ["sample", "attention-120", "", " ", "a\nb", "x" * 201])
def test_names_that_cannot_be(console: Console, name: str) -> None:
    with pytest.raises(CatalogError, match="name"):
        console.desk.import_text(ONE, name)
    with pytest.raises(CatalogError, match="name"):
        console.desk.discover(console.desk.read(ONE, "a.json"), name, "a.json")
    assert names(console) == [*SHIPPED, "world"]


def test_removing(console: Console, calls_of, path: Path) -> None:
    calls_of(Scripted()).run(call("echo"))
    console.desk.remove("world")
    assert names(console) == [*SHIPPED]
    for wrong in ("world", "nope"):
        with pytest.raises(UnknownNameError, match=wrong):
            console.desk.remove(wrong)
    for name in SHIPPED:
        with pytest.raises(CatalogError, match=f"{name}.*part of Wayfare"):
            console.desk.remove(name)
    with pytest.raises(UnknownNameError):
        console.route("read a file", catalog="world")
    assert console.store.activity.call_count() == 1
    console.close()
    with opened(path) as again:
        assert names(again) == [*SHIPPED]


def test_a_file_is_opened_for_this_process_only(console: Console, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(ONE)
    name = console.open_catalog(str(file))
    assert console.route("a tool", catalog=name).winner.tool == "new::tool"
    assert names(console) == [*SHIPPED, "world"]
    file.write_text("nonsense")
    assert console.open_catalog(str(file)) == name
    with pytest.raises(WayfareError, match=r"none\.json"):
        console.open_catalog(str(tmp_path / "none.json"))


class TestPrices:
    """`set_figure`: an operator's price or ask."""

    def test_a_price_changes_the_next_decision_and_survives(self, console: Console, path: Path) -> None:
        def winner(opened_console: Console) -> str:
            return opened_console.route("read a file", catalog="world", record=False).winner.tool

        assert winner(console) == "files::read"
        console.desk.set_figure("world", "files", "read", 5.0)
        assert winner(console) != "files::read"
        figures_of = console.statistics("world").tools
        row = console.library.catalog("world").tool_row["files::read"]
        assert (figures_of.price_usd[row], figures_of.price_source[row]) == (5.0, Source.EDITED)
        console.close()
        with opened(path) as again:
            assert winner(again) != "files::read"
            again.desk.set_figure("world", "files", "read", None)
            assert winner(again) == "files::read"
        with opened(path) as third:
            assert winner(third) == "files::read"

    def test_an_ask_changes_who_accepts(self, console: Console) -> None:
        def accepted(server: str) -> bool:
            decision = console.route("read a file", catalog="world", record=False)
            return bool(decision.servers.accepted[decision.servers.names.index(server)])

        assert accepted("mail")
        console.desk.set_figure("world", "mail", "", 3.0)
        assert not accepted("mail")
        console.desk.set_figure("world", "mail", "", 0.0)
        assert accepted("mail")

    def test_the_price_of_a_call_is_the_one_set_by_hand(self, console: Console, calls_of) -> None:
        console.desk.set_figure("world", "raw", "echo", 0.0)
        assert calls_of(Scripted()).run(call("echo")).outcome.price_usd == 0
        console.desk.set_figure("world", "raw", "echo", 0.25)
        assert calls_of(Scripted()).run(call("echo")).outcome.price_usd == 0.25

    def test_what_was_learnt_stays_when_a_price_is_set(self, console: Console, calls_of) -> None:
        report = calls_of(Scripted()).run(call("echo"))
        console.desk.set_figure("world", "raw", "echo", 0.1)
        assert console.library.book("world").server(0) == report.server_after

    def test_prices_outlive_a_new_import(self, console: Console) -> None:
        console.desk.set_figure("world", "files", "read", 5.0)
        console.desk.import_text(document(), "world")
        row = console.library.catalog("world").tool_row["files::read"]
        assert console.statistics("world").tools.price_usd[row] == 5.0

    @pytest.mark.parametrize("value", [-0.001, float("nan"), float("inf")])
    def test_what_is_no_price(self, console: Console, value: float) -> None:
        before = figures(console)
        with pytest.raises(CatalogError, match="price"):
            console.desk.set_figure("world", "files", "read", value)
        assert figures(console) == before

    @pytest.mark.parametrize("place", [("nope", "a", "b"), ("world", "nope", ""), ("world", "files", "nope")])
    def test_what_is_not_there(self, console: Console, place: tuple[str, str, str]) -> None:
        with pytest.raises(UnknownNameError, match="nope"):
            console.desk.set_figure(*place, 0.1)
