"""What every tool of the endpoint gets and gives: the request, the answer, and an error that an agent can act on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mcp_types
from mcp.shared.dispatcher import ProgressFnT

from core.app import App
from core.endpoint.options import EndpointOptions
from core.endpoint.results import ResultStore

Answer = mcp_types.CallToolResult


class Refusal(Exception):
    """Why a request was not done: a short name, what is wrong, and what to try instead."""

    def __init__(self, error: str, why: str, advice: str) -> None:
        super().__init__(why)
        self.error = error
        self.why = why
        self.advice = advice

    def answer(self) -> Answer:
        """The error as the agent gets it."""
        return answer({"error": self.error, "why": self.why, "try": self.advice}, is_error=True)


async def no_progress(progress: float, total: float | None = None, message: str | None = None) -> None:
    """For a client that wants no progress."""


@dataclass(frozen=True)
class Request:
    """One tools/call: what is asked, by whom, and with which options. `client` is the name that the client gives itself, or
    where its token was `known` the name that the token was made for. `mirrored` calls want the result of the tool as it is."""

    tool: str
    arguments: Mapping[str, Any]
    options: EndpointOptions = field(default_factory=EndpointOptions)
    client: str = ""
    known: bool = False
    progress: ProgressFnT = no_progress
    mirrored: bool = False


@dataclass(frozen=True)
class PartRequest:
    """A request of a mirror's client that is no tools/call: its method and parameters in the protocol's types, and who asks."""

    method: str
    params: Any
    options: EndpointOptions
    client: str = ""
    known: bool = False


@dataclass(frozen=True)
class Services:
    """What tools work with. `result_tokens` is how much of a result is given at once."""

    app: App
    results: ResultStore = field(default_factory=ResultStore)
    result_tokens: int = 8_000


@dataclass(frozen=True)
class AgentTool:
    """One tool of the endpoint: its definition, which never changes while Wayfare runs, and what it does."""

    definition: mcp_types.Tool
    run: Callable[[Services, Request], Awaitable[Answer]]


def answer(
    document: Mapping[str, Any],
    content: Sequence[mcp_types.ContentBlock] | None = None,
    *,
    is_error: bool = False,
    meta: dict[str, Any] | None = None,
) -> Answer:
    """A structured answer; without content of its own the document is also its text, for clients that read text alone."""
    blocks: list[mcp_types.ContentBlock] = list(content or [text_block(compact(document))])
    return Answer(content=blocks, structured_content=dict(document), is_error=is_error, _meta=meta)


def text_block(text: str) -> mcp_types.TextContent:
    """A text as content."""
    return mcp_types.TextContent(type="text", text=text)


def compact(document: object) -> str:
    """The JSON text whose tokens are counted.

    >>> compact({"a": [1, "ü"]})
    '{"a":[1,"ü"]}'
    """
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), default=str)


def object_schema(properties: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def or_null(kind: str) -> dict[str, Any]:
    """The schema of a value that may be unknown, with one type in each branch: not every client takes a list of types."""
    return {"anyOf": [{"type": kind}, {"type": "null"}]}


ERROR = object_schema({name: {"type": "string"} for name in ("error", "why", "try")}, ["error", "why", "try"])
"""Of every answer that is an error: some clients check these against the output schema, too."""


def definition(
    name: str,
    title: str,
    description: str,
    properties: Mapping[str, Any],
    required: Sequence[str],
    output: Mapping[str, Any],
    hints: mcp_types.ToolAnnotations,
) -> mcp_types.Tool:
    """A tool's definition; the mark asks clients that load tools late to keep these few at hand."""
    return mcp_types.Tool(
        name=name,
        title=title,
        description=description,
        input_schema=object_schema(properties, required),
        output_schema={"type": "object", "anyOf": [object_schema(output, list(output)), ERROR]},
        annotations=hints,
        _meta={"anthropic/alwaysLoad": True},
    )
