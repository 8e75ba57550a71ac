"""Calls and what is learnt from them: make the call, commit outcome and statistics together, fold."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from weakref import WeakSet

import numpy as np

from core.domain.catalog import Server, Tool
from core.domain.events import OutcomeEvent, StatisticsEvent
from core.domain.outcome import CallMode, Outcome, ToolCall
from core.errors import UnknownNameError
from core.execution.base import Progress, ToolCaller
from core.execution.simulated import simulated_outcome
from core.library import Library
from core.stats.ema import Running
from core.store import Store
from core.virtual.launch import virtual_connection


@dataclass(frozen=True, slots=True)
class CallReport:
    """An outcome with the running figures of its server and tool before and after it."""

    outcome: Outcome
    server_before: Running
    server_after: Running
    tool_before: Running
    tool_after: Running


@dataclass(frozen=True, slots=True)
class _Figures:
    server: Running
    tool: Running
    price_usd: float


class CallHandle:
    """A call under way: its progress so far, a way to cancel it, and its report when it is done."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.progress: Progress | None = None
        self._cancel = threading.Event()
        self._future: Future[CallReport] | None = None

    def start(self, pool: ThreadPoolExecutor, run: Callable[[CallHandle], CallReport]) -> None:
        """Run on the pool."""
        self._future = pool.submit(run, self)

    @property
    def future(self) -> Future[CallReport] | None:
        """What the pool runs; None before `start`."""
        return self._future

    @property
    def cancel_event(self) -> threading.Event:
        """Set by `cancel`."""
        return self._cancel

    def on_progress(self, progress: Progress) -> None:
        """Keep the latest progress."""
        self.progress = progress

    def cancel(self) -> None:
        """Ask the call to stop; its outcome is `cancelled`."""
        self._cancel.set()

    @property
    def done(self) -> bool:
        """Whether the report is there."""
        return self._future is not None and self._future.done()

    def report(self, timeout_s: float | None = None) -> CallReport:
        """The report; waits for it. Raises what went wrong on our side (never what the tool did)."""
        if self._future is None:
            raise RuntimeError("the call was not started")
        return self._future.result(timeout_s)


class Calls:
    """Makes calls for the console, the CLI and agents, and learns from each."""

    def __init__(
        self, store: Store, library: Library, caller: Callable[[], ToolCaller], *, rng: np.random.Generator
    ) -> None:
        self._store = store
        self._library = library
        self._caller = caller
        self._rng = rng
        self._pool = ThreadPoolExecutor(max_workers=16, thread_name_prefix="wayfare-call")
        self._learning = threading.Lock()
        self._begun: WeakSet[CallHandle] = WeakSet()

    def start(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallHandle:
        """Begin a call in the background. Raises UnknownNameError for a tool that is not in the catalog."""
        find_tool(self._library, call)
        handle = CallHandle(call)
        self._begun.add(handle)
        handle.start(self._pool, lambda h: self._run(h, mode=mode, origin=origin))
        return handle

    def run(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallReport:
        """Make a call and wait for it."""
        return self.start(call, mode=mode, origin=origin).report()

    def wait(self, limit_s: float) -> None:
        """Until the calls that have begun are recorded, at most `limit_s`."""
        wait([handle.future for handle in tuple(self._begun) if handle.future is not None], timeout=limit_s)

    def close(self) -> None:
        """Let no further call start."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _run(self, handle: CallHandle, *, mode: CallMode, origin: str) -> CallReport:
        call = handle.call
        server, tool = find_tool(self._library, call)
        begun = self._figures(call)
        self._store.events.flush()  # the decision is committed before its call leaves
        outcome = self._drawn(call) if mode is CallMode.DRAWN else self._called(handle, server, tool, mode)
        return self._learn(outcome, origin, begun)

    def _called(self, handle: CallHandle, server: Server, tool: Tool, mode: CallMode) -> Outcome:
        """A call over MCP. All that becomes of one to a virtual server is simulated, a crash as well as a result."""
        launched = mode is CallMode.VIRTUAL or (server.virtual and server.connection is None)
        connection = virtual_connection(server) if launched else server.connection
        outcome = self._caller().call(
            handle.call, tool, connection, on_progress=handle.on_progress, cancel=handle.cancel_event
        )
        return replace(outcome, mode=CallMode.VIRTUAL) if launched or server.virtual else outcome

    def _drawn(self, call: ToolCall) -> Outcome:
        catalog, book = self._library.catalog(call.catalog), self._library.book(call.catalog)
        server = book.server(catalog.server_row[call.server])
        tool = book.tool(catalog.tool_row[f"{call.server}::{call.tool}"])
        return simulated_outcome(
            call, success=tool.success, post_accept_failure=server.failure, latency_s=tool.call_s, rng=self._rng
        )

    def _learn(self, outcome: Outcome, origin: str, begun: _Figures) -> CallReport:
        call = outcome.call
        with self._learning, self._library.unchanged():  # statistics follow each other as the outcomes do
            try:
                before = self._figures(call)
            except UnknownNameError:
                before = None  # the catalog was removed or replaced meanwhile: the call happened all the same
            price = (before or begun).price_usd
            outcome = replace(outcome, id=uuid.uuid4().hex, price_usd=outcome.kind.charged_usd(price))
            event = OutcomeEvent.of(outcome, origin)
            if before is None:
                self._store.events.append(event)
                return CallReport(outcome, begun.server, begun.server, begun.tool, begun.tool)
            server, tool = self._library.book(call.catalog).after(event)
            self._store.events.append(event, _statistics(event, server, tool))
            self._library.observe(event)
        return CallReport(outcome, before.server, server, before.tool, tool)

    def _figures(self, call: ToolCall) -> _Figures:
        find_tool(self._library, call)
        catalog, book = self._library.catalog(call.catalog), self._library.book(call.catalog)
        server_row, tool_row = catalog.server_row[call.server], catalog.tool_row[f"{call.server}::{call.tool}"]
        return _Figures(book.server(server_row), book.tool(tool_row), float(book.snapshot().tools.price_usd[tool_row]))


def find_tool(library: Library, call: ToolCall) -> tuple[Server, Tool]:
    """The server and tool of a call. Raises UnknownNameError that names what is not there."""
    catalog = library.catalog(call.catalog)
    row = catalog.server_row.get(call.server)
    if row is None:
        raise UnknownNameError(f"There is no server {call.server!r} in catalog {catalog.name!r}; check the name.")
    server = catalog.servers[row]
    tool = next((t for t in server.tools if t.name == call.tool), None)
    if tool is None:
        known = ", ".join(t.name for t in server.tools[:8])
        raise UnknownNameError(f"Server {call.server!r} has no tool {call.tool!r}; it has: {known or 'none'}.")
    return server, tool


def _statistics(event: OutcomeEvent, server: Running, tool: Running) -> StatisticsEvent:
    return StatisticsEvent(
        at=event.at,
        outcome_id=event.id,
        catalog=event.catalog,
        server=event.server,
        tool=event.tool,
        server_success=server.success,
        server_success_variance=server.variance,
        server_post_accept_failure=server.failure,
        server_call_s=server.call_s,
        server_conn_s=server.conn_s,
        tool_success=tool.success,
        tool_latency_s=tool.call_s,
        server_calls=server.calls,
        tool_calls=tool.calls,
    )
