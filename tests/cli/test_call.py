"""`wayfare call` and `check`: real servers over stdio, what a call teaches, calls that are none, governance, and what would stop a job."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from core.app import App, Settings, open_app
from tests.cli.conftest import ROOT, Command, refused, server, stdio, tool

CONVERT = json.dumps({"value": 3, "source": "mi", "target": "km"})
CALL = ("call", "unit-exchange", "convert_units", "--args", CONVERT)
KEYS = {
    "server", "tool", "outcome", "simulated", "mode", "latency_s", "connect_s", "attempts", "price_usd", "error", "content",
    "structured", "statistics",
}  # fmt: skip


def test_a_conversion(wayfare: Command, app: App) -> None:
    d = wayfare(*CALL, "--json").json()
    assert d.keys() == KEYS
    assert (d["server"], d["tool"], d["outcome"], d["simulated"]) == ("unit-exchange", "convert_units", "ok", False)
    assert d["structured"] == {"value": pytest.approx(4.828032), "unit": "kilometre"}
    assert json.loads(d["content"][0]["text"]) == d["structured"]
    assert (d["attempts"], d["error"], d["latency_s"] > 0, d["connect_s"] > 0) == (1, "", True, True)
    (row,) = app.store.activity.calls().itertuples()
    assert (row.origin, row.kind, row.price_usd) == ("cli", "ok", d["price_usd"])


def test_pictures_come_as_base64_and_are_named_in_text(wayfare: Command) -> None:
    content = wayfare("call", "gremlin", "every_content", "--json").json()["content"]
    assert [block["type"] for block in content] == ["text", "image", "audio", "resource", "resource_link"]
    assert content[1]["mime_type"] == "image/png"
    assert base64.b64decode(content[1]["data_base64"], validate=True).startswith(b"\x89PNG")
    assert base64.b64decode(content[3]["data_base64"]) == b"\0\1\2"
    lines = wayfare("call", "gremlin", "every_content").out.splitlines()
    assert (lines[1], lines[2][:18], len(lines)) == ("text", "[image image/png, ", 6)


def test_what_ends_badly_is_an_outcome_said_once(wayfare: Command, write) -> None:
    run = wayfare("call", "gremlin", "fail_politely", "--args", '{"message": "no luck"}')
    assert (run.code, run.err, run.out.count("no luck")) == (1, "", 1)
    assert "tool error" in run.out
    d = wayfare("call", "gremlin", "hang", "--timeout", "0.2", "--json").json_with(1)
    assert (d["outcome"], d["price_usd"], "0.2 s" in d["error"]) == ("timeout", 0, True)
    odd = server("odd", tool("odd"), connection=stdio(str(ROOT / "tests" / "cli" / "servers" / "odd.py")))
    d = wayfare("call", "odd", "odd", "--catalog", write("c.json", {"servers": [odd]}), "--json").json()
    assert (d["outcome"], d["structured"]) == ("ok", {"nan": None, "far": [None]})  # numbers that JSON does not have


def test_what_cannot_be_tried_is_said(wayfare: Command, own: str, write) -> None:
    d = wayfare("call", "island", "swim", "--catalog", own, "--json").json_with(1)
    assert (d["outcome"], d["latency_s"], d["connect_s"], d["price_usd"]) == ("not_tried", 0, None, None)
    assert d["error"] == "Server island has no command or URL in catalog own; add a connection to call it."
    assert d["statistics"]["server_after"]["latency_s"] == d["statistics"]["server_before"]["latency_s"]
    text = wayfare("call", "island", "swim", "--catalog", own)
    assert (text.code, text.err, "add a connection" in text.out) == (1, "", True)
    hidden = server("vault", tool("open"), connection=stdio("-c", "", env={"API_KEY": "tr0ub4dor&3"}))
    wayfare("import", write("c.json", {"servers": [hidden]}))
    assert wayfare("secrets", "remove", "vault", "API_KEY", "--catalog", "c").code == 0
    d = wayfare("call", "vault", "open", "--catalog", "c", "--json").json_with(1)
    assert (d["outcome"], "${secret:vault/API_KEY}" in d["error"]) == ("not_tried", True)


def test_simulate_calls_nothing_says_so_and_teaches_nothing(
    wayfare: Command, write, raw_catalog: Path, app: App
) -> None:
    starts = raw_catalog.with_name("starts.log")  # the server writes to it when it starts
    document = json.loads(raw_catalog.read_text())
    document["servers"][0]["connection"]["args"] += ["--starts", str(starts)]
    line = ("call", "raw", "echo", "--catalog", write(raw_catalog.name, document))
    d = wayfare(*line, "--simulate", "--json").json()
    assert d["simulated"] is True
    assert "imulated" in str(d["content"]) + d["error"]
    assert (d["latency_s"], d["connect_s"]) == (0.5, None)
    assert d["statistics"]["server_before"] == d["statistics"]["server_after"]
    assert "(simulated: no tool was called)" in wayfare(*line, "--simulate").out
    assert not starts.exists()
    assert [call.simulated for call in app.store.activity.calls().itertuples()] == [True, True]
    wayfare(*line, "--json").json()
    assert starts.exists()


@pytest.fixture
def policy(wayfare: Command, write):
    """Puts a policy in force."""
    return lambda text: wayfare("policy", "import", write("policy.toml", text))


def test_a_call_that_waits_is_approved_with_the_call_and_one_that_is_denied_is_refused(
    wayfare: Command, app: App, policy
) -> None:
    policy("[approvals]\nnew = true\n")
    waits = wayfare(*CALL)
    refused(waits, "waits for a person, because it is new here")
    assert waits.err.rstrip().endswith("Add --approve to approve exactly this call, once.")
    assert wayfare(*CALL, "--approve", "--json").json()["outcome"] == "ok"
    assert [approval.action for approval in app.store.governance.approvals()][-2:] == ["approved", "used"]
    app.governance.refused.write_due(everything=True)
    assert app.store.activity.refused()["origin"].tolist() == ["cli"]
    policy('deny = ["unit-exchange::*"]\n')
    refused(wayfare(*CALL), "unit-exchange::convert_units may not be used: the operator denies it.")
    assert [wayfare(*CALL, "--simulate", *options).code for options in ((), ("--approve",))] == [0, 2]


def test_a_call_leaves_its_budget_settled(wayfare: Command, db: Path, policy) -> None:
    policy("[[budgets]]\ncalls = 1\n")
    assert wayfare(*CALL).code == 0
    assert "0 of 1 calls are left" in wayfare(*CALL).err
    with open_app(Settings.from_environment(db=db)) as app:
        assert app.governance.settled_at_start == 0


def test_each_tool_of_a_job_says_why_it_cannot_be_called(wayfare: Command, app: App, write) -> None:
    locked = server("locked", tool("open"), connection=stdio("x.py", env={"KEY": "${secret:locked/KEY}"}))
    wayfare("import", write("c.json", {"servers": [server("off", tool("go"), virtual=True), locked]}), "--name", "mine")
    app.servers.disable("mine", "off")
    run = wayfare("check", write("job.txt", "# all\noff::go\n\nlocked::open\n"), "--catalog", "mine")
    assert (run.code, run.err) == (1, "")
    assert "is switched off" in run.out
    assert "lacks the value KEY" in run.out


def test_a_client_and_its_number_of_calls_decide(wayfare: Command, write, policy) -> None:
    job = {"tools": ["unit-exchange::convert_units"], "client": "ann", "calls": 3}
    assert wayfare("check", write("job.json", job), "--json").json()["client"] == "ann"
    policy('[[budgets]]\nclient = "ann"\ncalls = 3\n')
    wayfare("clients", "add", "ann", "--server", "unit*")
    wayfare("clients", "add", "bob", "--server", "mail*")
    assert wayfare("check", write("job.json", job)).code == 0
    assert "3 of 3 calls are left" in wayfare("check", write("job.json", {**job, "calls": 4})).out
    assert "outside its scope" in wayfare("check", write("job.json", job), "--client", "bob").out
    assert "no client 'eve'" in wayfare("check", write("job.json", job), "--client", "eve").err
    for name, content, words in (
        ("a.txt", "convert_units", "tools[0]"),
        ("b.txt", "# nothing", "names no tool"),
        ("c.json", "{", "is not JSON"),
        ("d.json", {"tools": ["a::b"], "calls": 0}, "calls is 0"),
    ):
        refused(wayfare("check", write(name, content)), words)


def test_a_dry_run_calls_nothing_and_says_what_the_call_would_meet(wayfare: Command, app: App, policy) -> None:
    report = wayfare(*CALL, "--dry-run", "--json").json()
    assert (report["dry_run"], report["ok"], report["why"]) == (True, True, "")
    assert report["price_usd"] == wayfare(*CALL, "--json").json()["price_usd"]
    assert len(app.store.activity.calls()) == 1
    policy("[approvals]\nnew = true\nwrites = true\n")
    assert wayfare("call", "mail-room", "mail.send", "--dry-run").code in {1, 2}
    assert not app.governance.waiting()
    assert "fit the schema" in wayfare(*CALL[:3], "--args", '{"value": "x"}', "--dry-run").err
