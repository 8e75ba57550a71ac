"""Errors of a session. They stay inside the bridge: a tool call turns each of them into an outcome."""

from __future__ import annotations

from pydantic import ValidationError

from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line

MOST_FAULTS, PLACE_CHARS = 3, 100


def said(error: Exception) -> str:
    """Returns the text of an exception. For an answer that breaks the protocol it names the places, without the invalid
    values, which may be long, and without the validation library's links.

    >>> from mcp_types import CallToolResult
    >>> try:
    ...     CallToolResult.model_validate({"content": "a text", "isError": "perhaps"})
    ... except ValidationError as error:
    ...     said(error)
    'The answer does not fit the protocol: content: Input should be a valid list; isError: Input should be a valid boolean, unable to interpret input.'
    """
    if not isinstance(error, ValidationError):
        return str(error) or type(error).__name__
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    places = (one_line(".".join(map(str, fault["loc"])), PLACE_CHARS) for fault in faults[:MOST_FAULTS])
    listed = [f"{place or 'it'}: {fault['msg']}" for place, fault in zip(places, faults, strict=False)]
    more = [f"{len(faults) - MOST_FAULTS} more"] if len(faults) > MOST_FAULTS else []
    return f"The answer does not fit the protocol: {'; '.join([*listed, *more])}."


class NotConnectedError(WayfareError):
    """No session: the server cannot be reached or started, or a value for it is missing.

    `connect_s` is the time of the attempt in s; None without an attempt.
    """

    def __init__(self, message: str, connect_s: float | None = None) -> None:
        super().__init__(message)
        self.connect_s = connect_s


class ConnectionLostError(WayfareError):
    """The session ended during the call. Whether the tool ran is unknown."""


class CallTimeoutError(WayfareError):
    """No response within the call's time limit."""


class InvalidResponseError(WayfareError):
    """The response breaks the protocol or the tool's own output schema."""


class CancelledCallError(WayfareError):
    """The operator cancelled the call or closed its connection."""
