"""Calling real tools: one call in, one outcome out, whatever the server does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import mcp_types
from mcp import MCPError

from core.domain.catalog import Connection, Tool
from core.domain.outcome import SIMULATED_MARK, CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.execution.base import Progress
from core.mcp_bridge.errors import BrokenAnswerError, CancelledCallError, LimitError, LostError, NotConnectedError
from core.mcp_bridge.pool import SessionPool
from core.mcp_bridge.session import Lease
from core.mcp_bridge.verdict import kind_of_error_answer, kind_of_error_result, not_json
from core.mcp_bridge.waiting import Inbox
from core.mcp_bridge.wire import MAX_RESULT_BYTES, blocks_from_wire, structured_from_wire

MAX_ERROR_CHARS = 20_000


@dataclass(frozen=True)
class _Ending:
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
    """The `ToolCaller` for real MCP servers. A lost connection is retried once, where the tool's hints allow it."""

    def __init__(
        self,
        pool: SessionPool,
        *,
        clock: Callable[[], float] = time.perf_counter,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        max_result_bytes: int = MAX_RESULT_BYTES,
    ) -> None:
        self._pool = pool
        self._clock = clock
        self._now = now
        self._max_result_bytes = max_result_bytes

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
            return self._outcome(call, started_at, _Ending(OutcomeKind.NOT_CONNECTED, reason), 1)
        if problem := not_json(call.arguments):
            return self._outcome(call, started_at, _Ending(OutcomeKind.INVALID_ARGUMENTS, problem), 1)
        attempts = 1
        fault = self._pool.injection and self._pool.injection.fault(call.server)
        ending = self._attempt(call, tool, connection, on_progress, cancel)
        if ending.lost and tool is not None and tool.hints.retry_safe:
            attempts = 2
            first_connect_s = ending.connect_s
            ending = self._attempt(call, tool, connection, on_progress, cancel)
            if ending.connect_s is None:
                ending = replace(ending, connect_s=first_connect_s)
        if fault is not None:
            ending = replace(ending, injected=str(fault))
        return self._outcome(call, started_at, ending, attempts)

    def _unreachable(self, call: ToolCall, connection: Connection | None) -> str:
        """What is missing before the server can even be tried; empty if nothing is."""
        if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
            where = f"catalog {call.catalog}" if call.catalog else "the catalog"
            return f"Server {call.server} has no command or URL in {where}; add a connection to call it."
        if gaps := self._pool.vault.missing(connection):
            return f"Server {call.server} needs a value for {', '.join(gaps)}; enter it to call the server."
        return ""

    def _attempt(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection,
        on_progress: Callable[[Progress], None] | None,
        cancel: threading.Event | None,
    ) -> _Ending:
        inbox = Inbox()
        trip = _Trip(call, self._clock, inbox, on_progress)
        ending = _Ending(OutcomeKind.OK)
        try:
            result = self._pool.use(call.server, connection, trip, limit_s=call.timeout_s, inbox=inbox, cancel=cancel)
            ending = self._answered(call, tool, trip, result)
        except NotConnectedError as error:
            ending = _Ending(OutcomeKind.NOT_CONNECTED, str(error), connect_s=error.connect_s)
        except LimitError as error:
            ending = _Ending(OutcomeKind.TIMEOUT, f"{call.tool}: {error}")
        except LostError as error:
            ending = _Ending(OutcomeKind.CRASH, f"{call.tool}: the connection was lost ({error})", lost=True)
        except CancelledCallError as error:
            ending = _Ending(OutcomeKind.CANCELLED, f"{call.tool}: {error}")
        except MCPError as error:
            ending = _Ending(kind_of_error_answer(error), str(error))
        except BrokenAnswerError as error:
            ending = _Ending(OutcomeKind.TOOL_ERROR, str(error))
        return trip.measured(ending)

    @staticmethod
    def _answered(call: ToolCall, tool: Tool | None, trip: _Trip, result: mcp_types.CallToolResult) -> _Ending:
        if not result.is_error:
            return _Ending(OutcomeKind.OK, result=result)
        kind = kind_of_error_result(call, tool, trip.lease.tools if trip.lease is not None else None)
        texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
        return _Ending(kind, "\n".join(texts) or "The tool reported an error without a text.", result=result)

    def _outcome(self, call: ToolCall, started_at: datetime, ending: _Ending, attempts: int) -> Outcome:
        content, structured = self._content(ending)
        return Outcome(
            call=call,
            kind=ending.kind,
            started_at=started_at,
            latency_s=ending.latency_s,
            connect_s=ending.connect_s,
            content=content,
            structured=structured,
            error=self._shown(ending.error),
            attempts=attempts,
            protocol_version=ending.protocol_version,
            mode=ending.mode,
            injected=ending.injected,
        )

    def _content(self, ending: _Ending) -> tuple[tuple[ContentBlock, ...], object]:
        if ending.result is None:
            return (), None
        content = blocks_from_wire(ending.result.content, self._max_result_bytes)
        structured, note = structured_from_wire(ending.result.structured_content, self._max_result_bytes)
        if note is not None:
            content += (note,)
        if ending.kind is not OutcomeKind.OK:
            content = tuple(replace(block, text=self._shown(block.text)) for block in content)
        return content, structured

    def _shown(self, text: str) -> str:
        """The text without secrets, cut where it is very long."""
        text = self._pool.vault.redact(text)
        if len(text) <= MAX_ERROR_CHARS:
            return text
        return f"{text[:MAX_ERROR_CHARS]}… [cut: the first {MAX_ERROR_CHARS} of {len(text)} characters]"


class _Trip:
    """The part of an attempt that runs in the pool's event loop, and what it measured."""

    def __init__(
        self,
        call: ToolCall,
        clock: Callable[[], float],
        inbox: Inbox,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self.lease: Lease | None = None
        self._call = call
        self._clock = clock
        self._inbox = inbox
        self._on_progress = on_progress
        self._started_s: float | None = None
        self._ended_s: float | None = None

    async def __call__(self, lease: Lease) -> mcp_types.CallToolResult:
        call = self._call
        self.lease = lease
        self._started_s = self._clock()
        try:
            return await lease.client.call_tool(
                call.tool,
                dict(call.arguments),
                read_timeout_seconds=call.timeout_s,
                progress_callback=None if self._on_progress is None else self._progressed,
            )
        except MCPError:
            raise
        except Exception as error:
            raise BrokenAnswerError(str(error) or type(error).__name__) from error
        finally:
            self._ended_s = self._clock()

    def measured(self, ending: _Ending) -> _Ending:
        """The ending with the times; a call that was given up has lasted until now."""
        if self.lease is None or self._started_s is None:
            return ending
        ended_s = self._clock() if self._ended_s is None else self._ended_s
        marked = ending.result is not None and bool((ending.result.meta or {}).get(SIMULATED_MARK))
        return replace(
            ending,
            latency_s=ended_s - self._started_s,
            connect_s=self.lease.connect_s,
            protocol_version=self.lease.protocol_version,
            mode=CallMode.VIRTUAL if marked or self.lease.simulated else CallMode.REAL,
        )

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        tell = self._on_progress
        if tell is not None:
            self._inbox.post(lambda: tell(Progress(progress, total, message or "")))
