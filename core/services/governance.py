"""Governance: what the endpoint asks before and after each call, and what an operator sees and sets of it.

One lock makes a decision whole: what is left of a budget is looked at and reserved, an approval found and used, under it. What has
to last is in the store before the call leaves; a reservation that a killed process left is settled when the store is opened.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from core.domain.catalog import Tool
from core.domain.governance_events import PolicyChange, Spent
from core.domain.outcome import OutcomeKind, ToolCall
from core.governance import refusals
from core.governance.approvals import binding
from core.governance.base import NotAllowedError
from core.governance.breaker import Breaker
from core.governance.budgets import Amount, Ledger, Reservation, Usage, day_of
from core.governance.policy import Policy, from_toml, to_toml
from core.governance.rates import Bucket
from core.governance.scope import Scope
from core.services.approvals import REASONS, Approval, ApprovalQueue
from core.services.catalogs import CatalogService
from core.services.clients import ClientRegister
from core.services.definitions import KnownDefinitions
from core.store import Store

NOT_THE_SERVERS = {
    OutcomeKind.CANCELLED,
    OutcomeKind.NOT_CONNECTED,
}  # the wait after the latter is the connection's own
LOST = {OutcomeKind.TIMEOUT, OutcomeKind.CRASH}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that a client wants to make. `result_tokens` is how much of its result it may be given, `others` are tools of the
    same search."""

    client: str
    call: ToolCall
    tool: Tool
    result_tokens: int
    others: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Permit:
    """A call that may be made now: what was reserved for it. `tokens` bounds what the client is given of its result."""

    id: str
    wanted: Wanted
    reservation: Reservation
    stored: bool

    @property
    def tokens(self) -> int:
        """At most so many tokens of the result."""
        return self.reservation.amount.tokens


class GovernanceService:
    """Thread-safe: who reads `ledger` or `breakers` has `lock`. `clock` is monotonic, `now` the time of day."""

    def __init__(
        self, store: Store, catalogs: CatalogService, *, now: Callable[[], datetime], clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._now = now
        self._clock = clock
        self.lock = threading.RLock()
        self._buckets: dict[str, Bucket] = {}
        self._breakers: dict[str, Breaker] = {}
        self.clients = ClientRegister(store, now)
        self.approvals = ApprovalQueue(store, now)
        self.definitions = KnownDefinitions(store, catalogs, now)
        self.settled_at_start = store.governance.settle_left_over()
        policies = store.governance.policies()
        self._policy = from_toml(policies[-1].toml) if policies else Policy()
        self.ledger = Ledger()
        for spent in store.governance.spending(day_of(now())):
            usage, amount = Usage(spent.day, spent.client, spent.server), Amount(spent.usd, spent.calls, spent.tokens)
            self.ledger.add(usage, amount, spent.at, over=spent.over)

    @property
    def policy(self) -> Policy:
        """What is in force."""
        return self._policy

    def set_policy(self, policy: Policy, *, origin: str) -> None:
        """Put a policy in force from the next call on. Calls that wait under the one before have to be made again."""
        with self.lock:
            if policy != self._policy:
                change = PolicyChange(self._now(), policy.digest, to_toml(policy), origin)
                self._store.governance.append(change)
                self._policy = policy

    def waiting(self) -> tuple[Approval, ...]:
        """Calls that a person can decide now, oldest first."""
        return self.approvals.waiting(self._policy.digest)

    def decide(self, id_: str, *, approve: bool, origin: str) -> None:
        """Approve or deny a call that waits. Raises UnknownNameError, WayfareError."""
        policy = self._policy
        self.approvals.decide(id_, approve=approve, rules=policy.approvals, policy_digest=policy.digest, origin=origin)

    def breakers(self) -> list[tuple[float, str, Breaker]]:
        """Each server that was called since Wayfare started: the clock, its name, its breaker. For who has the lock."""
        return [(self._clock(), server, breaker) for server, breaker in self._breakers.items()]

    def scope(self, client: str) -> Scope:
        """What a client may use; one without a token may use all that the policy allows."""
        known = self.clients.in_force(client)
        return Scope() if known is None else known.scope

    def enter(self, client: str, catalog: str, *, known: bool) -> None:
        """Let a request of any tool in. `known` is that it came with the client's token. Raises NotAllowedError."""
        if not known and self.clients.in_force(client) is not None:
            raise refusals.not_authorized(client)
        scope = self.scope(client)
        if reason := scope.catalog_refusal(catalog):
            raise refusals.catalog_not_allowed(client, reason)
        per_minute = self._policy.per_minute if scope.per_minute is None else scope.per_minute
        if per_minute <= 0:
            return
        with self.lock:
            wait_s = self._buckets.setdefault(client, Bucket()).wait_s(per_minute, self._clock())
        if wait_s > 0:
            raise refusals.rate_limited(client, per_minute, wait_s, self._now())

    def check(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a tool is known as it is now. Raises NotAllowedError for one that a client may neither see nor use."""
        if reason := self._policy.refusal(tool) or self.scope(client).refusal(catalog, tool):
            raise refusals.tool_not_allowed(tool.id, reason)
        state = self.definitions.state(catalog, tool)
        if self._policy.changed_definitions and state in {"changed", "denied"}:
            raise refusals.definition_changed(tool.id, denied=state == "denied")
        return state == "known"

    def allows(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a client may see and use a tool."""
        try:
            self.check(client, catalog, tool)
        except NotAllowedError:
            return False
        return True

    def limited(self, client: str) -> bool:
        """Whether there are tools that a client may not use."""
        return self.scope(client).limited or bool(self._policy.allow or self._policy.deny)

    def before(self, wanted: Wanted) -> Permit:
        """Reserve what a call may use. Raises NotAllowedError with what is awaited and how to go on; nothing is reserved then."""
        call, tool, policy = wanted.call, wanted.tool, self._policy
        known = self.check(wanted.client, call.catalog, tool)
        priced = self._price(call.catalog, tool.id)
        usd = policy.unpriced_usd if priced is None else priced
        with self.lock:
            usage = Usage(day_of(self._now()), wanted.client, call.server)
            tokens = self.ledger.tokens_left(policy.budgets, usage, wanted.result_tokens)
            amount = Amount(usd, 1, tokens)
            short = self.ledger.short(policy.budgets, usage, amount)
            if short is not None and short.budget.at_limit != "ask":
                raise refusals.budget_spent(tool.id, short, self._cheaper(wanted, short.left), self._now())
            reasons = [*policy.approvals.reasons(tool, usd, known=known)]
            reasons += [] if short is None else [f"it is beyond the budget of the day, {refusals.left_words(short)}"]
            approval = self._approved(wanted, reasons, priced) if reasons else None
            amount = amount if short is None else Amount(usd, 1, wanted.result_tokens)
            breaker = self._breakers.setdefault(call.server, Breaker())
            if not breaker.enter(self._clock()):
                wait_s = breaker.wait_s(self._clock())
                raise refusals.server_paused(call.server, breaker.failures, wait_s, self._now())
            reservation = Reservation(uuid.uuid4().hex, usage, amount, over=short is not None)
            self.ledger.reserve(reservation, self._now())
            permit = Permit(reservation.id, wanted, reservation, any(b.covers(*usage[1:]) for b in policy.budgets))
            try:
                if permit.stored:
                    self._store.governance.reserve(self._row(permit, amount, settled=False))
                if approval is not None:
                    self.approvals.use(approval)
                if self.definitions.state(call.catalog, tool) != "known":
                    self.definitions.first_use(call.catalog, tool, approved=approval is not None)
            except BaseException:
                self.ledger.release(permit.id)
                breaker.ended(None, policy.breaker, self._clock())
                raise
        return permit

    def after(self, permit: Permit, kind: OutcomeKind | None, tokens: int) -> None:
        """Settle a call that has ended, None where how is not known. A call that reached no tool costs no money."""
        reserved = permit.reservation.amount
        usd = reserved.usd if kind is None else kind.charged_usd(reserved.usd) or 0.0
        used = Amount(usd, 1, tokens).at_most(reserved)
        good = None if kind is None or kind in NOT_THE_SERVERS else kind not in LOST
        with self.lock:
            self.ledger.settle(permit.id, used)
            self._breakers[permit.wanted.call.server].ended(good, self._policy.breaker, self._clock())
        self._store.governance.settle_later(self._row(permit, used, settled=True))

    def read_on(self, client: str, tokens: int) -> int:
        """How many of these tokens a client may be given of a result that was cut; they count. Raises NotAllowedError."""
        here = Usage(day_of(self._now()), client, "")
        with self.lock:
            budgets = [replace(one, usd=None, calls=None) for one in self._policy.budgets if one.tokens is not None]
            given = min(tokens, self.ledger.tokens_left(budgets, here, tokens))
            if (short := self.ledger.short(budgets, here, Amount(tokens=given))) is not None:
                raise refusals.budget_spent("read_result", short, (), self._now())
            self.ledger.add(here, Amount(tokens=given), self._now())
        row = (uuid.uuid4().hex, self._now(), here.day, client, "", "", "read_result", 0.0, 0, given, False, True)
        self._store.governance.settle_later(Spent(*row))
        return given

    def _price(self, catalog: str, tool: str) -> float | None:
        row = self._catalogs.catalog(catalog).tool_row[tool]
        price = float(self._catalogs.statistics(catalog).tools.price_usd[row])
        return None if np.isnan(price) else price

    def _approved(self, wanted: Wanted, reasons: Sequence[str], price_usd: float | None) -> Approval:
        """The approval of exactly this call. Raises NotAllowedError where it waits, or was denied."""
        policy = self._policy
        bound = binding(wanted.client, wanted.call, wanted.tool, policy.digest)
        found, rules = self.approvals.state(bound), policy.approvals
        if found is not None and found.state == "approved":
            return found
        name = wanted.tool.id
        if found is not None and found.state == "denied":
            raise refusals.approval_denied(name, found.change.expires_at)
        found = self.approvals.wait_for(bound, wanted.call, wanted.tool, reasons, price_usd=price_usd, rules=rules)
        raise refusals.approval_needed(name, REASONS.join(reasons), found.change.id, found.change.expires_at)

    def _cheaper(self, wanted: Wanted, left_usd: float) -> list[str]:
        """Tools of the same search that fit into what is left."""
        rows = self._catalogs.catalog(wanted.call.catalog).tool_row
        prices = {name: self._price(wanted.call.catalog, name) for name in wanted.others if name in rows}
        unpriced = self._policy.unpriced_usd
        return [name for name, price in prices.items() if (unpriced if price is None else price) <= left_usd][:3]

    def _row(self, permit: Permit, amount: Amount, *, settled: bool) -> Spent:
        call, usage = permit.wanted.call, permit.reservation.usage
        return Spent(
            permit.id, self._now(), usage.day, usage.client, call.catalog, call.server, call.tool,
            amount.usd, amount.calls, amount.tokens, permit.reservation.over, settled,
        )  # fmt: skip
