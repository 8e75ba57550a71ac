"""The endpoint of a running console, over real HTTP, with the sample's servers behind it."""

from __future__ import annotations

import json
import logging
import socket
import time
from typing import Any
from urllib.parse import urlsplit

import pytest
from mcp import Client

from core.domain.tools import count_tokens
from tests.docs.markdown import blocks
from tests.gateway.conftest import Console, ask, refused, talk
from tests.importers.documents import reached, read

TASK = "convert 300 miles to kilometres"
TOOL = "unit-exchange::convert_units"
MILES = {"value": 300, "source": "mi", "target": "km"}


def test_an_agent_searches_describes_executes_and_reports(console: Console) -> None:
    async def script(client: Client) -> None:
        assert client.instructions.startswith("Wayfare stands for")
        search = await ask(client, "search_tools", task=TASK)
        assert count_tokens(json.dumps(search, ensure_ascii=False)) <= 2_000
        best = search["candidates"][0]
        assert best["tool"] == TOOL
        assert best["signature"].startswith("convert_units(value: number, source: string, target: string) -- Convert")
        assert 0 < best["fit"] <= 1
        (described,) = (await ask(client, "describe_tool", tools=[TOOL]))["tools"]
        assert described["inputSchema"]["required"] == ["value", "source", "target"]
        assert described["annotations"]["readOnlyHint"] is True
        result = await ask(client, "execute_tool", tool=TOOL, arguments=MILES, route_id=search["route_id"])
        assert (result["ok"], result["outcome"], result["result"]["unit"]) == (True, "ok", "kilometre")
        report = await ask(client, "report_outcome", route_id=search["route_id"], useful=True, note="it did")
        assert report == {"route_id": search["route_id"], "tool": TOOL, "useful": True}

    talk(console.mcp, script, mode="legacy")


def test_content_of_every_kind_is_passed_on_and_a_long_text_is_cut_and_read_on(console: Console) -> None:
    async def script(client: Client) -> None:
        every = await client.call_tool("execute_readonly_tool", {"tool": "gremlin::every_content"})
        assert [block.type for block in every.content] == ["text", "image", "audio", "resource", "resource_link"]
        assert every.content[4].size == 3
        cut = (await ask(client, "execute_tool", tool="gremlin::huge_text", arguments={"kilobytes": 100}))["result"]
        assert count_tokens(cut["text"]) <= 8_000
        text, offset = cut["text"], cut["next_offset"]
        while offset is not None:
            page = await ask(client, "read_result", handle=cut["handle"], offset=offset)
            text, offset = text + page["text"], page["next_offset"]
        assert text == "".join(f"{line:>15}\n" for line in range(6_400))

    talk(console.mcp, script)


def test_whatever_a_server_does_is_an_error_to_act_on(console: Console) -> None:
    async def script(client: Client) -> None:
        lost = await refused(client, "execute_tool", tool="gremlin::crash")
        assert lost["error"] == "connection_lost"
        assert "call it again only if it just reads" in lost["try"]
        odd = await ask(client, "execute_tool", tool="gremlin::odd_text", arguments={"kind": "markup"})
        assert odd["result"]["result"].startswith("<script>")
        empty = await refused(client, "execute_readonly_tool", tool="gremlin::odd_text", arguments={"kind": "empty"})
        assert empty["error"] == "empty_result"

    talk(f"{console.mcp}?timeout=1", script)


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_a_client_that_leaves_before_its_request_is_read_is_one_quiet_line(
    url: str, version: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    where = urlsplit(url)
    head = {"Host": where.netloc, "Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    lines = [
        f"{name}: {value}" for name, value in {**head, "MCP-Protocol-Version": version, "Content-Length": 100}.items()
    ]
    with socket.create_connection((where.hostname, where.port)) as client:
        client.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", '{"jsonrpc"']).encode())
    deadline = time.monotonic() + 30
    while not (records := [record for record in caplog.records if "left before" in record.message]):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert [record.levelname for record in records] == ["DEBUG"]
    assert [record.message for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_blanks_around_the_value_of_a_header_do_not_count(url: str) -> None:
    where = urlsplit(url)
    meta = {"protocolVersion": "2026-07-28", "clientInfo": {"name": "t", "version": "1"}, "clientCapabilities": {}}
    params = {"name": "search_tools", "arguments": {"task": "read a file"}}
    params["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    head = {
        "Host": where.netloc, "Accept": "application/json, text/event-stream", "Content-Type": "application/json",
        "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "  search_tools  ",
        "Content-Length": len(body), "Connection": "close",
    }  # fmt: skip
    with socket.create_connection((where.hostname, where.port)) as client:
        lines = [f"{name}: {value}" for name, value in head.items()]
        client.sendall("\r\n".join(["POST /mcp HTTP/1.1", *lines, "", body]).encode())
        with client.makefile("rb") as answer:
            assert b"200 OK" in answer.readline()


def test_an_address_that_cannot_be_served_is_said_with_each_call(console: Console) -> None:
    async def script(client: Client) -> dict[str, Any]:
        return await refused(client, "search_tools", task="anything")

    for query, words in (
        ("catalog=/etc/passwd", "no catalog"),
        ("router=x", "no router"),
        ("bogus=1", "takes catalog"),
    ):
        assert words in talk(f"{console.mcp}?{query}", script)["why"]


def test_the_readme_connects_as_it_says(console: Console, capsys: pytest.CaptureFixture[str]) -> None:
    documented = "http://127.0.0.1:8501"
    sources = [block for block in blocks("README.md", "python") if documented in block]
    assert [("Client(" in source, ".initialize()" in source) for source in sources] == [(True, False), (False, True)]
    for source in sources:  # of either era of the protocol; the second also with mcp 1, see `bench clients`
        exec(compile(source.replace(documented, console.url), "README.md", "exec"), {})  # our own document
        assert "482.8" in capsys.readouterr().out
    for suffix in ("json", "toml"):
        (text,) = (block for block in blocks("README.md", suffix) if "wayfare" in block)
        assert read(text, f"config.{suffix}").itself == ("wayfare",)
        other = read(text.replace("wayfare", "other").replace("8501", "9999"), f"config.{suffix}")
        assert reached(other).transport == ("http" if suffix == "json" else "stdio")
