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
from core.domain.execution import CLIENT_SIDE, ClientSide, Progress, session_owner
from core.domain.json_schema import arguments_fit
from core.domain.leaks import masked
from core.domain.outcome import SIMULATED_MARK, CallMode, Outcome, OutcomeKind, ToolCall
from core.servers.asking_back import called
from core.servers.pool import SessionPool
from core.servers.results import Redact, decode_block, result_without_secrets, without_secrets
from core.servers.session import Lease
from core.servers.threads import CallEndedError, InvalidResponseError, ThreadInbox, said


def not_json(arguments: Mapping[str, Any]) -> str:
    """Returns why the arguments cannot be sent as JSON, or "".

    >>> not_json({"n": float("inf")})
    'The arguments are not JSON: Out of range float values are not JSON compliant'
    """
    try:
        json.dumps(dict(arguments), ensure_ascii=False, allow_nan=False).encode()
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


MAX_ERROR_CHARS = 20_000
NEW_STATE = (
    "[This server was started anew for you: {why}. What earlier calls set in it, such as a working directory, a login or an open page, is "
    "gone; set it again.]"
)
NOT_KEPT = (
    "[What this call has set in its server is gone at the next call, unless that tells whose it is: by a token, or by the cookie of this "
    "answer.]"
)


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

        def attempt() -> Outcome:
            redact, side = self.pool.vault.redact, CLIENT_SIDE.get()
            work = _Attempt(call, started_at, self.clock, ThreadInbox(), on_progress, side, redact)
            if connection is None or reason:
                return self._outcome(work, OutcomeKind.NOT_TRIED, reason)
            if problem := not_json(call.arguments):
                return self._outcome(work, OutcomeKind.INVALID_ARGUMENTS, problem)
            return self._attempted(work, tool, connection, cancel)

        reason = ""
        if connection is None or not (connection.command if connection.transport == "stdio" else connection.url):
            where = f"catalog {call.catalog}" if call.catalog else "the catalog"
            reason = f"Server {call.server} has no command or URL in {where}; add a connection to call it."
        fault = self.pool.injection and self.pool.injection.fault(call.server)
        outcome = attempt()
        if outcome.kind is OutcomeKind.CRASH and tool is not None and tool.hints.retry_safe:
            first, outcome = outcome, attempt()
            connect_s = first.connect_s if outcome.connect_s is None else outcome.connect_s
            outcome = replace(outcome, attempts=2, connect_s=connect_s)
        return outcome if fault is None else replace(outcome, injected=str(fault))

    def _attempted(
        self, work: _Attempt, tool: Tool | None, connection: Connection, cancel: threading.Event | None
    ) -> Outcome:
        call, vault = work.call, self.pool.vault
        try:
            result = self.pool.use(
                call.server_id,
                connection,
                work,
                limit_s=call.timeout_s,
                inbox=work.inbox,
                cancel=cancel,
                owner=session_owner(),
                from_turn=True,
            )
        except MCPError as error:
            kind = OutcomeKind.INVALID_ARGUMENTS if error.code == INVALID_PARAMS else OutcomeKind.TOOL_ERROR
            text = str(error)
            if error.data and error.data != error.message:
                text = f"{text} {masked(json.dumps(error.data, ensure_ascii=False))}"  # the message is often general
            return self._outcome(work, kind, text)
        except CallEndedError as error:
            kind, text = error.kind, error.words.format(tool=call.tool, error=error)
            if (
                kind is OutcomeKind.TIMEOUT and work.side is not None and work.side.waiting.now
            ):  # not the server's fault
                kind, text = OutcomeKind.CANCELLED, f"{call.tool}: a question to the client was not answered in time"
            return self._outcome(work, kind, text, connect_s=getattr(error, "connect_s", None))
        if not result.is_error:
            outcome = self._outcome(work, OutcomeKind.OK, work.misfit, result_without_secrets(result, vault.in_results))
            return replace(outcome, asks_back=work.side is not None and bool(work.side.questions))
        kind = classify_error_result(call, tool, work.lease.session.tools if work.lease is not None else None)
        texts = [block.text for block in result.content if isinstance(block, mcp_types.TextContent)]
        return self._outcome(work, kind, "\n".join(texts) or "The tool reported an error without a text.", result)

    def _outcome(
        self,
        work: _Attempt,
        kind: OutcomeKind,
        error: str,
        result: mcp_types.CallToolResult | None = None,
        connect_s: float | None = None,
    ) -> Outcome:
        """Returns the outcome, with a note on the state of its server in the result as well as in the error. An error may quote the
        request, so all known secrets in it are masked."""
        lease, note = work.lease, self._note(work)
        if note:
            error = f"{error} {note}" if error else ""
            if result is not None:
                block = mcp_types.TextContent(type="text", text=note)
                result = result.model_copy(update={"content": [*result.content, block]})
        has_mark = result is not None and bool((result.meta or {}).get(SIMULATED_MARK))
        if result is not None and kind is not OutcomeKind.OK:
            result = without_secrets(result, self.pool.vault.redact)
        content = () if result is None else tuple(map(decode_block, result.content))
        if kind is not OutcomeKind.OK:
            content = tuple(replace(block, text=self._shown(block.text)) for block in content)
        simulated = lease is not None and (has_mark or lease.session.simulated)
        return Outcome(
            call=work.call,
            kind=kind,
            started_at=work.started_at,
            latency_s=work.latency_s,
            connect_s=connect_s if lease is None else lease.connect_s,
            content=content,
            structured=None if result is None else result.structured_content,
            error=self._shown(error),
            protocol_version="" if lease is None else lease.session.protocol_version,
            mode=CallMode.VIRTUAL if simulated else CallMode.REAL,
            note=note,
            original=result,
        )

    def _note(self, work: _Attempt) -> str:
        if work.renewed:
            return self._shown(NEW_STATE.format(why=work.renewed))
        return NOT_KEPT if work.lease is not None and work.lease.session.passing else ""

    def _shown(self, text: str) -> str:
        """Returns the text without secrets, cut if it is very long."""
        text = self.pool.vault.redact(text)
        if len(text) <= MAX_ERROR_CHARS:
            return text
        return f"{text[:MAX_ERROR_CHARS]}… [cut: the first {MAX_ERROR_CHARS} of {len(text)} characters]"


@dataclass
class _Attempt:
    """The part of an attempt that runs in the pool's event loop. It makes the call and measures it."""

    call: ToolCall
    started_at: datetime
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

    @property
    def latency_s(self) -> float:
        """The time of the tool call alone, 0 if it was never sent. An abandoned call has lasted until now."""
        if self._started_s is None:
            return 0.0
        ended_s = self.clock() if self._ended_s is None else self._ended_s
        waited_s = 0.0 if self.side is None else self.side.waiting.total_s
        return max(ended_s - self._started_s - waited_s, 0.0)

    async def _progressed(self, progress: float, total: float | None, message: str | None) -> None:
        callback = self.on_progress
        if callback is not None:
            self.inbox.post(lambda: callback(Progress(progress, total, self.redact(message or ""))))
