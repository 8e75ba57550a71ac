"""Events as stored: append-only, a frozen record each. Statistics are a fold over them. Changes of clients, policies, definitions and
approvals are sealed.

Times are timezone-aware UTC. Fields that end in `_json` hold a JSON document. `origin` is console, cli or agent, with the signed-in
operator, if any (`made_by`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.domain.errors import StoreError
from core.domain.outcome import Outcome

PAUSE_MINUTES = 30
"""A longer pause between two decisions of a client begins a session."""

# The filter of decisions and calls for the Activity page, the command line and the store.


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """The decisions and calls to list. The default lists all.

    `since` is inclusive, `until` exclusive, both with a time zone. `text` is searched anywhere, without regard to case.
    `simulated` None admits both. `kinds` are values of OutcomeKind. A decision meets `server` and `tool` if its winner
    does, and `kinds` and `simulated` if one of its calls does.

    Raises StoreError for a time without a zone.
    """

    catalog: str | None = None
    server: str | None = None
    tool: str | None = None
    text: str = ""
    kinds: tuple[str, ...] = ()
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    simulated: bool | None = None
    client: str | None = None

    def __post_init__(self) -> None:
        for time in (self.since, self.until):
            if time is not None and time.tzinfo is None:
                raise StoreError(f"The time {time} has no zone; give one with a zone, such as UTC.")


@dataclass(frozen=True, slots=True)
class DecisionEvent:
    """A routing decision with its candidates.

    `candidates_json` is the ranked list of candidates with their numbers. `trace_json` has the short-listed servers, their
    evaluated tools and the router's report (`Router.event`), or is "" once its time is over. `winner` is `server::tool`, or
    None if the router abstained for the `reason`. `client` is the name of a client of the endpoint, or "".
    """

    id: str
    at: datetime
    catalog: str
    router: str
    subtask: str
    server_hint: str
    parameters_json: str
    winner: str | None
    reason: str
    expected_price_usd: float | None
    expected_time_s: float | None
    total_ms: float
    candidates_json: str
    trace_json: str
    origin: str  # console, cli, agent, scenario
    client: str = ""


@dataclass(frozen=True, slots=True)
class OutcomeEvent:
    """The outcome of a call. Arguments and results are not stored, because they may be confidential.

    `injected` is the effect of an injected network on the call, or "". `client` is as in `DecisionEvent`.
    """

    id: str
    at: datetime
    decision_id: str | None
    catalog: str
    server: str
    tool: str
    kind: str  # an OutcomeKind
    latency_s: float
    connect_s: float | None
    attempts: int
    price_usd: float | None
    simulated: bool
    error: str
    origin: str
    injected: str = ""
    client: str = ""

    @classmethod
    def of(cls, outcome: Outcome, origin: str, client: str = "") -> OutcomeEvent:
        call = outcome.call
        return cls(
            id=outcome.id,
            at=outcome.started_at,
            decision_id=call.decision_id,
            catalog=call.catalog,
            server=call.server,
            tool=call.tool,
            kind=outcome.kind.value,
            latency_s=outcome.latency_s,
            connect_s=outcome.connect_s,
            attempts=outcome.attempts,
            price_usd=outcome.price_usd,
            simulated=outcome.simulated,
            error=" ".join(filter(None, (outcome.error[:2000], outcome.cut[:2000]))),
            origin=origin,
            injected=outcome.injected,
            client=client,
        )


@dataclass(frozen=True, slots=True)
class TraceRemoval:
    """Old traces were removed from the records `first` to `last`. `hash` is the hash of these records without traces."""

    at: datetime
    first: int
    last: int
    hash: str


@dataclass(frozen=True, slots=True)
class StatisticsEvent:
    """The statistics of a server and a tool right after an outcome, EHRR (8)."""

    at: datetime
    outcome_id: str
    catalog: str
    server: str
    tool: str
    server_success: float
    server_success_variance: float
    server_post_accept_failure: float
    server_call_s: float
    server_conn_s: float
    tool_success: float
    tool_latency_s: float
    server_calls: int
    tool_calls: int


@dataclass(frozen=True, slots=True)
class ParameterEvent:
    at: datetime
    router: str
    name: str
    old: str
    new: str
    origin: str


@dataclass(frozen=True, slots=True)
class Override:
    """A price or ask that an operator set by hand. `tool` is empty for a server's figure. `value` None clears it."""

    catalog: str
    server: str
    tool: str
    field: str  # price_usd or ask_usd
    value: float | None
    at: datetime


OPERATOR = "operator"
"""The person at the pages or the command line, without a sign-in."""


def origin_of(place: str, name: str) -> str:
    """The origin of an action of a signed-in operator, or of any operator ("").

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
    """A policy replaced the policy in force."""

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

    It is bound to the three digests and the names before them. Secrets in `arguments_json` are masked.
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
    """A signed-in person did an action, or was refused it. `about` names the catalog, server, tool or client."""

    at: datetime
    person: str
    action: str
    about: str
    refused: bool


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A refused request. `error` is the short name of the reason, `advice` says what would allow it. `server` and `tool` are empty if
    it names none. `repeated` counts equal requests that were refused without a record since the previous record."""

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
    """The amount reserved for a call or, once settled, used by it. `over` means that a person allowed it to exceed a budget."""

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
