"""How using a session can fail. These stay inside the bridge: a tool call turns each of them into an outcome."""

from __future__ import annotations

from core.shared.errors import WayfareError


class NotConnectedError(WayfareError):
    """No session: the server cannot be reached or started, or something needed for it is missing.

    `connect_s` is how long was tried, in s; None where nothing was tried.
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
