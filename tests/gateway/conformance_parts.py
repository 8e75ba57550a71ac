"""What the official conformance suite asks of a server beside tools: resources, a template, prompts, completion, a level of logging."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server

Context = ServerRequestContext[Any, Any]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
TEXT_URI, BINARY_URI, WATCHED_URI = "test://static-text", "test://static-binary", "test://watched-resource"
TEMPLATE = "test://template/{id}/data"
CONTEXT = {"type": "object", "properties": {"context": {"type": "string"}}, "required": ["context"]}


async def resources(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
    icon = types.Icon(src="data:image/png;base64,AA==")
    text = types.Resource(uri=TEXT_URI, name="text", description="A text.", mime_type="text/plain", icons=[icon])
    binary = types.Resource(uri=BINARY_URI, name="binary", mime_type="image/png")
    return types.ListResourcesResult(resources=[text, binary, types.Resource(uri=WATCHED_URI, name="watched")])


async def subscribed(_: Context, __: types.SubscribeRequestParams) -> types.EmptyResult:
    """Clients up to 2025-11-25 may subscribe; nothing here ever changes."""
    return types.EmptyResult()


async def templates(_: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
    one = types.ResourceTemplate(uri_template=TEMPLATE, name="data", mime_type="application/json")
    return types.ListResourceTemplatesResult(resource_templates=[one])


async def read(_: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    """Raises MCPError for an address that is not here."""
    uri = str(params.uri)
    if uri == BINARY_URI:
        blob = types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
        return types.ReadResourceResult(contents=[blob])
    text = ""
    if uri == TEXT_URI:
        text = "This is the content of the static text resource."
    elif uri.startswith("test://template/"):
        text = f'{{"id": "{uri.split("/")[3]}"}}'
    if not text:
        raise MCPError(types.INVALID_PARAMS, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)])


ARGUMENTS = [types.PromptArgument(name=name, description=f"The {name}.", required=True) for name in ("arg1", "arg2")]
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ARGUMENTS,
    "test_prompt_with_embedded_resource": [types.PromptArgument(name="resourceUri", required=True)],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


async def prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    listed = [types.Prompt(name=name, description=f"{name}.", arguments=given) for name, given in PROMPTS.items()]
    return types.ListPromptsResult(prompts=listed)


async def prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult | types.InputRequiredResult:
    """Raises MCPError for a name that is not listed."""
    given = params.arguments or {}
    match params.name:
        case "test_prompt_with_arguments":
            said = [_text(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")]
        case "test_prompt_with_embedded_resource":
            inner = types.TextResourceContents(uri=given["resourceUri"], mime_type="text/plain", text="Embedded.")
            said = [types.EmbeddedResource(type="resource", resource=inner), _text("Please process it.")]
        case "test_prompt_with_image":
            said = [types.ImageContent(type="image", data=PIXEL, mime_type="image/png"), _text("Please look at it.")]
        case "test_input_required_result_prompt" if not params.input_responses:
            form = types.ElicitRequestFormParams(message="What context?", requested_schema=CONTEXT)
            return types.InputRequiredResult(input_requests={"user_context": types.ElicitRequest(params=form)})
        case name if name in PROMPTS:
            said = [_text("This is a simple prompt for testing.")]
        case _:
            raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {params.name}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in said])


async def complete(_: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
    values = [word for word in ("paris", "park", "party") if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


async def level(_: Context, __: types.SetLevelRequestParams) -> types.EmptyResult:
    return types.EmptyResult()


def _text(words: str) -> types.TextContent:
    return types.TextContent(type="text", text=words)


def with_parts(server: Server[Any]) -> Server[Any]:
    """The server with all of this."""
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
