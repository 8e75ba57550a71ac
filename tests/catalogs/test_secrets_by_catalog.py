"""Two catalogs with a server of one name: each has its own values, and a changed value is used by the next call. Values differ in
length, which is all that the server says of them."""

from __future__ import annotations

import json

import pytest

from core.app import App
from core.domain.catalog import Connection, ServerId
from core.domain.errors import CatalogError
from core.domain.outcome import OutcomeKind, ToolCall
from tests.importing import import_text
from tests.world import RAW, under_way

SHORT, LONG = "a-short-secret", "a-secret-that-is-longer"
LAUNCH = {"command": "${python}", "args": ["-S", RAW]}


def keep(app: App, catalog: str, value: str = "${input:key}") -> None:
    """A catalog with the server `raw`, whose variable is a reference, or a literal value."""
    of_server = {
        "name": "raw",
        "tools": [{"name": "variable"}, {"name": "nap"}],
        "connection": {**LAUNCH, "env": {"KEY": value}},
    }
    import_text(app.catalog_editor, json.dumps({"servers": [of_server]}), catalog)


def enter(app: App, catalog: str, value: str) -> None:
    app.catalog_editor.keep_secrets(catalog, app.catalogs.catalog(catalog).servers, {"key": value})


def said(app: App, catalog: str) -> str:
    """The server's answer about its variable, or the call's error."""
    outcome = app.calls.run(ToolCall("raw", "variable", {"name": "KEY"}, catalog=catalog)).outcome
    return outcome.content[0].text if outcome.kind is OutcomeKind.OK else outcome.error


def characters(value: str) -> str:
    return f"{len(value)} characters"


def test_a_value_is_for_the_server_of_one_catalog(app: App) -> None:
    keep(app, "one")
    keep(app, "two")
    enter(app, "one", SHORT)
    assert said(app, "one") == characters(SHORT)
    assert "Server raw needs a value for ${input:key}" in said(app, "two")
    enter(app, "two", LONG)
    assert (said(app, "two"), said(app, "one")) == (characters(LONG), characters(SHORT))
    assert {(state.catalog, state.calls) for state in app.pool.states()} == {("one", 2), ("two", 1)}


def test_the_next_call_uses_a_changed_value_and_one_under_way_ends(app: App) -> None:
    keep(app, "one")
    enter(app, "one", SHORT)
    said(app, "one")
    (before,) = app.pool.states()
    slow = app.calls.start(ToolCall("raw", "nap", {"seconds": 0.3}, catalog="one"))
    under_way(app, calls=2)
    enter(app, "one", LONG)
    assert said(app, "one") == characters(LONG)
    (after,) = app.pool.states()
    assert (after.state, after.pid == before.pid, after.last_error) == ("ready", False, "")
    assert slow.report(20).outcome.kind is OutcomeKind.OK
    said(app, "one")
    assert app.pool.states()[0].pid == after.pid  # without a change it is kept


def test_discovery_takes_the_values_of_its_catalog(app: App) -> None:
    keep(app, "one")
    enter(app, "one", SHORT)
    servers = app.catalogs.catalog("one").servers
    imported = app.catalog_editor.read(
        json.dumps({"mcpServers": {"raw": {**LAUNCH, "env": {"KEY": "${input:key}"}}}}), "x.json"
    )
    waits = app.catalog_editor.discover(imported, "two", "x.json")
    assert "needs a value for ${input:key}" in waits.discoveries[0].error
    assert not app.catalogs.catalog("two").tools
    assert app.catalog_editor.discover(imported, "one", "x.json").servers == len(servers)
    definitions = app.attention.definitions("one", ["raw::pid"], live=True)
    assert (definitions[0].source, definitions[0].note) == ("live", "")


def test_a_discovery_without_an_answer_keeps_the_values_as_they_were(app: App) -> None:
    keep(app, "one", SHORT)
    gone = {"command": "no-such-command-here", "env": {"KEY": LONG}}
    imported = app.catalog_editor.read(json.dumps({"mcpServers": {"raw": gone}}), "x.json")
    for catalog in ("one", "two"):
        with pytest.raises(CatalogError, match="nothing was kept"):
            app.catalog_editor.discover(imported, catalog, "x.json")
    assert [*app.vault.names()] == [(ServerId("one", "raw"), "raw/KEY")]
    connection = Connection("stdio", env={"KEY": "${secret:raw/KEY}"})
    assert app.vault.resolve(ServerId("one", "raw"), connection).env == {"KEY": SHORT}


def test_a_new_server_without_an_answer_leaves_no_values_and_a_known_one_stays(app: App) -> None:
    gone = {"command": "no-such-command-here", "env": {"KEY": LONG}}
    imported = app.catalog_editor.read(json.dumps({"mcpServers": {"raw": LAUNCH, "gone": gone}}), "x.json")
    assert app.catalog_editor.discover(imported, "one", "x.json").servers == 1
    assert [*app.vault.names()] == []
    taken = app.catalogs.catalog("one").server("raw").tools
    app.catalog_editor.keep(imported, "one", "x.json")  # without asking them
    assert [server.tools for server in app.catalogs.catalog("one").servers] == [taken, ()]
    report = app.catalog_editor.discover(imported, "one", "x.json")
    assert (report.servers, [discovery.kept for discovery in report.discoveries]) == (2, [False, True])
    assert [*app.vault.names()] == [(ServerId("one", "gone"), "gone/KEY")]


def test_a_catalog_that_is_removed_takes_its_values_with_it(app: App) -> None:
    keep(app, "one")
    enter(app, "one", SHORT)
    app.catalog_editor.remove("one")
    keep(app, "one")
    connection = app.catalogs.catalog("one").servers[0].connection
    assert app.vault.missing(ServerId("one", "raw"), connection) == ("${input:key}",)
    assert "needs a value" in said(app, "one")
