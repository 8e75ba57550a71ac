"""Whose a message is that a server sends without saying of which call."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from contextvars import copy_context
from typing import Any

import mcp_types

from core.domain.execution import NOBODY, ClientSide
from core.domain.outcome import ToolCall
from core.servers.asking_back import LATE_S, AskingBack, called


def test_a_late_message_goes_to_no_other_client() -> None:
    outside = copy_context()
    now, heard = [0.0], list[tuple[str, Any]]()
    asking = AskingBack(NOBODY, clock=lambda: now[0])
    sides = {
        name: ClientSide(name, NOBODY, False, "info", lambda said, name=name: heard.append((name, said.data)), lambda _: None)  # type: ignore[arg-type,return-value]
        for name in ("one", "other")
    }  # fmt: skip

    def says(text: str) -> None:
        """A reader of its own hears what the server says, as with a pipe."""
        params = mcp_types.LoggingMessageNotificationParams(level="info", data=text)
        asyncio.run(asking.callbacks()["logging_callback"](params))

    def while_calling(client: str, text: str) -> None:
        with asking.under_way(sides[client], str):
            outside.run(says, text)

    while_calling("one", "of the first call")
    while_calling("one", "the same client may have it")
    while_calling("other", "perhaps of one's last call")
    now[0] += LATE_S / 2
    with asking.under_way(None, str):
        pass  # a call of the console
    now[0] += LATE_S
    while_calling("one", "of this call")
    assert heard == [("one", "of the first call"), ("one", "the same client may have it"), ("one", "of this call")]


def test_questions_that_are_kept_for_the_client_have_no_secret() -> None:
    question = mcp_types.ElicitRequest(
        params=mcp_types.ElicitRequestFormParams(message="Use hunter22?", requested_schema={"type": "object"})
    )
    given = mcp_types.InputRequiredResult(input_requests={"ask": question}, request_state="of hunter22")

    class Asks:
        protocol_version = "2026-07-28"

        @property
        def session(self) -> Any:
            return self

        async def call_tool(self, *_: Any, **__: Any) -> Any:
            return given

    side = ClientSide("one", frozenset({"elicitation"}), True, "", lambda _: None, lambda _: Future())
    with AskingBack(side.abilities).under_way(side, lambda text: text.replace("hunter22", "•••")):
        asyncio.run(called(Asks(), ToolCall("s", "t"), side, None))  # type: ignore[arg-type]
    (kept,) = side.questions
    assert (kept.input_requests["ask"].params.message, kept.request_state) == ("Use •••?", "of hunter22")
