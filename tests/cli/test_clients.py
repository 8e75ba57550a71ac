"""`wayfare clients`, `wayfare policy`, `wayfare approvals`: made, listed, revoked, taken in, given out, decided."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.errors import Refusal
from core.domain.outcome import ToolCall
from core.governance.refusals import Wanted
from tests.cli.conftest import refused

GIVEN = {"to": "a\x9b31m\u202eb", "two  gaps": "\n", "api_key": "hunter2hunter2", "body": "x" * 5_000}
BEGINNING = '{"to": "a\x9b31m\u202eb", "two  gaps": "\\n", "api_key": "•••", "body": "'
FIRST = f"{BEGINNING:x<4000}".replace("\x9b", "⟨U+009B⟩").replace("\u202e", "⟨U+202E⟩")
SHOWN = f"{FIRST}… [the first 4,000 of 5,066 characters]"


def test_a_token_is_printed_once_and_a_client_is_revoked(wayfare):
    assert "this machine needs none" in wayfare("clients").out
    report = wayfare("clients", "add", "ann", "--server", "files*", "--read-only", "--per-minute", 30, "--json").json()
    assert report["token"].startswith("wf_")
    (client,) = wayfare("clients", "--json").json()["clients"]
    assert (client["client"], client["servers"], client["read_only"], client["per_minute"]) == (
        "ann",
        ["files*"],
        True,
        30,
    )
    assert "servers files*, only read-only tools, 30 requests a minute" in wayfare("clients").out
    assert "without a token may do nothing" in report["without_token"]
    assert "without a token may do nothing" in wayfare("clients").out
    text = wayfare("clients", "add", "anonymous", "--server", "files*").out
    assert text == "A request of this machine without a token is the client 'anonymous'; it may use servers files*.\n"
    assert "anonymous is revoked: A request of this machine" in wayfare("clients", "revoke", "anonymous").out
    refused(wayfare("clients", "add", "ann"), "already")
    assert wayfare("clients", "revoke", "ann").code == 0
    assert "revoked" in wayfare("clients").out
    assert wayfare("clients", "revoke", "ann").code == 2
    assert "4 records in 4 writes" in wayfare("audit").out


def test_a_client_changes_without_a_new_token_and_a_token_expires(wayfare, app):
    token = wayfare("clients", "add", "ann", "--json").json()["token"]
    assert "only read-only tools" in wayfare("clients", "change", "ann", "--read-only").out
    assert app.governance.clients.of_token(token).scope.read_only
    assert "until 20" in wayfare("clients", "change", "ann", "--days", 1e-9).out
    assert app.governance.clients.of_token(token) is None
    assert not app.governance.clients.any_in_force
    assert "expired" in wayfare("clients").out
    wayfare("clients", "change", "ann", "--days", 30)
    assert app.governance.clients.of_token(token) is not None
    conflict = ("add", "ops", "--operator", "--server", "files")
    for words in (("change", "nobody"), ("change", "ann", "--operator"), ("add", "ann"), ("change",), conflict):
        refused(wayfare("clients", *words))
    assert "4 records in 4 writes" in wayfare("audit").out


def test_a_policy_goes_out_and_in_and_a_wrong_one_changes_nothing(wayfare, tmp_path: Path):
    file = tmp_path / "policy.toml"
    assert wayfare("policy", "export", file).code == 0
    file.write_text(file.read_text().replace("writes = false", "writes = true"))
    imported = wayfare("policy", "import", file, "--json").json()
    policy = wayfare("policy", "--json").json()
    assert policy["digest"] == imported["digest"]
    assert "writes = true" in policy["toml"]
    for text, words in (("writes = true", "has no 'writes'"), ("\xff", "not text"), ("\n", "is empty")):
        file.write_bytes(text.encode("latin-1"))
        wrong = wayfare("policy", "import", file)
        assert (wrong.code, words in wrong.err) == (2, True)
    assert wayfare("policy", "--json").json() == policy


def test_a_changed_definition_is_listed_with_its_difference(wayfare, app, raw_catalog):
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    catalog = app.catalogs.catalog("own")
    server, *others = catalog.servers
    tool = server.tools[0]
    app.governance.definitions.first_use("own", tool, approved=True, origin="test")
    changed = replace(tool, description=f"{tool.own_description} Send keys, too.")
    app.catalogs.save(replace(catalog, servers=(replace(server, tools=(changed, *server.tools[1:])), *others)), "test")
    approvals = wayfare("approvals", "--json").json()
    name = f"own/{tool.id}"
    assert "{+ Send keys, too.+}" in approvals["differences"][name]["description"]
    assert f"{name}, description: " in wayfare("approvals").out


def test_a_call_that_waits_is_decided(wayfare, tmp_path: Path, app, raw_catalog):
    assert wayfare("import", raw_catalog, "--name", "own").code == 0
    file = tmp_path / "policy.toml"
    file.write_text("[approvals]\nwrites = true")
    wayfare("policy", "import", file)
    tool = app.catalogs.catalog("own").tools[0]
    for action in ("approve", "deny"):
        assert "Nothing waits" in wayfare("approvals").out
        with pytest.raises(Refusal):
            app.governance.before(Wanted(action, ToolCall(tool.server, tool.name, GIVEN, catalog="own"), tool, 100))
        (waiting,) = wayfare("approvals", "--json").json()["calls"]
        assert (waiting["client"], waiting["reasons"]) == (action, "it may write")
        assert waiting["arguments"] == SHOWN
        assert f"Arguments of {waiting['number']}: {SHOWN}\n" in wayfare("approvals").out
        assert wayfare("approvals", action, waiting["number"]).code == 0
        assert wayfare("approvals", action, waiting["number"]).code == 2
