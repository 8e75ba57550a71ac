"""`wayfare server` and `wayfare catalogs take`: one server is changed, the others stay; a catalog follows its file."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.cases import each
from tests.cli.conftest import RAW, Command, Run, console, free_port, refused

SECRET = "hunter2-PLANTED"
RUN = ("--", sys.executable, "-S", RAW)


@pytest.fixture
def server(wayfare: Command) -> Command:
    """`wayfare server` on the catalog `mine`."""

    def run(action: str, name: str, *words: object) -> Run:
        return wayfare("server", action, name, "--catalog", "mine", *words)

    return run


def call(wayfare: Command, name: str) -> Run:
    return wayfare("call", name, "pid", "--catalog", "mine", "--json")


def test_one_server_is_added_switched_off_and_removed(wayfare: Command, server: Command, db: Path) -> None:
    assert server("add", "one", "--env", f"KEY={SECRET}", "--env", "ROOT=/tmp", "--json", *RUN).json()["tools"] == 10
    assert server("add", "two", *RUN).code == 0
    assert [row["state"] for row in wayfare("secrets", "--catalog", "mine", "--json").json()["values"]] == [
        "kept",
        "written",
    ]
    assert call(wayfare, "one").json()["outcome"] == "ok"

    assert "neither offered nor called" in server("disable", "one").out
    assert "switched off" in call(wayfare, "one").err
    candidates = wayfare("route", "do echo", "--catalog", "mine", "--json").json()["candidates"]
    assert candidates
    assert all(name.startswith("two::") for name in candidates)
    assert "mine: switched off: one." in wayfare("catalogs").out
    assert server("enable", "one", "--json").json()["tools"] is None  # they are known
    figures = wayfare("route", "do pid", "--catalog", "mine", "--json").json()["servers"]
    assert {row["server"] for row in figures} == {"one", "two"}

    report = server("add", "gone", "--json", "--", "no-such-command-here").json_with(1)
    assert "was not found" in report["refused"][0]
    assert server("discover", "gone").code == 1
    assert server("discover", "two", "--json").json()["tools"] == 10
    assert server("restart", "two").code == 0
    assert server("remove", "one").code == 0
    assert wayfare("secrets", "--catalog", "mine", "--json").json()["values"] == []
    for file in db.parent.iterdir():
        assert SECRET.encode() not in file.read_bytes(), file


def test_what_cannot_be_done_is_one_sentence(wayfare: Command, server: Command) -> None:
    assert server("add", "one", *RUN).code == 0
    wrong = (
        ("add", "one", *RUN), ("add", "two"), ("add", "two", "--url", "http://127.0.0.1:1/", *RUN), ("add", "a::b", *RUN),
        ("add", "two", "--env", SECRET, *RUN), ("add", "two", "--header", "A=b", *RUN), ("add", "two", "--url", "x", "--env", "A=b"),
        ("remove", "none"), ("disable", "none"), ("restart", "none"), ("discover", "none"), ("enable", "none"), ("enable", "one", *RUN),
    )  # fmt: skip
    for words in wrong:
        run = server(*words)
        refused(run)
        assert SECRET not in run.err
    assert "part of Wayfare" in wayfare("server", "disable", "web-search", "--catalog", "sample").err


def test_a_server_is_not_added_to_a_file(wayfare: Command, raw_catalog: Path) -> None:
    listed = wayfare("catalogs", "--json").json()
    refused(wayfare("server", "add", "one", "--catalog", raw_catalog, *RUN), "is a file here; import it")
    assert wayfare("catalogs", "--json").json() == listed


def test_a_catalog_follows_its_file(wayfare: Command, write: Callable[[str, Any], Path]) -> None:
    entry = {"command": sys.executable, "args": ["-S", RAW], "env": {"KEY": SECRET}}

    def put(**servers: Any) -> Path:
        return write("mine.json", {"mcpServers": servers})

    def seen() -> Any:
        return next(row for row in wayfare("catalogs", "--json").json()["catalogs"] if row["name"] == "mine")

    notes = wayfare("discover", put(one=entry, three={**entry, "disabled": True}), "--json").json()["notes"]
    assert [note for note in notes if "switched off" in note["text"]]
    assert (seen()["off"], seen()["changes"], seen()["servers"]) == (["three"], [], 1)
    changed = {**entry, "env": {"KEY": f"{SECRET}-2"}}
    lost, console_url = {**entry, "command": "no-such-command-here"}, {"url": "http://127.0.0.1:8501/mcp"}
    put(one=changed, three=entry, four=lost, wayfare=console_url)  # Wayfare is never its own server
    kinds = {row["server"]: row["kind"] for row in seen()["changes"]}
    assert kinds == {"one": "changed", "three": "switched on", "four": "added"}
    assert SECRET not in wayfare("catalogs").out
    assert (seen()["servers"], seen()["tools"]) == (1, 10)  # nothing is taken yet
    run = wayfare("catalogs", "take", "mine")
    assert (run.code, "four" in run.out, "was not found" in run.out) == (1, True, True)
    assert (seen()["servers"], seen()["tools"], seen()["off"], seen()["changes"]) == (3, 20, [], [])
    put(one=entry)
    assert "left as it was" in wayfare("catalogs", "ignore", "mine").out
    assert (seen()["servers"], seen()["changes"]) == (3, [])
    assert wayfare("catalogs", "follow", "mine", "--follow", "off").code == 0
    assert seen()["file"] is None
    assert wayfare("catalogs", "take", "mine").code == 2


def test_a_server_is_added_beside_a_running_console(warm: Path, wayfare: Command, tmp_path: Path) -> None:
    held = f"import duckdb, sys; store = duckdb.connect({str(warm)!r}); print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        assert wayfare("server", "add", "one", "--catalog", "mine", "--env", f"KEY={SECRET}", *RUN).code != 0
        holder.communicate()
    with console(tmp_path / "console.log"):
        added = wayfare("server", "add", "one", "--catalog", "mine", "--env", f"KEY={SECRET}", "--json", *RUN)
        assert added.json()["tools"] == 10
        again = wayfare("server", "add", "one", "--catalog", "mine", "--env", "KEY=other-secret-value", *RUN)
        assert (again.code, "remove it first" in again.err) == (2, True)
        assert call(wayfare, "one").code == 0
        folder = str(Path(RAW).parent)
        command = ("--env", "AT=${HOME}/x", "--cwd", folder, "--", sys.executable, "-S", Path(RAW).name)
        assert wayfare("server", "add", "two", "--catalog", "mine", "--json", *command).json()["tools"] == 10
    assert SECRET not in (tmp_path / "console.log").read_text()


WEATHER = "io.github.x/weather"
KEY = {"name": "KEY", "description": "Your key", "isRequired": True, "isSecret": True}
PACKAGE = {"registryType": "pypi", "identifier": "weather-mcp", "version": "1.2", "environmentVariables": [KEY]}
OLD_KEY = {"name": "KEY", "is_required": True, "is_secret": True}
OLD = {"registry_type": "pypi", "identifier": "old-mcp", "version": "0.1", "environment_variables": [OLD_KEY]}
ENTRIES = {
    "/v0.1/servers/io.github.x%2Fweather/versions/latest": {"server": {"name": WEATHER, "packages": [PACKAGE]}},
    "/v0/servers/io.github.x%2Fold": {"name": "io.github.x/old", "packages": [OLD]},
    "/v0.1/servers/io.github.x%2Fother/versions/latest": {"server": {"name": WEATHER, "packages": [PACKAGE]}},
    "/v0.1/servers/io.github.x%2Fbundle/versions/latest": {"server": {"name": "io.github.x/bundle", "packages": []}},
    "/v0.1/servers/io.github.x%2Fpage/versions/latest": "<html>Log in</html>",
    "/v0.1/servers/io.github.x%2Fbroken/versions/latest": None,
}


class Mirror(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        entry = ENTRIES.get(self.path, "")
        self.send_response(404 if entry == "" else 500 if entry is None else 200)
        self.end_headers()
        self.wfile.write((entry if isinstance(entry, str) else json.dumps(entry)).encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("WAYFARE_REGISTRY", address := f"http://127.0.0.1:{server.server_port}")
        yield address
        server.shutdown()


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that `uvx`, as a test has it, writes when it starts a server."""
    (tmp_path / "bin").mkdir()
    uvx, trace = tmp_path / "bin" / "uvx", tmp_path / "started"
    uvx.write_text(f'#!/bin/sh\necho "$@ ${{#KEY}}" >> {trace}\nexec {sys.executable} -S {RAW}\n')
    uvx.chmod(0o700)
    monkeypatch.setenv("PATH", f"{uvx.parent}{os.pathsep}{os.environ['PATH']}")
    return trace


def test_a_published_server_is_held_until_it_is_switched_on(
    wayfare: Command, server: Command, db: Path, mirror: str, started: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = server("add", WEATHER, "--registry", "--json").json()
    starts = "it starts or is reached as uvx weather-mcp@1.2"
    assert report == {
        "catalog": "mine", "server": WEATHER, "done": "hold", "tools": None,
        "notes": [starts, f"it needs {WEATHER}/KEY: Your key"], "refused": [],
    }  # fmt: skip
    assert "switched off" in call(wayfare, WEATHER).err
    assert f"mine: switched off: {WEATHER}." in wayfare("catalogs").out
    assert "as uvx old-mcp@0.1" in server("add", "io.github.x/old", "--registry").out
    assert not started.exists()
    waits = server("enable", WEATHER)
    assert (waits.code, f"needs a value for ${{secret:{WEATHER}/KEY}}" in waits.out) == (1, True)
    assert not started.exists()
    monkeypatch.setattr("sys.stdin", io.StringIO("hunter22"))
    assert wayfare("secrets", "set", WEATHER, "KEY", "--catalog", "mine").code == 0
    assert server("discover", WEATHER, "--json").json()["tools"] == 10
    assert started.read_text() == "weather-mcp@1.2 8\n"


@each(
    ("name", "words"),
    [
        ("weather", "'weather' is no name of the MCP Registry; give one such as io.github.user/server."),
        ("io.github.x/../../admin", "is no name of the MCP Registry"),
        ("io.github.x/gone", "has no server io.github.x/gone; check the name."),
        ("io.github.x/other", "answers with another server than io.github.x/other."),
        ("io.github.x/bundle", "it lists no server that can be taken"),
        ("io.github.x/page", "is not JSON"),
        ("io.github.x/broken", "does not answer (500 Internal Server Error); see WAYFARE_REGISTRY."),
    ],
)
def test_a_name_that_gives_no_server_is_one_sentence(
    server: Command, db: Path, mirror: str, name: str, words: str
) -> None:
    refused(server("add", name, "--registry"), words)


def test_a_registry_that_is_gone_is_one_sentence(server: Command, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYFARE_REGISTRY", f"http://127.0.0.1:{free_port()}")
    refused(server("add", WEATHER, "--registry"), "does not answer (")
    monkeypatch.setenv("WAYFARE_REGISTRY", "file:///etc")
    assert "WAYFARE_REGISTRY is no address" in server("add", WEATHER, "--registry").err
    assert server("add", WEATHER, "--registry", "--url", "http://x.org").code == 2
