"""Entries of lists against the protocol: they are mended, or left out and named, and the entries beside them arrive."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from core.domain.catalog import Connection, Server, ServerId, ToolHints
from core.domain.outcome import OutcomeKind
from core.servers.discovery import discover, list_of
from core.servers.results import all_pages
from tests.servers.conftest import SERVERS, Bench, eventually
from tests.servers.odd_entries import LACKING, LEFT_OUT, LEGACY_LACKING, LISTS, NAMELESS, REPAIRED


def answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    """The same lists over stdio and HTTP, in both eras of the protocol, and a server with prompts alone."""
    folder, odd_servers, processes = tmp_path_factory.mktemp("odd"), list[Server](), list[subprocess.Popen[bytes]]()
    (folder / "lists.json").write_text(json.dumps(LISTS))
    (folder / "prompts.json").write_text(json.dumps({"prompts": [{"name": "good"}]}))

    def words(file: str, *flags: str) -> tuple[str, ...]:
        return str(SERVERS / "odd.py"), "--lists", str(folder / file), *flags

    for era in ((), ("--modern",)):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        processes.append(subprocess.Popen([sys.executable, "-S", *words("lists.json", *era), "--port", str(port)]))
        eventually(lambda port=port: answers(port))
        web = Connection("http", url=f"http://127.0.0.1:{port}/mcp")
        stdio = Connection("stdio", command="${python}", args=("-S", *words("lists.json", *era)))
        odd_servers += [Server(f"http{len(era)}", connection=web), Server(f"stdio{len(era)}", connection=stdio)]
    prompts = Connection("stdio", command="${python}", args=("-S", *words("prompts.json")))
    yield [*odd_servers, Server("prompts", connection=prompts)]
    for process in processes:
        process.kill()
        process.wait()


def test_an_odd_entry_harms_no_other(bench: Bench, servers: list[Server]) -> None:
    *odd, alone = discover(bench.pool, "", servers)
    assert (alone.error, alone.server and alone.server.tools) == ("", ())
    for discovery, server in zip(odd, servers, strict=False):
        assert (discovery.error, discovery.server is not None and server.connection is not None) == ("", True)
        assert discovery.server is not None
        assert server.connection is not None
        tools = {tool.name: tool for tool in discovery.server.tools}
        lacking = LACKING if server.name.endswith("1") else [*LACKING, *LEGACY_LACKING]
        assert set(tools) == {entry["name"] for entry in (*REPAIRED, *LACKING, *LEGACY_LACKING)} | {"good", "deep"}
        assert {tool.hints for tool in tools.values()} == {ToolHints()}
        assert all(tool.input_schema is not None and tool.input_schema["type"] == "object" for tool in tools.values())
        assert tools["in_snake"].input_schema == {"type": "object", "properties": {"q": {"type": "string"}}}
        for entry in lacking:
            assert any(f" the tool {entry['name']} with " in note for note in discovery.notes), entry
        assert len(discovery.refused) == len(LEFT_OUT) + len(NAMELESS) + 1
        assert not any("unusable name ('good')" in why for why in discovery.refused)
        for entry in LEFT_OUT:
            assert any(f" the tool {entry['name']} with " in why for why in discovery.refused), entry
        for name in ("good", "in_empty", "in_multiplying", "out_multiplying", "meta_list"):
            assert bench.call(server.connection, name, {"x": "t"}, server=server.name).kind is OutcomeKind.OK, name
        for method in ("prompts/list", "resources/list", "resources/templates/list"):
            listed = list_of(bench.pool, ServerId("", server.name), server.connection, method, limit_s=10)
            assert [item.name for item in listed] == ["good", "odd"][: len(listed)]
            assert len(listed) == (1 if method == "resources/templates/list" else 2)


def test_an_answer_of_100_000_levels_ends_within_its_limit(bench: Bench, servers: list[Server]) -> None:
    for server in servers[:2]:
        outcome = bench.call(server.connection, "deep", server=server.name, timeout_s=1.0)
        assert outcome.kind is not OutcomeKind.OK
        assert outcome.latency_s < 5
        assert bench.call(server.connection, "good", server=server.name).kind is OutcomeKind.OK


def test_a_repeated_cursor_ends_a_list_and_an_empty_one_does_not() -> None:
    def listed(pages: dict[str | None, tuple[str, str | None]]) -> tuple[list[str], int]:
        async def ask(cursor: str | None) -> Any:
            entry, after = pages[cursor]
            return SimpleNamespace(tools=[entry], next_cursor=after, meta=None)

        entries, odd = anyio.run(all_pages, ask, "tools")
        return entries, len(odd)

    assert listed({None: ("a", ""), "": ("b", "x"), "x": ("c", None)}) == (["a", "b", "c"], 0)
    assert listed({None: ("a", "x"), "x": ("a", "x")}) == (["a"], 0)
    assert listed({None: ("a", "x"), "x": ("b", "y"), "y": ("c", "x")}) == (["a", "b", "c"], 0)
    endless: Any = {None: ("0", "1"), **{str(n): (str(n), str(n + 1)) for n in range(1, 200)}}
    entries, odd = listed(endless)
    assert (len(entries), odd) == (100, 1)
