"""Governance: the checks before and after every real call, and the state that an operator sees and sets.

A decision holds one lock while it reads and reserves budgets, and finds and uses an approval. Lasting state is stored before the call
leaves. Opening the store settles the reservations that a killed process left.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.catalogs.decision_log import AGENT
from core.domain.catalog import ServerId, Tool
from core.domain.errors import Refusal, StoreError
from core.domain.events import ApprovalChange, PolicyChange, Spent, origin_of
from core.domain.limits import Breaker
from core.domain.outcome import OutcomeKind
from core.domain.params import Parameters, Value
from core.domain.people import actions, person
from core.governance import refusals
from core.governance.admission import Admission, RefusedRequests
from core.governance.approvals import REASONS, Approval, ApprovalQueue, Binding, binding
from core.governance.budgets import Amount, Budget, Ledger, Usage, day_of
from core.governance.clients import ClientRegister, ClientVisits, SignIns
from core.governance.definitions import KnownDefinitions
from core.governance.policy import Pin, Policy, from_toml, to_toml
from core.governance.refusals import Outlook, Permit, Wanted
from core.routers.presets import usable
from core.store import Store

NOT_THE_SERVERS = {
    OutcomeKind.CANCELLED,
    OutcomeKind.NOT_TRIED,
    OutcomeKind.BUSY,
    OutcomeKind.INVALID_ARGUMENTS,
    OutcomeKind.NOT_CONNECTED,
}  # after NOT_CONNECTED the connection itself waits
LOST = {OutcomeKind.TIMEOUT, OutcomeKind.CRASH}
READ_ON = "read_result"
BEYOND = "it is beyond the budget of the day"
_log = logging.getLogger(__name__)


class _Weighed(NamedTuple):
    """A call under the present policy: its allowed amount, the reasons for an approval, and whether it exceeds a budget."""

    amount: Amount
    priced: float | None
    reasons: tuple[str, ...]
    over: bool


@actions("administer", set_policy="change the policy")
@actions("approve", decide="decide a waiting call")
class GovernanceService:
    """Thread-safe. Reading `ledger` or `breakers` requires `lock`. `clock` is monotonic, `now` the time of day. `redact` masks known
    secrets, `announce` is called for each call that begins to wait for a person, `lint_errors` gives the tools of a catalog with
    an error, `forget` removes the values of a revoked person or client."""

    def __init__(
        self,
        store: Store,
        catalogs: CatalogService,
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float],
        redact: Callable[[str], str],
        announce: Callable[[ApprovalChange], None],
        lint_errors: Callable[[str], Mapping[str, str]],
        forget: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._catalogs = catalogs
        self._now = now
        self._clock = clock
        self.lock = threading.RLock()
        self._breakers: dict[ServerId, Breaker] = {}
        self.clients = ClientRegister(store, now, forget)
        self.visits = ClientVisits(store, now)
        self.sign_ins = SignIns(store, self.clients, lambda: self._policy.people, now=now, clock=clock)
        self.approvals = ApprovalQueue(store, now, redact, announce, lambda: self._policy)
        self.definitions = KnownDefinitions(
            store, catalogs, now, lint_errors, lambda: self._policy.new_with_lint_errors and self.clients.any_client
        )
        self.refused = RefusedRequests(store, now)
        self.settled_at_start = store.governance.settle_left_over()
        self._policy = Policy()
        self.policy_change: PolicyChange | None = None
        """Time and origin of the policy in force; None for the initial policy."""
        self._read_policy()
        self.admission = Admission(
            self.clients, self.definitions, self.refused, lambda: self._policy, now=now, clock=clock
        )
        self.ledger = Ledger()
        self._read_ledger()

    def read_anew(self) -> None:
        """Reads the clients, approvals, definitions, policy and spending that another process has written."""
        with self.lock:
            for register in (self.clients, self.approvals, self.definitions):
                register.read_anew()
            self._read_policy()
            self._read_ledger()

    def _read_ledger(self) -> None:
        day = day_of(self._now())
        self.ledger.read_anew(self._store.governance.spending(day, self.ledger.open))
        self._ledger_day = day

    @contextmanager
    def _up_to_date(self) -> Generator[None]:
        """Holds the lock, and the file of a command, so that no other process admits a call meanwhile."""
        with self.lock, self._store.kept(self.read_anew):
            if self._ledger_day != day_of(self._now()):
                self._read_ledger()
            yield

    def _read_policy(self) -> None:
        policies = self._store.governance.policies()
        if policies:
            self.policy_change = policies[-1]
            self._policy = from_toml(policies[-1].toml)

    @property
    def policy(self) -> Policy:
        return self._policy

    def set_policy(self, policy: Policy, *, origin: str) -> None:
        """Puts a policy in force from the next call on. Calls that wait under the previous policy must be repeated."""
        with self.lock:
            if policy != self._policy:
                change = PolicyChange(self._now(), policy.digest, to_toml(policy), origin)
                self._store.governance.append(change)
                self._policy = policy
                self.policy_change = change

    def pin(self, pin: Pin, *, on: bool, origin: str) -> None:
        with self.lock:
            others = tuple(other for other in self._policy.pinned if other != pin)
            self.set_policy(replace(self._policy, pinned=(*others, pin) if on else others), origin=origin)

    def waiting(self) -> tuple[Approval, ...]:
        return self.approvals.waiting()

    def decide(self, id_: str, *, approve: bool, origin: str) -> Approval:
        """Approves or denies a call that waits. Raises UnknownNameError, WayfareError."""
        return self.approvals.decide(id_, approve=approve, origin=origin)

    def breakers(self) -> list[tuple[float, ServerId, Breaker]]:
        """The clock, server and breaker of each server that was called since the start. Requires `lock`."""
        return [(self._clock(), server, breaker) for server, breaker in self._breakers.items()]

    def paused(self, catalog: str) -> dict[str, str]:
        """The paused servers of a catalog, each with the reason and the end of the pause."""
        with self.lock:
            return {
                server.server: str(refusals.server_paused(server, breaker, now_s, self._now()))
                for now_s, server, breaker in self.breakers()
                if server.catalog == catalog and not breaker.may_enter(now_s)
            }

    def outlook(self, wanted: Wanted) -> Outlook:
        """Returns the obstacles that a call would meet now. Records and reserves nothing."""
        return self.outlooks([wanted])[0]

    def outlooks(self, wanted: Iterable[Wanted]) -> list[Outlook]:
        """Returns the obstacles that consecutive calls would meet now. Each call leaves less of the budgets. Reserves nothing."""
        with self.lock:
            ledger = deepcopy(self.ledger)
            return [self._outlook(call, ledger) for call in wanted]

    def _outlook(self, wanted: Wanted, ledger: Ledger) -> Outlook:
        """Requires `lock`. The call counts in the ledger if it may be made."""
        priced = self._priced(wanted)
        try:
            weighed = self._weighed(wanted, ledger)
            self._breaker(wanted.call.server_id)
        except Refusal as error:
            return Outlook(refusal=error, price_usd=priced)
        ledger.add(self._spent(wanted.client, wanted.call.server_id, wanted.tool.name, weighed.amount))
        approval = self.approvals.state(self._binding(wanted))
        reasons = () if approval is not None and _covers(approval, weighed) else weighed.reasons
        return Outlook(reasons=reasons, price_usd=priced)

    def before(self, wanted: Wanted) -> Permit:
        """Reserves the amount of a call, or raises Refusal with the missing condition and the next step."""
        call, tool = wanted.call, wanted.tool
        with self.refused.recorded(wanted.client, call.catalog, tool.id, wanted.origin), self._up_to_date():
            weighed = self._weighed(wanted, self.ledger)
            approval = self._approved(wanted, weighed) if weighed.reasons else None
            reserved = self._spent(
                wanted.client, call.server_id, call.tool, weighed.amount, over=weighed.over, settled=False
            )
            breaker = self._breaker(call.server_id, entering=reserved.id)
            self.ledger.reserve(reserved)
            try:
                if approval is not None:
                    self.approvals.use(approval, origin=wanted.origin)
                if self.definitions.state(call.catalog, tool) != "known":
                    origin = wanted.origin if approval is None else approval.decided
                    self.definitions.first_use(call.catalog, tool, approved=approval is not None, origin=origin)
                self._store.governance.keep(reserved)
            except BaseException:
                self.ledger.release(reserved.id)
                breaker.ended(reserved.id, None, self._policy.breaker, self._clock())
                raise
        return Permit(wanted, reserved, approval)

    def _weighed(self, wanted: Wanted, ledger: Ledger) -> _Weighed:
        """Requires `lock`. Raises Refusal if no approval can allow the call."""
        call, tool, policy, times = wanted.call, wanted.tool, self._policy, wanted.times
        is_known = self.admission.check(wanted.client, call.catalog, tool)
        priced = self._priced(wanted)
        usd = policy.unpriced_usd if priced is None else priced
        usage = self._usage(wanted.client, call.server_id)

        def within(budgets: Sequence[Budget]) -> Amount:
            return Amount(usd * times, times, times * ledger.tokens_left(budgets, usage, wanted.result_tokens))

        amount = within(policy.budgets)
        short = ledger.short(policy.budgets, usage, amount)
        if short and short[0].budget.at_limit != "ask":
            raise refusals.budget_spent(tool.id, short[0], self._cheaper(wanted, short[0].left), self._now())
        reasons = policy.approvals.reasons(self.definitions.cautious(call.catalog, tool), usd, known=is_known)
        if short:
            reasons += tuple(f"{BEYOND}, {refusals.left_words(excess)}" for excess in short)
            amount = within([budget for budget in policy.budgets if all(budget != excess.budget for excess in short)])
        return _Weighed(amount, priced, reasons, over=bool(short))

    def _breaker(self, server: ServerId, *, entering: str = "") -> Breaker:
        """Returns a server's breaker. `entering` is the id of a call that starts. Raises Refusal if no call may start."""
        breaker, now_s = self._breakers.setdefault(server, Breaker()), self._clock()
        if not (breaker.enter(entering, now_s) if entering else breaker.may_enter(now_s)):
            raise refusals.server_paused(server, breaker, now_s, self._now())
        return breaker

    def after(self, permit: Permit, kind: OutcomeKind | None, tokens: int, *, asks_back: bool = False) -> None:
        """Settles an ended call. `kind` is None if its outcome is unknown. A call that reached no tool costs no money. A server that
        `asks_back` has not ended the call: it costs no money yet, and keeps its approval. It counts as a call, or nothing would limit it."""
        reserved = permit.reserved
        usd = reserved.usd if kind is None else kind.charged_usd(reserved.usd) or 0.0
        amount = Amount(0.0 if asks_back else usd, 1, tokens).at_most(Amount.of(reserved))
        good = None if kind is None or kind in NOT_THE_SERVERS else kind not in LOST
        with self.lock:
            self.ledger.settle(reserved.id, amount)
            self._breakers[permit.wanted.call.server_id].ended(reserved.id, good, self._policy.breaker, self._clock())
            settled = replace(reserved, at=self._now(), **amount._asdict(), settled=True)
            self._store.governance.keep(settled, has_run=True)
            if asks_back and permit.approval is not None:
                try:
                    with self._store.kept(self.read_anew):
                        self.approvals.give_back(permit.approval)
                except StoreError as error:  # the server's answer is not lost: a person is asked again
                    _log.error("The approval of a call that asks back is used up: %s", error)

    def request(self, client: str, catalog: str, request: Tool, *, linked_by: Tool | None = None) -> None:
        """Allows a request to a server that is not a tool call (see `Admission.requestable`), and counts it as one call without a
        price. A client that may use a tool may read the resources it links to. Raises Refusal."""
        server = ServerId(catalog, request.server)
        with self.refused.recorded(client, catalog, request.id, AGENT), self._up_to_date():
            if linked_by is None:
                self.admission.requestable(client, catalog, request)
            else:
                self.admission.check(client, catalog, linked_by)
            self._breaker(server)
            self._spend(client, server, request.name, Amount(calls=1), self._policy.budgets, request.id)

    def read_on(self, client: str, source: ServerId, tokens: int, *, whole: bool = False) -> int:
        """Returns how many tokens of a server's text a client may get, and counts them against that server's budgets. A `whole` text
        must fit. Raises Refusal."""
        with self.refused.recorded(client, source.catalog, f"{source.server}::{READ_ON}", AGENT), self._up_to_date():
            budgets = [replace(cap, usd=None, calls=None) for cap in self._policy.budgets if cap.tokens is not None]
            left = tokens if whole else self.ledger.tokens_left(budgets, self._usage(client, source), tokens)
            allowance = Amount(tokens=min(tokens, left))
            self._spend(client, source, READ_ON, allowance, budgets, f"a text of {source.server}")
        return allowance.tokens

    def _spend(
        self, client: str, server: ServerId, tool: str, amount: Amount, budgets: Sequence[Budget], named: str
    ) -> None:
        """Counts the use of a request that is no call, `named` so in a refusal. Requires `lock`. Raises Refusal."""
        if short := self.ledger.short(budgets, self._usage(client, server), amount):
            raise refusals.budget_spent(named, short[0], (), self._now())
        spent = self._spent(client, server, tool, amount)
        self.ledger.add(spent)
        self._store.governance.keep(spent)

    def _usage(self, client: str, server: ServerId) -> Usage:
        return Usage(day_of(self._now()), client, server.catalog, server.server)

    def _spent(
        self, client: str, server: ServerId, tool: str, amount: Amount, *, over: bool = False, settled: bool = True
    ) -> Spent:
        usage = self._usage(client, server)
        return Spent(uuid.uuid4().hex, self._now(), *usage, tool, *amount, over=over, settled=settled)

    def _binding(self, wanted: Wanted) -> Binding:
        return binding(wanted.client, wanted.call, wanted.tool, self._policy.digest)

    def _priced(self, wanted: Wanted) -> float | None:
        agreed_usd = wanted.call.payment_usd
        return self._price(wanted.call.catalog, wanted.tool.id) if agreed_usd is None else agreed_usd

    def _price(self, catalog: str, tool: str) -> float | None:
        with self._catalogs.unchanged():  # a replaced catalog has other rows
            snapshot = self._catalogs.catalog(catalog)
            snapshot.find(*tool.partition("::")[::2])
            price = self._catalogs.projection(catalog).price_usd(snapshot.tool_row[tool])
        return None if np.isnan(price) else price

    def _approved(self, wanted: Wanted, weighed: _Weighed) -> Approval:
        """Returns the approval of exactly this call, made with knowledge of any exceeded budget. Raises Refusal if the call waits or
        was denied."""
        name, key = wanted.tool.id, self._binding(wanted)
        approval = self.approvals.state(key)
        if approval is not None and _covers(approval, weighed):
            return approval
        if approval is not None and approval.state == "denied" and not wanted.approved_by:
            raise refusals.approval_denied(name, approval.change.expires_at)
        approval = self.approvals.wait_for(
            key,
            wanted.call,
            wanted.tool,
            weighed.reasons,
            price_usd=weighed.priced,
            origin=origin_of(wanted.origin, person().name),
        )
        if wanted.approved_by:
            return self.decide(approval.change.id, approve=True, origin=wanted.approved_by)
        raise refusals.approval_needed(
            name,
            REASONS.join(weighed.reasons),
            approval.change.id,
            approval.change.expires_at,
            over_budget=weighed.over,
        )

    def _cheaper(self, wanted: Wanted, left_usd: float) -> list[str]:
        catalog, unpriced = wanted.call.catalog, self._policy.unpriced_usd
        with self._catalogs.unchanged():
            rows = self._catalogs.catalog(catalog).tool_row
            prices = {name: self._price(catalog, name) for name in wanted.others if name in rows}
        return [name for name, price in prices.items() if (unpriced if price is None else price) <= left_usd][:3]


def _covers(approval: Approval, weighed: _Weighed) -> bool:
    """Whether a call is approved, with knowledge of any exceeded budget."""
    return approval.state == "approved" and (not weighed.over or BEYOND in approval.change.reasons)


@actions("tune", put="set the knobs of agents")
class AgentKnobs:
    """For each router the values that differ from its defaults. Thread-safe.

    >>> from core.routers import ROUTERS
    >>> knobs = AgentKnobs(Store(None))
    >>> knobs.put("ehrr", ROUTERS["ehrr"].parameters(alpha_t=0.08))
    >>> knobs.of("ehrr"), knobs.of("rag_mcp")
    ({'alpha_t': 0.08}, {})
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, dict[str, Value]] = {}
        self._lock = threading.Lock()

    def of(self, router: str) -> Mapping[str, Value]:
        """Returns the changed values of a router, or none if it is unknown. An invalid stored value becomes the default."""
        with self._lock:
            if router not in self._known:
                self._known[router] = usable(router, self._store.get_setting(_setting(router)))
            return self._known[router]

    def put(self, router: str, parameters: Parameters) -> None:
        changed = parameters.changed()
        with self._lock:
            self._store.set_setting(_setting(router), changed)
            self._known[router] = changed

    def read_anew(self) -> None:
        with self._lock:
            self._known.clear()


def _setting(router: str) -> str:
    return f"agent_knobs:{router}"
