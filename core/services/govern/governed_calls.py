"""The one way to a real call, for agents and for people: admitted by governance, made, settled however it ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from core.domain.execution import Progress, Settle
from core.domain.governance_events import OPERATOR
from core.domain.outcome import CallMode, Outcome, OutcomeKind, ToolCall
from core.governance.calls import NotAllowedError, Outlook, Permit, Wanted
from core.services.call.calls import CallHandle, CallReport, CallService
from core.services.decide.catalogs import CatalogService
from core.services.govern.governance import GovernanceService

SETTLED_S = 30.0
Counted = Callable[[Outcome, int], int]
"""How many tokens of a result its client is given, at most as many as the second argument."""


def no_tokens(_outcome: Outcome, _limit: int) -> int:
    """A person reads the result, and no model."""
    return 0


@dataclass(frozen=True, slots=True)
class GovernedCall:
    """A call that was admitted and is under way."""

    permit: Permit
    handle: CallHandle
    settled: threading.Event

    def report(self) -> CallReport:
        """The report, once the call is settled. Raises what went wrong on our side."""
        report = self.handle.report()
        self.settled.wait(SETTLED_S)
        return report


class GovernedCalls:
    """Thread-safe."""

    def __init__(self, governance: GovernanceService, catalogs: CatalogService, calls: CallService) -> None:
        self._governance = governance
        self._catalogs = catalogs
        self._calls = calls

    def start(
        self, wanted: Wanted, *, origin: str, counted: Counted, listener: Callable[[Progress], None] | None = None
    ) -> GovernedCall:
        """Have a call admitted and begin it. Raises NotAllowedError with what is awaited and how to go on."""
        permit, settled = self._governance.before(wanted), threading.Event()
        client = "" if wanted.client == OPERATOR else wanted.client
        try:
            handle = self._calls.start(wanted.call, origin=origin, client=client, listener=listener)
            if handle.future is None:
                raise RuntimeError("the call was not started")
        except BaseException:
            self._governance.after(permit, OutcomeKind.CANCELLED, 0)
            raise
        handle.future.add_done_callback(partial(self._settle, permit, counted, settled))
        return GovernedCall(permit, handle, settled)

    def drawn(self, call: ToolCall, *, origin: str, client: str = "") -> CallHandle:
        """An outcome that is drawn: nothing is called, and nobody is asked."""
        return self._calls.start(call, mode=CallMode.DRAWN, origin=origin, client=client)

    def by_person(self, call: ToolCall, *, mode: CallMode, origin: str, approved_by: str = "") -> CallHandle:
        """A call that a person makes at a page. What is simulated reaches no server and needs no leave. Raises NotAllowedError."""
        if mode is not CallMode.REAL:
            return self._calls.start(call, mode=mode, origin=origin)
        return self.start(self._by_person(call, origin, approved_by), origin=origin, counted=no_tokens).handle

    def run_by_person(self, call: ToolCall, *, mode: CallMode, origin: str, approved_by: str = "") -> CallReport:
        """The same, until it is done and settled."""
        if mode is not CallMode.REAL:
            return self._calls.run(call, mode=mode, origin=origin)
        return self.start(self._by_person(call, origin, approved_by), origin=origin, counted=no_tokens).report()

    def outlook(self, call: ToolCall, *, client: str = OPERATOR) -> Outlook:
        """What a real call would meet now; nothing is recorded."""
        _, tool = self._catalogs.catalog(call.catalog).find(call.server, call.tool)
        return self._governance.outlook(Wanted(client, call, tool, 0))

    def leave(self, call: ToolCall, origin: str) -> Settle | None:
        """Leave for a call that a person's experiment makes by itself, and how to settle it; None where it is refused, or waits."""
        try:
            permit = self._governance.before(self._by_person(call, origin))
        except NotAllowedError:
            return None
        return lambda kind: self._governance.after(permit, kind, 0)

    def _by_person(self, call: ToolCall, origin: str, approved_by: str = "") -> Wanted:
        _, tool = self._catalogs.catalog(call.catalog).find(call.server, call.tool)
        return Wanted(OPERATOR, call, tool, 0, origin=origin, approved_by=approved_by)

    def _settle(self, permit: Permit, counted: Counted, settled: threading.Event, done: Future[CallReport]) -> None:
        """Where a call never began, or how it ended is not known, no tool answered for all we know."""
        try:
            if done.cancelled():
                self._governance.after(permit, OutcomeKind.CANCELLED, 0)
            elif done.exception() is not None:
                self._governance.after(permit, None, 0)
            else:
                outcome = done.result().outcome
                self._governance.after(permit, outcome.kind, counted(outcome, permit.tokens))
        finally:
            settled.set()
