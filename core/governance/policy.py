"""The policy: all settings of an operator about agents, in one value and in one TOML text.

A scope lists what a client may use: catalogs, servers and tools by name or pattern, read-only or not; or the pages, in a role.
A client may have the right to write example requests.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Annotated, Any, Literal, Self, cast

from core.domain import documents
from core.domain.catalog import Tool
from core.domain.documents import AMOUNT, CLOSED, Wanted, digest, number
from core.domain.errors import WayfareError
from core.domain.limits import BreakerRules
from core.domain.people import Role
from core.governance.budgets import EACH, Budget


def _has_zone(time: str) -> bool:
    try:
        return datetime.fromisoformat(time).tzinfo is not None
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class Scope:
    """Names or patterns (`*`, `?`); an empty list means all. `per_minute` is the client's own rate, None means the
    policy's. `pages` marks a person: the token signs in to the pages with the rights of its `roles` (none: admin), and
    gives no access to `/mcp`. `until` is the time at which the token expires (ISO 8601), None means never. `improve` lets the client write example requests of
    the tools that it may use.

    >>> scope = Scope(servers=("files",), read_only=True)
    >>> scope.refusal("demo", Tool("mail", "send")), scope.refusal("demo", Tool("files", "write"))
    ("server 'mail' is outside its scope", 'it may only use tools that are declared read-only')
    """

    __pydantic_config__ = CLOSED

    catalogs: tuple[str, ...] = ()
    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    read_only: bool = False
    per_minute: Annotated[float, AMOUNT] | None = None
    pages: bool = False
    until: Annotated[str, Wanted("a time with its zone, as 2027-01-01T00:00:00+00:00", _has_zone)] | None = None
    improve: bool = False
    roles: tuple[Role, ...] = ()

    def expired(self, now: datetime) -> bool:
        """Whether the token is no longer accepted.

        >>> Scope(until="2026-11-23T12:00:00+00:00").expired(datetime.fromisoformat("2026-11-23T12:00:00+00:00"))
        True
        """
        return self.until is not None and now >= datetime.fromisoformat(self.until)

    def refusal(self, catalog: str, tool: Tool) -> str:
        if reason := self.catalog_refusal(catalog):
            return reason
        if self.servers and not matches(tool.server, self.servers):
            return f"server {tool.server!r} is outside its scope"
        if self.tools and not matches(tool.id, self.tools):
            return f"tool {tool.id!r} is outside its scope"
        if self.read_only and tool.hints.read_only is not True:
            return "it may only use tools that are declared read-only"
        return ""

    def catalog_refusal(self, catalog: str) -> str:
        inside = not self.catalogs or matches(catalog, self.catalogs)
        return "" if inside else f"catalog {catalog!r} is outside its scope"

    @property
    def limited(self) -> bool:
        return bool(self.servers or self.tools or self.read_only)

    def words(self) -> str:
        """Returns the scope for people.

        >>> Scope().words(), Scope(servers=("files",), read_only=True).words()
        ('everything', 'servers files, only read-only tools')
        >>> Scope(improve=True).words()
        'everything, and may write example requests'
        """
        until = f" until {self.until[:16].replace('T', ' ')} UTC" if self.until else ""
        return f"{self._may_use()}{until}"

    def _may_use(self) -> str:
        if self.pages:
            return f"the pages, as {' and '.join(self.roles) or 'admin'}"
        lists = (("catalogs", self.catalogs), ("servers", self.servers), ("tools", self.tools))
        parts = [f"{kind} {' '.join(names)}" for kind, names in lists if names]
        parts += ["only read-only tools"] if self.read_only else []
        parts += [] if self.per_minute is None else [f"{self.per_minute:g} requests a minute"]
        return f"{', '.join(parts) or 'everything'}{', and may write example requests' if self.improve else ''}"

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Returns the scope of a stored text.

        >>> Scope.from_json(Scope(tools=("a::b",)).to_json())
        Scope(catalogs=(), servers=(), tools=('a::b',), read_only=False, per_minute=None, pages=False, until=None, improve=False, roles=())
        """
        document: dict[str, Any] = json.loads(text)
        document |= {name: tuple(document.get(name, ())) for name in ("catalogs", "servers", "tools", "roles")}
        return cls(**document)


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name matches one of the patterns.

    >>> matches("files::read", ["files::*"]), matches("mail::send", ["files::*", "mail"])
    (True, False)
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@dataclass(frozen=True, slots=True)
class Pin:
    """A tool that the lists of clients have beside search_tools, as `catalog/server::tool`. `client` is a name, or `*` for all."""

    __pydantic_config__ = CLOSED

    tool: Annotated[
        str, Wanted("a tool as catalog/server::tool", lambda tool: all(tool.partition("/")[0::2]) and "::" in tool)
    ]
    client: str = EACH

    def covers(self, client: str) -> bool:
        return self.client in {EACH, client}


LONGEST_HOLD_S = 300.0


@dataclass(frozen=True, slots=True)
class ApprovalRules:
    """Rules for calls that wait: of tools that are not declared read-only, of tools dearer than `above_usd`, of tools that
    are new here.

    A call waits for `wait_s` at most, and its request stays open for the first `hold_s`. An approved call may be made once
    within `valid_s`. With `client_may_approve` the client of the agent asks its own person, who may approve.
    """

    __pydantic_config__ = CLOSED

    writes: bool = False
    above_usd: Annotated[int | float, AMOUNT] | None = None
    new: bool = False
    wait_s: Annotated[int | float, AMOUNT] = 900.0
    valid_s: Annotated[int | float, AMOUNT] = 900.0
    hold_s: Annotated[int | float, number(0, LONGEST_HOLD_S)] = 45.0
    client_may_approve: bool = False

    def reasons(self, tool: Tool, price_usd: float, *, known: bool) -> tuple[str, ...]:
        """Returns why a call waits; empty if it does not.

        >>> ApprovalRules(writes=True, above_usd=0.01, new=True).reasons(Tool("mail", "send"), 0.02, known=False)
        ('it may write', 'it costs $0.02, more than $0.01', 'it is new here')
        """
        reasons = {
            "it may write": self.writes and tool.hints.read_only is not True,
            f"it costs ${price_usd:g}, more than ${self.above_usd or 0:g}": self.above_usd is not None
            and price_usd > self.above_usd,
            "it is new here": self.new and not known,
        }
        return tuple(reason for reason, applies in reasons.items() if applies)


Mode = Literal["off", "mark", "remove", "block"]


@dataclass(frozen=True, slots=True)
class Sanitise:
    """What happens to a secret and to an instruction in results of the servers that match the pattern."""

    __pydantic_config__ = CLOSED

    server: str = EACH
    secrets: Mode = "off"
    instructions: Mode = "off"


WhenTokens = Literal["elsewhere", "always"]
WhereShown = Literal["last", "hidden"]
HEADING = """\
# Wayfare's policy for agents. Edit it here and import it with `wayfare policy import FILE`, or edit it on the page Govern.
# tokens: which clients of /mcp need a token: "elsewhere" (those on other machines) or "always" (all).
#   If there are clients, budgets or a rate, a request without a token counts as the client "anonymous", under any name.
# unpriced_usd: the assumed price of a call without a price. per_minute: requests of a client, with bursts of up to a
#   minute's worth; 0 means no limit.
# allow and deny: tools as server::tool, with * and ?. deny comes first; an empty allow list allows all.
# changed_definitions: true holds back a tool whose definition differs from the one first used or approved.
# new_with_lint_errors: true holds back a new tool with a Lint error until a person approves it, once there is a client.
# lint_errors and paused_servers: where a search lists tools with a Lint error, and tools of paused servers:
#   "last", with the reason, or "hidden".
# per_person: servers, by name or pattern, to which each person and client has a sign-in and secrets of their own. Others are shared.
# approvals: above_usd makes dearer calls wait for approval. Without it no price does. The request of an agent stays open for
#   hold_s while its call waits; many clients give up after 60 s. client_may_approve asks the person at the agent's client, too
#   (MCP elicitation). It is off by default, because that client could answer by itself: it is the program that wants the call.
# people: the roles (viewer, operator, approver, admin) of people who sign in at an identity provider, by group. groups_claim and
#   name_claim are claims of its ID token. A person in several groups has the rights of each.
# pinned: tools as catalog/server::tool that a client's list has beside search_tools; client is a name, or "*" for all.
# sanitise: what happens to secrets and instructions in results of servers, by name or pattern; the first table that matches counts.
#   "off", "mark" (a note beside the result), "remove", or "block" (nothing of the result is given).
# budgets: daily limits (UTC). client, catalog and server are a name, "" for all together, or "*" for each one separately.
#   usd, calls and tokens (of results) are limits; each is optional. at_limit is "refuse", "cheaper" (only tools that still
#   fit) or "ask" (a person decides). The strictest exceeded budget decides. An approved call counts in all budgets.
"""
PLAIN = (
    "tokens", "unpriced_usd", "per_minute", "changed_definitions", "new_with_lint_errors", "allow", "deny", "lint_errors", "paused_servers", "per_person",
)  # fmt: skip
EXAMPLE = """
# [[budgets]]
# client = "*"
# usd = 1.0
# calls = 500
# tokens = 200000
# at_limit = "refuse"\
"""


@dataclass(frozen=True, slots=True)
class People:
    """The roles of people from an identity provider: a role for each group, and the claims with their name and groups."""

    __pydantic_config__ = CLOSED

    name_claim: str = "email"
    groups_claim: str = "groups"
    groups: Mapping[str, Role] = field(default_factory=dict[str, Role])

    def roles(self, groups: Collection[str]) -> tuple[Role, ...]:
        """Returns the roles of these groups.

        >>> People(groups={"ops": "operator", "leads": "approver"}).roles(["leads", "ops", "staff"])
        ('operator', 'approver')
        """
        return tuple(dict.fromkeys(role for group, role in self.groups.items() if group in groups))


@dataclass(frozen=True, slots=True)
class Policy:
    """By default every tool is allowed, except tools with a changed definition and servers that keep failing. Searches
    leave out tools with Lint errors, unless a person approved their definition."""

    __pydantic_config__ = CLOSED

    tokens: WhenTokens = "elsewhere"
    unpriced_usd: Annotated[int | float, AMOUNT] = 0.001
    per_minute: Annotated[int | float, AMOUNT] = 0.0
    changed_definitions: bool = True
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    approvals: ApprovalRules = field(default_factory=ApprovalRules)
    breaker: BreakerRules = field(default_factory=BreakerRules)
    budgets: tuple[Budget, ...] = ()
    lint_errors: WhereShown = "hidden"
    paused_servers: WhereShown = "last"
    new_with_lint_errors: bool = True
    people: People = field(default_factory=People, hash=False)
    pinned: tuple[Pin, ...] = ()
    sanitise: tuple[Sanitise, ...] = ()
    per_person: tuple[str, ...] = ()

    def sanitising(self, server: str) -> Sanitise:
        """Returns the first rule for the results of a server. The default rule changes nothing."""
        return next((rule for rule in self.sanitise if fnmatchcase(server, rule.server)), Sanitise())

    def is_per_person(self, server: str) -> bool:
        return matches(server, self.per_person)

    def refusal(self, tool: Tool) -> str:
        """Returns why no client may use a tool, or "".

        >>> Policy(deny=("mail::*",)).refusal(Tool("mail", "send")), Policy(allow=("files::*",)).refusal(Tool("mail", "send"))
        ('the operator denies it', 'it is not on the list of allowed tools')
        """
        if matches(tool.id, self.deny):
            return "the operator denies it"
        return "" if not self.allow or matches(tool.id, self.allow) else "it is not on the list of allowed tools"

    @property
    def digest(self) -> str:
        return digest(to_toml(self))


def to_toml(policy: Policy) -> str:
    """Returns the policy as text for people. `from_toml` reads it back.

    >>> from_toml(to_toml(Policy(budgets=(Budget(usd=1.5),)))) == Policy(budgets=(Budget(usd=1.5),))
    True
    """
    lines = [HEADING]
    for name in PLAIN:
        lines.append(f"{name} = {_value(getattr(policy, name))}")
    for name in ("approvals", "breaker", "people"):
        lines += ["", f"[{name}]", *_table(getattr(policy, name))]
    lines += ["[people.groups]", *(f"{_value(group)} = {_value(role)}" for group, role in policy.people.groups.items())]
    for name in ("pinned", "sanitise", "budgets"):
        for entry in getattr(policy, name):
            lines += ["", f"[[{name}]]", *_table(entry)]
    lines += [] if policy.budgets else [EXAMPLE]
    return "\n".join(lines) + "\n"


def from_toml(text: str) -> Policy:
    """Returns the policy of a text, with defaults for missing parts. Raises WayfareError with the first error."""
    try:
        document: Mapping[str, Any] = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WayfareError(f"The policy is not valid TOML: {error}.") from None
    policy = documents.read(Policy, document, "The policy", error=WayfareError)
    for budget in policy.budgets:
        if budget.usd is budget.calls is budget.tokens is None:
            raise WayfareError("The policy has a budget without a limit; give usd, calls or tokens.")
    return policy


def _table(rules: object) -> list[str]:
    pairs = ((field_.name, getattr(rules, field_.name)) for field_ in fields(cast(Any, rules)))
    return [
        f"{name} = {_value(value)}" for name, value in pairs if value is not None and not isinstance(value, Mapping)
    ]


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, cast('tuple[object, ...]', value)))}]"
    if isinstance(value, str):
        return '"' + "".join(_escaped(character) for character in value) + '"'
    return repr(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return character if character.isprintable() else f"\\U{ord(character):08X}"
