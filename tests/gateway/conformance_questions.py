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
    message = types.SamplingMessage(role="user", content=types.TextContent(type="text", text=prompt))
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=[message], max_tokens=100))


NAME = {"user_name": form("What is your name?", {"name": STRING}, "name")}
CONFIRM = {"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, "ok")}
CAPITAL = {"capital_question": sampling("What is the capital of France?")}
ROOTS = {"client_roots": types.ListRootsRequest()}
STEPS = [
    {"step1": form("Step 1: What is your name?", {"name": STRING}, "name")},
    {"step2": form("Step 2: What is your favorite color?", {"color": STRING}, "color")},
]
QUESTIONS: dict[str, Callable[[Arguments], Sequence[Asked]]] = {
    "test_sampling": lambda arguments: [{"answer": sampling(arguments.get("prompt", ""))}],
    "test_elicitation": lambda arguments: [
        {"answer": form(arguments.get("message", "Who?"), {"username": STRING, "email": STRING}, "username", "email")}
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
"""The rounds of each tool: its first questions, and the questions after their answers."""


async def asked(
    context: Context, params: types.CallToolRequestParams
) -> types.CallToolResult | types.InputRequiredResult:
    """The answers as text, or the questions of the next round. Raises MCPError for a foreign state."""
    rounds = [_possible(context, questions) for questions in QUESTIONS[params.name](params.arguments or {})]
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return _text([await _ask(context, request) for questions in rounds for request in questions.values()])
    answers: dict[str, Any] = dict(params.input_responses or {})
    done = _round(params) if params.request_state else 0
    if rounds[done].keys() <= answers.keys():
        done += 1
    if done < len(rounds):
        return types.InputRequiredResult(input_requests=dict(rounds[done]), request_state=_sealed(params.name, done))
    return _text(list(answers.values()))


def _possible(context: Context, questions: Asked) -> Asked:
    """The questions that the client supports; without a handshake it declares them with each request."""
    capabilities = context.session.client_capabilities
    able = {
        key: question
        for key, question in questions.items()
        if getattr(capabilities, ABILITIES[question.method], None) is not None
    }
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
    """The answers as text; a model's text and a form's action and content as the suite reads them."""
    parts = [
        f"LLM response: {getattr(answer.content, 'text', '')}" if isinstance(answer, types.CreateMessageResult)
        else f"action={answer.action}, content={answer.content}" if isinstance(answer, types.ElicitResult)
        else answer.model_dump_json()
        for answer in answers
    ]  # fmt: skip
    return types.CallToolResult(content=[types.TextContent(type="text", text=f"state-ok {' '.join(parts)}")])
