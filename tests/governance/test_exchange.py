"""A store as a folder of files, and folders taken in: equal bytes, two stores merged, all or nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from core.app import App
from core.domain.catalog import Catalog, Connection, Server, Tool
from core.domain.errors import CatalogError, StoreError, WayfareError
from core.domain.feedback import By
from core.domain.outcome import OutcomeKind
from core.governance.budgets import Budget
from core.governance.exchange import Exchange
from core.governance.policy import Policy, Scope
from core.store import Store
from core.virtual.launch import plain_server
from tests.importing import import_text
from tests.world import NOON, RAW, Scripted, call, document, figures, open_test_app, open_world

Opened = Callable[[str], App]


@pytest.fixture
def opened(tmp_path: Path) -> Opened:
    """Opens an app over its own store."""

    def open_(name: str) -> App:
        kinds = (OutcomeKind.OK, OutcomeKind.TOOL_ERROR)
        (tmp_path / name).mkdir(exist_ok=True)
        scripted = Scripted(*kinds)
        return open_test_app(tmp_path / name / "w.duckdb", caller=lambda: scripted)

    return open_


def lived_in(app: App) -> App:
    """A catalog with something of every kind."""
    import_text(app.catalog_editor, document(), "world")
    app.servers.disable("world", "mail")
    app.catalog_editor.set_figure("world", "raw", "echo", 0.005)
    app.catalog_editor.set_figure("world", "files", "", 0.25)
    app.wordings.put("world", "raw::nap", "Sleep a moment.")
    app.requests.add("world", [(1, "files::read", ["show me notes.txt", "open it"])], source="model", by=By())
    app.requests.add_by_hand("world", "files::read", ["what is in there"], By())
    app.feedback.should_have_been("echo my words", right="raw::echo", shown="files::read", catalog="world")
    app.feedback.label("nap", "files::write", right=False, catalog="world")
    app.feedback.label("convert miles", "unit-exchange::convert_units", right=True)
    for tool in ("echo", "nap"):
        app.calls.run(call(tool))
    app.governance.set_policy(Policy(budgets=(Budget(client="*", usd=0.5),)), origin="cli")
    app.governance.clients.make("ann", Scope(servers=("raw",), per_minute=5.0), origin="cli")
    app.governance.clients.make("bo", Scope(pages=True), origin="cli")
    return app


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_in_an_empty_store_gives_the_same_folder(opened: Opened, tmp_path: Path) -> None:
    folder, other = tmp_path / "one", tmp_path / "other"
    with lived_in(opened("a")) as app:
        app.exchange.write(folder)
        expected, ranking = figures(app), app.routing.route("echo my words", catalog="world").trace()["tools"]
    (folder / "README").write_text("ours")
    assert len(files_of(folder)) == 10
    assert b"wf_" not in b"".join(files_of(folder).values())
    with opened("b") as app:
        changes = app.exchange.apply(folder, dry=True)
        assert changes.keys() == files_of(folder).keys() - {"README"}
        assert (app.catalogs.stored(), app.store.activity.latest_sequence()) == ((), 0)
        app.catalogs.catalog("sample")  # open, and made anew below
        assert app.exchange.apply(folder) == changes
        assert app.exchange.skipped == []
        app.exchange.write(other)
        assert figures(app) == expected
        assert app.routing.route("echo my words", catalog="world").trace()["tools"] == ranking
        sequence = app.store.activity.latest_sequence()
        assert app.exchange.apply(folder) == {}
        assert app.store.activity.latest_sequence() >= sequence
        assert not app.store.events.audit().problem
        assert app.governance.policy.budgets[0].usd == 0.5
        token = app.governance.clients.make("ann", Scope(), origin="cli")
        client = app.governance.clients.of_token(token)
        assert client is not None
        assert client.scope == Scope(servers=("raw",), per_minute=5.0)
        with pytest.raises(WayfareError, match="already"):
            app.governance.clients.make("ann", Scope(), origin="cli")
    assert files_of(other) == {name: data for name, data in files_of(folder).items() if name != "README"}
    with opened("a") as app:
        app.catalogs.remove("world")
        app.exchange.write(folder)
    assert [name for name in files_of(folder) if "world" in name] == []
    assert (folder / "README").exists()


def test_two_stores_are_merged_without_counting_twice(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with lived_in(opened("b")) as app:
        app.exchange.write(folder)
        theirs = [outcome.id for outcome in app.store.events.outcomes("world")]
    with opened("a") as app:
        own_server = {"name": "own", "description": "Ours.", "tools": [{"name": "one", "description": "One."}]}
        raw = {"name": "raw", "description": "Another text.", "tools": [{"name": "echo"}, {"name": "gone"}]}
        import_text(app.catalog_editor, json.dumps({"servers": [own_server, raw]}), "world")
        app.feedback.label("mine", "own::one", right=True, catalog="world")
        app.feedback.label("echo my words", "raw::echo", right=True, catalog="world")
        app.requests.add_by_hand("world", "own::one", ["the first"], By())
        app.calls.run(call("echo"))
        app.governance.clients.make("cy", Scope(), origin="cli")
        (ours,) = [outcome.id for outcome in app.store.events.outcomes("world")]
        assert figures(app)[-1] == 1
        for _ in range(2):
            app.exchange.apply(folder)
            catalog = app.catalogs.catalog("world")
            assert [server.name for server in catalog.servers] == ["own", "raw", "files"]
            assert [server.name for server in catalog.off] == ["mail"]
            assert "raw::gone" not in catalog.tool_row
            assert sorted(outcome.id for outcome in app.store.events.outcomes("world")) == sorted([ours, *theirs])
            assert figures(app)[-1] == 3
            labelled = {row.query: row.right for row in app.feedback.queries("world")}
            assert labelled == {"mine": ("own::one",), "echo my words": ("raw::echo",), "nap": ()}
            assert {row["tool"] for row in app.requests.rows("world")} == {"own::one", "files::read"}
            assert [client.name for client in app.governance.clients.all()] == ["ann", "bo", "cy"]
        assert app.exchange.apply(folder) == {}
        assert not app.store.events.audit().problem


def test_an_old_outage_of_another_store_comes_before_the_calls_that_succeeded_since(
    opened: Opened, tmp_path: Path
) -> None:
    with opened("a") as app, opened("b") as other:
        for store in (app, other):
            import_text(store.catalog_editor, document(), "world")
        app.calls.run(call("echo"))
        (outcome,) = app.store.events.outcomes("world")
        month_ago = NOON - timedelta(days=30)
        other.store.events.append(replace(outcome, id="old", at=month_ago, kind=OutcomeKind.NOT_CONNECTED.value))
        other.exchange.write(tmp_path / "folder")
        success = app.catalogs.statistics("world").servers.success[0]
        app.exchange.apply(tmp_path / "folder")
        assert app.catalogs.down("world") == {}
        assert app.catalogs.statistics("world").servers.success[0] >= success


def test_what_is_changed_during_an_import_is_not_undone(
    opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened("a") as app:
        import_text(app.catalog_editor, document(), "world")
        app.exchange.write(tmp_path / "folder")
        file = tmp_path / "folder" / "catalogs" / "world" / "catalog.json"
        file.write_text(file.read_text().replace("Echo words.", "Repeat words."))
        copied = app.exchange.copied

        def meanwhile(store: Store) -> Exchange:
            app.servers.disable("world", "mail")
            return copied(store)

        with monkeypatch.context() as patch:
            patch.setattr(app.exchange, "copied", meanwhile)
            with pytest.raises(CatalogError, match="changed meanwhile"):
                app.exchange.apply(tmp_path / "folder")
        app.exchange.apply(tmp_path / "folder")
        catalog = app.catalogs.catalog("world")
        assert catalog.find("raw", "echo")[1].description == "Repeat words."


FAULTY = (
    ("policy.toml", "tokens = 5", "tokens"),
    ("clients.json", '{"ann": {"servers": 3}}', "clients.json: ann.servers is 3"),
    ("clients.json", '{"ann": {"readonly": true}}', "clients.json: ann has no 'readonly'"),
    ("clients.json", '{"ann": {"until": "2027-01-01"}}', "ann.until is .*; give a time with its zone"),
    ("clients.json", '{"ann": {"until": "tomorrow"}}', "ann.until is .*; give a time with its zone"),
    ("clients.json", '{"ann": {"per_minute": -3}}', "ann.per_minute is -3; give a number of 0 or more"),
    ("catalogs/world/catalog.json", '{"servers": [{"name": "a"}]}', "catalog.json"),
    ("catalogs/sample/catalog.json", '{"servers": [{"name": "a", "tools": [{"name": "t"}]}]}', "shipped"),
    ("catalogs/world/prices.json", '{"raw": -1}', "prices.json: raw is -1"),
    ("catalogs/world/wordings.json", '{"nobody": "x"}', "nobody"),
    ("catalogs/world/statistics.jsonl", '{"id": "1"}\n', "statistics.jsonl: line 1"),
    ("catalogs/world/labels.jsonl", "{", "labels.jsonl"),
    ("catalogs/world/requests.jsonl", '{"tool": "raw::echo", "requests": 3}', "requests.jsonl: line 1"),
)  # fmt: skip


def test_a_faulty_file_changes_nothing(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with lived_in(opened("b")) as app:
        app.exchange.write(folder)
    with opened("a") as app:
        for name, text, words in FAULTY:
            file = folder / name
            original = file.read_text() if file.exists() else ""
            file.write_text(text)
            with pytest.raises(WayfareError, match=words) as error:
                app.exchange.apply(folder)
            assert "\n" not in str(error.value)
            assert (app.catalogs.stored(), app.store.activity.latest_sequence()) == ((), 0)
            file.write_text(original) if original else file.unlink()
        empty = tmp_path / "empty"
        empty.mkdir()
        with pytest.raises(WayfareError, match="wayfare export"):
            app.exchange.apply(empty)


def test_a_merge_that_fails_at_its_end_leaves_nothing(opened: Opened) -> None:
    with lived_in(opened("a")) as app:
        store, since = app.store, app.store.activity.latest_sequence()
        with Store.of_tables(store.tables()) as copy:
            label = replace(app.feedback.labels("world")[0], id="twice")
            copy.labels.append(label)
            copy.set_setting("wordings:world", [])
            changed = replace(app.catalogs.catalog("world"), servers=())
            copy.catalogs.save_catalog(changed, "changed")
            store.labels.append(label)
            with pytest.raises(StoreError):
                store.merge(copy, since, catalogs=["world"], settings=["wordings:world"])
        assert len(store.get_setting("wordings:world")) == 1
        loaded = store.catalogs.load_catalog("world")
        assert loaded is not None
        assert [plain_server(server)["name"] for server in loaded.servers] == ["raw", "files"]
        app.feedback.label("after", "raw::echo", right=True, catalog="world")
        assert not store.events.audit().problem


def test_a_server_is_taken_in_exactly_and_a_value_in_its_connection_is_refused(opened: Opened, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with opened("a") as app:
        launch = {
            "type": "stdio",
            "command": "${python}",
            "args": ["-S", RAW],
            "env": {"PLAN": "gold", "KEY": "s3cret-9f8e7d"},
        }
        import_text(
            app.catalog_editor, json.dumps({"servers": [{"name": "raw", "tools": [], "connection": launch}]}), "world"
        )
        app.values.show("world", "raw", "PLAN")
        original = app.catalogs.catalog("world")
        app.exchange.write(folder)
    with opened("b") as app:
        app.exchange.apply(folder)
        assert app.catalogs.catalog("world").servers[0].connection == original.servers[0].connection
        file = folder / "catalogs/world/catalog.json"
        file.write_text(file.read_text().replace("${secret:raw/KEY}", "s3cret-9f8e7d"))
        with pytest.raises(WayfareError):
            app.exchange.apply(folder)


def test_a_server_that_an_import_switches_off_loses_its_sessions(tmp_path: Path) -> None:
    with open_world(tmp_path / "db") as app:
        assert app.calls.run(call("echo")).outcome.kind is OutcomeKind.OK
        app.exchange.write(tmp_path / "folder", ["world"])
        file = tmp_path / "folder" / "catalogs" / "world" / "catalog.json"
        catalog = json.loads(file.read_text())
        next(server for server in catalog["servers"] if server["name"] == "raw")["switched_off"] = True
        file.write_text(json.dumps(catalog))
        app.exchange.apply(tmp_path / "folder", dry=True)
        assert app.pool.states()[0].pid is not None
        app.exchange.apply(tmp_path / "folder")
        assert app.pool.states()[0].pid is None


def test_an_import_of_an_exported_catalog_frees_no_held_server_and_no_forbidden_tool(
    opened: Opened, tmp_path: Path
) -> None:
    held, web = Connection("stdio", "held", quarantined=True), Connection("http", url="https://a.example/mcp")
    connections = {
        "web": replace(web, without=("rm",)),
        "few": replace(web, only=("read_*",)),
        "none": replace(web, only=()),
        "held": held,
        "mail": None,
    }
    servers = [Server(name, tools=(Tool(name, "t"),), connection=place) for name, place in connections.items()]

    def restrictions(name: str) -> list[object]:
        catalog = app.catalogs.catalog(name)
        places = [server.connection or held for server in (*catalog.servers, *catalog.off)]
        rules = [(place.quarantined, place.only, place.without) for place in places]
        return [[server.name for server in catalog.off], rules]

    with opened("a") as app:
        app.catalogs.save(Catalog("mine", tuple(servers[:3]), tuple(servers[3:])), "test")
        app.exchange.write(tmp_path)
        app.catalog_editor.import_files([tmp_path / "catalogs/mine/catalog.json"], "again")
        assert restrictions("again") == restrictions("mine")
        assert app.exchange.apply(tmp_path) == {}


def test_a_folder_takes_no_wording_away_that_it_has(opened: Opened, tmp_path: Path) -> None:
    with opened("a") as app, opened("b") as other:
        for store in (app, other):
            import_text(store.catalog_editor, document(), "world")
            store.wordings.put("world", "raw::nap", "Ours.")
        import_text(app.catalog_editor, document().replace("Delay words.", "Wait."), "world")
        app.wordings.put("world", "raw::nap", "Ours.")
        app.exchange.write(tmp_path / "folder")
        changes = other.exchange.apply(tmp_path / "folder")
        assert [*changes] == ["catalogs/world/catalog.json"]
        tool = other.catalogs.catalog("world").find("raw", "nap")[1]
        assert (tool.description, tool.own_description) == ("Ours.", "Wait.")


def test_a_server_may_have_null_for_a_connection(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "catalogs/mine/catalog.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"servers": [{"name": "a", "connection": null, "tools": [{"name": "t"}]}]}')
    with opened("a") as app:
        app.exchange.apply(tmp_path)
        assert app.catalogs.catalog("mine").tool_ids == ("a::t",)
