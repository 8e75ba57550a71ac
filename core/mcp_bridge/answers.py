"""What an error answer says about the session that it came through."""

from __future__ import annotations

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from core.mcp_bridge.errors import CancelledCallError, LimitError, LostError
from core.mcp_bridge.session import Session
from core.mcp_bridge.slot import Slot
from core.mcp_bridge.transports import HTTP_REFUSED

SESSION_GONE = {
    "session not found",
    "session terminated",
    "bad request: no valid session id provided",
    "bad request: server not initialized",
}


class RefusedError(LostError):
    """The server refused the call because it does not know the session; nothing ran."""


async def translated(error: MCPError, slot: Slot, session: Session, limit_s: float, tail_start: int) -> Exception:
    """What an error answer means for the session; the session is taken out of use before anybody else can get it."""
    if _session_gone(error, slot, session):
        slot.drop(session, error.message)
        return RefusedError(error.message)
    if error.code == REQUEST_TIMEOUT:
        session.suspect = True
        return LimitError(f"no answer within {limit_s:g} s" if "timed out" in error.message else error.message)
    if error.message == HTTP_REFUSED:
        session.suspect = True  # a token may have expired: the next call finds out
        return MCPError(error.code, f"{error.message}: {session.tail.last(tail_start)}", error.data)
    if error.code != CONNECTION_CLOSED:
        return error
    slot.drop(session, error.message)
    if session.closed_by_us:
        return CancelledCallError("the connection was closed by the operator")
    await session.ended()
    words = [str(session.error or error.message), session.tail.last(tail_start)]
    return LostError(": ".join(word for word in words if word))


def _session_gone(error: MCPError, slot: Slot, session: Session) -> bool:
    """Whether an HTTP server of the older, stateful protocol says that it does not know the session (any more)."""
    stateful = slot.transport == "http" and session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return stateful and error.message.strip().lower() in SESSION_GONE
