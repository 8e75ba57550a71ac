"""Tool calls over MCP: one call in, one `Outcome` out, for every behaviour of the server."""

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
from mcp_types import INVALID_PARAMS

from core.domain.catalog import Connection, Tool
from core.domain.execution import CLIENT_SIDE, SESSION_OWNER, ClientSide, Progress
from core.domain.json_schema import arguments_fit
from core.domain.outcome import SIMULATED_MARK, CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.servers.asking_back import called
from core.servers.pool import SessionPool
from core.servers.results import Redact, decode_block, result_without_secrets, without_secrets
from core.servers.secrets import how_to_enter
from core.servers.session import Lease
from core.servers.threads import (
    BusyError,
    CallTimeoutError,
    CancelledCallError,
    ConnectionLostError,
    InvalidResponseError,
    NotConnectedError,
    ThreadInbox,
    UnauthorizedError,
    said,
)

# Classification of error responses.


def not_json(arguments: Mapping[str, Any]) -> str:
    """Returns why the arguments cannot be sent as JSON, or "".

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
    """Returns the kind of a result that is marked as an error: bad arguments, an unknown tool, or the tool's own error.

    Arguments are validated against the schema that the server listed, or the catalog's if the server lists none.
    """
    if listed is not None and call.tool not in listed:
        return OutcomeKind.INVALID_ARGUMENTS
    schema = listed[call.tool].input_schema if listed is not None else tool.input_schema if tool is not None else None
    if schema is not None and arguments_fit(schema, call.arguments) is False:
        return OutcomeKind.INVALID_ARGUMENTS
    return OutcomeKind.TOOL_ERROR


def classify_protocol_error(error: MCPError) -> OutcomeKind:
    """Returns the kind of a server's protocol error: -32602 is about the arguments."""
    return OutcomeKind.INVALID_ARGUMENTS if error.code == INVALID_PARAMS else OutcomeKind.TOOL_ERROR


MAX_ERROR_CHARS = 20_000
NEW_STATE = (
    "[This server was started anew for you: {why}. What earlier calls set in it, such as a working directory, a login or an open page, is "
    "gone; set it again.]"
)

NOT_KEPT = (
    "[What this call has set in its server is gone at the next call, unless that tells whose it is: by a token, or by the cookie of this "
    "answer.]"
)


@dataclass(frozen=True)
class _Attempt:
    """The result of one attempt; `latency_s` is the tool call alone, 0 if it was never sent."""

    kind: OutcomeKind
    error: str = ""
    lost: bool = False
    result: mcp_types.CallToolResult | None = None
    latency_s: float = 0.0
    connect_s: float | None = None
    protocol_version: str = ""
    mode: CallMode = CallMode.REAL
    injected: str = ""
    note: str = ""


def _with_note(attempt: _Attempt, note: str) -> _Attempt:
    """Returns the attempt with a note to its client, in the result as well as in the error."""
    if not note:
        return attempt
    result, error = attempt.result, f"{attempt.error} {note}" if attempt.error else ""
    if result is not None:
        block = mcp_types.TextContent(type="text", text=note)
        result = result.model_copy(update={"content": [*result.content, block]})
    return replace(attempt, result=result, error=error, note=note)


@dataclass
class McpCaller:
    """The `ToolCaller` for MCP servers. It repeats a call once if the connection is lost and the tool's hints allow it."""

    pool: SessionPool
    clock: Callable[[], float] = time.perf_counter
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        started_at = self.now()
        reason = self._unreachable(call, connection)
        if connection is None or reason:
            return self._outcome(call, started_at, _Attempt(OutcomeKind.NOT_TRIED, reason), 1)
        if problem := not_json(call.arguments):
            return self._outcome(call, started_at, _Attempt(OutcomeKind.INVALID_ARGUMENTS, problem), 1)
        attempts = 1
        fault = self.pool.injection and self.pool.injection.fault(call.server)
        attempt = self._attempt(call, tool, connection, on_progress, cancel)
        if attempt.lost and tool is not None and tool.hints.retry_safe:
            attempts = 2
            first, attempt = attempt, self._attempt(call, tool, connection, on_progress, cancel)
            if attempt.connect_s is None:
                attempt = replace(attempt, connect_s=first.connect_s)
        attempt = attempt if fault is None else replace(attempt, injected=str(fault))
        return self._outcome(call, started_at, attempt, attempts)

    def _unreachable(self, call: ToolCall, connection: Connection | None) -> str:
        """Returns what a connection attempt lacks, or ""."""
        if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
            where = f"catalog {call.catalog}" if call.catalog else "the catalog"
            return f"Server {call.server} has no command or URL in {where}; add a connection to call it."
        if missing := self.pool.vault.missing(call.server_id, connection):
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
        work = _CallWork(call, self.clock, inbox, on_progress, side, self.pool.vault.redact)
        try:
            server = call.server_id
            result = self.pool.use(
                server, connection, work, limit_s=call.timeout_s, inbox=inbox, cancel=cancel, owner=SESSION_OWNER.get()
            )  # fmt: skip
            attempt = self._of_result(call, tool, work, result)
        except UnauthorizedError as error:
            attempt = _Attempt(OutcomeKind.NOT_TRIED, str(error))
        except BusyError as error:
            attempt = _Attempt(OutcomeKind.BUSY, str(error))
        except NotConnectedError as error:
            attempt = _Attempt(OutcomeKind.NOT_CONNECTED, str(error), connect_s=error.connect_s)
        except CallTimeoutError as error:
            if side is not None and side.waiting.now:  # the server is not at fault
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
        return _with_note(work.measured(attempt), self._note(work))

    def _note(self, work: _CallWork) -> str:
        """Returns what a client has to know of the state of its server."""
        if work.renewed:
            return self._shown(NEW_STATE.format(why=work.renewed))
        return NOT_KEPT if work.lease is not None and work.lease.session.passing else ""

    def _of_result(
        self, call: ToolCall, tool: Tool | None, work: _CallWork, result: mcp_types.CallToolResult
    ) -> _Attempt:
        if not result.is_error:
            return _Attempt(
                OutcomeKind.OK, work.misfit, result=result_without_secrets(result, self.pool.vault.in_results)
            )
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
            note=attempt.note,
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
        """Returns the server's answer. An error may quote what was sent, so all known secrets in it are masked."""
        result = attempt.result
        if result is None or attempt.kind is OutcomeKind.OK:
            return result
        return without_secrets(result, self.pool.vault.redact)

    def _shown(self, text: str) -> str:
        """Returns the text without secrets, cut if it is very long."""
        text = self.pool.vault.redact(text)
        if len(text) <= MAX_ERROR_CHARS:
            return text
        return f"{text[:MAX_ERROR_CHARS]}… [cut: the first {MAX_ERROR_CHARS} of {len(text)} characters]"


@dataclass
class _CallWork:
    """The part of an attempt that runs in the pool's event loop: it makes the call and measures it."""

    call: ToolCall
    clock: Callable[[], float]
    inbox: ThreadInbox
    on_progress: Callable[[Progress], None] | None
    side: ClientSide | None
    redact: Redact
    lease: Lease | None = None
    misfit: str = ""
    """Why the result does not fit the tool's output schema."""
    renewed: str = ""
    _started_s: float | None = None
    _ended_s: float | None = None

    async def __call__(self, lease: Lease) -> mcp_types.CallToolResult:
        self.lease, self.renewed, lease.session.renewed = lease, lease.session.renewed, ""
        self._started_s = self.clock()
        try:
            progress = None if self.on_progress is None else self._progressed
            await lease.session.asking.set_level(lease.client, self.side)
            with lease.session.asking.under_way(self.side, self.redact):
                return await called(lease.client, self.call, self.side, progress)
        except MCPError:
            raise
        except InvalidResponseError as error:
            if error.result is None:
                raise
            self.misfit = str(error)
            return error.result
        except Exception as error:
            raise InvalidResponseError(said(error)) from error
        finally:
            self._ended_s = self.clock()

    def measured(self, attempt: _Attempt) -> _Attempt:
        """Returns the attempt with its times. An abandoned call has lasted until now."""
        if self.lease is None or self._started_s is None:
            return attempt
        ended_s = self.clock() if self._ended_s is None else self._ended_s
        waited_s = 0.0 if self.side is None else self.side.waiting.total_s
        marked = attempt.result is not None and bool((attempt.result.meta or {}).get(SIMULATED_MARK))
        return replace(
            attempt,
            latency_s=max(ended_s - self._started_s - waited_s, 0.0),
            connect_s=self.lease.connect_s,
            protocol_version=self.lease.protocol_version,
            mode=CallMode.VIRTUAL if marked or self.lease.simulated else CallMode.REAL,
        )

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        callback = self.on_progress
        if callback is not None:
            self.inbox.post(lambda: callback(Progress(progress, total, self.redact(message or ""))))
