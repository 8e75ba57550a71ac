"""A server with the tools that the official conformance suite calls: over stdio, or with `--http PORT` for the suite itself.

A mirror of Wayfare stands before it. Findings of the suite in both pass through. Tools that ask back follow the protocol that
the client speaks: a request in the midst of a call up to 2025-11-25, a result that requires input from 2026-07-28 on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tests.gateway.conformance_questions import QUESTIONS, asked

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
ANYTHING = {"type": "object", "properties": {}}
SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
TEMPERATURE = {"type": "object", "properties": {"celsius": {"type": "number"}}, "required": ["celsius"]}


def text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def image() -> types.ImageContent:
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, mime_type: str, words: str) -> types.EmbeddedResource:
    content = types.TextResourceContents(uri=uri, mime_type=mime_type, text=words)
    return types.EmbeddedResource(type="resource", resource=content)


CONTENT: dict[str, list[types.ContentBlock]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [image()],
    "test_audio_content": [types.AudioContent(type="audio", data=SOUND, mime_type="audio/wav")],
    "test_embedded_resource": [embedded("test://embedded-resource", "text/plain", "This is an embedded resource.")],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        image(),
        embedded("test://mixed-content-resource", "application/json", '{"test": "data", "value": 123}'),
    ],
    "test_custom_headers": [text("The header fits.")],
    "json_schema_2020_12_tool": [text("The arguments fit.")],
}


async def progressing(context: Context, _: Arguments) -> types.CallToolResult:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100, f"Completed step {done} of 100")
    return types.CallToolResult(content=[text("done")])


async def logging(context: Context, _: Arguments) -> types.CallToolResult:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)  # pyright: ignore[reportDeprecated]
    return types.CallToolResult(content=[text("logged")])


async def failing(_: Context, arguments: Arguments) -> types.CallToolResult:
    """An error with every field of a result; it quotes a variable of the environment if the call names it."""
    quoted = os.environ.get(arguments.get("quote", ""), "")
    words = [text(f"This tool intentionally returns an error for testing. {quoted}".strip()), image()]
    return types.CallToolResult(content=words, is_error=True, structured_content={"celsius": 0}, _meta={"tried": 1})


async def measuring(_: Context, __: Arguments) -> types.CallToolResult:
    return types.CallToolResult(
        content=[text("21.5")], structured_content={"celsius": 21.5}, _meta={"example/at": "noon"}
    )


async def refusing(_: Context, __: Arguments) -> types.CallToolResult:
    raise MCPError(-32602, "The sensor is not known.", {"sensor": "attic"})


Run = Callable[[Context, Arguments], Awaitable[types.CallToolResult]]
TOOLS: dict[str, tuple[dict[str, Any], Run]] = {
    "test_tool_with_progress": (ANYTHING, progressing),
    "test_tool_with_logging": (ANYTHING, logging),
    "test_logging_tool": (ANYTHING, logging),
    "test_error_handling": (ANYTHING, failing),
    "measure": (ANYTHING, measuring),
    "refuse": (ANYTHING, refusing),
}  # fmt: skip
SCHEMAS: dict[str, dict[str, Any]] = {
    **dict.fromkeys(CONTENT, ANYTHING),
    "json_schema_2020_12_tool": SCHEMA_2020_12,
    "test_custom_headers": HEADER,
    **{name: schema for name, (schema, _) in TOOLS.items()},
    **{name: ANYTHING for name in QUESTIONS},
}
OUTPUTS = {"measure": TEMPERATURE}


async def listed(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """Every tool; `measure` has an output schema, an icon and metadata."""
    extra = {"measure": {"icons": [types.Icon(src="data:image/png;base64,AA==")], "_meta": {"example/unit": "celsius"}}}
    return types.ListToolsResult(
        tools=[
            types.Tool(name=name, title=name.replace("_", " "), description=f"Conformance: {name}.", input_schema=schema,
                       output_schema=OUTPUTS.get(name), **extra.get(name, {}))
            for name, schema in SCHEMAS.items()
        ]
    )  # fmt: skip


async def called(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """Raises MCPError for a name that is not listed."""
    if params.name in QUESTIONS:
        return await asked(context, params)
    if params.name in CONTENT:
        return types.CallToolResult(content=CONTENT[params.name])
    if params.name not in TOOLS:
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}")
    return await TOOLS[params.name][1](context, params.arguments or {})


TEXT_URI, BINARY_URI, WATCHED_URI = "test://static-text", "test://static-binary", "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
CONTEXT = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}


async def resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    icon = types.Icon(src="data:image/png;base64,AA==")
    static = types.Resource(uri=TEXT_URI, name="text", description="A text.", mime_type="text/plain", icons=[icon])
    binary = types.Resource(uri=BINARY_URI, name="binary", mime_type="image/png")
    return types.ListResourcesResult(resources=[static, binary, types.Resource(uri=WATCHED_URI, name="watched")])


async def subscribed(_: Context, __: types.SubscribeRequestParams) -> types.EmptyResult:
    """Clients up to 2025-11-25 may subscribe; nothing here ever changes."""
    return types.EmptyResult()


async def templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(uri_template=TEMPLATE, name="data", mime_type="application/json")
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Raises MCPError for an address that is not here."""
    uri = str(params.uri)
    if uri == BINARY_URI:
        blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        return types.ReadResourceResult(contents=[blob])
    body = ""
    if uri == TEXT_URI:
        body = "This is the content of the static text resource."
    elif uri.startswith("test://template/"):
        body = f'{{"id": "{uri.split("/")[3]}"}}'
    if not body:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=body)])


ARGUMENTS = [types.PromptArgument(name=name, description=f"The {name}.", required=True) for name in ("arg1", "arg2")]
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ARGUMENTS,
    "test_prompt_with_embedded_resource": [types.PromptArgument(name="resourceUri", required=True)],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    listed = [types.Prompt(name=name, description=f"{name}.", arguments=args) for name, args in PROMPTS.items()]
    return types.ListPromptsResult(prompts=listed)


async def prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    """Raises MCPError for a name that is not listed."""
    arguments = params.arguments or {}
    match params.name:
        case "test_prompt_with_arguments":
            blocks = [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            inner = types.TextResourceContents(uri=arguments["resourceUri"], mime_type="text/plain", text="Embedded.")
            blocks = [types.EmbeddedResource(type="resource", resource=inner), text("Please process it.")]
        case "test_prompt_with_image":
            blocks = [types.ImageContent(type="image", data=PIXEL, mime_type="image/png"), text("Please look at it.")]
        case "test_input_required_result_prompt" if not params.input_responses:
            form = types.ElicitRequestFormParams(message="What context?", requested_schema=CONTEXT)
            return types.InputRequiredResult(input_requests={"user_context": types.ElicitRequest(params=form)})
        case name if name in PROMPTS:
            blocks = [text("This is a simple prompt for testing.")]
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=block) for block in blocks])


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def with_parts(server: Server[Any]) -> Server[Any]:
    """Adds the handlers."""
    paged = types.PaginatedRequestParams
    server.add_request_handler("resources/list", paged, resources)
    server.add_request_handler("resources/templates/list", paged, templates)
    server.add_request_handler("resources/read", types.ReadResourceRequestParams, read)
    for method in ("resources/subscribe", "resources/unsubscribe"):
        server.add_request_handler(method, types.SubscribeRequestParams, subscribed)
    server.add_request_handler("prompts/list", paged, prompts)
    server.add_request_handler("prompts/get", types.GetPromptRequestParams, prompt)
    server.add_request_handler("completion/complete", types.CompleteRequestParams, complete)
    server.add_request_handler("logging/setLevel", types.SetLevelRequestParams, level)
    return server


def conformance_server() -> Server[Any]:
    """The server, in its first state."""
    server = Server[Any](
        "conformance", version="1", on_list_tools=listed, on_call_tool=called, get_tool_input_schema=SCHEMAS.get
    )
    return with_parts(server)


def main() -> None:
    """Serve until the end of the input, or of the process."""
    server = conformance_server()
    if "--http" in sys.argv:
        import uvicorn

        uvicorn.run(server.streamable_http_app(), port=int(sys.argv[sys.argv.index("--http") + 1]), log_level="warning")
        return

    async def run() -> None:
        async with stdio_server() as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())

    anyio.run(run)


if __name__ == "__main__":
    main()
