"""The handling of one tools/call: arguments are checked, the tool runs, errors become sentences."""

from __future__ import annotations

import json
import logging
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast

import anyio.to_thread
import mcp_types
from mcp import MCPError
from mcp_types import INVALID_PARAMS

from core.domain.catalog import Tool, definition_tokens
from core.domain.errors import Refusal, StoreError, WayfareError
from core.domain.json_schema import arguments_fault
from core.domain.progress import made_once
from core.domain.untrusted_text import one_line, visible
from core.gateway.attending import Attending
from core.gateway.base import AgentTool, Answer, PartRequest, Request, Services, refused
from core.gateway.describe import DESCRIBE
from core.gateway.execute import EXECUTE, EXECUTE_READONLY
from core.gateway.improve import ADD_REQUESTS, IMPROVING, TOOLS_WITHOUT_REQUESTS, improving_prompts
from core.gateway.mirror import SUMMARY_TOKENS, call_mirrored, mirrored, pinned, with_pinned
from core.gateway.mirrored_parts import MirroredParts, errors_of_the_protocol
from core.gateway.passing_on import READ_RESULT
from core.gateway.report import REPORT
from core.gateway.search import SEARCH
from core.gateway.several import Several
from core.governance.clients import ANONYMOUS

# The tools of the endpoint in the order of every client's list, and the instructions for clients.

TOOLS: tuple[AgentTool, ...] = (SEARCH, DESCRIBE, EXECUTE, EXECUTE_READONLY, READ_RESULT, REPORT)
DEFINITIONS = [tool.definition for tool in TOOLS]
IMPROVING_DEFINITIONS = [TOOLS_WITHOUT_REQUESTS.definition, ADD_REQUESTS.definition]
"""Listed only for clients that may write example requests."""
INSTRUCTIONS = (
    "Wayfare stands for all MCP servers that its operator has connected. For each step of your work call search_tools with "
    "that step in one sentence; call the best candidate with execute_tool, or execute_readonly_tool if it only reads, and "
    "give the route_id of the search; afterwards say with report_outcome whether it helped. An error says what to try."
)


@made_once
def own_tokens() -> int:
    """Returns the tokens of the definitions of the endpoint's tools, counted like definitions of a catalog, with the longest summary."""
    tools = (Tool("", tool.name, tool.description or "", input_schema=tool.input_schema) for tool in DEFINITIONS)
    return sum(map(definition_tokens, tools)) + SUMMARY_TOKENS


_log = logging.getLogger(__name__)
_TOOLS = {tool.definition.name: tool for tool in (*TOOLS, TOOLS_WITHOUT_REQUESTS, ADD_REQUESTS)}


class Endpoint:
    def __init__(self, services: Services) -> None:
        self._services = services
        self.parts = MirroredParts(services)
        self.attending = Attending(services)

    async def call(self, request: Request) -> Answer:
        began = time.perf_counter()
        await self._note(request)
        request = self._by_execute(request)
        answer = await self._answer(request)
        document: Any = answer.structured_content or {}
        error = str(document.get("error", "tool_error")) if answer.is_error else ""
        tool = request.tool if request.tool in _TOOLS else "unknown"
        self._services.app.telemetry.answered(tool, time.perf_counter() - began, error)
        return answer

    async def listed(self, request: PartRequest) -> list[mcp_types.Tool]:
        """Returns the tools that a client sees. Raises MCPError if the options name something unknown, or the client
        may see nothing."""
        await self._note(request)
        return await self.offered(request)

    async def offered(self, request: PartRequest) -> list[mcp_types.Tool]:
        options, admission = request.options, self._services.app.governance.admission
        if not (options.mirror or options.attention):
            definitions = [*DEFINITIONS, *IMPROVING_DEFINITIONS] if self._improves(request) else DEFINITIONS
            with suppress(WayfareError):  # the first call reports it
                return await anyio.to_thread.run_sync(self._with_pinned, request, definitions)
            return definitions
        try:
            client = admission.identified(request.client, known=request.known)
            if options.attention:
                return await anyio.to_thread.run_sync(self.attending.listed, request, client)
            return await anyio.to_thread.run_sync(mirrored, self._services, options, client)
        except WayfareError as error:
            raise MCPError(INVALID_PARAMS, visible(str(error))) from error

    def _with_pinned(self, request: PartRequest, definitions: list[mcp_types.Tool]) -> list[mcp_types.Tool]:
        client = self._client(request)
        if client == ANONYMOUS and self._services.app.governance.clients.without_token is None:
            return definitions
        return with_pinned(self._services, request.options, client, definitions, self._pinned(request))

    def _by_execute(self, request: Request) -> Request:
        """Returns a call of a pinned tool as a call of `execute_tool`, with the unchanged result."""
        if request.tool in _TOOLS or request.options.mirror or request.options.attention:
            return request
        tool = self._pinned(request).get(request.tool)
        if tool is None:
            return request
        arguments: dict[str, Any] = {"tool": tool, "arguments": dict(request.arguments)}
        return replace(request, tool=EXECUTE.definition.name, arguments=arguments, mirrored=True)

    def _pinned(self, request: Request | PartRequest) -> dict[str, str]:
        return pinned(self._services, request.options, self._client(request), _TOOLS)

    def _client(self, request: Request | PartRequest) -> str:
        return self._services.app.governance.admission.counted_as(request.client, known=request.known)

    async def part(self, request: PartRequest) -> Any:
        """Returns the answer to a request about prompts, or to a mirror client's about resources and prompts. Raises MCPError."""
        if not request.options.mirror:
            return improving_prompts(request, allowed=self._improves(request))
        with errors_of_the_protocol():
            return await self.parts.answer(request)

    def _improves(self, request: PartRequest) -> bool:
        admission = self._services.app.governance.admission
        return admission.improves(request.client, known=request.known)

    async def _note(self, request: Request | PartRequest) -> None:
        visits, key = self._services.app.governance.visits, (request.announced, request.client if request.known else "")
        if not visits.again(*key):
            with suppress(StoreError):  # the request itself reports it
                await anyio.to_thread.run_sync(visits.note, *key)

    async def _answer(self, request: Request) -> Answer:
        try:
            return await self._run(request)
        except Refusal as refusal:
            return refused(refusal)
        except WayfareError as error:
            return refused(Refusal("not_possible", str(error), "Change what the sentence names and call again."))
        except Exception:  # noqa: BLE001  a defect becomes an error for the agent and keeps its connection open
            _log.exception("the endpoint failed at %s", request.tool)
            return refused(
                Refusal("internal_error", "Wayfare itself failed; its log says where.", "Try something else.")
            )

    async def _run(self, request: Request, *, counted: bool = False) -> Answer:
        admission, catalog = self._services.app.governance.admission, request.options.catalog
        if len(request.options.catalogs) > 1:
            admission.count(request.client, catalog, known=request.known)
            return await Several(self._services.app, request, partial(self._run, counted=True)).answered()
        client = admission.enter(request.client, catalog, known=request.known, counted=counted)
        request = replace(request, client=client, names=admission.names(client, request.announced, known=request.known))
        services = self._services.of(request)
        if request.options.attention:
            _check_text(request)
            return await self.attending.answered(services, request, partial(self._own, services))
        if request.options.mirror and request.tool != READ_RESULT.definition.name:
            _check_text(request)
            return await call_mirrored(services, request)
        return await self._own(services, request)

    async def _own(self, services: Services, request: Request) -> Answer:
        tool = _TOOLS.get(request.tool)
        if tool is None:
            raise Refusal(
                "unknown_tool",
                f"Wayfare has no tool {one_line(request.tool, 100)!r} of its own; it has {', '.join(tool.name for tool in DEFINITIONS)}.",
                "Tools of the connected servers are called through execute_tool.",
            )
        if request.tool in IMPROVING:
            admission = services.app.governance.admission
            admission.check_improve(request.client, request.options.catalog, known=request.known)
        request = replace(request, arguments=_unpacked(dict(request.arguments)))
        _check_text(request)
        if fault := arguments_fault(tool.definition.input_schema, request.arguments):
            raise Refusal(
                "invalid_arguments", f"{request.tool}: {visible(fault)}.", "Change the arguments to fit its schema."
            )
        return await tool.run(services, request)


def _check_text(request: Request) -> None:
    r"""Raises Refusal if the arguments cannot be written as JSON in UTF-8.

    >>> _check_text(Request("search_tools", {"task": "\ud800"}))
    Traceback (most recent call last):
    core.domain.errors.Refusal: search_tools: a text has half a character. Send valid JSON in UTF-8.
    """
    try:
        json.dumps(dict(request.arguments), ensure_ascii=False, allow_nan=False).encode()
        return
    except UnicodeEncodeError:
        fault = "a text has half a character"
    except ValueError:
        fault = "a number is not finite"
    except RecursionError:
        fault = "the arguments are nested too deep"
    raise Refusal("invalid_arguments", f"{one_line(request.tool, 100)}: {fault}.", "Send valid JSON in UTF-8.")


def _unpacked(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with the inner object parsed: models sometimes write it as JSON text.

    >>> _unpacked({"tool": "a::b", "arguments": '{"n": 1}'})
    {'tool': 'a::b', 'arguments': {'n': 1}}
    """
    inner = arguments.get("arguments")
    if isinstance(inner, str):
        try:
            document: object = json.loads(inner)
        except (ValueError, RecursionError):
            return arguments
        if isinstance(document, dict):
            return {**arguments, "arguments": cast("dict[str, Any]", document)}
    return arguments
