"""Calls that wait for a person, with their bindings, decisions and times of expiry."""

from __future__ import annotations

import json
import logging
import secrets
import threading
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from urllib.request import Request, urlopen

from core.domain.catalog import Tool
from core.domain.documents import digest
from core.domain.errors import Refusal, UnknownNameError, WayfareError
from core.domain.events import ApprovalChange
from core.domain.leaks import masked_arguments
from core.domain.outcome import ToolCall
from core.domain.untrusted_text import one_line
from core.governance.definitions import definition_json
from core.governance.policy import Policy
from core.store import Store

WAITING, APPROVED, DENIED, USED = "waiting", "approved", "denied", "used"
MOST_WAITING = 50
MOST_ARGUMENT_CHARS = 4_000
REASONS = "; "
State = Literal["waiting", "approved", "denied", "used", "expired"]


class Binding(NamedTuple):
    """The exact scope of an approval. Another client, argument, definition or policy needs another approval."""

    client: str
    catalog: str
    server: str
    tool: str
    arguments_digest: str
    definition_digest: str
    policy_digest: str


def binding(client: str, call: ToolCall, tool: Tool, policy_digest: str) -> Binding:
    """Returns the binding of a call. The order of its arguments does not matter.

    >>> pair = [binding("ann", ToolCall("a", "b", arguments), Tool("a", "b"), "p") for arguments in ({"x": 1, "y": 2}, {"y": 2, "x": 1})]
    >>> pair[0] == pair[1]
    True
    """
    arguments = json.dumps(dict(call.arguments), sort_keys=True, ensure_ascii=False, default=str)
    return Binding(
        client, call.catalog, call.server, call.tool, digest(arguments), digest(definition_json(tool)), policy_digest
    )


@dataclass(frozen=True, slots=True)
class Approval:
    """A call that waits or waited. `change` is its latest event, `decided` the origin of its approval or denial, or ""."""

    change: ApprovalChange
    state: State
    decided: str = ""


@dataclass(eq=False)
class ApprovalQueue:
    """Every approval since the store was made. Thread-safe. Each step is one sealed record. `redact` masks known secrets, `announce` is
    called for each call that begins to wait, `policy` returns the policy in force."""

    store: Store
    now: Callable[[], datetime]
    redact: Callable[[str], str]
    announce: Callable[[ApprovalChange], None]
    policy: Callable[[], Policy]

    def __post_init__(self) -> None:
        self._lock = threading.RLock()
        self._watched: dict[str, list[Future[None]]] = {}
        self._last: dict[str, ApprovalChange] = {}
        self._by_binding: dict[Binding, str] = {}
        self._decided: dict[str, str] = {}
        self.read_anew()

    def read_anew(self) -> None:
        with self._lock:
            for change in self.store.governance.approvals():
                self._take(change)

    def waiting(self) -> tuple[Approval, ...]:
        """Returns the approvals that a person can decide now, oldest first. Approvals of an earlier policy are left out."""
        in_force = self.policy().digest
        return tuple(item for item in self._all() if item.state == WAITING and item.change.policy_digest == in_force)

    def recent(self, limit: int = 50) -> tuple[Approval, ...]:
        past = [approval for approval in self._all() if approval.state != WAITING]
        return tuple(sorted(past, key=lambda approval: approval.change.at, reverse=True)[:limit])

    def _all(self) -> list[Approval]:
        return [self._shown(change) for change in tuple(self._last.values())]

    def state(self, binding: Binding) -> Approval | None:
        """Returns the approval of exactly this call, or None if it never waited."""
        id_ = self._by_binding.get(binding)
        return None if id_ is None else self._shown(self._last[id_])

    def wait_for(
        self,
        binding: Binding,
        call: ToolCall,
        tool: Tool,
        reasons: Sequence[str],
        *,
        price_usd: float | None,
        origin: str,
    ) -> Approval:
        """Returns the approval that a call waits for, and begins to wait if it does not yet. Raises Refusal if too many calls of the client wait."""
        with self._lock:
            approval = self.state(binding)
            if approval is not None and approval.state == WAITING:
                return approval
            count = sum(other.change.client == binding.client for other in self.waiting())
            if count >= MOST_WAITING:
                raise Refusal(
                    "too_many_waiting",
                    f"{count} calls of this client wait for a person already.",
                    "Wait until some of them are decided; each says when it expires.",
                )
            now = self.now()
            change = ApprovalChange(
                at=now,
                id=secrets.token_hex(4),
                action=WAITING,
                **binding._asdict(),
                arguments_json=_bounded(self.redact(masked_arguments(call.arguments, tool.input_schema))),
                reasons=REASONS.join(reasons),
                price_usd=price_usd,
                expires_at=now + timedelta(seconds=self.policy().approvals.wait_s),
                origin=origin,
            )
            self._write(change)
            self.announce(change)
            return self._shown(change)

    @contextmanager
    def watched(self, id_: str) -> Generator[Future[None]]:
        """Yields a future that is done once a call does not wait any more because a person decided."""
        future: Future[None] = Future()
        with self._lock:
            self._watched.setdefault(id_, []).append(future)
            change = self._last.get(id_)
            if change is None or change.action != WAITING:
                future.set_result(None)
        try:
            yield future
        finally:
            with self._lock:
                self._watched[id_].remove(future)
                if not self._watched[id_]:
                    del self._watched[id_]

    def decide(self, id_: str, *, approve: bool, origin: str) -> Approval:
        """Approves or denies a call that waits. The decision counts for `valid_s`. Raises UnknownNameError, WayfareError."""
        policy = self.policy()
        with self._lock:
            change = self._last.get(id_)
            if change is None:
                raise UnknownNameError(f"There is no call {id_[:60]!r} that waits; `wayfare approvals` lists them.")
            if self._shown(change).state != WAITING:
                raise WayfareError(f"The call {id_} does not wait any more: it is {self._shown(change).state}.")
            if change.policy_digest != policy.digest:
                raise WayfareError(
                    f"The policy changed since the call {id_} began to wait; the agent has to call again."
                )
            now = self.now()
            action, valid = APPROVED if approve else DENIED, now + timedelta(seconds=policy.approvals.valid_s)
            decision = replace(change, at=now, action=action, expires_at=valid, origin=origin)
            self._write(decision)
            return self._shown(decision)

    def use(self, approval: Approval, *, origin: str) -> None:
        """Records that the approved call is made. An approval is for one call."""
        with self._lock:
            self._write(replace(approval.change, at=self.now(), action=USED, origin=origin))

    def give_back(self, approval: Approval) -> None:
        """Records that the approved call is still to be made, unless something else happened to it since its use."""
        with self._lock:
            id_ = approval.change.id
            is_newest = id_ in self._by_binding.values()  # else the same call waits under another id
            if is_newest and self._last[id_].action == USED:
                self._write(replace(approval.change, at=self.now()))

    def _shown(self, change: ApprovalChange) -> Approval:
        state: State = change.action  # pyright: ignore[reportAssignmentType]
        expired = state != USED and change.expires_at <= self.now()
        return Approval(change, "expired" if expired else state, self._decided.get(change.id, ""))

    def _write(self, change: ApprovalChange) -> None:
        self.store.governance.append(change)
        self._take(change)

    def _take(self, change: ApprovalChange) -> None:
        self._last[change.id] = change
        if change.action in {APPROVED, DENIED}:
            self._decided[change.id] = change.origin
            for future in self._watched.get(change.id, ()):
                if not future.done():
                    future.set_result(None)
        self._by_binding[Binding(*(getattr(change, name) for name in Binding._fields))] = change.id


def _bounded(arguments_json: str) -> str:
    if len(arguments_json) <= MOST_ARGUMENT_CHARS:
        return arguments_json
    return f"{arguments_json[:MOST_ARGUMENT_CHARS]}… [the first {MOST_ARGUMENT_CHARS:,} of {len(arguments_json):,} characters]"


# The webhook: one POST for each call that begins to wait, without its arguments.

NOTICE_S = 5.0
MOST_NOTICES = 4
"""Notices that are sent at once. A slow receiver loses further notices, but the pages show every call."""
_log = logging.getLogger(__name__)


class Webhook:
    """Tells an address of each call that begins to wait: the client, the tool, and where to decide. No failure reaches the call."""

    def __init__(self, url: str, page: str) -> None:
        self._url, self._page = url, page
        self._free = threading.BoundedSemaphore(MOST_NOTICES)

    def __call__(self, change: ApprovalChange) -> None:
        """Sends a notice in the background. Does nothing without an address."""
        if self._url and self._free.acquire(blocking=False):
            threading.Thread(target=self._send, args=(self.notice(change),), name="wayfare-notice", daemon=True).start()

    def notice(self, change: ApprovalChange) -> dict[str, str]:
        """Returns the body of the POST. Chat programs show its `text`."""
        client, tool = one_line(change.client, 80), one_line(f"{change.server}::{change.tool}", 200)
        text = f"A call of {tool} by {client} waits for you: {self._page}"
        return {"text": text, "client": client, "tool": tool, "number": change.id, "address": self._page}

    def _send(self, notice: dict[str, str]) -> None:
        body, kind = json.dumps(notice).encode(), {"Content-Type": "application/json"}
        try:
            with urlopen(Request(self._url, body, kind), timeout=NOTICE_S):  # noqa: S310 - settings admit only http(s)
                pass
        except Exception as error:  # noqa: BLE001 - the address may hold a secret, so that only the kind of error is told
            _log.warning("the webhook was not told of the call %s: %s", notice["number"], type(error).__name__)
        finally:
            self._free.release()
