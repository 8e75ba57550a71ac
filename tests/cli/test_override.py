"""The operator's own descriptions: they move decisions, go to clients, survive a restart, and never replace a definition."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from core.app import App
from core.domain.catalog import Catalog
from core.domain.errors import CatalogError, UnknownNameError
from core.routers.attention import SchemaLoader
from tests.cli.conftest import Command, refused
from tests.gateway.conftest import ask, served, talk
from tests.importing import import_text
from tests.world import open_test_app


def document(description: str) -> str:
    tools = [
        {"name": "a1", "description": description, "price_usd": 0.002, "success": 0.8, "latency_s": 0.5},
        {"name": "b2", "description": "Send a letter.", "price_usd": 0.002, "success": 0.8, "latency_s": 0.5},
    ]
    return json.dumps({"servers": [{"name": "desk", "description": "Office work.", "tools": tools}]})


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "wayfare.duckdb"


def best(app: App, text: str) -> str:
    decision = app.routing.route(text, catalog="mine", router="rag_mcp")
    return decision.tools.ids[decision.candidates[0]]


def test_a_wording_counts_everywhere_until_the_server_speaks_otherwise(db: Path) -> None:
    with open_test_app(db) as app:
        import_text(app.catalog_editor, document("Handle stationery."), "mine")
        approved = app.governance.definitions
        approved.decide("mine", "desk::a1", approve=True, origin="test")
        assert best(app, "send a letter with stamps by post") == "desk::b2"
        app.wordings.put("mine", "desk::a1", "Send a letter with stamps by post.")
        app.wordings.put("mine", "desk", "Post office.")
        assert best(app, "send a letter with stamps by post") == "desk::a1"
    with open_test_app(db) as app:  # after a restart
        catalog = app.catalogs.catalog("mine")
        tool = catalog.tools[0]
        assert (tool.description, tool.own_description) == ("Send a letter with stamps by post.", "Handle stationery.")
        assert catalog.servers[0].description == "Post office."
        assert best(app, "send a letter with stamps by post") == "desk::a1"
        assert app.governance.definitions.state("mine", tool) == "known"  # the definition is the server's

        async def described(client: Client) -> dict[str, Any]:
            return await ask(client, "describe_tool", tools=["desk::a1", "desk::b2"])

        descriptions = [row["description"] for row in talk(served(app, catalog="mine"), described)["tools"]]
        assert descriptions[0].startswith(
            "Send a letter with stamps by post. [These are the words of Wayfare's operator"
        )
        assert descriptions[1] == "Send a letter."
        live = SchemaLoader(lambda _, server: stored(app).tools, clock=lambda: 0.0)
        assert live.load(catalog, ["desk::a1"], live=True)[0].tool.description == tool.description
        import_text(app.catalog_editor, document("Shred paper."), "mine")  # the server changed
        assert app.catalogs.catalog("mine").tools[0].description == "Shred paper."
        assert [wording.tool for wording in app.wordings.stale("mine")] == ["a1"]
        import_text(app.catalog_editor, document("Handle stationery."), "mine")
        app.wordings.remove("mine", "desk::a1")
        assert app.catalogs.catalog("mine").tools[0].original is None
        assert stored(app).servers[0].description == "Office work."


def stored(app: App) -> Catalog:
    catalog = app.store.catalogs.load_catalog("mine")
    assert catalog is not None
    return catalog


def test_an_unusable_wording_changes_nothing(db: Path) -> None:
    with open_test_app(db) as app:
        import_text(app.catalog_editor, document("Handle stationery."), "mine")
        for place, text, error in (
            ("desk::a1", "  ", CatalogError),
            ("desk::a1", "x" * 10_001, CatalogError),
            ("desk::zz", "x", UnknownNameError),
            ("nobody", "x", UnknownNameError),
        ):
            with pytest.raises(error):
                app.wordings.put("mine", place, text)
        with pytest.raises(UnknownNameError, match="own description already"):
            app.wordings.remove("mine", "desk")
        assert app.wordings.list("mine") == ()


def test_the_command_sets_lists_and_removes(wayfare: Command, write: Callable[[str, Any], Path]) -> None:
    wayfare("import", write("mine.json", json.loads(document("Handle stationery."))))
    options = ("--catalog", "mine")
    assert (
        "has your description now" in wayfare("override", "desk::a1", "--description", "Weigh a parcel.", *options).out
    )
    expected = [{"place": "desk::a1", "description": "Weigh a parcel.", "counts": True}]
    assert wayfare("override", *options, "--json").json() == {"overrides": expected}
    assert (
        wayfare("route", "weigh a parcel", "--router", "rag_mcp", *options, "--json").json()["tools"][0]["tool"]
        == "desk::a1"
    )
    assert "server's own description again" in wayfare("override", "desk::a1", "--remove", *options).out
    for wrong in (
        ("desk::a1",),
        ("desk::a1", "--remove"),
        ("--remove",),
        ("--description", "x"),
        ("desk::a1", "--remove", "--description", "x"),
        ("no", "--description", "x"),
    ):
        refused(wayfare("override", *wrong, *options))
