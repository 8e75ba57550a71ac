"""The only access to servers: calls of agents and people, checks before a job, and requests other than tool calls.

Governance admits each call, and settles it after any end.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from core.calls.calls import CallHandle, CallReport, CallService
from core.calls.health import HealthChecks
from core.catalogs.catalogs import CatalogService
from core.catalogs.server_sign_ins import ServerSignIns
from core.catalogs.servers import ServerValues
from core.domain import documents, units
from core.domain.catalog import Connection, Server, ServerId, Tool
from core.domain.documents import CLOSED, ToolId
from core.domain.errors import Refusal, WayfareError
from core.domain.events import OPERATOR
from core.domain.execution import Progress, SessionOwner, Settle
from core.domain.outcome import CallMode, Outcome, OutcomeKind, ToolCall
from core.domain.people import actions, person
from core.governance.budgets import LEAST_TOKENS
from core.governance.clients import OWN_NAMES
from core.governance.governance import GovernanceService
from core.governance.refusals import Outlook, Permit, Wanted
from core.servers.lazy_pool import load_protocol
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from mcp.client import Transport
    from mcp_types import Implementation

    from core.servers.discovery import Contents, OwnSession
    from core.servers.pool import SessionPool

Counted = Callable[[Outcome, int], int]
"""The number of tokens of a result that its client gets, at most the second argument."""


def no_tokens(_outcome: Outcome, _limit: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class GovernedCall:
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
        """Admits a call and starts it. Raises Refusal with the missing condition and the next step."""
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
        """Admits a call of a client and makes it in this thread. Raises Refusal."""
        permit = self.governance.before(wanted)
        settle = partial(self._settle, permit, counted)
        return permit, self.calls.make(handle, origin=origin, client=wanted.client, settle=settle)

    def drawn(self, call: ToolCall, *, origin: str, client: str = "") -> CallHandle:
        """Draws an outcome. Calls no tool, and needs no permission."""
        return self.calls.start(call, mode=CallMode.DRAWN, origin=origin, client=client)

    def by_person(self, call: ToolCall, *, mode: CallMode, origin: str, approved_by: str = "") -> CallHandle:
        """Makes a call of a person at a page. A simulated call reaches no server and needs no permission. Raises Refusal."""
        if mode is not CallMode.REAL:
            return self.calls.start(call, mode=mode, origin=origin, client=person().name)
        return self.start(self._by_person(call, origin, approved_by), origin=origin, counted=no_tokens).handle

    def outlook(self, call: ToolCall, *, client: str = OPERATOR) -> Outlook:
        """Returns the obstacles that a real call would meet now. Records nothing."""
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
        """Settles a call. With an unknown outcome the reserved amount counts, and the client gets no tokens."""
        if outcome is None:
            self.governance.after(permit, None, 0)
        else:
            tokens = counted(outcome, permit.tokens)
            self.governance.after(permit, outcome.kind, tokens, asks_back=outcome.asks_back)

    def _settle_unbegun(self, permit: Permit, future: Future[CallReport]) -> None:
        if future.cancelled():
            self.governance.after(permit, OutcomeKind.CANCELLED, 0)


MOST_CALLS = 1_000_000
TIMES = documents.Wanted(f"a whole number from 1 to {MOST_CALLS:,}", lambda times: 1 <= times <= MOST_CALLS)
EXAMPLE = 'a server::tool a line, or {"tools": ["server::tool"], "client": "ann", "calls": 3}'


@dataclass(frozen=True)
class Job:
    """The tools of a job, the client that does it, and the number of calls of each tool. Without a client it is a person."""

    __pydantic_config__ = CLOSED

    tools: tuple[ToolId, ...]
    client: str = ""
    calls: Annotated[int, TIMES] = 1


def read_job(text: str, source: str) -> Job:
    """Returns the job of a text. Raises WayfareError.

    >>> read_job("# mail\\nmail::send\\n", "job.txt"), read_job('{"tools": ["mail::send"], "calls": 3}', "job.json").calls
    (Job(tools=('mail::send',), client='', calls=1), 3)
    """
    lines = [line.strip() for line in text.splitlines()]
    document: Any = {"tools": [line for line in lines if line and not line.startswith("#")]}
    if text.lstrip().startswith(("{", "[")):
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise WayfareError(f"{source} is not JSON ({error}); give {EXAMPLE}.") from None
    job = documents.read(Job, document, source, error=WayfareError)
    if not job.tools:
        raise WayfareError(f"{source} names no tool; give {EXAMPLE}.")
    return job


Find = Callable[[str], tuple[Server, Tool]]


@dataclass(frozen=True, slots=True)
class ToolCheck:
    """A tool of a job: the price of one call, and the obstacles."""

    tool: str
    price_usd: float | None = None
    why: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        price = "" if self.why and self.price_usd is None else f" ({units.price(self.price_usd)})"
        return f"{self.tool} {'cannot' if self.why else 'could'} be called now{price}{': ' if self.why else '.'}{' '.join(self.why)}"

    def to_json(self) -> dict[str, Any]:
        return {"tool": self.tool, "ok": not self.why, "price_usd": self.price_usd, "why": " ".join(self.why)}


@dataclass(eq=False)
class Preflight:
    """Calls nothing and reserves nothing. Thread-safe."""

    governance: GovernanceService
    catalogs: CatalogService
    health: HealthChecks
    values: ServerValues
    sign_ins: ServerSignIns
    now: Callable[[], datetime]

    def check(self, catalog: str, tools: Mapping[str, int], client: str, find: Find | None = None) -> list[ToolCheck]:
        """Checks the given number of calls of each tool, in this order. `find` finds only tools that the client may know."""
        find = find or (lambda name: self.catalogs.catalog(catalog).find(*name.partition("::")[::2]))
        calls, checks = list[Wanted](), dict[str, ToolCheck]()
        for name, times in tools.items():
            try:
                server, tool = find(name)
            except WayfareError as error:
                checks[name] = ToolCheck(name, why=(str(error),))
            else:
                call = ToolCall(server.name, tool.name, catalog=catalog)
                calls.append(Wanted(client, call, tool, LEAST_TOKENS, times=times))
        checks |= {check.tool: check for check in self.checked(calls)}
        return [checks[name] for name in tools]

    def checked(self, wanted: Sequence[Wanted]) -> list[ToolCheck]:
        """Checks consecutive calls of one catalog."""
        outlooks = self.governance.outlooks(wanted)
        problems = self._ill(wanted[0].call.catalog, wanted[0].client) if wanted else dict[str, list[str]]()
        return [
            ToolCheck(call.tool.id, outlook.price_usd, (*outlook.obstacles, *problems.get(call.call.server, ())))
            for call, outlook in zip(wanted, outlooks, strict=True)
        ]

    def gone(self, place: str, client: str) -> str:
        """Returns why a client's list cannot have `catalog/server::tool`, or "": it is gone, held back or not allowed, or its server cannot
        be reached."""
        catalog, _, tool_id = place.partition("/")
        try:
            server, tool = self.catalogs.catalog(catalog).find(*tool_id.partition("::")[::2])
            self.governance.admission.check(client, catalog, tool)
        except WayfareError as error:
            return str(error)
        down = self.health.down(catalog).get(server.name)
        apart = server.connection is None and not server.virtual
        return "Its server cannot be reached." if apart or (down is not None and down.next_check is not None) else ""

    def _ill(self, catalog: str, client: str) -> Mapping[str, list[str]]:
        owner = person().name if client in OWN_NAMES else client
        now, problems = self.now(), defaultdict[str, list[str]](list)
        for name, down in self.health.down(catalog).items():
            problems[name].append(f"Its server is {down.words(now)}.")
        for server in self.catalogs.catalog(catalog).servers:
            if server.connection is None and not server.virtual:
                problems[server.name].append("Its server has no command and no address.")
        for value in self.values.list(catalog, owner):
            if value.state == "missing":
                problems[value.server].append(f"Its server lacks the value {value.short_name}.")
        for sign_in in self.sign_ins.list(catalog, owner):
            if sign_in.state in {"needed", "refused", "waiting"}:
                problems[sign_in.server].append("A person has to sign in to its server.")
        return problems


def own_session(target: Transport, client_info: Implementation, abilities: frozenset[str], legacy: bool) -> OwnSession:
    """Returns a session with one server for the caller alone, outside the pool. `legacy` means a revision up to 2025-11-25."""
    load_protocol()
    from core.servers.discovery import OwnSession

    return OwnSession(target, client_info, abilities, legacy)


@dataclass(eq=False)
class ServerRequests:
    """Thread-safe. `sessions` returns the pool; requests use the same sessions as calls."""

    catalogs: CatalogService
    sessions: Callable[[], SessionPool]
    virtual_folder: Path

    def connection(self, server: ServerId) -> Connection:
        """Returns the connection of a server. Raises WayfareError if the catalog has none."""
        catalog = self.catalogs.catalog(server.catalog)
        row = catalog.server_row.get(server.server)
        entry = None if row is None else catalog.servers[row]
        if entry is not None and entry.connection is not None:
            return entry.connection
        if entry is not None and entry.virtual:
            return virtual_connection(entry, self.virtual_folder)
        raise WayfareError(
            f"Server {server.server} has no command or URL in catalog {server.catalog}; add a connection."
        )

    def list(self, server: ServerId, method: str, *, limit_s: float) -> list[Any]:
        """Returns a list of a server, in the protocol's types. Raises MCPError, WayfareError."""
        load_protocol()
        from core.servers.discovery import list_of

        return list_of(self.sessions(), server, self.connection(server), method, limit_s=limit_s)

    def subscribe(self, server: ServerId, uri: str, owner: SessionOwner, *, wanted: bool, limit_s: float) -> None:
        """Begins or ends a subscription to a resource, see `Upkeep.updates`. Raises MCPError, WayfareError."""
        connection = self.connection(server)
        self.sessions().subscribe(server, connection, uri, wanted=wanted, limit_s=limit_s, owner=owner)

    def hears(self, server: ServerId, uri: str, owner: SessionOwner) -> bool:
        return self.sessions().hears(server, self.connection(server), uri, owner)

    def send(self, server: ServerId, method: str, params: Any, *, limit_s: float) -> Any:
        load_protocol()
        from core.servers.discovery import answer_of

        return answer_of(self.sessions(), server, self.connection(server), method, params, limit_s=limit_s)


# Resources that results of tools link to: read from the server that gave the link.

READ = "resources/read"


@dataclass(frozen=True, slots=True)
class ResourceLink:
    catalog: str
    server: str
    tool: str
    uri: str

    @property
    def server_id(self) -> ServerId:
        return ServerId(self.catalog, self.server)


@dataclass(eq=False)
class LinkedResources:
    """Thread-safe."""

    governance: GovernanceService
    catalogs: CatalogService
    requests: ServerRequests

    def tool(self, link: ResourceLink) -> Tool:
        return self.catalogs.catalog(link.catalog).find(link.server, link.tool)[1]

    def read(self, link: ResourceLink, client: str, *, limit_s: float) -> tuple[Contents, ...]:
        """Reads the current content from its server, which counts as one call. Raises Refusal, WayfareError."""
        load_protocol()
        from core.governance.sanitising import sanitised_contents
        from core.servers.discovery import read_resource

        self.governance.request(client, link.catalog, Tool(link.server, READ), linked_by=self.tool(link))
        connection = self.requests.connection(link.server_id)
        contents = read_resource(self.requests.sessions(), link.server_id, connection, link.uri, limit_s=limit_s)
        return sanitised_contents(contents, self.governance.policy.sanitising(link.server))
