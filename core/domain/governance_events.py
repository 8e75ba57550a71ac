"""What is recorded of governance: clients, policies, definitions and approvals, each change a frozen record of the sealed log.

Times are timezone-aware UTC; `origin` is where it was made: console, cli or agent, and who was signed in there (`made_by`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

OPERATOR = "operator"
"""Who acts at the pages or the command line where nobody has to sign in."""


def origin_of(place: str, name: str) -> str:
    """The origin of what somebody does who is signed in, or nobody is ("").

    >>> origin_of("console", "ada"), origin_of("console", "")
    ('console:ada', 'console')
    """
    return f"{place}:{name}" if name else place


def made_by(origin: str) -> str:
    """Who made a change and where, in words.

    >>> made_by("console:ada"), made_by("cli")
    ('ada, console', 'operator, cli')
    """
    place, _, name = origin.partition(":")
    return f"{name or OPERATOR}, {place}"


@dataclass(frozen=True, slots=True)
class ClientChange:
    """A client was made or revoked. Its token is not kept, only the token's SHA-256."""

    at: datetime
    client: str
    action: str  # made, revoked
    token_hash: str
    scope_json: str
    origin: str


@dataclass(frozen=True, slots=True)
class PolicyChange:
    """A policy came into force in the place of the one before."""

    at: datetime
    digest: str
    toml: str
    origin: str


@dataclass(frozen=True, slots=True)
class DefinitionChange:
    """A tool's definition was used for the first time, approved, or denied."""

    at: datetime
    catalog: str
    server: str
    tool: str
    action: str  # first_use, approved, denied
    digest: str
    definition_json: str
    origin: str


@dataclass(frozen=True, slots=True)
class ApprovalChange:
    """A call began to wait for a person, was approved or denied, or an approval was used.

    The three digests and the names before them are what it is bound to. Secrets in `arguments_json` are masked.
    """

    at: datetime
    id: str
    action: str  # waiting, approved, denied, used
    client: str
    catalog: str
    server: str
    tool: str
    arguments_digest: str
    definition_digest: str
    policy_digest: str
    arguments_json: str
    reasons: str
    price_usd: float | None
    expires_at: datetime
    origin: str


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that was not let through: `error` names why, `advice` says what would allow it. `server` and `tool` are empty where
    it was about none. `repeated` is how often the same was refused, unrecorded, since the record before of its kind."""

    at: datetime
    client: str
    catalog: str
    server: str
    tool: str
    error: str
    why: str
    advice: str
    origin: str
    repeated: int


@dataclass(frozen=True, slots=True)
class Spent:
    """What a call may use at most, and once it is settled, what it used. `over`: a person let it go beyond a budget."""

    id: str
    at: datetime
    day: str
    client: str
    catalog: str
    server: str
    tool: str
    usd: float
    calls: int
    tokens: int
    over: bool
    settled: bool
