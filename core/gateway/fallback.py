"""Fallback: if a read-only tool cannot answer, the next candidates of its search are called with the same arguments.

The operator switches it on (`EndpointOptions.fallback`). Each try is a normal call: it is admitted, recorded and
counted in the statistics.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio.to_thread

from core.domain.catalog import Tool
from core.domain.errors import Refusal
from core.domain.json_schema import argument_problems
from core.domain.untrusted_text import one_line, visible
from core.gateway.base import Answer, Request, Services, text_block
from core.gateway.describe import find
from core.gateway.report import route_of

MOST_TRIES = 3
"""Calls for one request, including the requested one."""
NO_ANSWER = frozenset({"server_down", "server_paused", "connection_lost", "timeout", "tool_error", "busy"})
"""Errors after which another tool may answer. The agent or a person has to solve the others."""
WHY_CHARS = 300
Execute = Callable[[Request], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Try:
    """A tool that did not answer, and why."""

    tool: str
    error: str
    why: str

    @property
    def line(self) -> str:
        """The try as a phrase."""
        return f"{self.tool} ({self.error}: {self.why})"


async def answered_instead(services: Services, request: Request, error: Refusal, execute: Execute) -> Answer:
    """Returns the answer of the next candidate that gives one, with the tries before it. Raises Refusal if all fail,
    and `error` if there is no other candidate."""
    if not request.options.fallback or error.error not in NO_ANSWER:
        raise error
    others = await anyio.to_thread.run_sync(_others, services, request)
    tried = [_try(request.arguments["tool"], error)]
    for tool in others[: MOST_TRIES - 1]:
        try:
            found = await execute(replace(request, arguments={**request.arguments, "tool": tool}))
        except Refusal as again:
            tried.append(_try(tool, again))
        else:
            return _with_note(found, tool, tried)
    if len(tried) == 1:
        raise error
    said = "; ".join(one.line for one in tried[1:])
    raise Refusal(error.error, f"{error.why} Tried in its place: {said}.", error.advice)


def _others(services: Services, request: Request) -> list[str]:
    """Returns the other read-only tools of the same search that accept these arguments, best first. Returns none if the
    first tool may write."""
    given = request.arguments
    if "route_id" not in given:
        return []
    catalog = services.app.catalogs.catalog(request.options.catalog)
    _, asked = find(services, request, catalog, given["tool"])
    if asked.hints.read_only is not True:
        return []
    offered = route_of(services, request, given["route_id"]).offered
    tools = [catalog.tools[catalog.tool_row[name]] for name in offered if name in catalog.tool_row]
    return [tool.id for tool in tools if tool.id != asked.id and _takes(tool, given.get("arguments", {}))]


def _takes(tool: Tool, arguments: dict[str, object]) -> bool:
    """Whether a tool only reads and declares each of the arguments. A tool that ignores an argument would answer
    another question.

    >>> from core.domain.catalog import ToolHints
    >>> schema = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> tool = Tool("files", "read", "", input_schema=schema, hints=ToolHints(read_only=True))
    >>> _takes(tool, {"path": "a"}), _takes(tool, {"path": "a", "line": 3}), _takes(tool, {})
    (True, False, False)
    """
    known: Any = (tool.input_schema or {}).get("properties")
    names = set(cast("dict[str, Any]", known)) if isinstance(known, dict) else set[str]()
    return (
        tool.hints.read_only is True
        and arguments.keys() <= names
        and not argument_problems(tool.input_schema, arguments)
    )


def _try(tool: str, error: Refusal) -> Try:
    return Try(tool, error.error, one_line(visible(error.why), WHY_CHARS))


def _with_note(found: Answer, tool: str, tried: list[Try]) -> Answer:
    """Returns the answer with a note that says which tool gave it and why."""
    note = f"[{tool} answered, with the same arguments, because {'; '.join(one.line for one in tried)} did not.]"
    document = {
        **found.structured_content,
        "fallback": [{"tool": one.tool, "error": one.error, "why": one.why} for one in tried],
    }
    return found.model_copy(update={"content": [text_block(note), *found.content], "structured_content": document})
