"""Values of servers by command: set once, there after a restart, and never printed; and `wayfare signin` with a browser that answers."""

from __future__ import annotations

import io
import json
import urllib.request
import webbrowser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.authorization_server import guarded_server
from tests.cli.conftest import Command, console, refused
from tests.world import RAW

SECRET = "hunter2-PLANTED"


def test_values_are_set_shown_hidden_and_removed_and_outlive_a_restart(
    wayfare: Command, write: Callable[[str, Any], Path], db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {"command": "${python}", "args": ["-S", RAW], "env": {"KEY": SECRET, "ROOT": "/tmp", "PLAN": "gold-plated"}}
    document = {"name": "raw", "tools": [{"name": "variable"}], "connection": entry}
    assert wayfare("import", write("mine.json", {"servers": [document]})).err == ""

    def states() -> dict[str, str]:
        run = wayfare("secrets", "list", "--catalog", "mine", "--json")
        assert SECRET not in run.out
        return {value["name"]: value["state"] for value in run.json()["values"]}

    def length_of(variable: str) -> str:
        run = wayfare("call", "raw", "variable", "--args", json.dumps({"name": variable}), "--catalog", "mine")
        return run.out + run.err

    assert states() == {"KEY": "kept", "PLAN": "kept", "ROOT": "written"}
    assert str(len(SECRET)) in length_of("KEY")

    assert wayfare("secrets", "remove", "raw", "KEY", "--catalog", "mine").code == 0
    assert states()["KEY"] == "missing"
    assert "`wayfare secrets set raw KEY --catalog mine`" in length_of("KEY")
    monkeypatch.setattr("sys.stdin", io.StringIO("another-value-17c\nof two lines\n"))
    assert "key file" in wayfare("secrets", "set", "raw", "KEY", "--catalog", "mine").out
    for text in ("a\0b", "\udcff"):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        refused(wayfare("secrets", "set", "raw", "KEY", "--catalog", "mine"), "no text")
    assert "30" in length_of("KEY")
    with monkeypatch.context() as full:
        full.setattr("core.servers.secret_file._write_private", lambda *_: (tmp_path / "nothing").stat())
        refused(wayfare("secrets", "remove", "raw", "KEY", "--catalog", "mine"), "cannot be written")
        full.setattr("sys.stdin", io.StringIO("lost"))
        refused(wayfare("secrets", "set", "raw", "KEY", "--catalog", "mine"), "cannot be written")
        refused(wayfare("secrets", "hide", "raw", "ROOT", "--catalog", "mine"), "stays written out")
    assert states()["ROOT"] == "written"
    assert "30" in length_of("KEY")

    assert wayfare("secrets", "show", "raw", "PLAN", "--catalog", "mine").code == 0
    assert wayfare("secrets", "hide", "raw", "ROOT", "--catalog", "mine").code == 0
    assert states() == {"KEY": "kept", "PLAN": "written", "ROOT": "kept"}
    assert "a path" not in wayfare("secrets", "list", "--catalog", "mine").out
    for file in db.parent.iterdir():
        assert b"another-value-17c" not in file.read_bytes(), file

    wrong = (
        ("secrets", "set", "raw"), ("secrets", "list", "raw"), ("secrets", "remove", "raw", "NONE"), ("secrets", "show", "raw", "NONE"),
        ("secrets", "hide", "raw", "KEY"), ("secrets", "hide", "nobody", "KEY"), ("secrets", "set", "raw", "NONE"),
    )  # fmt: skip
    for words in wrong:
        refused(wayfare(*words, "--catalog", "mine"))
    monkeypatch.setenv("WAYFARE_KEY", "a passphrase that is not the key")
    assert states()["KEY"] == "kept"  # the key file opens it still


CLIENT_SECRET = "the-secret-of-the-client-9f2c"


class Browser(webbrowser.BaseBrowser):
    """Follows redirects during a test and keeps the last URL."""

    def __init__(self) -> None:
        super().__init__()
        self.used = False
        self.ended = ""

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        """See webbrowser."""
        if self.used:
            with urllib.request.urlopen(url, timeout=20) as answer:
                self.ended = answer.geturl()
        return self.used


BROWSER = Browser()
webbrowser.register("person", None, BROWSER, preferred=True)


@pytest.fixture
def browser() -> Iterator[Browser]:
    """The browser of this test."""
    BROWSER.used = True
    yield BROWSER
    BROWSER.used = False


def test_signing_in_and_out_through_the_console(
    wayfare: Command, write: Any, browser: Browser, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--catalog", "mine")
    monkeypatch.setattr("core.cli.secrets.POLL_S", 0.05)
    with guarded_server() as guarded:
        file = write("mine.json", {"mcpServers": {"tickets": {"type": "http", "url": guarded.url}}})
        discovery = wayfare("discover", file, "--name", "mine")
        assert (discovery.code, "wayfare signin tickets --catalog mine" in discovery.out) == (1, True)
        assert wayfare("signin", "tickets", *options, "--no-wait").code == 2  # nobody could take the answer
        with console(tmp_path / "log") as port:
            guarded.person = False
            run = wayfare("signin", "tickets", *options)
            assert (run.code, "the sign-in was refused (access_denied" in run.out) == (1, True)
            guarded.person = True
            run = wayfare("signin", "tickets", *options)
            assert (run.code, run.out.splitlines()[-1]) == (0, "tickets: signed in.")
            assert browser.ended == f"http://127.0.0.1:{port}/oauth/callback"  # without the code
            assert wayfare("call", "tickets", "count", *options, "--json").json()["outcome"] == "ok"
            servers = wayfare("signin", *options, "--json").json()["servers"]
            assert [(row["server"], row["state"], row["address"]) for row in servers] == [("tickets", "signed in", "")]
            guarded.register("by-hand", f"http://127.0.0.1:{port}/oauth/callback", CLIENT_SECRET, "client_secret_basic")
            monkeypatch.setattr("sys.stdin", io.StringIO(""))
            refused(wayfare("secrets", "set", "tickets", "Authorization", *options), "Value of Authorization is empty")
            assert "needs --client-id" in wayfare("signin", "tickets", *options, "--client-secret").err
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{CLIENT_SECRET}\n"))
            run = wayfare("signin", "tickets", *options, "--client-id", "by-hand", "--client-secret")
            assert (run.code, run.out.splitlines()[-1], CLIENT_SECRET in run.out + run.err) == (
                0,
                "tickets: signed in.",
                False,
            )
        assert wayfare("call", "tickets", "count", *options, "--json").json()["outcome"] == "ok"
        assert wayfare("signin", "tickets", *options, "--out", "--json").json()["state"] == "signed out"
