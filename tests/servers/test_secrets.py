"""References are resolved from memory and the environment, and no value is ever shown; what a server inherits."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection, ServerId
from core.domain.leaks import MASK
from core.domain.settings import Settings
from core.servers.pool import PoolConfig
from core.servers.secrets import MissingReferenceError, SecretVault
from tests.cases import each
from tests.gateway.conftest import ROOT

SERVER = ServerId("work", "server")
ENVIRON = {"TOKEN": "from-environment", "SHORT": "abc", "EMPTY": "", "LINE": "a-line\n"}


def test_every_field_and_spelling_is_resolved(real_python: None) -> None:
    vault = SecretVault(ENVIRON)
    vault.put(SERVER, "id", "typed-in")
    vault.put(SERVER, "srv:1/KEY", "hunter22")
    connection = Connection(
        "stdio",
        command="${python}",
        args=("--token=${env:TOKEN}", "${NAME:-fallback}", "${workspaceFolder}", "$HOME"),
        cwd="/${input:id}",
        env={"KEY": "${secret:srv:1/KEY}", "E": "${env:EMPTY:-default}", "F": "x${env:EMPTY}y"},
        url="https://${TOKEN}.example",
        headers={"Authorization": "Bearer ${secret:srv:1/KEY}", "X-Line": "${env:LINE}"},
    )
    launch = vault.resolve(SERVER, connection)
    assert launch.command == sys.executable
    assert launch.args == ("--token=from-environment", "fallback", "${workspaceFolder}", "$HOME")
    assert launch.cwd == "/typed-in"
    assert launch.env == {"KEY": "hunter22", "E": "default", "F": "xy"}
    assert launch.url == "https://from-environment.example"
    assert launch.headers == {"Authorization": "Bearer hunter22", "X-Line": "a-line"}
    assert vault.redact("a-line") == MASK


def test_missing_references_are_named_once_and_in_order() -> None:
    connection = Connection("http", url="${env:HOST}/${env:HOST}", headers={"A": "${input:a}${secret:b}${env:TOKEN}"})
    vault = SecretVault(ENVIRON)
    assert vault.missing(SERVER, connection) == ("${env:HOST}", "${input:a}", "${secret:b}")
    with pytest.raises(MissingReferenceError, match=r"\$\{env:HOST\}, \$\{input:a\}"):
        vault.resolve(SERVER, connection)


def test_a_value_given_in_the_console_stands_in_for_a_missing_variable() -> None:
    vault = SecretVault(ENVIRON)
    vault.put(SERVER, "HOST", "given.example")
    vault.put(SERVER, "TOKEN", "not-used")
    connection = Connection("http", url="${env:HOST}/${env:TOKEN}")
    assert vault.resolve(SERVER, connection).url == "given.example/from-environment"


def test_secrets_and_used_variables_are_masked_and_old_ones_stay_masked() -> None:
    vault = SecretVault(ENVIRON)
    vault.put(SERVER, "k", "old-secret")
    vault.put(SERVER, "k", "old-secret-longer")
    vault.put(SERVER, "s", "abc")
    vault.resolve(SERVER, Connection("http", url="${env:TOKEN}${env:SHORT}"))
    text = "old-secret, old-secret-longer, from-environment, abc"
    assert vault.redact(text) == "•••, •••, •••, abc"


def test_a_value_is_masked_inside_json_and_line_by_line() -> None:
    vault = SecretVault()
    vault.put(SERVER, "server/KEY", key := '--- BEGIN "clé" ---\nMIIEvQIBADAN+/\nC7VJTUt9Us8c==\nend\n')
    for text in (key, json.dumps(key), json.dumps(key, ensure_ascii=False)):
        assert not re.search("MIIE|C7VJ", vault.redact(f"bad key {text}"))
        assert any(value in text for value in vault.in_results)
    assert [*map(vault.redact, key.splitlines())] == [MASK, MASK, MASK, "end"]


def test_names_of_servers_are_not_masked() -> None:
    vault = SecretVault({"A": "github", "B": "my-github-token"})
    for name in ("github", "prod-github", "1"):
        vault.resolve(ServerId("work", name), Connection("stdio", "${env:A}", ("${env:B}",)))
    message = "Server prod-github cannot be reached: github, my-github-token, xgithub1; Server 1"
    assert vault.redact(message) == "Server prod-github cannot be reached: github, •••, xgithub1; Server 1"


@each(
    "connection",
    [
        Connection("stdio", env={"PROBE_TOKEN": "${input:tok}"}),
        Connection("http", headers={"X-Api-Key": "a ${input:tok}"}),
        Connection("stdio", args=("--password", "${input:tok}")),
        Connection("stdio", args=("--key=${input:tok}",)),
        Connection("stdio", args=("postgres://me:${input:tok}@db/x",)),
        Connection("http", url="https://x.org/mcp?token=${input:tok}"),
        Connection("stdio", env={"PLAIN": "${input:tok}"}, passwords=("tok",)),
    ],
)
def test_a_value_is_secret_by_the_place_of_its_reference_too(connection: Connection) -> None:
    vault = SecretVault()
    vault.put(SERVER, "tok", "correct-horse-battery")
    vault.resolve(SERVER, Connection("stdio", env={"ROOT": "${input:tok}"}))
    assert vault.in_results == ()
    vault.resolve(SERVER, connection)
    assert vault.in_results == ("correct-horse-battery",)


def test_nothing_shows_a_value() -> None:
    vault = SecretVault(ENVIRON)
    vault.put(SERVER, "k", "hunter22")
    launch = vault.resolve(SERVER, Connection("http", url="${secret:k}"))
    assert "hunter22" not in f"{vault!r}{vault}{launch!r}{launch}"


def test_of_results_only_what_is_surely_a_secret_is_masked() -> None:
    values = {
        "srv/API_KEY": "k-4711-abcdef", "srv/DB_PASSWORD": "postgres", "srv/PIN_TOKEN": "12345678", "srv/KEY": "k-4711",
        "srv/userinfo_2": "me:my-password", "token-counter/ROOT": "/home/me/files", "srv/LEVEL": "information",
        "srv/EXTRA": "ghp_0123456789abcdef", "srv/ADDRESS": "postgres://me:my-password@db/x",
    }  # fmt: skip
    vault = SecretVault({"TOKEN": "from-environment", "REGION": "eu-central-1"})
    for name, value in values.items():
        vault.put(SERVER, name, value)
    vault.resolve(SERVER, Connection("http", url="https://${REGION}.example/${TOKEN}"))
    masked = [values[f"srv/{name}"] for name in ("ADDRESS", "EXTRA", "userinfo_2", "API_KEY")]
    assert sorted(vault.in_results) == sorted([*masked, "from-environment"])
    assert [*map(len, vault.in_results)] == sorted(map(len, vault.in_results), reverse=True)


GIVEN = {
    "SSL_CERT_FILE": "/c.pem", "NODE_EXTRA_CA_CERTS": "/n.pem", "HTTPS_PROXY": "http://p:1", "no_proxy": "a.example",
    "XDG_CACHE_HOME": "/x", "UV_INDEX_URL": "https://i.example", "npm_config_cache": "/npm", "MY_REGION": "eu",
}  # fmt: skip
KEPT = {
    "WAYFARE_KEY": "key",
    "WAYFARE_LLM_API_KEY": "key",
    "UV_PUBLISH_TOKEN": "token",
    "MY_TOKEN": "token",
    "OTHER": "1",
}


def test_a_server_inherits_a_known_list_of_variables(
    bench_with: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in {**GIVEN, **KEPT, "HOME": str(tmp_path), "SSL_CERT_DIR": "/dir"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / ".local/bin").mkdir(parents=True)
    monkeypatch.setenv("WAYFARE_INHERIT", "MY_*, WAYFARE_*")
    bench = bench_with(PoolConfig(inherit=Settings.from_environment().inherit))
    server = str(ROOT / "tests/gateway/repository_server.py")
    connection = Connection("stdio", "${python}", ("-S", server), env={"SSL_CERT_DIR": "/its own"})
    variables = json.loads(bench.call(connection, "environment").content[0].text)
    assert {name: variables.get(name) for name in GIVEN} == GIVEN
    assert not KEPT.keys() & variables.keys()
    assert variables["SSL_CERT_DIR"] == "/its own"
    assert variables["PATH"].split(os.pathsep)[: len(os.environ["PATH"].split(os.pathsep))] == os.environ["PATH"].split(
        os.pathsep
    )
    assert str(tmp_path / ".local/bin") in variables["PATH"].split(os.pathsep)
