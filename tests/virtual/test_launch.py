"""The catalog of one server that a virtual process starts from: whole, without secrets, written once."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.domain.catalog import Server, ServerId, Tool
from core.domain.errors import WayfareError
from core.importers import read_document
from core.importers.shipped_catalogs import sample
from core.servers.secrets import SecretVault
from core.virtual.launch import plain_server, virtual_connection
from tests.cases import each
from tests.virtual.conftest import WEATHER


def test_what_is_written_is_read_back_as_it_was() -> None:
    servers = sample().servers
    text = json.dumps({"servers": [plain_server(server) for server in servers]})
    assert read_document(text, source="again").servers == tuple(replace(server, connection=None) for server in servers)


def test_the_same_server_has_the_same_file_and_another_one_another(tmp_path: Path) -> None:
    first, again = (virtual_connection(WEATHER, tmp_path) for _ in range(2))
    assert first == again
    other = virtual_connection(replace(WEATHER, call_s=9.0), tmp_path)
    assert other.args[3] != first.args[3]
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".json"]


def test_the_connection_starts_a_process_on_the_written_file(tmp_path: Path) -> None:
    connection = virtual_connection(WEATHER, tmp_path, profile="flaky", seed=7, speed=0.5)
    assert Path(connection.args[3]).parent == tmp_path
    assert connection.args[4:] == ("--profile", "flaky", "--speed", "0.5", "--seed", "7")
    assert SecretVault().missing(ServerId("", "weather"), connection) == ()


@each("name", ["--http", "${env:HOME}", "a b;c", "ü\ud800", "../x"])
def test_a_strangers_name_is_no_argument(tmp_path: Path, name: str) -> None:
    connection = virtual_connection(Server(name, tools=(Tool(name, "do"),)), tmp_path)
    assert name not in connection.args
    assert Path(connection.args[3]).parent == tmp_path
    (server,) = (
        read_document(Path(connection.args[3]).read_bytes(), source="x").servers
        if "\ud800" not in name
        else (Server(name),)
    )
    assert server.name == name


def test_a_cache_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "virtual").write_text("a file")
    with pytest.raises(WayfareError, match="set WAYFARE_CACHE"):
        virtual_connection(WEATHER, tmp_path / "virtual")
