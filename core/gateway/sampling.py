"""The model of a client, asked by MCP sampling as any endpoint of a model is."""

from __future__ import annotations

from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass
from typing import Any, cast

import mcp_types
from mcp import MCPError

from core.domain.errors import PlannerError, Refusal
from core.domain.execution import ClientSide
from core.domain.untrusted_text import one_line
from core.learning.request_writing import ANSWER_TOKENS
from core.planning.model_endpoint import ANSWER_LIMIT_BYTES, TIMEOUT_S, Message, Reply

KEY = "requests"
SAID_CHARS = 200


@dataclass
class SamplingEndpoint:
    """Asks the client's model, which its person may see and refuse. A client that is asked between two requests gets the question in
    place of a result, and answers it once. Blocks: for a thread."""

    side: ClientSide
    model: str = "the client's own"

    def ask(self, message: Message) -> Reply:
        """Returns one answer. Raises PlannerError without one."""
        if self.side.asked_between:
            return _reply(self._between(message))
        try:
            return _reply(self.side.ask(_question(message)).result(TIMEOUT_S))
        except LateError:
            raise PlannerError("The client's model did not answer in time.") from None
        except MCPError as error:
            raise PlannerError(f"The client did not ask its model: {one_line(str(error), SAID_CHARS)}.") from error

    def _between(self, message: Message) -> Any:
        given = cast("dict[str, Any]", self.side.answers.get("input_responses") or {})
        if KEY in given:
            self.side.answers["input_responses"] = {name: one for name, one in given.items() if name != KEY}
            return given[KEY]
        if self.side.answers.get("input_responses") is None:
            self.side.questions.append(mcp_types.InputRequiredResult(input_requests={KEY: _question(message)}))
        raise PlannerError("The client is asked between two requests.")


def sampled_by(side: ClientSide | None) -> SamplingEndpoint:
    """Returns the model of a client. Raises Refusal if the client offers none."""
    if side is None or "sampling" not in side.abilities:
        raise Refusal(
            "no_sampling", "This client does not offer its model to servers.", "Leave sample out, and write the requests yourself."
        )  # fmt: skip
    return SamplingEndpoint(side)


def _question(message: Message) -> mcp_types.CreateMessageRequest:
    content = mcp_types.TextContent(type="text", text=message.user)
    return mcp_types.CreateMessageRequest(
        params=mcp_types.CreateMessageRequestParams(
            messages=[mcp_types.SamplingMessage(role="user", content=content)],
            system_prompt=message.system,
            max_tokens=ANSWER_TOKENS,
        )
    )


def _reply(given: Any) -> Reply:
    """Returns the text of an answer; the client counts no tokens."""
    content = getattr(given, "content", None)
    blocks = cast("list[Any]", content) if isinstance(content, list) else [content]
    text = "".join(block.text for block in blocks if isinstance(block, mcp_types.TextContent))
    whole = getattr(given, "stop_reason", None) != "maxTokens" and len(text) <= ANSWER_LIMIT_BYTES
    return Reply(text if whole else "", 0, 0, None, whole)
