"""Preflight: whether the tools of a job could be called now. They have to be present, healthy, allowed and within budget."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from core.calls.health import HealthChecks
from core.catalogs.catalogs import CatalogService
from core.catalogs.server_sign_ins import ServerSignIns
from core.catalogs.servers import ServerValues
from core.domain import documents, units
from core.domain.catalog import Server, Tool
from core.domain.documents import CLOSED, ToolId, Wanted
from core.domain.errors import WayfareError
from core.domain.outcome import ToolCall
from core.governance import calls
from core.governance.budgets import LEAST_TOKENS
from core.governance.governance import GovernanceService

MOST_CALLS = 1_000_000
TIMES = Wanted(f"a whole number from 1 to {MOST_CALLS:,}", lambda times: 1 <= times <= MOST_CALLS)
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
        """Returns the result in a sentence."""
        price = "" if self.why and self.price_usd is None else f" ({units.price(self.price_usd)})"
        return f"{self.tool} {'cannot' if self.why else 'could'} be called now{price}{': ' if self.why else '.'}{' '.join(self.why)}"

    def to_json(self) -> dict[str, Any]:
        """Returns the result for programs."""
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
        """Checks so many calls of each tool, as if they were made in this order. `find` finds only what a client may know of."""
        find = find or (lambda name: self.catalogs.catalog(catalog).find(*name.partition("::")[::2]))
        wanted, found = list[calls.Wanted](), dict[str, ToolCheck]()
        for name, times in tools.items():
            try:
                server, tool = find(name)
            except WayfareError as error:
                found[name] = ToolCheck(name, why=(str(error),))
            else:
                call = ToolCall(server.name, tool.name, catalog=catalog)
                wanted.append(calls.Wanted(client, call, tool, LEAST_TOKENS, times=times))
        found |= {one.tool: one for one in self.checked(wanted)}
        return [found[name] for name in tools]

    def checked(self, wanted: Sequence[calls.Wanted]) -> list[ToolCheck]:
        """Checks calls of one catalog as if they were made one after the other."""
        outlooks = self.governance.outlooks(wanted)
        ill = self._ill(wanted[0].call.catalog) if wanted else dict[str, list[str]]()
        return [
            ToolCheck(one.tool.id, outlook.price_usd, (*outlook.obstacles, *ill.get(one.call.server, ())))
            for one, outlook in zip(wanted, outlooks, strict=True)
        ]

    def gone(self, place: str, client: str) -> str:
        """Returns why a client's list cannot have `catalog/server::tool`, or "": it is gone, held back or not allowed, or its server cannot
        be reached."""
        catalog, _, tool = place.partition("/")
        try:
            server, found = self.catalogs.catalog(catalog).find(*tool.partition("::")[::2])
            self.governance.admission.check(client, catalog, found)
        except WayfareError as error:
            return str(error)
        down = self.health.down(catalog).get(server.name)
        apart = server.connection is None and not server.virtual
        return "Its server cannot be reached." if apart or (down is not None and down.next_check is not None) else ""

    def _ill(self, catalog: str) -> Mapping[str, list[str]]:
        """Returns what is known to be wrong with each server."""
        now, ill = self.now(), defaultdict[str, list[str]](list)
        for name, down in self.health.down(catalog).items():
            ill[name].append(f"Its server is {down.words(now)}.")
        for server in self.catalogs.catalog(catalog).servers:
            if server.connection is None and not server.virtual:
                ill[server.name].append("Its server has no command and no address.")
        for value in self.values.list(catalog):
            if value.state == "missing":
                ill[value.server].append(f"Its server lacks the value {value.short_name}.")
        for one in self.sign_ins.list(catalog):
            if one.state in {"needed", "refused", "waiting"}:
                ill[one.server].append("A person has to sign in to its server.")
        return ill
