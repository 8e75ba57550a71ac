"""Refused requests in the sealed log, each with client, tool, reason and remedy, and the checks of a request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.catalogs.decision_log import AGENT
from core.domain import units
from core.domain.catalog import Catalog, Server, Tool, ToolHints
from core.domain.errors import Refusal
from core.domain.events import RefusedRequest
from core.domain.limits import Bucket
from core.governance.clients import ANONYMOUS, OWN_NAMES, ClientRegister
from core.governance.definitions import KnownDefinitions
from core.governance.policy import Policy, Scope
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, at_time
from core.routers.context import per_catalog
from core.store import Store

if TYPE_CHECKING:
    from collections.abc import Generator

AGAIN = timedelta(seconds=30)
"""For this time, repetitions of a client's refusal are counted before one is written again."""
MOST_KNOWN = 1024
Key = tuple[str, str, str, str]


@dataclass(frozen=True, slots=True)
class _Burst:
    """A refusal that was written at `begun`, its newest repetition, and the number of unwritten repetitions."""

    begun: datetime
    newest: RefusedRequest
    unwritten: int = 0


@dataclass(eq=False)
class RefusedRequests:
    """Thread-safe. A client that repeats itself cannot fill the log: repetitions are one record with a count, which is written
    with the next refusal of its kind, or by `write_due`."""

    store: Store
    now: Callable[[], datetime]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._bursts: LRUCache[Key, _Burst] = LRUCache(MOST_KNOWN)

    @contextmanager
    def recorded(self, client: str, catalog: str, tool: str, origin: str) -> Generator[None]:
        """Records the refusal that the block raises, and raises it again. `tool` is `server::tool`, or "" if the refusal is about no tool."""
        try:
            yield
        except Refusal as error:
            self._keep(error, (client, catalog, tool, error.error), origin)
            raise
        finally:
            self.write_due()

    def write_due(self, *, everything: bool = False) -> None:
        now = self.now()
        with self._lock:
            due = [key for key, burst in self._bursts.items() if everything or burst.begun + AGAIN <= now]
            bursts = [self._bursts.pop(key) for key in due]
        self._write(*bursts)

    def _keep(self, error: Refusal, key: Key, origin: str) -> None:
        now = self.now()
        client, catalog, tool, name = key
        server, _, tool_name = tool.partition("::")
        record = RefusedRequest(now, client, catalog, server, tool_name, name, error.why, error.advice, origin, 0)
        with self._lock:
            burst = self._bursts.get(key)
            if burst is not None and now < burst.begun + AGAIN:
                self._bursts[key] = _Burst(burst.begun, record, burst.unwritten + 1)
                return
            full = burst is None and len(self._bursts) >= MOST_KNOWN
            evicted_bursts = [self._bursts.popitem()[1]] if full else []
            self._bursts[key] = _Burst(now, record)
            unwritten = 0 if burst is None else burst.unwritten
        self._write(*evicted_bursts)
        self.store.events.append_later(replace(record, repeated=unwritten))

    def _write(self, *bursts: _Burst) -> None:
        for burst in bursts:
            if burst.unwritten:
                self.store.events.append_later(replace(burst.newest, repeated=burst.unwritten - 1))


# Admission: the names and tokens of clients, their scopes and rates, the policy's lists, and definitions that are held back.

HTTP_TIMES = 5.0
"""HTTP requests that a client may make for each request of a tool that it may: a session's beginning, lists, notifications."""
HTTP_AT_ONCE = 30.0
"""The least burst, so that a client with a low rate can begin a session, too."""


@dataclass(eq=False)
class Admission:
    """Thread-safe. `policy` returns the policy in force, `clock` is monotonic, `now` the time of day."""

    clients: ClientRegister
    definitions: KnownDefinitions
    refused: RefusedRequests
    policy: Callable[[], Policy]
    _: KW_ONLY
    now: Callable[[], datetime]
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._of_tools: dict[str, Bucket] = {}
        self._of_all: dict[str, Bucket] = {}  # HTTP requests

    def identified(self, client: str, *, known: bool) -> str:
        """Returns the name under which a request counts. `known` means that it has the client's token. Without a token it is the name
        that the client gives itself, or `ANONYMOUS` if there are clients, budgets or a rate. Raises Refusal if it may use nothing."""
        client = self.counted_as(client, known=known)
        if not known and client == ANONYMOUS:
            with self.refused.recorded(ANONYMOUS, "", "", AGENT):
                if self.clients.without_token is None:
                    raise Refusal(
                        "not_authorized",
                        "The request has no token. A client here has a limited scope, so nothing may be used without one.",
                        "Send a token as Authorization: Bearer (`wayfare mcp` takes it from WAYFARE_TOKEN), or ask the operator for a token "
                        "or to give the client 'anonymous' a scope.",
                    )
        return client

    def counted_as(self, client: str, *, known: bool) -> str:
        """Returns the name of `identified`, also for a request that may use nothing."""
        policy = self.policy()
        return client if known or not (self.clients.any_client or policy.budgets or policy.per_minute) else ANONYMOUS

    def names(self, client: str, announced: str, *, known: bool) -> frozenset[str]:
        """Returns the names under which requests of a client may have counted, which is now `client`. Without a token it may have been the
        name that the client gives itself, unless that name is another's, or `ANONYMOUS`, because clients, budgets and rates come and go."""
        taken = OWN_NAMES.keys() | {record.name for record in self.clients.all()}
        return frozenset({client} if known else {client, ANONYMOUS} | ({announced} - taken))

    def without_token_words(self) -> str:
        """Returns the permissions of a request of this machine without a token, in a sentence for the operator."""
        if self.policy().tokens == "always":
            return "A request to /mcp without a token may do nothing: the policy asks everybody for one."
        scope = self.clients.without_token
        if scope is None:
            return (
                "A request of this machine without a token may do nothing, because a client's scope is limited. "
                f"A client {ANONYMOUS!r} lets it in, with a scope for less than everything."
            )
        hint = "" if self.clients.in_force(ANONYMOUS) else f" A client {ANONYMOUS!r} gives it a scope."
        return (
            f"A request of this machine without a token is the client {ANONYMOUS!r}; it may use {scope.words()}.{hint}"
        )

    def count(self, client: str, catalog: str, *, known: bool) -> None:
        """Takes a request of any tool from its client's rate. Raises Refusal."""
        client = self.identified(client, known=known)
        with self.refused.recorded(client, catalog, "", AGENT):
            per_minute = self._per_minute(client)
            if wait_s := self._waits(self._of_tools, client, per_minute, 1.0):
                raise self._too_fast(f"The client {client!r} may make {per_minute:g} requests a minute.", wait_s)

    def enter(self, client: str, catalog: str, *, known: bool, counted: bool = False) -> str:
        """Admits a request of any tool, and counts it if it is not `counted`. Returns the name under which it counts, see `identified`.
        Raises Refusal."""
        client = self.identified(client, known=known)
        with self.refused.recorded(client, catalog, "", AGENT):
            if not known and client in OWN_NAMES:
                raise Refusal("not_authorized", f"The name {client!r} is Wayfare's own.", "Use another name.")
            if not known and client != ANONYMOUS and self.clients.in_force(client) is not None:
                raise Refusal(
                    "not_authorized",
                    f"The name {client!r} belongs to a client with a token, and the request has none.",
                    "Send the token as Authorization: Bearer, or use another name.",
                )
            if reason := self._scope(client).catalog_refusal(catalog):
                why = f"The client {client!r} may not: {reason}."
                raise Refusal("not_allowed", why, "Use a catalog inside its scope.")
        if not counted:
            self.count(client, catalog, known=known)
        return client

    def check_in_force(self, client: str, *, known: bool) -> None:
        """Raises Refusal if the client of a token was revoked, or has expired, while its request waited."""
        with self.refused.recorded(client, "", "", AGENT):
            if known and self.clients.in_force(client) is None:
                why = f"The token of {client!r} was revoked or has expired."
                raise Refusal("not_authorized", why, "Ask the operator for a new token.")

    def may_enter(self, client: str, catalog: str) -> bool:
        return not self._scope(client).catalog_refusal(catalog)

    def http_wait_s(self, client: str) -> float:
        """Returns the seconds that the client of a token has to wait with any HTTP request, 0 if this one may go on. Clients that back off
        after the error of `enter` never reach this limit, which is `HTTP_TIMES` as high."""
        per_minute = HTTP_TIMES * self._per_minute(client)
        wait_s = self._waits(self._of_all, client, per_minute, HTTP_AT_ONCE)
        if wait_s:
            why = f"The client {client!r} may make {per_minute:g} HTTP requests a minute; it was answered with status 429."
            self._note(client, self._too_fast(why, wait_s))
        return wait_s

    def _too_fast(self, why: str, wait_s: float) -> Refusal:
        return Refusal("rate_limited", why, f"Go on in {units.seconds(wait_s)}, at {at_time(self.now(), wait_s)}.")

    def note_busy(self, client: str, wait_s: float) -> None:
        why = "More requests waited than can be answered soon."
        self._note(client, Refusal("busy", why, f"Try again in {units.seconds(wait_s)}."))

    def _note(self, client: str, refusal: Refusal) -> None:
        with suppress(Refusal), self.refused.recorded(client, "", "", AGENT):
            raise refusal

    def describe(self, client: str, catalog: str, tool: Tool) -> None:
        """Lets a client read a definition. Raises Refusal for a tool that it may neither see nor use."""
        with self.refused.recorded(client, catalog, tool.id, AGENT):
            self.check(client, catalog, tool)

    def check(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a tool's present definition is known. Raises Refusal, unrecorded, if the client may neither see nor use it."""
        policy = self.policy()
        if reason := policy.refusal(tool) or self.outside(client, catalog, tool):
            raise _not_allowed(tool, reason)
        state = self.definitions.state(catalog, tool)
        if state == "waiting":
            error = self.definitions.error(catalog, tool)
            raise Refusal(
                DEFINITION_WAITS,
                f"{tool.id} is new, and Lint finds an error in its definition ({error}): it waits for a person.",
                "The operator sees it on the page Govern. Use another tool, or call again after the approval.",
            )
        if state == "denied" or (policy.changed_definitions and state == "changed"):
            what = "differs from the approved one, and the new one waits for approval"
            raise Refusal(
                DEFINITION_CHANGED,
                f"The definition of {tool.id} {'was denied by a person' if state == 'denied' else what}: it is held back.",
                "The operator sees the changes on the page Govern. Use another tool, or call again after the approval.",
            )
        return state == "known"

    def improves(self, client: str, *, known: bool) -> bool:
        """Whether a client may write example requests. `known` means that its request has its token."""
        return self._scope(client if known else ANONYMOUS).improve

    def check_improve(self, client: str, catalog: str, *, known: bool) -> None:
        with self.refused.recorded(client, catalog, "", AGENT):
            if not self.improves(client, known=known):
                raise Refusal(
                    "not_allowed",
                    f"The client {client!r} may not write example requests.",
                    "Ask the operator: `wayfare clients change NAME --improve`, or `wayfare clients add anonymous --improve` for requests "
                    "without a token.",
                )

    def requestable(self, client: str, catalog: str, request: Tool) -> None:
        """Admits a request other than a tool call, such as `server::resources/read`, as a tool that only reads. Raises Refusal."""
        if reason := self.policy().refusal(request) or self._scope(client).refusal(catalog, request):
            raise _not_allowed(request, reason)

    def may_request(self, client: str, catalog: str, request: Tool) -> bool:
        with suppress(Refusal):
            self.requestable(client, catalog, request)
            return True
        return False

    def allows(self, client: str, catalog: str, tool: Tool) -> bool:
        with suppress(Refusal):
            self.check(client, catalog, tool)
            return True
        return False

    def outside(self, client: str, catalog: str, tool: Tool) -> str:
        """Returns why a tool is outside a client's scope, or "". The more dangerous of a known and a changed definition counts."""
        return self._scope(client).refusal(catalog, self.definitions.cautious(catalog, tool))

    def seen(self, client: str, catalog: Catalog) -> NDArray[np.int64] | None:
        """Returns the rows of the tools that the policy and a client's scope let it see, or None for all of them."""
        if self._scope(client).catalog_refusal(catalog.name):
            return np.array([], dtype=np.int64)
        if not self.limited(client):
            return None
        rows = _rows_seen(catalog, self.policy(), self._scope(client))
        used_rows = [catalog.tool_row[tool] for tool in self.definitions.used(catalog.name) if tool in catalog.tool_row]
        turned_rows = [
            row for row in used_rows if self.outside(client, catalog.name, catalog.tools[row])
        ]  # hints count as before
        return np.setdiff1d(rows, turned_rows)

    def unseen(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a tool is hidden from a client that may only read. A reading tool of the same name would be inside its scope."""
        reading = replace(tool, hints=ToolHints(read_only=True))
        return bool(self.outside(client, catalog, tool)) and not self._scope(client).refusal(catalog, reading)

    def sees_server(self, client: str, catalog: str, server: Server) -> bool:
        """Whether something of a server is in a client's scope: a tool, or its resources."""
        tools = (*server.tools, Tool(server.name, "resources/read", hints=ToolHints(read_only=True)))
        scope = self._scope(client)
        return not (scope.limited or scope.catalogs) or any(not self.outside(client, catalog, tool) for tool in tools)

    def sees_all(self, client: str) -> bool:
        """Whether a client may know of every catalog, server and tool; "" is a request without a token."""
        scope = self._scope(client) if client else self.clients.without_token
        return scope is not None and not (scope.limited or scope.catalogs)

    def limited(self, client: str) -> bool:
        """Whether there are tools that a client may not use."""
        policy = self.policy()
        return self._scope(client).limited or bool(policy.allow or policy.deny)

    def _scope(self, client: str) -> Scope:
        """Returns the scope of a client. Without a token, it is everything that the policy allows."""
        record = None if client in OWN_NAMES else self.clients.in_force(client)
        return Scope() if record is None else record.scope

    def _per_minute(self, client: str) -> float:
        """Returns the tool requests a minute that a client may make. 0 is no limit."""
        rate = self._scope(client).per_minute
        return self.policy().per_minute if rate is None else rate

    def _waits(self, buckets: dict[str, Bucket], client: str, per_minute: float, least: float) -> float:
        if per_minute <= 0:
            return 0.0
        with self._lock:
            return buckets.setdefault(client, Bucket(least)).wait_s(per_minute, self.clock())


def _not_allowed(tool: Tool, reason: str) -> Refusal:
    why = f"{tool.id} may not be used: {reason}."
    return Refusal("not_allowed", why, "Search again for another tool, or ask the operator.")


@per_catalog
def _rows_seen(catalog: Catalog, policy: Policy, scope: Scope) -> NDArray[np.int64]:
    reasons = (policy.refusal(tool) or scope.refusal(catalog.name, tool) for tool in catalog.tools)
    return np.flatnonzero([not reason for reason in reasons])
