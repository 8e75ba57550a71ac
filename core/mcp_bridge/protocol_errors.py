"""What a protocol error means for the session that it came through."""

from __future__ import annotations

from mcp import MCPError
from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from core.mcp_bridge.errors import CallTimeoutError, CancelledCallError, ConnectionLostError
from core.mcp_bridge.pooled_connection import PooledConnection
from core.mcp_bridge.session import Session
from core.mcp_bridge.transports import HTTP_REFUSED

SESSION_GONE = {
    "session not found",
    "session terminated",
    "bad request: no valid session id provided",
    "bad request: server not initialized",
}


class SessionRefusedError(ConnectionLostError):
    """The server refused the call because it does not know the session; nothing ran."""


async def translated(
    error: MCPError, pooled: PooledConnection, session: Session, limit_s: float, log_start: int
) -> Exception:
    """The error to raise for a protocol error; a session that is no good any more is taken out of use first."""
    if _session_gone(error, pooled, session):
        pooled.drop(session, error.message)
        return SessionRefusedError(error.message)
    if error.code == REQUEST_TIMEOUT:
        session.suspect = True
        return CallTimeoutError(f"no answer within {limit_s:g} s" if "timed out" in error.message else error.message)
    if error.message == HTTP_REFUSED:
        session.suspect = True  # a token may have expired: the next call finds out
        return MCPError(error.code, f"{error.message}: {session.stderr_log.last(log_start)}", error.data)
    if error.code != CONNECTION_CLOSED:
        return error
    pooled.drop(session, error.message)
    if session.closed_by_us:
        return CancelledCallError("the connection was closed by the operator")
    await session.ended()
    words = [str(session.error or error.message), session.stderr_log.last(log_start)]
    return ConnectionLostError(": ".join(word for word in words if word))


def _session_gone(error: MCPError, pooled: PooledConnection, session: Session) -> bool:
    """Whether an HTTP server of the older, stateful protocol does not know the session, or no longer knows it."""
    stateful = pooled.transport == "http" and session.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return stateful and error.message.strip().lower() in SESSION_GONE
