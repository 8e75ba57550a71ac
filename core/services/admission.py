"""Who is let in: the names and tokens of clients, their scopes and rates, the policy's lists, and definitions that are held back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

from core.domain.catalog import Tool
from core.governance import refusals
from core.governance.base import NotAllowedError
from core.governance.policy import Policy
from core.governance.rates import Bucket
from core.governance.scope import Scope
from core.services.clients import OWN_NAMES, ClientRegister
from core.services.decision_log import AGENT
from core.services.definitions import KnownDefinitions
from core.services.refused_requests import RefusedRequests

HTTP_TIMES = 5.0
"""HTTP requests that a client may make for each request of a tool that it may: a session's beginning, lists, notifications."""
HTTP_AT_ONCE = 30.0
"""So many at once at least: a client with a low rate can begin a session, too."""


class Admission:
    """Thread-safe. `policy` gives the one in force, `clock` is monotonic, `now` the time of day."""

    def __init__(
        self,
        clients: ClientRegister,
        definitions: KnownDefinitions,
        refused: RefusedRequests,
        policy: Callable[[], Policy],
        *,
        now: Callable[[], datetime],
        clock: Callable[[], float],
    ) -> None:
        self._clients = clients
        self._definitions = definitions
        self._refused = refused
        self._policy = policy
        self._now = now
        self._clock = clock
        self._lock = threading.Lock()
        self._of_tools: dict[str, Bucket] = {}
        self._of_all: dict[str, Bucket] = {}  # HTTP requests

    def enter(self, client: str, catalog: str, *, known: bool) -> None:
        """Let a request of any tool in. `known` is that it came with the client's token. Raises NotAllowedError."""
        with self._refused.recorded(client, catalog, "", AGENT):
            if not known and client in OWN_NAMES:
                raise refusals.name_taken(client)
            if not known and self._clients.in_force(client) is not None:
                raise refusals.not_authorized(client)
            if reason := self._scope(client).catalog_refusal(catalog):
                raise refusals.catalog_not_allowed(client, reason)
            per_minute = self._per_minute(client)
            if wait_s := self._waits(self._of_tools, client, per_minute, 1.0):
                raise refusals.rate_limited(client, per_minute, wait_s, self._now())

    def http_wait_s(self, client: str) -> float:
        """How long the client of a token has to wait with any HTTP request at all, s; 0 where this one may go on. Who heeds the error
        that `enter` raises never comes here: there is room for `HTTP_TIMES` as many."""
        per_minute = HTTP_TIMES * self._per_minute(client)
        wait_s = self._waits(self._of_all, client, per_minute, HTTP_AT_ONCE)
        if wait_s:
            with suppress(NotAllowedError), self._refused.recorded(client, "", "", AGENT):
                raise refusals.flooding(client, per_minute, wait_s, self._now())
        return wait_s

    def describe(self, client: str, catalog: str, tool: Tool) -> None:
        """Let a client read a definition. Raises NotAllowedError for a tool that it may neither see nor use."""
        with self._refused.recorded(client, catalog, tool.id, AGENT):
            self.check(client, catalog, tool)

    def check(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a tool is known as it is now. Raises NotAllowedError, unrecorded, for one that a client may neither see nor use."""
        policy = self._policy()
        if reason := policy.refusal(tool) or self._scope(client).refusal(catalog, tool):
            raise refusals.tool_not_allowed(tool.id, reason)
        state = self._definitions.state(catalog, tool)
        if policy.changed_definitions and state in {"changed", "denied"}:
            raise refusals.definition_changed(tool.id, denied=state == "denied")
        return state == "known"

    def requestable(self, client: str, catalog: str, request: Tool) -> None:
        """Let a request in that is no call of a tool: `server::resources/read`, as a tool that only reads. Raises NotAllowedError."""
        if reason := self._policy().refusal(request) or self._scope(client).refusal(catalog, request):
            raise refusals.tool_not_allowed(request.id, reason)

    def may_request(self, client: str, catalog: str, request: Tool) -> bool:
        """Whether a client may make such a request."""
        try:
            self.requestable(client, catalog, request)
        except NotAllowedError:
            return False
        return True

    def allows(self, client: str, catalog: str, tool: Tool) -> bool:
        """Whether a client may see and use a tool."""
        try:
            self.check(client, catalog, tool)
        except NotAllowedError:
            return False
        return True

    def limited(self, client: str) -> bool:
        """Whether there are tools that a client may not use."""
        policy = self._policy()
        return self._scope(client).limited or bool(policy.allow or policy.deny)

    def _scope(self, client: str) -> Scope:
        """What a client may use; one without a token may use all that the policy allows."""
        known = None if client in OWN_NAMES else self._clients.in_force(client)
        return Scope() if known is None else known.scope

    def _per_minute(self, client: str) -> float:
        """How many requests of tools a client may make a minute; 0 is no limit."""
        own = self._scope(client).per_minute
        return self._policy().per_minute if own is None else own

    def _waits(self, buckets: dict[str, Bucket], client: str, per_minute: float, least: float) -> float:
        if per_minute <= 0:
            return 0.0
        with self._lock:
            return buckets.setdefault(client, Bucket(least)).wait_s(per_minute, self._clock())
