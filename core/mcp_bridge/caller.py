"""Tool calls over MCP: one call in, one `Outcome` out, whatever the server does."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import mcp_types
from mcp import MCPError
from mcp_types import INTERNAL_ERROR, INVALID_PARAMS

from core.domain.catalog import Connection, Tool
from core.domain.execution import CLIENT_SIDE, NOBODY, ClientSide, Progress
from core.domain.outcome import SIMULATED_MARK, CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.mcp_bridge.asking_back import called
from core.mcp_bridge.codec import Redact, decode_block, result_without_secrets, without_secrets
from core.mcp_bridge.errors import (
    CallTimeoutError,
    CancelledCallError,
    ConnectionLostError,
    InvalidResponseError,
    NotConnectedError,
    said,
)
from core.mcp_bridge.pool import SessionPool
from core.mcp_bridge.secrets import how_to_enter
from core.mcp_bridge.session import Lease
from core.mcp_bridge.threads import ThreadInbox
from core.mcp_bridge.transports import HTTP_REFUSED
from core.shared.json_schema import arguments_fit

# ----------------------------------------------------------------------------------------------------------------------
# Which kind of failure an error response is.


def not_json(arguments: Mapping[str, Any]) -> str:
    """Why the arguments cannot be sent as JSON; empty if they can.

    >>> not_json({"n": float("inf")})
    'The arguments are not JSON: Out of range float values are not JSON compliant'
    """
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        return f"The arguments are not JSON: {error}"
    return ""


def classify_error_result(
    call: ToolCall, tool: Tool | None, listed: Mapping[str, mcp_types.Tool] | None
) -> OutcomeKind:
    """The kind of a result that is marked as an error: bad arguments, an unknown tool, or the tool's own error.

    Arguments are checked against the schema that the server listed, or the catalog's where the server lists nothing.
    """
    if listed is not None and call.tool not in listed:
        return OutcomeKind.INVALID_ARGUMENTS
    schema = listed[call.tool].input_schema if listed is not None else tool.input_schema if tool is not None else None
    if schema is not None and arguments_fit(schema, call.arguments) is False:
        return OutcomeKind.INVALID_ARGUMENTS
    return OutcomeKind.TOOL_ERROR


def classify_protocol_error(error: MCPError) -> OutcomeKind:
    """The kind of a protocol error: -32602 is about the arguments; an HTTP error page means that the tool was not reached."""
    if error.code == INVALID_PARAMS:
        return OutcomeKind.INVALID_ARGUMENTS
    if error.code == INTERNAL_ERROR and error.message.startswith(HTTP_REFUSED):
        return OutcomeKind.CRASH
    return OutcomeKind.TOOL_ERROR


MAX_ERROR_CHARS = 20_000


@dataclass(frozen=True)
class _Attempt:
    """How one attempt ended; `latency_s` is the tool call alone and 0 where it was never sent."""

    kind: OutcomeKind
    error: str = ""
    lost: bool = False
    result: mcp_types.CallToolResult | None = None
    latency_s: float = 0.0
    connect_s: float | None = None
    protocol_version: str = ""
    mode: CallMode = CallMode.REAL
    injected: str = ""


class McpCaller:
    """The `ToolCaller` for MCP servers. A call whose connection is lost is made once more where the tool's hints allow it."""

    def __init__(
        self,
        pool: SessionPool,
        *,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._now = now

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """See `ToolCaller.call`."""
        started_at = self._now()
        reason = self._unreachable(call, connection)
        if connection is None or reason:
            return self._outcome(call, started_at, _Attempt(OutcomeKind.NOT_CONNECTED, reason), 1)
        if problem := not_json(call.arguments):
            return self._outcome(call, started_at, _Attempt(OutcomeKind.INVALID_ARGUMENTS, problem), 1)
        attempts = 1
        fault = self._pool.injection and self._pool.injection.fault(call.server)
        attempt = self._attempt(call, tool, connection, on_progress, cancel)
        if attempt.lost and tool is not None and tool.hints.retry_safe:
            attempts = 2
            first, attempt = attempt, self._attempt(call, tool, connection, on_progress, cancel)
            if attempt.connect_s is None:
                attempt = replace(attempt, connect_s=first.connect_s)
        attempt = attempt if fault is None else replace(attempt, injected=str(fault))
        return self._outcome(call, started_at, attempt, attempts)

    def _unreachable(self, call: ToolCall, connection: Connection | None) -> str:
        """What is missing before the server can even be tried; empty if nothing is."""
        if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
            where = f"catalog {call.catalog}" if call.catalog else "the catalog"
            return f"Server {call.server} has no command or URL in {where}; add a connection to call it."
        if missing := self._pool.vault.missing(call.server_id, connection):
            return f"Server {call.server} needs a value for {', '.join(missing)}. {how_to_enter(call.server_id, missing[0])}"
        return ""

    def _attempt(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection,
        on_progress: Callable[[Progress], None] | None,
        cancel: threading.Event | None,
    ) -> _Attempt:
        inbox = ThreadInbox()
        side = CLIENT_SIDE.get()
        abilities = NOBODY if side is None else side.abilities
        work = _CallWork(call, self._clock, inbox, on_progress, side, self._pool.vault.redact)
        try:
            server = call.server_id
            result = self._pool.use(
                server, connection, work, limit_s=call.timeout_s, inbox=inbox, cancel=cancel, abilities=abilities
            )
            attempt = self._of_result(call, tool, work, result)
        except NotConnectedError as error:
            attempt = _Attempt(OutcomeKind.NOT_CONNECTED, str(error), connect_s=error.connect_s)
        except CallTimeoutError as error:
            if side is not None and side.waiting.now:  # no fault of the server
                attempt = _Attempt(
                    OutcomeKind.CANCELLED, f"{call.tool}: a question to the client was not answered in time"
                )
            else:
                attempt = _Attempt(OutcomeKind.TIMEOUT, f"{call.tool}: {error}")
        except ConnectionLostError as error:
            attempt = _Attempt(OutcomeKind.CRASH, f"{call.tool}: the connection was lost ({error})", lost=True)
        except CancelledCallError as error:
            attempt = _Attempt(OutcomeKind.CANCELLED, f"{call.tool}: {error}")
        except MCPError as error:
            attempt = _Attempt(classify_protocol_error(error), str(error))
        except InvalidResponseError as error:
            attempt = _Attempt(OutcomeKind.TOOL_ERROR, str(error))
        return work.measured(attempt)

    def _of_result(
        self, call: ToolCall, tool: Tool | None, work: _CallWork, result: mcp_types.CallToolResult
    ) -> _Attempt:
        if not result.is_error:
            return _Attempt(OutcomeKind.OK, result=result_without_secrets(result, self._pool.vault.in_results))
        kind = classify_error_result(call, tool, work.lease.tools if work.lease is not None else None)
        texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
        return _Attempt(kind, "\n".join(texts) or "The tool reported an error without a text.", result=result)

    def _outcome(self, call: ToolCall, started_at: datetime, attempt: _Attempt, attempts: int) -> Outcome:
        content, structured = self._content(attempt)
        return Outcome(
            call=call,
            kind=attempt.kind,
            started_at=started_at,
            latency_s=attempt.latency_s,
            connect_s=attempt.connect_s,
            content=content,
            structured=structured,
            error=self._shown(attempt.error),
            attempts=attempts,
            protocol_version=attempt.protocol_version,
            mode=attempt.mode,
            injected=attempt.injected,
            original=self._original(attempt),
        )

    def _content(self, attempt: _Attempt) -> tuple[tuple[ContentBlock, ...], object]:
        if attempt.result is None:
            return (), None
        content = tuple(map(decode_block, attempt.result.content))
        if attempt.kind is not OutcomeKind.OK:
            content = tuple(replace(block, text=self._shown(block.text)) for block in content)
        return content, attempt.result.structured_content

    def _original(self, attempt: _Attempt) -> mcp_types.CallToolResult | None:
        """What the server answered; of an error, which may quote what it was sent, all that is known is masked."""
        result = attempt.result
        if result is None or attempt.kind is OutcomeKind.OK:
            return result
        return without_secrets(result, self._pool.vault.redact)

    def _shown(self, text: str) -> str:
        """The text without secrets, cut where it is very long."""
        text = self._pool.vault.redact(text)
        if len(text) <= MAX_ERROR_CHARS:
            return text
        return f"{text[:MAX_ERROR_CHARS]}… [cut: the first {MAX_ERROR_CHARS} of {len(text)} characters]"


class _CallWork:
    """The part of an attempt that runs in the pool's event loop: it makes the call and measures it."""

    def __init__(
        self,
        call: ToolCall,
        clock: Callable[[], float],
        inbox: ThreadInbox,
        on_progress: Callable[[Progress], None] | None,
        side: ClientSide | None,
        redact: Redact,
    ) -> None:
        self.lease: Lease | None = None
        self._side = side
        self._redact = redact
        self._call = call
        self._clock = clock
        self._inbox = inbox
        self._on_progress = on_progress
        self._started_s: float | None = None
        self._ended_s: float | None = None

    async def __call__(self, lease: Lease) -> mcp_types.CallToolResult:
        self.lease = lease
        self._started_s = self._clock()
        try:
            progress = None if self._on_progress is None else self._progressed
            with lease.session.asking.under_way(self._side, self._redact):
                return await called(lease.client, self._call, self._side, progress)
        except MCPError:
            raise
        except Exception as error:
            raise InvalidResponseError(said(error)) from error
        finally:
            self._ended_s = self._clock()

    def measured(self, attempt: _Attempt) -> _Attempt:
        """The attempt with its times; a call that was given up on has lasted until now."""
        if self.lease is None or self._started_s is None:
            return attempt
        ended_s = self._clock() if self._ended_s is None else self._ended_s
        waited_s = 0.0 if self._side is None else self._side.waiting.total_s
        marked = attempt.result is not None and bool((attempt.result.meta or {}).get(SIMULATED_MARK))
        return replace(
            attempt,
            latency_s=max(ended_s - self._started_s - waited_s, 0.0),
            connect_s=self.lease.connect_s,
            protocol_version=self.lease.protocol_version,
            mode=CallMode.VIRTUAL if marked or self.lease.simulated else CallMode.REAL,
        )

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        callback = self._on_progress
        if callback is not None:
            self._inbox.post(lambda: callback(Progress(progress, total, self._redact(message or ""))))
