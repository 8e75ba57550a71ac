"""Calls: real, virtual or drawn from known success rates and times. Outcomes are committed with the statistics after them. The real
answers of a server can be recorded in a file that plays them."""

from __future__ import annotations

import logging
import re
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from pydantic import BaseModel

from core.catalogs.catalogs import CatalogService
from core.catalogs.contexts import SimulatedNetworks
from core.catalogs.decision_log import AGENT
from core.domain.catalog import Server, ServerId, Tool
from core.domain.errors import CatalogError, UnknownNameError, WayfareError
from core.domain.events import OutcomeEvent, StatisticsEvent
from core.domain.execution import SESSION_OWNER, TURN_ENDS, Progress, ToolCaller
from core.domain.leaks import MASK, masked, masked_value, without_marked
from core.domain.outcome import CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.domain.people import act_for, person
from core.network.traces import OUTAGE_S, Fault, FaultKind, Injection
from core.routers.ema import Running
from core.store import Store
from core.telemetry import OFF, Telemetry
from core.virtual.launch import Answer, read_answers, virtual_connection, write_recording


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
    """Draws an outcome: a post-accept failure with its probability, else success with probability `success`.

    The latency is the expected latency, in s; nothing waits. The result says that no tool was called. The `fault` of a simulated network
    delays the answer or keeps it away.

    >>> call = ToolCall("files", "read")
    >>> drawn = simulated_outcome(call, success=1, post_accept_failure=0, latency_s=0.5, rng=np.random.default_rng(1))
    >>> drawn.kind.value, drawn.latency_s, drawn.simulated
    ('ok', 0.5, True)
    """
    down = fault is not None and fault.kind is not FaultKind.DELAYED
    if down:
        kind = OutcomeKind.TIMEOUT
        text = "Simulated: the server did not answer, because the simulated network is down there."
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


@dataclass(frozen=True, slots=True)
class CallReport:
    """An outcome with the running statistics of its server and tool before and after it. A simulated outcome changes only the statistics
    that count simulated calls: `simulated` has them."""

    outcome: Outcome
    server_before: Running
    server_after: Running
    tool_before: Running
    tool_after: Running
    simulated: CallReport | None = None


MOST_CALLS = 128
"""The greatest number of simultaneous calls, as many as the endpoint admits. Further calls wait."""
T = TypeVar("T")
_log = logging.getLogger(__name__)
Settle = Callable[[Outcome | None], None]
"""Gets the outcome of a call before its report, or None if the outcome is not known."""


@dataclass(frozen=True, slots=True)
class _Before:
    server: Running
    tool: Running
    price_usd: float


@dataclass(eq=False)
class CallHandle:
    """A running call: its progress, a way to cancel it, and its report at the end.

    `listener` gets every progress, in the thread that makes the call.
    """

    call: ToolCall
    listener: Callable[[Progress], None] | None = None
    cancel_event: threading.Event = field(default_factory=threading.Event)
    progress: Progress | None = None
    future: Future[CallReport] | None = None  # before the call begins

    def on_progress(self, progress: Progress) -> None:
        self.progress = progress
        if self.listener is not None:
            self.listener(progress)

    def cancel(self) -> None:
        self.cancel_event.set()

    @property
    def done(self) -> bool:
        return self.future is not None and self.future.done()

    def report(self, timeout_s: float | None = None) -> CallReport:
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
        settle: Settle = lambda _: None,
    ) -> CallHandle:
        """Begins a call in the background. `settle` does not get a call that is cancelled before it begins. Raises UnknownNameError
        if the catalog does not have the tool."""
        self.catalogs.catalog(call.catalog).find(call.server, call.tool)
        handle, context = CallHandle(call, listener), copy_context()  # the context continues the trace
        context.run(act_for, person())
        work = partial(self._settled, handle, settle, mode=mode, origin=origin, client=client)
        handle.future = self._pool.submit(context.run, work)
        self._begun.add(handle)
        return handle

    def make(self, handle: CallHandle, *, origin: str, client: str, settle: Settle) -> CallReport:
        """Makes a real call in this thread. Raises UnknownNameError if the catalog does not have the tool."""
        handle.future = Future()
        self._begun.add(handle)
        try:
            report = self._settled(handle, settle, mode=CallMode.REAL, origin=origin, client=client)
        except BaseException as error:
            handle.future.set_exception(error)
            raise
        handle.future.set_result(report)
        return report

    def in_thread(self, work: Callable[[], T]) -> Future[T]:
        """Does the work around a call in a thread of the pool, in the caller's context."""
        return self._pool.submit(copy_context().run, work)

    def run(self, call: ToolCall, *, mode: CallMode = CallMode.REAL, origin: str = "console") -> CallReport:
        return self.start(call, mode=mode, origin=origin).report()

    def wait(self, limit_s: float) -> None:
        """Waits until all begun calls are recorded, at most `limit_s`."""
        wait([handle.future for handle in tuple(self._begun) if handle.future is not None], timeout=limit_s)

    def close(self) -> None:
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
            if outcome.asks_back:
                return CallReport(outcome, at_start.server, at_start.server, at_start.tool, at_start.tool)
            self.record(outcome)
            report = self._learn(outcome, origin, client, at_start)
            ended(report.outcome)
        return report

    def _called(self, handle: CallHandle, server: Server, tool: Tool, mode: CallMode, origin: str) -> Outcome:
        """Makes a call over MCP, in a session of its origin if no client is known. Every outcome of a virtual server counts as simulated,
        a crash as well as a result."""
        launched = mode is CallMode.VIRTUAL or (server.virtual and server.connection is None)
        connection = virtual_connection(server, self.virtual_folder) if launched else server.connection
        session, injection = SESSION_OWNER.get(), self._injection(handle.call)
        owner = SESSION_OWNER.set(session if session.key else replace(session, key=origin, name=origin))
        TURN_ENDS.get()()
        try:
            with nullcontext(self.caller()) if injection is None else self.caller_under(injection) as caller:
                outcome = caller.call(
                    handle.call, tool, connection, on_progress=handle.on_progress, cancel=handle.cancel_event
                )
        finally:
            SESSION_OWNER.reset(owner)
        return replace(outcome, mode=CallMode.VIRTUAL) if launched or server.virtual else outcome

    def _injection(self, call: ToolCall) -> Injection | None:
        if not call.network.has_profile:
            return None
        return self.networks.injection(self.catalogs.catalog(call.catalog), call.network)

    def _drawn(self, call: ToolCall) -> Outcome:
        catalog, statistics = self.catalogs.catalog(call.catalog), self.catalogs.statistics(call.catalog)
        server, tool = catalog.server_row[call.server], catalog.tool_row[f"{call.server}::{call.tool}"]
        injection = self._injection(call)
        return simulated_outcome(
            call,
            success=float(statistics.tools.success[tool]),
            post_accept_failure=float(statistics.servers.post_accept_failure[server]),
            latency_s=float(statistics.tools.latency_s[tool]),
            rng=self.rng,
            fault=None if injection is None else injection.fault(call.server),
        )

    def _learn(self, outcome: Outcome, origin: str, client: str, at_start: _Before) -> CallReport:
        call = outcome.call
        with self._learning, self.catalogs.unchanged():  # statistics follow each other as the outcomes do
            try:
                previous = self._before(call, outcome.started_at)
            except UnknownNameError:
                previous = None  # the catalog was removed or replaced meanwhile; the call counts
            price = (previous or at_start).price_usd if call.payment_usd is None else call.payment_usd
            outcome = replace(outcome, id=uuid.uuid4().hex, price_usd=outcome.kind.charged_usd(price))
            masked_outcome = replace(outcome, error=masked(outcome.error, keep=call.server))
            event = OutcomeEvent.of(masked_outcome, origin, client)
            later = origin == AGENT  # an agent is answered while the disk is written
            append = self.store.events.append_later if later else self.store.events.append
            if previous is None:
                append(event)
                return CallReport(outcome, at_start.server, at_start.server, at_start.tool, at_start.tool)
            report = self._report(outcome, event, previous)
            append(event, _statistics(event, report.server_after, report.tool_after))
            if outcome.simulated:
                previous = self._before(call, event.at, with_simulated=True)
                report = replace(report, simulated=self._report(outcome, event, previous, with_simulated=True))
            self.catalogs.observe(event)
        return report

    def _report(
        self, outcome: Outcome, event: OutcomeEvent, previous: _Before, *, with_simulated: bool = False
    ) -> CallReport:
        server, tool = self.catalogs.projection(event.catalog, with_simulated=with_simulated).after(event)
        return CallReport(outcome, previous.server, server, previous.tool, tool)

    def _before(self, call: ToolCall, at: datetime | None = None, *, with_simulated: bool = False) -> _Before:
        catalog = self.catalogs.catalog(call.catalog)
        catalog.find(call.server, call.tool)
        projection = self.catalogs.projection(call.catalog, with_simulated=with_simulated)
        server_row, tool_row = catalog.server_row[call.server], catalog.tool_row[f"{call.server}::{call.tool}"]
        return _Before(projection.server(server_row, at), projection.tool(tool_row, at), projection.price_usd(tool_row))


def _statistics(event: OutcomeEvent, server: Running, tool: Running) -> StatisticsEvent:
    figures = ("success", "success_variance", "post_accept_failure", "call_s", "conn_s", "calls")
    return StatisticsEvent(
        at=event.at,
        outcome_id=event.id,
        catalog=event.catalog,
        server=event.server,
        tool=event.tool,
        tool_success=tool.success,
        tool_latency_s=tool.call_s,
        tool_calls=tool.calls,
        **{f"server_{name}": getattr(server, name) for name in figures},
    )


SETTING = "recordings"
RESULT = ("content", "structuredContent", "isError")


class Recordings:
    """The servers whose answers are recorded, and their `files`. Thread-safe; kept over restarts."""

    def __init__(self, store: Store, catalogs: CatalogService, redact: Callable[[str], str]) -> None:
        self._store = store
        self._catalogs = catalogs
        self._redact = redact
        self._lock = threading.Lock()
        self.read_anew()

    def read_anew(self) -> None:  # another process may have written
        setting = self._store.get_setting(SETTING, [])
        self.files = {ServerId(catalog, server): Path(file) for catalog, server, file in setting}

    def record(self, catalog: str, server: str, file: Path | None) -> None:
        """Starts to record a server's answers in a file, or stops for None. Appends to an existing recording. Raises WayfareError."""
        with self._lock:
            server_id = ServerId(catalog, server)
            files = {other: path for other, path in self.files.items() if other != server_id}
            if file is not None:
                files[server_id] = self._begun(server_id, file.absolute())
            elif server_id not in self.files:
                raise CatalogError(f"Server {server!r} of catalog {catalog!r} is not recorded.")
            self._store.set_setting(SETTING, [[key.catalog, key.server, str(path)] for key, path in files.items()])
            self.files = files

    def _begun(self, server_id: ServerId, file: Path) -> Path:
        server, answers = self._catalogs.catalog(server_id.catalog).server(server_id.server), dict[str, list[Answer]]()
        if server.connection is None or server.virtual or not server.tools:
            raise CatalogError(
                f"Server {server.name!r} has no tools that can really be called: nothing can be recorded."
            )
        if file.exists() and not (answers := read_answers(file, server_id.server)):
            raise CatalogError(f"{file} is no recording of {server_id.server!r}; name another file.")
        write_recording(file, server, answers)
        return file

    def add(self, outcome: Outcome) -> None:
        """Writes the answer of a real call if its server is recorded. Logs an error of the file."""
        server_id = outcome.call.server_id
        answered = outcome.kind.counts and outcome.kind is not OutcomeKind.NOT_CONNECTED
        if server_id not in self.files or outcome.simulated or outcome.injected or not answered:
            return
        with self._lock:
            try:
                file, server = self.files[server_id], self._catalogs.catalog(server_id.catalog).server(server_id.server)
                tool = next(tool for tool in server.tools if tool.name == outcome.call.tool)
                answers = read_answers(file, server_id.server) if file.exists() else {}
                answers.setdefault(tool.name, []).append(self._answer(outcome, tool))
                write_recording(file, server, answers)
            except (WayfareError, LookupError, StopIteration) as error:
                _log.warning("an answer of %s was not recorded: %s", server_id.server, error)

    def _answer(self, outcome: Outcome, tool: Tool) -> Answer:
        arguments, visible = outcome.call.arguments, without_marked(outcome.call.arguments, tool.input_schema)
        marked = [re.escape(str(value)) for name, value in arguments.items() if value and visible[name] is not value]
        hidden = re.compile("|".join(marked) or r"(?!)")

        def hide(value: Any) -> Any:
            return masked_value(value, lambda text: self._redact(hidden.sub(MASK, text)))

        answer = {"arguments": hide(visible), "latency_s": round(outcome.latency_s, 4), "outcome": outcome.kind.value}
        if not isinstance(outcome.original, BaseModel):
            return {**answer, "error": hide(outcome.error)}
        result = outcome.original.model_dump(mode="json", by_alias=True, exclude_none=True)
        result["content"] = [block for block in result["content"] if block.get("text") != (outcome.note or None)]
        return {**answer, "result": hide({name: result[name] for name in RESULT if name in result})}
