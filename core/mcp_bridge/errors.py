"""How using a session can fail. These stay inside the bridge: a tool call turns each of them into an outcome."""

from __future__ import annotations

from core.errors import WayfareError


class NotConnectedError(WayfareError):
    """No session: the server cannot be reached or started, or something needed for it is missing.

    `connect_s` is how long was tried, in s; None where nothing was tried.
    """

    def __init__(self, message: str, connect_s: float | None = None) -> None:
        super().__init__(message)
        self.connect_s = connect_s


class LostError(WayfareError):
    """The session ended during the call. Whether the tool ran is unknown."""


class LimitError(WayfareError):
    """The call took longer than its limit."""


class BrokenAnswerError(WayfareError):
    """The server's answer breaks the protocol or the tool's own output schema."""


class CancelledCallError(WayfareError):
    """The operator cancelled the call or closed its connection."""
