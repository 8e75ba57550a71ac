"""Tools of the official conformance suite that ask the client back: up to 2025-11-25 in the midst of the call, from 2026-07-28 on by
a result that requires input, with a state of the server that nobody may change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import mcp_types as types
from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

Context = ServerRequestContext[Any, Any]
Arguments = dict[str, Any]
Asked = Mapping[str, types.InputRequest]
STRING = {"type": "string"}
DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
PLAIN = ["option1", "option2", "option3"]
ENUMS = {
    "untitledSingle": {"type": "string", "enum": PLAIN},
    "titledSingle": {"type": "string", "oneOf": TITLED},
    "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": PLAIN}},
    "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
}
RESULTS: dict[str, type[Any]] = {
    "sampling/createMessage": types.CreateMessageResult,
    "elicitation/create": types.ElicitResult,
    "roots/list": types.ListRootsResult,
}
ABILITIES = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}


def form(message: str, properties: dict[str, Any], *required: str) -> types.ElicitRequest:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(prompt: str) -> types.CreateMessageRequest:
    said = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[said], max_tokens=100))


NAME = {"user_name": form("What is your name?", {"name": STRING}, "name")}
CONFIRM = {"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, "ok")}
CAPITAL = {"capital_question": sampling("What is the capital of France?")}
ROOTS = {"client_roots": types.ListRootsRequest()}
STEPS = [
    {"step1": form("Step 1: What is your name?", {"name": STRING}, "name")},
    {"step2": form("Step 2: What is your favorite color?", {"color": STRING}, "color")},
]
QUESTIONS: dict[str, Callable[[Arguments], Sequence[Asked]]] = {
    "test_sampling": lambda given: [{"answer": sampling(given.get("prompt", ""))}],
    "test_elicitation": lambda given: [
        {"answer": form(given.get("message", "Who?"), {"username": STRING, "email": STRING}, "username", "email")}
    ],
    "test_elicitation_sep1034_defaults": lambda _: [{"answer": form("Please fill in", DEFAULTS)}],
    "test_elicitation_sep1330_enums": lambda _: [{"answer": form("Please fill in", ENUMS)}],
    "test_input_required_result_elicitation": lambda _: [NAME],
    "test_input_required_result_sampling": lambda _: [CAPITAL],
    "test_input_required_result_list_roots": lambda _: [ROOTS],
    "test_input_required_result_request_state": lambda _: [CONFIRM],
    "test_input_required_result_tampered_state": lambda _: [CONFIRM],
    "test_input_required_result_multiple_inputs": lambda _: [{**NAME, "greeting": sampling("Greet"), **ROOTS}],
    "test_input_required_result_multi_round": lambda _: STEPS,
    "test_input_required_result_capabilities": lambda _: [{**NAME, **CAPITAL, **ROOTS}],
}
"""The rounds of each tool: what it asks first, and what after that was answered."""


async def asked(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """The answers as text, or the questions of the next round. Raises MCPError for a state that is not ours."""
    rounds = [_possible(context, one) for one in QUESTIONS[params.name](params.arguments or {})]
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return _text([await _ask(context, request) for one in rounds for request in one.values()])
    given: dict[str, Any] = dict(params.input_responses or {})
    done = _round(params) if params.request_state else 0
    if rounds[done].keys() <= given.keys():
        done += 1
    if done < len(rounds):
        return types.InputRequiredResult(input_requests=dict(rounds[done]), request_state=_sealed(params.name, done))
    return _text(list(given.values()))


def _possible(context: Context, questions: Asked) -> Asked:
    """Those that the client can be asked; a client without a session's handshake says so with each request."""
    has = context.session.client_capabilities
    able = {key: one for key, one in questions.items() if getattr(has, ABILITIES[one.method], None) is not None}
    return able or questions


async def _ask(context: Context, request: types.InputRequest) -> Any:
    related = ServerMessageMetadata(related_request_id=context.request_id)
    return await context.session.send_request(request, RESULTS[request.method], metadata=related)


def _sealed(name: str, done: int) -> str:
    return f"{done}:{sha256(f'{name} {done} key'.encode()).hexdigest()}"


def _round(params: types.CallToolRequestParams) -> int:
    done = int((params.request_state or "").partition(":")[0])
    if params.request_state != _sealed(params.name, done):
        raise MCPError(types.INVALID_PARAMS, "The state was changed.")
    return done


def _text(answers: list[Any]) -> types.CallToolResult:
    """The answers; a model's text and an action and content of a form the way the suite reads them."""
    said = [
        f"LLM response: {getattr(one.content, 'text', '')}" if isinstance(one, types.CreateMessageResult)
        else f"action={one.action}, content={one.content}" if isinstance(one, types.ElicitResult)
        else one.model_dump_json()
        for one in answers
    ]  # fmt: skip
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"state-ok {' '.join(said)}")])
