"""Catalogs: kept, replaced, removed; and the prices that an operator sets by hand."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.app import App
from core.calls.calls import CallService
from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Discovery, Server, ServerId
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.feedback import By
from core.domain.outcome import OutcomeKind
from core.domain.statistics import Source
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from core.relevance.encoder import Vectors
from core.relevance.relevance_index import RelevanceIndex
from core.store import Store
from core.store.connection import COMMAND
from tests.cases import each
from tests.importing import import_text
from tests.relevance.toy_encoders import WordEncoder
from tests.world import Scripted, call, document, figures, open_test_app, open_world

ONE = '{"servers": [{"name": "new", "description": "New.", "tools": [{"name": "tool", "description": "A tool."}]}]}'


def names(app: App) -> list[str]:
    return [info.name for info in app.catalogs.infos()]


def test_the_shipped_catalogs_are_first_and_need_no_store(app: App) -> None:
    infos = app.catalogs.infos()
    assert names(app) == [*SHIPPED_CATALOGS, "world"]
    assert (infos[-1].servers, infos[-1].tools) == (3, 7)


def test_a_broken_document_changes_nothing(app: App) -> None:
    broken = json.loads(document())
    broken["servers"][2]["tools"].append({"name": "send"})
    with pytest.raises(CatalogError, match="send"):
        import_text(app.catalog_editor, json.dumps(broken), "world")
    with pytest.raises(CatalogError):
        app.catalog_editor.import_files([])
    assert len(app.catalogs.catalog("world").tools) == 7


def test_a_new_import_replaces_the_catalog_and_keeps_its_calls(app: App, calls_of) -> None:
    calls: CallService = calls_of(Scripted())
    calls.run(call("echo"))
    learnt = figures(app)
    import_text(app.catalog_editor, ONE, "world")
    assert app.routing.route("a tool", catalog="world").tools.ids == ("new::tool",)
    import_text(app.catalog_editor, document(), "world")
    assert figures(app) == learnt


def test_a_catalog_that_is_saved_keeps_calls_that_are_not_written_yet(app: App, calls_of, path: Path) -> None:
    calls: CallService = calls_of(Scripted())
    with app.store._database.lock:  # the background cannot write
        calls.start(call("echo"), origin="agent").report(20)
        learnt = figures(app)
        import_text(app.catalog_editor, document(), "world")
    assert figures(app) == learnt
    assert app.catalogs.statistics("world").version == 1
    app.close()
    with open_test_app(path) as reopened:
        assert figures(reopened) == learnt


@each("name", ["sample", "attention-120", "", " ", "a\nb", "x" * 201])
def test_names_that_cannot_be(app: App, name: str) -> None:
    with pytest.raises(CatalogError, match="name"):
        import_text(app.catalog_editor, ONE, name)
    with pytest.raises(CatalogError, match="name"):
        app.catalog_editor.discover(app.catalog_editor.read(ONE, "a.json"), name, "a.json")
    assert names(app) == [*SHIPPED_CATALOGS, "world"]


def test_removing(app: App, calls_of, path: Path) -> None:
    calls_of(Scripted()).run(call("echo"))
    app.catalog_editor.remove("world")
    assert names(app) == [*SHIPPED_CATALOGS]
    for wrong in ("world", "nope"):
        with pytest.raises(UnknownNameError, match=wrong):
            app.catalog_editor.remove(wrong)
    for name in SHIPPED_CATALOGS:
        with pytest.raises(CatalogError, match=f"{name}.*part of Wayfare"):
            app.catalog_editor.remove(name)
    with pytest.raises(UnknownNameError):
        app.routing.route("read a file", catalog="world")
    assert app.store.activity.call_count() == 1
    app.close()
    with open_test_app(path) as reopened:
        assert names(reopened) == [*SHIPPED_CATALOGS]


def test_sessions_end_with_their_server(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[ServerId] = []
    monkeypatch.setattr(app.catalog_editor, "sessions", lambda: SimpleNamespace(end=ended.append))
    elsewhere = document(connection={"type": "http", "url": "https://a.example/mcp"})
    for text, count in ((document(), 0), (elsewhere, 1), (ONE, 2), (ONE, 2), (document(), 2)):
        import_text(app.catalog_editor, text, "world")
        assert ended == [ServerId("world", "raw")] * count
    app.catalog_editor.remove("world")
    assert ended == [ServerId("world", "raw")] * 3

    # a discovery has opened the sessions with the servers that it asked, also in another way
    import_text(app.catalog_editor, document(), "world")
    monkeypatch.setattr(
        "core.servers.discovery.discover", lambda *asked: tuple(Discovery(server.name, server) for server in asked[2])
    )
    for text, count in ((elsewhere, 3), (ONE, 4)):
        app.catalog_editor.discover(app.catalog_editor.read(text, "a.json"), "world", "a.json")
        assert ended == [ServerId("world", "raw")] * count


def test_a_server_that_answered_a_check_is_not_down_again_after_an_edit(app: App, calls_of) -> None:
    calls: CallService = calls_of(Scripted(OutcomeKind.NOT_CONNECTED))
    edits = (
        lambda: app.wordings.put("world", "files::read", "Read it."),
        lambda: app.servers.disable("world", "mail"),
        app.catalogs.read_anew,
    )
    initial = app.catalogs.statistics("world").servers.success[0]
    calls.run(call("echo"))
    assert [*app.catalogs.down("world")] == ["raw"]
    app.catalogs.answered("world", "raw")
    for edit in edits:
        edit()
        assert app.catalogs.down("world") == {}
        assert app.catalogs.statistics("world").servers.success[0] == initial


def test_an_edit_by_a_command_keeps_what_another_process_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, steps = tmp_path / "db", list[str]()
    open_world(path).close()
    with open_test_app(path, store=Store(path, sharing=COMMAND)) as command:
        command.catalogs.catalog("world")
        command.store._database._leave()
        with open_test_app(path) as other:
            other.servers.disable("world", "mail")
        kept, outcomes = command.store.kept, command.store.events.outcomes

        @contextmanager
        def watched(*read_anew: Callable[[], None]) -> Generator[None]:
            with kept(*read_anew):
                yield
                steps.append("given away")

        monkeypatch.setattr(command.store, "kept", watched)
        monkeypatch.setattr(command.store.events, "outcomes", lambda name: steps.append("read") or outcomes(name))
        command.servers.disable("world", "files")
        assert steps == ["given away", "read"]  # it may take seconds
        assert [server.name for server in command.catalogs.catalog("world").off] == ["mail", "files"]


def test_a_file_is_opened_for_this_process_only(app: App, tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(ONE)
    name = app.catalogs.open(str(file)).name
    assert app.routing.route("a tool", catalog=name).winner.tool == "new::tool"
    assert names(app) == [*SHIPPED_CATALOGS, "world"]
    index = app.catalogs.index(name)
    app.catalogs.open(str(file))
    assert app.catalogs.index(name) is index  # of an unchanged file
    file.write_text(ONE.replace("new", "newer"))
    assert app.catalogs.open(str(file)).tools[0].id == "newer::tool"
    file.write_text("nonsense")
    with pytest.raises(WayfareError, match=r"one\.json"):
        app.catalogs.open(str(file))
    with pytest.raises(WayfareError, match=r"none\.json"):
        app.catalogs.open(str(tmp_path / "none.json"))


class TestPrices:
    """`set_figure`: an operator's price or ask."""

    def test_a_price_changes_the_next_decision_and_survives(self, app: App, path: Path) -> None:
        def winner(app: App) -> str:
            ranked = app.routing.parameters("ehrr", {"worthwhile": False})  # a tool that hardly fits is a candidate too
            return app.routing.route("read a file", catalog="world", parameters=ranked, record=False).winner.tool

        assert winner(app) == "files::read"
        app.catalog_editor.set_figure("world", "files", "read", 5.0)
        assert winner(app) != "files::read"
        assert app.routing.route("read a file", catalog="world", record=False).winner is None  # nothing is worth a call
        figures_of = app.catalogs.statistics("world").tools
        row = app.catalogs.catalog("world").tool_row["files::read"]
        assert (figures_of.price_usd[row], figures_of.price_source[row]) == (5.0, Source.EDITED)
        app.close()
        with open_test_app(path) as reopened:
            assert winner(reopened) != "files::read"
            reopened.catalog_editor.set_figure("world", "files", "read", None)
            assert winner(reopened) == "files::read"
        with open_test_app(path) as third:
            assert winner(third) == "files::read"

    def test_an_ask_changes_who_accepts(self, app: App) -> None:
        def accepted(server: str) -> bool:
            decision = app.routing.route("read a file", catalog="world", record=False)
            return bool(decision.servers.accepted[decision.servers.names.index(server)])

        assert accepted("mail")
        app.catalog_editor.set_figure("world", "mail", "", 3.0)
        assert not accepted("mail")
        app.catalog_editor.set_figure("world", "mail", "", 0.0)
        assert accepted("mail")

    def test_the_price_of_a_call_is_the_one_set_by_hand(self, app: App, calls_of) -> None:
        app.catalog_editor.set_figure("world", "raw", "echo", 0.0)
        assert calls_of(Scripted()).run(call("echo")).outcome.price_usd == 0
        app.catalog_editor.set_figure("world", "raw", "echo", 0.25)
        assert calls_of(Scripted()).run(call("echo")).outcome.price_usd == 0.25

    def test_prices_outlive_a_new_import(self, app: App) -> None:
        app.catalog_editor.set_figure("world", "files", "read", 5.0)
        import_text(app.catalog_editor, document(), "world")
        row = app.catalogs.catalog("world").tool_row["files::read"]
        assert app.catalogs.statistics("world").tools.price_usd[row] == 5.0

    @each("value", [-0.001, float("nan"), float("inf")])
    def test_what_is_no_price(self, app: App, value: float) -> None:
        before = figures(app)
        with pytest.raises(CatalogError, match="price"):
            app.catalog_editor.set_figure("world", "files", "read", value)
        assert figures(app) == before

    @each("place", [("nope", "a", "b"), ("world", "nope", ""), ("world", "files", "nope")])
    def test_what_is_not_there(self, app: App, place: tuple[str, str, str]) -> None:
        with pytest.raises(UnknownNameError, match="nope"):
            app.catalog_editor.set_figure(*place, 0.1)


def test_a_server_that_is_switched_off_keeps_its_words_requests_and_labels_in_an_export_too(
    app: App, tmp_path: Path
) -> None:
    app.wordings.put("world", "raw::echo", "Say it again.")
    app.wordings.put("world", "raw", "Says things.")
    app.requests.add_by_hand("world", "raw::echo", ["repeat after me"], By())
    app.feedback.label("nap", "raw::nap", right=True, catalog="world")
    app.servers.disable("world", "raw")
    assert app.wordings.stale("world") == ()
    app.exchange.write(tmp_path / "folder", ["world"])
    with open_test_app(None) as other:
        other.exchange.apply(tmp_path / "folder")
        assert (other.exchange.skipped, other.exchange.apply(tmp_path / "folder")) == ([], {})
        assert other.requests.of_catalog("world") == {}
        other.servers.enable("world", "raw")
        assert other.requests.rows("world") == [{"tool": "raw::echo", "requests": ["repeat after me"]}]
        assert "raw::echo" not in other.requests.lacking("world")  # it is not stale
        assert [row.right for row in other.feedback.queries("world")] == [("raw::nap",)]
        server = other.catalogs.catalog("world").server("raw")
        assert (server.description, server.tools[0].description) == ("Says things.", "Say it again.")


def test_only_the_texts_of_a_changed_server_are_embedded_again(path: Path) -> None:
    encoder = WordEncoder()
    with open_test_app(path, encoder=encoder) as app:
        import_text(app.catalog_editor, document(), "mine")
        app.catalogs.prepare("mine")
        changed = json.loads(document())
        changed["servers"][2]["tools"].append({"name": "weigh", "description": "Weigh a parcel."})
        encoder.seen.clear()
        import_text(app.catalog_editor, json.dumps(changed), "mine")
        app.catalogs.prepare("mine")
        assert {text for text in encoder.seen if "mail" not in text} == {"weigh", "weigh: Weigh a parcel."}
        encoder.seen.clear()
        import_text(app.catalog_editor, document(), "mine")
        app.catalogs.prepare("mine")
    assert encoder.seen == []


class Interrupted(WordEncoder):
    """Something happens once while it encodes."""

    happens: Callable[[], object] | None = None

    def encode(self, texts: Sequence[str]) -> Vectors:
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()
        return super().encode(texts)


@each(
    ("happens", "tools_now"),
    [
        (lambda catalogs: catalogs.save(Catalog("one", catalogs.catalog("world").servers), "b.json"), 7),
        (lambda catalogs: catalogs.edit("one", lambda one: Catalog("one", off=one.servers)), 0),
        (lambda catalogs: catalogs.remove("one"), None),
    ],
    ids=["replaced", "switched off", "removed"],
)
def test_a_decision_is_about_the_catalog_it_began_with(
    happens: Callable[[CatalogService], object], tools_now: int | None
) -> None:
    encoder = Interrupted()
    with open_test_app(None, encoder=encoder) as app:
        catalogs = app.catalogs
        import_text(app.catalog_editor, document(), "world")
        import_text(app.catalog_editor, ONE, "one")
        encoder.happens = lambda: happens(catalogs)
        assert app.routing.route("a tool", catalog="one").tools.ids == ("new::tool",)
        assert encoder.happens is None
        if tools_now is None:
            with pytest.raises(UnknownNameError):
                app.routing.route("a tool", catalog="one")
            return
        index, tokens, (catalog, vectors) = catalogs.index("one"), catalogs.tokens("one"), catalogs.own("one")
        assert index.catalog is catalog is catalogs.catalog("one")
        assert len(catalog.tools) == len(tokens) == len(vectors) == tools_now
        assert app.routing.route("a tool", catalog="one").tools.ids == catalog.tool_ids


def test_an_index_stays_until_a_text_changes_and_edits_of_other_catalogs_leave_it(app: App) -> None:
    import_text(app.catalog_editor, ONE, "one")
    catalogs = app.catalogs
    initial = {name: (catalogs.context(name), catalogs.scorer(name).index) for name in ("one", "world")}
    raw = catalogs.catalog("world").servers[0]
    tool = raw.tools[0]

    def edited(server: Server) -> RelevanceIndex:
        catalogs.edit("world", lambda catalog: catalog.with_server(server))
        assert catalogs.context("one") is initial["one"][0]
        assert catalogs.scorer("one").index is initial["one"][1]
        assert catalogs.context("world").catalog.server(raw.name) == server
        assert catalogs.index("world").catalog == catalogs.catalog("world")
        return catalogs.scorer("world").index

    priced = replace(raw, ask_usd=0.25, tools=(replace(tool, price_usd=0.5), *raw.tools[1:]))
    assert edited(priced) is initial["world"][1]
    assert catalogs.context("world").statistics.tools.price_usd[0] == 0.5
    for variant in (
        replace(priced, description="Else."),
        replace(priced, tools=priced.tools[:-1]),
        replace(priced, tools=(replace(tool, description="Else."), *raw.tools[1:])),
        replace(
            priced, tools=(replace(tool, input_schema={"type": "object", "properties": {"else": {}}}), *raw.tools[1:])
        ),
    ):
        before = catalogs.scorer("world").index
        assert edited(variant) is not before
