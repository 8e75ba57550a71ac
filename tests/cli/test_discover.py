"""`wayfare discover`: tools taken live; a server that fails harms only itself; secrets stay in memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from core.app import App
from core.domain.catalog import Connection, Server
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from tests.cli.conftest import RAW, ROOT, Command, Run, server, tool

SECRET = "correct-horse-battery-staple"
LEAK = "import os, sys; print('key is', os.environ['API_KEY'], file=sys.stderr); sys.exit(3)"
GOOD: dict[str, Any] = {
    "command": "${python}",
    "args": ["-m", "sample_catalog.runnable.unit_exchange"],
    "cwd": str(ROOT),
    "env": {"API_KEY": SECRET, "AT": "${HOME}/x", "DB": "postgres://u:${env:HOME}@${HOME}:5432/shop"},
}
MISSING: dict[str, Any] = {**GOOD, "command": "no-such-command-here", "args": ["--key", SECRET]}
LEAKING: dict[str, Any] = {**GOOD, "args": ["-c", LEAK]}
OWN = Connection("stdio", "wayfare", ("mcp",))
SMALL: dict[str, Any] = {"command": sys.executable, "args": ["-S", RAW]}


def discover(wayfare: Command, write, name: str, *arguments: object, **servers: Any) -> Run:
    return wayfare("discover", write(name, {"mcpServers": servers}), *arguments)


def test_one_is_taken_the_others_are_refused_with_a_sentence_and_secrets_are_nowhere(
    wayfare: Command, write, db: Path
) -> None:
    """One server answers, one is not installed, one prints its secret and exits."""
    mixed = discover(wayfare, write, "mcp.json", "--json", units=GOOD, gone=MISSING, leaking=LEAKING)
    d = mixed.json_with(1)
    assert (d["catalog"], d["servers"], d["needs_discovery"]) == ("mcp", 1, [])
    assert d["tools"] == 7
    gone, leaking = d["refused"]
    assert (gone["server"], leaking["server"]) == ("gone", "leaking")
    assert "the command no-such-command-here was not found" in gone["error"]
    assert "key is •••" in leaking["error"]
    assert wayfare("catalogs", "--json").json()["catalogs"][-1]["changes"] == []
    decision = wayfare("route", "convert 300 miles to kilometres", "--catalog", "mcp", "--json").json()
    assert decision["candidates"][0] == "units::convert_units"
    assert SECRET not in mixed.out + mixed.err
    stored = b"".join(file.read_bytes() for file in db.parent.iterdir())
    assert b"unit_exchange" in stored
    assert SECRET.encode() not in stored


def test_the_text_names_what_was_refused(wayfare: Command, write) -> None:
    run = discover(wayfare, write, "mcp.json", "--name", "mine", small=SMALL, gone=MISSING)
    assert (run.code, run.err) == (1, "")
    assert run.out.startswith("Catalog mine: took 1 server with 10 tools")
    assert "refused: gone: " in run.out
    assert SECRET not in run.out


def test_where_no_server_responds_nothing_is_stored(wayfare: Command, write) -> None:
    run = discover(wayfare, write, "mcp.json", gone=MISSING)
    assert (run.code, run.out) == (2, "")
    assert run.err.count("\n") == 1
    assert "no server answered" in run.err
    assert SECRET not in run.err
    assert len(wayfare("catalogs", "--json").json()["catalogs"]) == len(SHIPPED_CATALOGS)


def test_servers_that_need_values_are_kept_without_tools(wayfare: Command, write) -> None:
    needy = {**SMALL, "env": {"KEY": "${input:key}"}}
    run = discover(wayfare, write, "mcp.json", needy=needy)
    assert (run.code, run.err) == (1, "")
    assert "took 1 server with 0 tools" in run.out
    assert "needs a value for ${input:key}; enter it to connect. It is kept without tools." in run.out
    assert wayfare("secrets", "list", "--catalog", "mcp", "--json").json()["values"][0]["state"] == "missing"


def test_a_failed_discovery_leaves_the_catalog_of_that_name(wayfare: Command, write) -> None:
    assert discover(wayfare, write, "mcp.json", small=SMALL).code == 0
    assert discover(wayfare, write, "mcp.json", gone=MISSING).code == 2
    assert wayfare("call", "small", "echo", "--catalog", "mcp", "--simulate").code == 0


def test_a_reserved_name_is_refused_before_any_server_is_started(wayfare: Command, write, tmp_path: Path) -> None:
    log = tmp_path / "starts.log"
    traced = {**SMALL, "args": [*SMALL["args"], "--starts", str(log)]}
    run = discover(wayfare, write, "mcp.json", "--name", "sample", traced=traced)
    assert (run.code, run.out) == (2, "")
    assert not log.exists()


def test_prices_that_the_catalog_declares_stay(wayfare: Command, write) -> None:
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    priced = server("raw", tool("echo", price_usd=0.002), tool("vanished"), connection=connection)
    d = wayfare("discover", write("c.json", {"servers": [priced]}), "--json").json()
    assert d["tools"] == 10
    rows = wayfare("call", "raw", "echo", "--catalog", "c", "--json").json()
    assert (rows["outcome"], rows["price_usd"]) == ("ok", 0.002)
    assert wayfare("call", "raw", "vanished", "--catalog", "c").code == 2


def test_wayfare_itself_is_left_out_and_named_by_every_command(wayfare: Command, write, app: App) -> None:
    own = {"command": "wayfare", "args": ["mcp", "--catalog", "mine"], "env": {"WAYFARE_TOKEN": SECRET}}
    file = write("mcp.json", {"mcpServers": {"small": SMALL, "router": own}})
    for command, code in (("import", 0), ("discover", 0)):
        run = wayfare(command, file, "--name", "mine")
        assert (run.code, "took 1 server" in run.out) == (code, True), run
        assert "note: router: it is Wayfare itself: it is left out" in run.out
    added = wayfare("server", "add", "router", "--catalog", "mine", "--", "wayfare", "mcp")
    assert (added.code, "is Wayfare itself" in added.err) == (2, True)
    app.catalogs.edit("mine", lambda known: known.with_server(Server("router", connection=OWN)))  # as of an old store
    again = wayfare("server", "discover", "router", "--catalog", "mine")
    assert (again.code, "Server router is Wayfare itself" in again.out) == (1, True)
