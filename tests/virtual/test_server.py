"""A virtual server over the in-memory transport: definitions, marks, waits, failures, both protocol eras."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from mcp import MCPError

from core.domain.catalog import Server, Tool
from core.domain.outcome import SIMULATED_MARK
from core.importers.shipped_catalogs import sample
from core.servers.results import decode_tool
from core.virtual import SENTENCE
from core.virtual.launch import Ending, PlannedCall
from tests.cases import each
from tests.virtual.conftest import WEATHER, Bench

Make = Callable[..., Bench]


async def listed(client: Any) -> list[Any]:
    return (await client.list_tools()).tools


@each("name", ["Fathom", "mail-room", "statistics-lab"])
def test_what_a_client_learns_is_what_the_sample_says(bench: Make, name: str) -> None:
    catalog = sample()
    server = catalog.servers[catalog.server_row[name]]
    for tool, wire in zip(server.tools, bench(server).ask(listed), strict=True):
        decoded = decode_tool(server.name, wire)
        assert decoded.definition() == {
            **tool.definition(),
            "inputSchema": dict(tool.input_schema or {"type": "object"}),
        }
        assert (decoded.output_schema, decoded.hints, decoded.title) == (tool.output_schema, tool.hints, tool.title)


def test_it_says_of_itself_that_it_is_virtual(bench: Make) -> None:
    async def about(client: Any) -> Any:
        return client.server_info, client.instructions, client.server_capabilities.extensions

    info, instructions, extensions = bench().ask(about)
    assert (info.name, info.title, info.version) == ("weather", "Weather", "virtual")
    assert info.description.startswith(SENTENCE)
    assert instructions.startswith(SENTENCE)
    assert extensions == {SIMULATED_MARK: {}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_both_eras_get_the_result_with_its_mark(bench: Make, mode: str) -> None:
    async def work(client: Any) -> Any:
        await client.list_tools()
        return await client.call_tool("get_forecast", {"city": "Oslo"})

    result = bench().ask(work, mode=mode)
    assert not result.is_error
    assert result.meta[SIMULATED_MARK] is True
    assert result.structured_content["city"] == "Oslo"
    note, text = (block.text for block in result.content)
    assert note.startswith("Simulated result of weather::get_forecast")
    assert json.loads(text) == result.structured_content


def test_a_tool_without_an_output_schema_returns_text(bench: Make) -> None:
    result = bench().call("search_places", {"city": "Oslo"})
    assert result.structured_content is None
    places = json.loads(result.content[1].text)["places"]
    assert {"country", "latitude"} <= set(places[0])


@each(
    ("tool", "arguments", "words"),
    [
        ("get_forecast", {}, "city is required"),
        ("get_forecast", {"city": "Oslo", "days": "many"}, "days"),
        ("nothing", {}, "no such tool"),
    ],
)
def test_bad_calls_are_tool_errors_with_a_sentence_and_the_mark(
    bench: Make, tool: str, arguments: dict[str, Any], words: str
) -> None:
    result = bench().call(tool, arguments)
    assert result.is_error
    assert words in result.content[0].text
    assert result.content[0].text.startswith("Simulated error of weather::")
    assert result.meta[SIMULATED_MARK] is True


def test_it_waits_as_long_as_planned(bench: Make) -> None:
    server = bench(WEATHER, PlannedCall(1.5, Ending.RESULT), PlannedCall(0.25, Ending.ERROR))
    assert not server.call("bare").is_error
    failed = server.call("bare")
    assert failed.is_error
    assert "the tool failed" in failed.content[0].text
    assert failed.meta[SIMULATED_MARK] is True
    assert server.waits == [1.5, 0.25]


def test_a_hang_never_returns(bench: Make) -> None:
    with pytest.raises(MCPError, match="Timed out"):
        bench(WEATHER, PlannedCall(0.0, Ending.HANG)).call("bare", read_timeout_seconds=0.05)


def test_a_drop_asks_for_it(bench: Make) -> None:
    server = bench(WEATHER, PlannedCall(0.0, Ending.DROP))
    with pytest.raises(MCPError):
        server.call("bare")
    assert server.dropped == ["tools/call"]


ODD = Server(
    "odd",
    tools=(
        Tool("odd", "list_output", input_schema={}, output_schema={"type": "array", "items": {"type": "integer"}}),
        Tool("odd", "broken_input", input_schema={"type": "object", "properties": 7}),
        Tool("odd", "no_object", input_schema={"type": "string"}),
        Tool("odd", "fine", input_schema={"type": "object"}),
    ),
)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_what_the_protocol_cannot_carry_harms_its_tool_alone(bench: Make, mode: str) -> None:
    async def work(client: Any) -> Any:
        tools = await listed(client)
        return tools, [await client.call_tool(tool.name, {}) for tool in tools]

    tools, results = bench(ODD).ask(work, mode=mode)
    assert [tool.name for tool in tools] == [tool.name for tool in ODD.tools]
    assert all(tool.input_schema["type"] == "object" for tool in tools)
    assert (tools[0].output_schema is not None) is (mode == "auto")
    assert isinstance(results[0].structured_content, list) is (mode == "auto")
    assert not any(result.is_error for result in (results[0], results[3]))
