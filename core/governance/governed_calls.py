"""The one way to a real call, for agents and for people: admitted by governance, made, settled however it ends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

from core.calls.calls import CallHandle, CallReport, CallService
from core.catalogs.catalogs import CatalogService
from core.domain.errors import Refusal
from core.domain.events import OPERATOR
from core.domain.execution import Progress, Settle
from core.domain.outcome import CallMode, Outcome, OutcomeKind, ToolCall
from core.domain.people import actions, person
from core.governance.calls import Outlook, Permit, Wanted
from core.governance.governance import GovernanceService

Counted = Callable[[Outcome, int], int]
"""The number of tokens of a result that its client gets, at most the second argument."""


def no_tokens(_outcome: Outcome, _limit: int) -> int:
    """A person reads the result, and no model."""
    return 0


@dataclass(frozen=True, slots=True)
class GovernedCall:
    """A call that was admitted and is under way."""

    permit: Permit
    handle: CallHandle


@actions("call", by_person="call a tool", leave="call a tool in an experiment")
@dataclass(eq=False)
class GovernedCalls:
    """Thread-safe."""

    governance: GovernanceService
    catalogs: CatalogService
    calls: CallService

    def start(
        self, wanted: Wanted, *, origin: str, counted: Counted, listener: Callable[[Progress], None] | None = None
    ) -> GovernedCall:
        """Admit a call and begin it. Raises Refusal with the missing condition and the next step."""
        permit = self.governance.before(wanted)
        client = person().name if wanted.client == OPERATOR else wanted.client
        settle = partial(self._settle, permit, counted)
        try:
            handle = self.calls.start(wanted.call, origin=origin, client=client, listener=listener, settle=settle)
            if handle.future is None:
                raise RuntimeError("the call was not started")
        except BaseException:
            self.governance.after(permit, OutcomeKind.CANCELLED, 0)
            raise
        handle.future.add_done_callback(partial(self._settle_unbegun, permit))
        return GovernedCall(permit, handle)

    def make(self, wanted: Wanted, handle: CallHandle, *, origin: str, counted: Counted) -> tuple[Permit, CallReport]:
        """Admit a call of a client and make it in this thread. Raises as `start`."""
        permit = self.governance.before(wanted)
        settle = partial(self._settle, permit, counted)
        return permit, self.calls.make(handle, origin=origin, client=wanted.client, settle=settle)

    def drawn(self, call: ToolCall, *, origin: str, client: str = "") -> CallHandle:
        """A drawn outcome. No tool is called, and no permission is needed."""
        return self.calls.start(call, mode=CallMode.DRAWN, origin=origin, client=client)

    def by_person(self, call: ToolCall, *, mode: CallMode, origin: str, approved_by: str = "") -> CallHandle:
        """A call that a person makes at a page. What is simulated reaches no server and needs no leave. Raises Refusal."""
        if mode is not CallMode.REAL:
            return self.calls.start(call, mode=mode, origin=origin, client=person().name)
        return self.start(self._by_person(call, origin, approved_by), origin=origin, counted=no_tokens).handle

    def outlook(self, call: ToolCall, *, client: str = OPERATOR) -> Outlook:
        """The obstacles that a real call would meet now. Records nothing."""
        _, tool = self.catalogs.catalog(call.catalog).find(call.server, call.tool)
        return self.governance.outlook(Wanted(client, call, tool, 0))

    def leave(self, call: ToolCall, origin: str) -> Settle | None:
        """Returns the function that settles a permitted call of an experiment, or None if the call is refused or waits."""
        try:
            permit = self.governance.before(self._by_person(call, origin))
        except Refusal:
            return None
        return lambda kind: self.governance.after(permit, kind, 0)

    def _by_person(self, call: ToolCall, origin: str, approved_by: str = "") -> Wanted:
        _, tool = self.catalogs.catalog(call.catalog).find(call.server, call.tool)
        return Wanted(OPERATOR, call, tool, 0, origin=origin, approved_by=approved_by)

    def _settle(self, permit: Permit, counted: Counted, outcome: Outcome | None) -> None:
        """Settle a call. One with an unknown outcome counts as reserved, and its client gets no tokens."""
        tokens = 0 if outcome is None else counted(outcome, permit.tokens)
        self.governance.after(permit, None if outcome is None else outcome.kind, tokens)

    def _settle_unbegun(self, permit: Permit, done: Future[CallReport]) -> None:
        if done.cancelled():
            self.governance.after(permit, OutcomeKind.CANCELLED, 0)
