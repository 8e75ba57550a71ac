"""Simulated calls: outcomes drawn from known success rates and times, marked as simulated."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar
from weakref import WeakSet

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.catalogs.decision_log import AGENT
from core.catalogs.simulated_networks import SimulatedNetworks
from core.domain.catalog import Server, Tool
from core.domain.errors import UnknownNameError
from core.domain.events import OutcomeEvent, StatisticsEvent
from core.domain.execution import SESSION_OWNER, TURN_ENDS, Progress, ToolCaller
from core.domain.leaks import masked
from core.domain.outcome import CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.network.traces import OUTAGE_S, Fault, FaultKind, Injection
from core.routers.ema import Running
from core.store import Store
from core.telemetry import OFF, Telemetry
from core.virtual.launch import virtual_connection


def simulated_outcome(
    call: ToolCall,
    *,
    success: float,
    post_accept_failure: float,
    latency_s: float,
    rng: np.random.Generator,
    fault: Fault | None = None,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Outcome:
    """Draw one outcome: a post-accept failure with its probability, else success with probability `success`.

    Latency is the expected one, in s; nothing waits. The result says that no tool was called. The `fault` of a simulated network delays the
    answer or keeps it away.

    >>> call = ToolCall("files", "read")
    >>> drawn = simulated_outcome(call, success=1, post_accept_failure=0, latency_s=0.5, rng=np.random.default_rng(1))
    >>> drawn.kind.value, drawn.latency_s, drawn.simulated
    ('ok', 0.5, True)
    """
    down = fault is not None and fault.kind is not FaultKind.DELAYED
    if down:
        kind, text = (
            OutcomeKind.TIMEOUT,
            "Simulated: the server did not answer, because the simulated network is down there.",
        )
    elif rng.random() < post_accept_failure:
        kind, text = OutcomeKind.CRASH, "Simulated: the server failed after accepting the call."
    elif rng.random() < success:
        kind, text = OutcomeKind.OK, "Simulated: no tool was called. A real call would return the tool's result here."
    else:
        kind, text = OutcomeKind.TOOL_ERROR, "Simulated: the tool answered with an error."
    return Outcome(
        call=call,
        kind=kind,
        started_at=now(),
        latency_s=OUTAGE_S if down else latency_s + (0.0 if fault is None else fault.delay_s),
        content=(ContentBlock("text", text=text),) if kind is OutcomeKind.OK else (),
        error="" if kind is OutcomeKind.OK else text,
        mode=CallMode.DRAWN,
        injected="" if fault is None else str(fault),
    )


# Calls: make the call, commit its outcome and the statistics after it together, and update the running statistics.


@dataclass(frozen=True, slots=True)
class CallReport:
    """An outcome with the running statistics of its server and tool before and after it. A simulated one changes only those that
    count simulated calls, too: `simulated` has them."""

    outcome: Outcome
    server_before: Running
    server_after: Running
    tool_before: Running
    tool_after: Running
    simulated: CallReport | None = None


MOST_CALLS = 128
"""Calls that are made at the same time, as many as the endpoint lets in: no client takes all of them. The others wait."""
T = TypeVar("T")
Settle = Callable[[Outcome | None], None]
"""Gets the outcome of a call before its report, or None if the outcome is not known."""


def nothing_to_settle(_: Outcome | None) -> None:
    """The call has no permit."""


@dataclass(frozen=True, slots=True)
class _Before:
    server: Running
    tool: Running
    price_usd: float


@dataclass(eq=False)
class CallHandle:
    """A call under way: its progress so far, a way to cancel it, and its report when it is done.

    `listener` is told every progress, in the thread that makes the call.
    """

    call: ToolCall
    listener: Callable[[Progress], None] | None = None
    cancel_event: threading.Event = field(default_factory=threading.Event)
    """Set by `cancel`."""

    def __post_init__(self) -> None:
        self.progress: Progress | None = None
        self.future: Future[CallReport] | None = None  # before `start` or `run`

    def run(self, run: Callable[[CallHandle], CallReport]) -> CallReport:
        """Run in this thread. Returns the report, which others get as well."""
        self.future = Future()
        try:
            report = run(self)
        except BaseException as error:
            self.future.set_exception(error)
            raise
        self.future.set_result(report)
        return report

    def start(self, pool: ThreadPoolExecutor, run: Callable[[CallHandle], CallReport]) -> None:
        """Run on the pool, in the context of the caller, so that its trace continues."""
        self.future = pool.submit(copy_context().run, run, self)

    def on_progress(self, progress: Progress) -> None:
        """Keep the latest progress."""
        self.progress = progress
        if self.listener is not None:
            self.listener(progress)

    def cancel(self) -> None:
        """Ask the call to stop; its outcome is `cancelled`."""
        self.cancel_event.set()

    @property
    def done(self) -> bool:
        """Whether the call has a report."""
        return self.future is not None and self.future.done()

    def report(self, timeout_s: float | None = None) -> CallReport:
        """The report; waits for it. Raises what went wrong on our side (never what the tool did)."""
        if self.future is None:
            raise RuntimeError("the call was not started")
        return self.future.result(timeout_s)


@dataclass(eq=False)
class CallService:
    """Makes calls for the console, the CLI and agents, and learns from each. Virtual servers are started from files in
    `virtual_folder`."""

    store: Store
    catalogs: CatalogService
    caller: Callable[[], ToolCaller]
    caller_under: Callable[[Injection], AbstractContextManager[ToolCaller]]
    networks: SimulatedNetworks
    _: KW_ONLY
    rng: np.random.Generator
    virtual_folder: Path
    telemetry: Telemetry = OFF
    record: Callable[[Outcome], None] = lambda _: None
    sanitised: Callable[[Outcome], Outcome] = lambda outcome: outcome

    def __post_init__(self) -> None:
        self._pool = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="wayfare-call")
        self._learning = threading.Lock()
        self._begun: WeakSet[CallHandle] = WeakSet()

    def start(
        self,
        call: ToolCall,
        *,
        mode: CallMode = CallMode.REAL,
        origin: str = "console",
        client: str = "",
        listener: Callable[[Progress], None] | None = None,
        settle: Settle = nothing_to_settle,
    ) -> CallHandle:
        """Begin a call in the background. `settle` is not told of one that is cancelled before it begins. Raises UnknownNameError
        for a tool that is not in the catalog."""
        self.catalogs.catalog(call.catalog).find(call.server, call.tool)
        handle = CallHandle(call, listener)
        self._begun.add(handle)
        handle.start(self._pool, lambda h: self._settled(h, settle, mode=mode, origin=origin, client=client))
        return handle

    def make(self, handle: CallHandle, *, origin: str, client: str, settle: Settle) -> CallReport:
        """Make a real call in this thread. Raises UnknownNameError for a tool that is not in the catalog."""
        self._begun.add(handle)
        return handle.run(lambda h: self._settled(h, settle, mode=CallMode.REAL, origin=origin, client=client))

    def in_thread(self, work: Callable[[], T]) -> Future[T]:
        """Do the work around a call in one of the threads that make calls, in the context of the caller."""
        return self._pool.submit(copy_context().run, work)

    def run(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallReport:
        """Make a call and wait for it."""
        return self.start(call, mode=mode, origin=origin).report()

    def wait(self, limit_s: float) -> None:
        """Until the calls that have begun are recorded, at most `limit_s`."""
        wait([handle.future for handle in tuple(self._begun) if handle.future is not None], timeout=limit_s)

    def close(self) -> None:
        """Let no further call start."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _settled(self, handle: CallHandle, settle: Settle, *, mode: CallMode, origin: str, client: str) -> CallReport:
        try:
            report = self._run(handle, mode=mode, origin=origin, client=client)
        except BaseException:
            settle(None)
            raise
        settle(report.outcome)
        return report

    def _run(self, handle: CallHandle, *, mode: CallMode, origin: str, client: str) -> CallReport:
        call = handle.call
        with self.catalogs.unchanged():
            server, tool = self.catalogs.catalog(call.catalog).find(call.server, call.tool)
            at_start = self._before(call)
        self.store.events.wait_for(call.decision_id)  # the decision is committed before its call leaves
        with self.telemetry.calling(call, origin) as ended:
            outcome = self._drawn(call) if mode is CallMode.DRAWN else self._called(handle, server, tool, mode, origin)
            outcome = self.sanitised(outcome)
            self.record(outcome)
            report = self._learn(outcome, origin, client, at_start)
            ended(report.outcome)
        return report

    def _called(self, handle: CallHandle, server: Server, tool: Tool, mode: CallMode, origin: str) -> Outcome:
        """A call over MCP, in a session of its origin if no client is known. Every outcome of a virtual server is simulated, a crash as
        well as a result."""
        launched = mode is CallMode.VIRTUAL or (server.virtual and server.connection is None)
        connection = virtual_connection(server, self.virtual_folder) if launched else server.connection
        known = SESSION_OWNER.get()
        owner = SESSION_OWNER.set(known if known.key else replace(known, key=origin, name=origin))
        TURN_ENDS.get()()
        try:
            with self._caller(handle.call) as caller:
                outcome = caller.call(
                    handle.call, tool, connection, on_progress=handle.on_progress, cancel=handle.cancel_event
                )
        finally:
            SESSION_OWNER.reset(owner)
        return replace(outcome, mode=CallMode.VIRTUAL) if launched or server.virtual else outcome

    def _caller(self, call: ToolCall) -> AbstractContextManager[ToolCaller]:
        injection = self._injection(call)
        return nullcontext(self.caller()) if injection is None else self.caller_under(injection)

    def _injection(self, call: ToolCall) -> Injection | None:
        """The faults of the call's network, None if it is as measured."""
        if not call.network.has_profile:
            return None
        return self.networks.injection(self.catalogs.catalog(call.catalog), call.network)

    def _drawn(self, call: ToolCall) -> Outcome:
        catalog, projection = self.catalogs.catalog(call.catalog), self.catalogs.projection(call.catalog)
        server = projection.server(catalog.server_row[call.server])
        tool = projection.tool(catalog.tool_row[f"{call.server}::{call.tool}"])
        injection = self._injection(call)
        return simulated_outcome(
            call,
            success=tool.success,
            post_accept_failure=server.post_accept_failure,
            latency_s=tool.call_s,
            rng=self.rng,
            fault=None if injection is None else injection.fault(call.server),
        )

    def _learn(self, outcome: Outcome, origin: str, client: str, at_start: _Before) -> CallReport:
        call = outcome.call
        with self._learning, self.catalogs.unchanged():  # statistics follow each other as the outcomes do
            try:
                before = self._before(call)
            except UnknownNameError:
                before = None  # the catalog was removed or replaced meanwhile; the call counts
            price = (before or at_start).price_usd if call.payment_usd is None else call.payment_usd
            outcome = replace(outcome, id=uuid.uuid4().hex, price_usd=outcome.kind.charged_usd(price))
            event = OutcomeEvent.of(
                replace(outcome, error=masked(outcome.error, keep=outcome.call.server)), origin, client
            )
            later = origin == AGENT  # an agent is answered while the disk is written
            append = self.store.events.append_later if later else self.store.events.append
            if before is None:
                append(event)
                return CallReport(outcome, at_start.server, at_start.server, at_start.tool, at_start.tool)
            server, tool = self.catalogs.projection(call.catalog).after(event)
            append(event, _statistics(event, server, tool))
            simulated = self._simulated(outcome, event) if outcome.simulated else None
            self.catalogs.observe(event)
        return CallReport(outcome, before.server, server, before.tool, tool, simulated)

    def _simulated(self, outcome: Outcome, event: OutcomeEvent) -> CallReport:
        before = self._before(outcome.call, with_simulated=True)
        server, tool = self.catalogs.projection(event.catalog, with_simulated=True).after(event)
        return CallReport(outcome, before.server, server, before.tool, tool)

    def _before(self, call: ToolCall, *, with_simulated: bool = False) -> _Before:
        self.catalogs.catalog(call.catalog).find(call.server, call.tool)
        catalog = self.catalogs.catalog(call.catalog)
        projection = self.catalogs.projection(call.catalog, with_simulated=with_simulated)
        server_row, tool_row = catalog.server_row[call.server], catalog.tool_row[f"{call.server}::{call.tool}"]
        return _Before(projection.server(server_row), projection.tool(tool_row), projection.price_usd(tool_row))


def _statistics(event: OutcomeEvent, server: Running, tool: Running) -> StatisticsEvent:
    return StatisticsEvent(
        at=event.at,
        outcome_id=event.id,
        catalog=event.catalog,
        server=event.server,
        tool=event.tool,
        server_success=server.success,
        server_success_variance=server.success_variance,
        server_post_accept_failure=server.post_accept_failure,
        server_call_s=server.call_s,
        server_conn_s=server.conn_s,
        tool_success=tool.success,
        tool_latency_s=tool.call_s,
        server_calls=server.calls,
        tool_calls=tool.calls,
    )
