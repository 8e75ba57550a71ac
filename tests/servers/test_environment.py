"""The environment of a server: what it needs to start and to reach the network, and no secret of Wayfare's."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Connection
from core.domain.settings import Settings
from core.servers.pool import PoolConfig
from tests.gateway.conftest import ROOT

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
    found = json.loads(bench.call(connection, "environment").content[0].text)
    assert {name: found.get(name) for name in GIVEN} == GIVEN
    assert not KEPT.keys() & found.keys()
    assert found["SSL_CERT_DIR"] == "/its own"
    assert found["PATH"].split(os.pathsep)[: len(os.environ["PATH"].split(os.pathsep))] == os.environ["PATH"].split(
        os.pathsep
    )
    assert str(tmp_path / ".local/bin") in found["PATH"].split(os.pathsep)
