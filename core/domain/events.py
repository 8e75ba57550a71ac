"""Events as the store keeps them: append-only, one frozen record each. Statistics are a fold over them.

Times are timezone-aware UTC. Fields that end in `_json` hold one JSON document.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.domain.errors import StoreError
from core.domain.outcome import Outcome

PAUSE_MINUTES = 30
"""A longer pause between two decisions of a client begins a session."""

# Which decisions and calls to list, as the Activity page, the command line and the store understand it.


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Which decisions and calls to list; the default lists all.

    `since` is inclusive, `until` exclusive, both with a time zone. `text` is looked for anywhere, without regard to
    case. `simulated` None admits both. `kinds` are values of OutcomeKind. A decision meets `server` and `tool` by its
    winner, and `kinds` and `simulated` where one of its calls does.

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
    """One routing decision with its candidates.

    `candidates_json` is the ranked list of candidates with their numbers; `trace_json` the short-listed servers, the
    tools evaluated on them and what the router itself reports (`Router.event`), or "" once its time is over. `winner` is `server::tool`, or None if the router abstained for the `reason`.
    `client` is the own name of a client of the endpoint, or "".
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
    """One call's outcome. Arguments and results are not kept: they may hold confidential data.

    `injected` says what an injected network did to the call; empty if there was none. `client` is as in `DecisionEvent`.
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
    """Traces whose time was over were removed from the records `first` to `last`. `hash` is that of these records without traces."""

    at: datetime
    first: int
    last: int
    hash: str


@dataclass(frozen=True, slots=True)
class StatisticsEvent:
    """The statistics of one server and one tool right after one outcome, EHRR (8)."""

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
    """One changed parameter."""

    at: datetime
    router: str
    name: str
    old: str
    new: str
    origin: str


@dataclass(frozen=True, slots=True)
class Override:
    """A price or ask that an operator set by hand; `tool` is empty for a server's figure, `value` None clears it."""

    catalog: str
    server: str
    tool: str
    field: str  # price_usd or ask_usd
    value: float | None
    at: datetime
