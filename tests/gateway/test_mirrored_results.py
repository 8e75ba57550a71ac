"""The mirror against the server itself: content, errors and metadata are the same, and no client is asked for what only a server
of its own could need."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult, EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents

from core.app import App
from core.domain.catalog import ServerId
from core.domain.json_schema import misfit
from core.domain.outcome import Outcome, OutcomeKind
from core.domain.tools import count_tokens
from core.gateway.base import Answer, Services
from core.gateway.endpoint import DEFINITIONS, Endpoint
from core.gateway.passing_on import given_tokens, passed_on, text_of
from tests.gateway.conformance_server import SCHEMAS, TEMPERATURE, conformance_server
from tests.gateway.conftest import ROOT, served, talk
from tests.importing import import_text
from tests.world import NOON, call

SECRET = "hunter2hunter2"
CALL = call("echo")


@pytest.fixture
def world(app: App) -> App:
    """The conformance server behind an app, under a catalog that knows its tools."""
    launch = {"command": "${python}", "args": ["-m", "tests.gateway.conformance_server"], "cwd": str(ROOT)}
    tools = [{"name": name, "description": "A tool.", "inputSchema": schema} for name, schema in SCHEMAS.items()]
    server = {"name": "conformance", "description": "Tools of every kind.", "tools": tools}
    connection = {"type": "stdio", **launch, "env": {"EXAMPLE_TOKEN": SECRET}}
    import_text(app.catalog_editor, json.dumps({"servers": [{**server, "connection": connection}]}), "world")
    return app


def test_results_errors_metadata_and_schemas_are_the_servers_own_without_headers_and_secrets(world: App) -> None:
    names = ["test_simple_text", "test_multiple_content_types", "test_audio_content", "measure", "test_error_handling"]

    async def script(client: Client) -> list[Any]:
        schemas = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        assert schemas["json_schema_2020_12_tool"] == SCHEMAS["json_schema_2020_12_tool"]
        headers.append(schemas["test_custom_headers"]["properties"])
        return [await client.call_tool(name, {}) for name in names]

    headers = list[Any]()
    direct, through = talk(conformance_server(), script), talk(served(world, mirror=("conformance",)), script)
    for name, expected, actual in zip(names, direct, through, strict=True):
        assert (name, actual.is_error, actual.content) == (name, expected.is_error, expected.content)
        assert actual.structured_content == expected.structured_content
        meta = {key: value for key, value in (actual.meta or {}).items() if not key.startswith("io.modelcontext")}
        assert meta == {
            key: value for key, value in (expected.meta or {}).items() if not key.startswith("io.modelcontext")
        }
    assert [result.is_error for result in through] == [False, False, False, False, True]
    assert headers == [{"region": {"type": "string", "x-mcp-header": "Region"}}, {"region": {"type": "string"}}]

    async def searching(client: Client) -> Any:
        return await client.call_tool("execute_tool", {"tool": "conformance::measure"})

    assert talk(served(world), searching).meta["example/at"] == "noon"

    async def failing(client: Client) -> Any:
        return await client.call_tool("test_error_handling", {"quote": "EXAMPLE_TOKEN"})

    failed = talk(served(world, mirror=("conformance",)), failing)
    assert failed.is_error
    assert SECRET not in failed.model_dump_json()
    assert "•••" in failed.content[0].text


def test_of_a_server_that_tells_too_much_no_answer_has_its_key_and_no_list_is_long(app: App) -> None:
    launch = {"command": "${python}", "args": ["-S", str(ROOT / "tests/gateway/telling_server.py")]}
    connection = {"type": "stdio", **launch, "env": {"SERVICE_API_KEY": SECRET}}
    server = {"name": "telling", "description": "Work words.", "tools": [{"name": "work"}], "connection": connection}
    import_text(app.catalog_editor, json.dumps({"servers": [server]}), "world")

    async def mirrored(client: Client) -> list[str]:
        answers = (
            await client.call_tool("work", {}),
            await client.read_resource("told://notes"),
            await client.get_prompt("ask"),
        )
        assert answers[0].structured_content == {"deep": [{"said": "done with •••: {}", "n": 7}]}
        lists = (await client.list_tools(), await client.list_resources(), await client.list_prompts())
        assert [page.model_dump_json().count("[cut: the first 10,000 of 20,000 characters]") for page in lists] == [
            0,
            1,
            2,
        ]
        assert max(len(page.model_dump_json()) for page in lists) < 30_000
        return [answer.model_dump_json() for answer in answers]

    async def searched(client: Client) -> list[str]:
        return [(await client.call_tool("execute_tool", {"tool": "telling::work"})).model_dump_json()]

    texts = [*talk(served(app, mirror=("telling",)), mirrored), *talk(served(app), searched)]
    assert [("•••" in text, SECRET in text) for text in texts] == [(True, False)] * 4


@pytest.mark.parametrize(("mode", "result"), [("legacy", (None, "[1,2]")), ("auto", ([1, 2], ""))])
def test_a_structured_result_that_is_no_object_is_text_before_2026(
    world: App, monkeypatch: pytest.MonkeyPatch, mode: str, result: Any
) -> None:
    async def call(*_: Any) -> Answer:
        return Answer(content=[], structured_content=[1, 2])

    async def script(client: Client) -> Any:
        answer = await client.call_tool("measure", {})
        return answer.structured_content, text_of(answer.content)

    monkeypatch.setattr(Endpoint, "call", call)
    assert talk(served(world, mirror=("conformance",)), script, mode=mode) == result


def test_definitions_have_one_type_in_each_place() -> None:
    """Clients that turn schemas into another dialect do not take a list of types."""
    text = json.dumps([tool.model_dump(mode="json", by_alias=True) for tool in DEFINITIONS])
    assert '"type": [' not in text


def test_a_definition_has_the_servers_schema_icons_and_metadata(world: App) -> None:
    connection = world.catalogs.catalog("world").servers[0].connection
    assert connection is not None
    servers = {"conformance": {"command": sys.executable, "args": [*connection.args], "cwd": connection.cwd}}
    read = world.catalog_editor.read(json.dumps({"mcpServers": servers}), "test")
    world.catalog_editor.discover(read, "measuring", "test")

    async def script(client: Client) -> Any:
        assert (await client.call_tool("measure", {})).structured_content == {"celsius": 21.5}
        return {tool.name: tool for tool in (await client.list_tools()).tools}["measure"]

    target = served(world, catalog="measuring", mirror=("conformance",))
    listed = talk(target, script)
    assert listed.output_schema == TEMPERATURE
    assert [icon.src for icon in listed.icons] == ["data:image/png;base64,AA=="]
    assert listed.meta["example/unit"] == "celsius"
    server = world.catalogs.catalog("measuring").server("conformance")
    other = tuple(replace(tool, extras='{"_meta": {"not": "approved"}}') for tool in server.tools)
    world.catalogs.edit("measuring", lambda catalog: catalog.with_server(replace(server, tools=other)))
    changed = talk(target, script)
    assert (changed.meta, changed.icons) == (None, None)
    world.governance.definitions.decide("measuring", "conformance::measure", approve=True, origin="test")
    assert talk(target, script).meta == {"not": "approved"}


ROWS = {
    "type": "object",
    "required": ["rows", "note"],
    "properties": {
        "rows": {"type": "array", "items": {"type": "object", "required": ["id", "about"]}},
        "note": {"type": "string"},
    },
}
VECTOR = {"type": "object", "properties": {"rows": {"type": "array", "minItems": 300}}}


def test_a_long_structured_result_is_shortened_to_what_its_schema_allows(app: App) -> None:
    rows = [{"id": number, "about": "word " * 20} for number in range(300)]
    structure = {"rows": rows, "note": "done"}
    plain = {"content": [{"type": "text", "text": json.dumps(structure)}], "structuredContent": structure}
    wrapped = {"content": [{"type": "text", "text": "word " * 1_000}], "structuredContent": {"result": "word " * 1_000}}
    schemas = {
        "rows": ROWS,
        "vector": VECTOR,
        "wrapped": {"type": "object", "properties": {"result": {"type": "string"}}},
    }
    services = Services(app, result_tokens=200)
    for name, schema in schemas.items():
        original = CallToolResult.model_validate(wrapped if name == "wrapped" else plain)
        outcome = Outcome(CALL, OutcomeKind.OK, NOON, 0.1, original=original)
        answer = passed_on(services, outcome, 200, as_it_is=True, schema=schema)
        assert (answer.is_error, answer.structured_content is None) == (name == "vector", name == "vector")
        assert misfit(schema, answer.structured_content or {}) == ""
        assert count_tokens(answer.model_dump_json(exclude_none=True)) < 600
        handle = answer.content[1].text.partition("handle ")[2].partition(",")[0]
        stored = services.results.text(handle)
        assert stored is not None
        assert stored.text == original.content[0].text
        assert ("The tool has run" in answer.content[-1].text) == (name == "vector")


def test_texts_of_embedded_resources_are_cut_and_counted_like_any_text(app: App) -> None:
    embedded = EmbeddedResource(
        type="resource", resource=TextResourceContents(uri="note://long", mime_type="text/plain", text="word " * 2_000)
    )
    text, image = (
        TextContent(type="text", text="Two words"),
        ImageContent(type="image", data="AA==", mime_type="image/png"),
    )
    services = Services(app, result_tokens=60)
    for content in ([embedded], [text, embedded, image], [embedded, text], [embedded, embedded]):
        outcome = Outcome(CALL, OutcomeKind.OK, NOON, 0.1, original=CallToolResult(content=content))
        whole = text_of(content)
        for as_it_is in (False, True):
            answer = passed_on(services, outcome, 60, as_it_is=as_it_is)
            *blocks, note = answer.content
            cut_text = text_of(blocks)
            assert cut_text == whole[: len(cut_text)]
            assert (count_tokens(cut_text) <= 60, given_tokens(outcome, 60), image in blocks) == (
                True,
                60,
                image in content,
            )
            assert next(block for block in blocks if block.type == "resource").resource.uri == "note://long"
            handle = note.text.partition("handle ")[2].partition(",")[0]
            assert services.results.text(handle) == (whole, ServerId("world", "raw"))
        assert passed_on(services, outcome, 8_000, as_it_is=True).content == content
        assert given_tokens(outcome, 8_000) == count_tokens(whole)
    link = ResourceLink(type="resource_link", uri="note://link", name="n", title="t", description="word " * 500)
    heavy = CallToolResult(content=[text, *[link] * 50], _meta={"long": "word " * 500})
    light = CallToolResult(content=[link.model_copy(update={"description": "Short."})], _meta={"at": "noon"})
    for original, tokens in ((heavy, 60), (light, 40)):
        outcome = Outcome(CALL, OutcomeKind.OK, NOON, 0.1, original=original)
        answer = passed_on(services, outcome, 60, as_it_is=True)
        assert count_tokens(answer.model_dump_json(exclude_none=True)) < 200
        assert 10 < given_tokens(outcome, 60) <= tokens
        assert (answer.meta, answer.content == light.content) == ((None, False), ({"at": "noon"}, True))[
            original is light
        ]
    structured = CallToolResult(content=[text], structured_content={"words": ["word"] * 500})
    assert given_tokens(Outcome(CALL, OutcomeKind.OK, NOON, 0.1, original=structured), 60) == 60  # and its text has two


def test_a_result_is_read_on_where_its_own_text_was_cut(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.gateway.passing_on.MOST_BINARY_CHARS", 2)
    image = ImageContent(type="image", data="AA==", mime_type="image/png")
    result = CallToolResult(content=[image, TextContent(type="text", text="word " * 500)])
    answer = passed_on(Services(app), Outcome(CALL, OutcomeKind.OK, NOON, 0.1, original=result), 60)
    place, text, note = (getattr(block, "text", "") for block in answer.content)
    assert place.startswith("[left out: image of 4 characters")
    assert f"offset {len(text)}.]" in note
