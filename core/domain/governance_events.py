"""Changes of clients, policies, definitions and approvals, as frozen records of the sealed log.

Times are timezone-aware UTC; `origin` is console, cli or agent, with the operator who was signed in (`made_by`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

OPERATOR = "operator"
"""The person at the pages or the command line, without a sign-in."""


def origin_of(place: str, name: str) -> str:
    """The origin of an action of a signed-in operator, or of anyone ("").

    >>> origin_of("console", "ada"), origin_of("console", "")
    ('console:ada', 'console')
    """
    return f"{place}:{name}" if name else place


def made_by(origin: str) -> str:
    """The author of a change and its place, in words.

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
class PersonAction:
    """A signed-in person did something, or was refused it. `about` names the catalog, server, tool or client."""

    at: datetime
    person: str
    action: str
    about: str
    refused: bool


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that was not let through: `error` names why, `advice` says what would allow it. `server` and `tool` are empty if
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
    """The amount reserved for a call or, once settled, used by it. `over`: a person allowed it to exceed a budget."""

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
