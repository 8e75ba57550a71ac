"""`wayfare check` and `wayfare call --dry-run`: what would stop the calls of a job, without a call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from core.app import App
from tests.cli.conftest import Command, server, stdio, tool
from tests.cli.test_call_governed import CALL, policy

Write = Callable[[str, Any], Path]


def test_each_tool_of_a_job_says_why_it_cannot_be_called(wayfare: Command, app: App, write: Write) -> None:
    locked = server("locked", tool("open"), connection=stdio("x.py", env={"KEY": "${secret:locked/KEY}"}))
    ready = server("ready", tool("go", price_usd=0.002), virtual=True)
    made = wayfare(
        "import", write("c.json", {"servers": [ready, locked, server("bare", tool("sit"))]}), "--name", "mine"
    )
    assert made.code == 0, made.err
    job = write("job.txt", "# all\nready::go\nready::nope\n\nlocked::open\nbare::sit\n")
    found = wayfare("check", job, "--catalog", "mine", "--json").json_with(1)
    assert [(one["tool"], one["ok"], one["price_usd"]) for one in found["tools"]] == [
        ("ready::go", True, 0.002), ("ready::nope", False, None), ("locked::open", False, None), ("bare::sit", False, None)
    ]  # fmt: skip
    said = wayfare("check", job, "--catalog", "mine")
    assert (said.code, said.err) == (1, "")
    for words in (
        "could be called now (2 m$)",
        "has no tool 'nope'",
        "lacks the value KEY",
        "no command and no address",
    ):
        assert words in said.out
    app.servers.disable("mine", "ready")
    assert "is switched off" in wayfare("check", job, "--catalog", "mine").out


def test_a_client_and_its_number_of_calls_decide(wayfare: Command, write: Write, tmp_path: Path) -> None:
    job = {"tools": ["unit-exchange::convert_units"], "client": "ann", "calls": 3}
    assert wayfare("check", write("job.json", job), "--json").json()["client"] == "ann"
    policy(wayfare, tmp_path, '[[budgets]]\nclient = "ann"\ncalls = 3\n')
    wayfare("clients", "add", "ann", "--server", "unit*")
    wayfare("clients", "add", "bob", "--server", "mail*")
    assert wayfare("check", write("job.json", job)).code == 0
    assert "3 of 3 calls are left" in wayfare("check", write("job.json", {**job, "calls": 4})).out
    assert "outside its scope" in wayfare("check", write("job.json", job), "--client", "bob").out
    assert "no client 'eve'" in wayfare("check", write("job.json", job), "--client", "eve").err


def test_a_file_that_is_no_job_is_wrong_use(wayfare: Command, write: Write) -> None:
    for name, content, words in (
        ("a.txt", "convert_units", "tools[0]"),
        ("b.txt", "# nothing", "names no tool"),
        ("c.json", "{", "is not JSON"),
        ("d.json", {"tools": ["a::b"], "calls": 0}, "calls is 0"),
    ):
        said = wayfare("check", write(name, content))
        assert (said.code, said.out, said.err.count("\n"), words in said.err) == (2, "", 1, True)


def test_a_dry_run_calls_nothing_and_says_what_the_call_would_meet(wayfare: Command, app: App, tmp_path: Path) -> None:
    found = wayfare(*CALL, "--dry-run", "--json").json()
    assert (found["dry_run"], found["ok"], found["why"]) == (True, True, "")
    assert found["price_usd"] == wayfare(*CALL, "--json").json()["price_usd"]
    assert len(app.store.activity.calls()) == 1
    policy(wayfare, tmp_path, "[approvals]\nnew = true\nwrites = true\n")
    said = wayfare("call", "mail-room", "mail.send", "--dry-run")
    assert said.code in {1, 2}
    assert not app.governance.waiting()
    assert "fit the schema" in wayfare(*CALL[:3], "--args", '{"value": "x"}', "--dry-run").err
