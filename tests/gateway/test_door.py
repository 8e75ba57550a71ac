"""Commands beside a running console: run there, printed here, with the exit code that they would have had."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from core.cli import main
from core.domain.console import Owner, asked, owner_of
from core.domain.errors import WayfareError
from tests.cases import each
from tests.cli.conftest import RAW
from tests.gateway.conftest import Console

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def wayfare(console: Console, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """A command of this process, on the console's store."""
    monkeypatch.setenv("WAYFARE_DB", str(console.db))

    def run(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = 0
        try:
            main(list(words))
        except SystemExit as end:
            code = int(end.code or 0)
        return (code, *capsys.readouterr())

    return run


def test_a_decision_and_a_call(wayfare: Command) -> None:
    code, out, err = wayfare("route", "convert 300 miles to kilometres", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["candidates"][0] == "unit-exchange::convert_units"
    arguments = '{"value": 300, "source": "mi", "target": "km"}'
    code, out, _ = wayfare("call", "unit-exchange", "convert_units", "--args", arguments)
    assert code == 0
    assert out.startswith("unit-exchange::convert_units: ok in ")


def test_files_are_found_from_where_the_command_stands(
    wayfare: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}
    raw = {"name": "raw", "description": "Echo.", "tools": [{"name": "echo"}], "connection": connection}
    (tmp_path / "near.json").write_text(json.dumps({"servers": [raw]}))
    monkeypatch.setattr("core.cli.joining.Path", SimpleNamespace(cwd=lambda: tmp_path))  # the console stands elsewhere
    assert wayfare("import", "near.json", "--name", "near")[0] == 0
    assert "near " in wayfare("catalogs")[1]
    assert wayfare("call", "raw", "echo", "--catalog=near.json")[0] == 0


def test_wrong_use_is_said_as_anywhere(wayfare: Command) -> None:
    code, out, err = wayfare("route", "x", "--set", "bogus=1")
    assert (code, out) == (2, "")
    assert err.startswith("There is no parameter 'bogus'")


def test_output_of_two_at_once_is_kept_apart(console: Console) -> None:
    owner = owner_of(console.db)
    outputs: dict[str, str] = {}

    def ask(name: str, *words: str) -> None:
        outputs[name] = json.load(urllib.request.urlopen(request(console, owner.key, *words), timeout=60))["out"]

    lines = [("one", "route", "convert miles", "--json"), ("two", "routers", "--json"), ("three", "catalogs", "--json")]
    threads = [threading.Thread(target=ask, args=words) for words in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: next(iter(json.loads(out))) for name, out in outputs.items()} == {
        "one": "router", "two": "routers", "three": "catalogs",
    }  # fmt: skip


@each("key", ["", "x", "é"])
def test_the_door_needs_its_key(console: Console, key: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request(console, key.encode().decode("latin-1"), "catalogs"), timeout=30)
    assert refused.value.code == 403
    refused.value.close()


def test_a_console_that_never_answers_is_named_and_not_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        owner = Owner(f"http://127.0.0.1:{silent.getsockname()[1]}", pid=7)
        for method in ("GET", "POST", "DELETE"):
            with pytest.raises(WayfareError, match="does not answer; end its process 7"):
                asked(owner, method, {}, answers_s=0.2)


def request(console: Console, key: str, *words: str) -> urllib.request.Request:
    """A command for the console's door."""
    body = json.dumps({"arguments": words}).encode()
    return urllib.request.Request(f"{console.url}/door", body, {"Authorization": f"Bearer {key}"})


def test_a_backup_of_a_store_that_a_console_serves(
    wayfare: Command, console: Console, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = wayfare("backup", "a.backup", "--json")
    assert (code, err) == (0, "")
    code, _, err = wayfare("restore", "a.backup", "--force")
    assert code == 2
    assert "`wayfare stop`" in err
    backup, other = json.loads(out), str(tmp_path / "other.duckdb")
    assert wayfare("restore", "a.backup", "--db", other)[0] == 0
    audit = json.loads(wayfare("audit", "--json", "--db", other)[1])
    assert (audit["hash"], audit["records"], audit["ok"]) == (backup["hash"], backup["records"], True)
