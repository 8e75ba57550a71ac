"""`wayfare signin` with a browser that answers for the person."""

from __future__ import annotations

import io
import subprocess
import urllib.request
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.authorization_server import guarded_server
from tests.cli.conftest import ROOT, Command, forked, wait_for
from tests.cli.test_up import free_port, status
from tests.forking import FORKS

SECRET = "the-secret-of-the-client-9f2c"


class Browser(webbrowser.BaseBrowser):
    """Goes where it is sent, while a test uses it, and keeps where it ended."""

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


@contextmanager
def console(port: int) -> Iterator[None]:
    """A console, until the end of the block."""
    pipes: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(forked("up", "--port", port), cwd=ROOT, **pipes) as child:
        try:
            wait_for(lambda: status(port) == 200)
            yield
        finally:
            FORKS.kill(child)


def test_signing_in_and_out_through_the_console(
    wayfare: Command, write: Any, browser: Browser, db: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = ("--catalog", "mine")
    monkeypatch.setattr("core.cli.secrets.POLL_S", 0.05)
    with guarded_server() as guarded:
        file = write("mine.json", {"mcpServers": {"tickets": {"type": "http", "url": guarded.url}}})
        refused = wayfare("discover", file, "--name", "mine")
        assert (refused.code, "wayfare signin tickets --catalog mine" in refused.out) == (1, True)
        assert wayfare("signin", "tickets", *mine, "--no-wait").code == 2  # nobody could take the answer
        with console(port := free_port()):
            guarded.person = False
            run = wayfare("signin", "tickets", *mine)
            assert (run.code, "the sign-in was refused (access_denied" in run.out) == (1, True)
            guarded.person = True
            run = wayfare("signin", "tickets", *mine)
            assert (run.code, run.out.splitlines()[-1]) == (0, "tickets: signed in.")
            assert browser.ended == f"http://127.0.0.1:{port}/oauth/callback"  # without the code
            assert wayfare("call", "tickets", "count", *mine, "--json").json()["outcome"] == "ok"
            listed = wayfare("signin", *mine, "--json").json()["servers"]
            assert [(one["server"], one["state"], one["address"]) for one in listed] == [("tickets", "signed in", "")]
            guarded.register("by-hand", f"http://127.0.0.1:{port}/oauth/callback", SECRET, "client_secret_basic")
            assert "needs --client-id" in wayfare("signin", "tickets", *mine, "--client-secret").err
            monkeypatch.setattr("sys.stdin", io.StringIO(f"{SECRET}\n"))
            run = wayfare("signin", "tickets", *mine, "--client-id", "by-hand", "--client-secret")
            assert (run.code, run.out.splitlines()[-1], SECRET in run.out + run.err) == (
                0,
                "tickets: signed in.",
                False,
            )
        assert wayfare("call", "tickets", "count", *mine, "--json").json()["outcome"] == "ok"
        assert wayfare("signin", "tickets", *mine, "--out", "--json").json()["state"] == "signed out"
