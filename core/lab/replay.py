"""Replay: recorded sub-tasks under other parameters or another router, with the statistics of their time.

Outcomes and edited prices are folded in order of commit; each decision is made again at its place among them. Catalog, labels and
calibration are those of now.

Recorded decisions beside the decisions of today: changed winners, their price, time and tokens.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from core.catalogs.catalogs import CatalogService
from core.catalogs.loaded_catalog import measured_network
from core.decisions.routing import RoutingService
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.events import ActivityFilter, DecisionEvent, OutcomeEvent, Override
from core.domain.params import Parameters
from core.routers.context import RoutingContext
from core.routers.parameters import LearningParameters
from core.routers.presets import DEFAULT_PRESET
from core.routers.projection import StatisticsProjection
from core.store import Store


@dataclass(frozen=True, slots=True)
class Chosen:
    """A winner (None without one) with its price (None if unknown), its expected seconds to success, and the tokens of the
    definitions of all candidates.
    """

    tool: str | None
    usd: float | None
    s: float | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """One recorded sub-task: the decision of then and that of now."""

    decision_id: str
    at: datetime
    subtask: str
    router: str
    then: Chosen
    now: Chosen

    @property
    def changed(self) -> bool:
        """Whether the winner differs, also where one side has none."""
        return self.then.tool != self.now.tool

    def to_json(self) -> dict[str, Any]:
        """One entry of `wayfare replay --json`."""
        return asdict(self) | {"at": self.at.isoformat(), "changed": self.changed}


@dataclass(frozen=True, slots=True)
class ReplayTotals:
    """Sums over the sub-tasks with a winner then and now (`both`), so that they compare. Unpriced winners add 0 USD and are counted.

    `refused` counts sub-tasks that lost their winner, `answered` those that gained one.
    """

    decisions: int
    changed: int
    refused: int
    answered: int
    both: int
    usd_then: float
    usd_now: float
    unpriced_then: int
    unpriced_now: int
    s_then: float
    s_now: float
    tokens_then: int
    tokens_now: int

    @classmethod
    def of(cls, rows: Sequence[Replayed]) -> ReplayTotals:
        """The sums."""
        both = [row for row in rows if row.then.tool is not None and row.now.tool is not None]
        then, now = [row.then for row in both], [row.now for row in both]
        return cls(
            decisions=len(rows),
            changed=sum(row.changed for row in rows),
            refused=sum(row.then.tool is not None and row.now.tool is None for row in rows),
            answered=sum(row.then.tool is None and row.now.tool is not None for row in rows),
            both=len(both),
            usd_then=_sum(one.usd for one in then),
            usd_now=_sum(one.usd for one in now),
            unpriced_then=sum(one.usd is None for one in then),
            unpriced_now=sum(one.usd is None for one in now),
            s_then=_sum(one.s for one in then),
            s_now=_sum(one.s for one in now),
            tokens_then=sum(one.tokens for one in then),
            tokens_now=sum(one.tokens for one in now),
        )


def _sum(values: Iterable[float | None]) -> float:
    return float(sum(value for value in values if value is not None))


Progress = Callable[[int, int], None]


@dataclass(eq=False)
class ReplayService:
    """Decides recorded sub-tasks again. These decisions are not recorded."""

    store: Store
    catalogs: CatalogService
    routing: RoutingService

    def replay(
        self,
        catalog: str,
        *,
        router: str = "",
        preset: str = "",
        settings: Mapping[str, object] | None = None,
        decisions: int = 1_000,
        progress: Progress = lambda _done, _of: None,
    ) -> tuple[Replayed, ...]:
        """Decide the newest `decisions` of a catalog again, oldest first.

        Router, preset and settings are as recorded unless given. Without a router, decisions of routers that lack one of the settings
        are left out. Raises WayfareError if nothing is left, or the router lacks a setting.
        """
        self.store.events.flush()
        changed = settings or {}
        able = {one.id for one in self.routing.routers() if router or changed.keys() <= _names(one.parameters)}
        total = min(decisions, self.store.activity.decision_count(ActivityFilter(catalog=catalog)))
        past = _Past(self.catalogs, catalog)
        rows: list[Replayed] = []
        for event in self.store.history.of_catalog(catalog, decisions=decisions):
            if not isinstance(event, DecisionEvent):
                past.add(event)
                continue
            if event.router not in able:
                total -= 1
                continue
            chosen = router or event.router
            parameters = self._parameters(event, chosen, preset, changed)
            decision = self.routing.decide(
                event.subtask, past.context(parameters, event), chosen, parameters, server_hint=event.server_hint
            )
            rows.append(Replayed(event.id, event.at, event.subtask, event.router, _then(event), _now(decision)))
            progress(len(rows), total)
        if not rows:
            what = f" by a router that has {' and '.join(changed)}" if changed and not router else ""
            raise WayfareError(f"Nothing was decided in catalog {catalog!r}{what}; there is nothing to replay.")
        return tuple(rows)

    def _parameters(self, event: DecisionEvent, router: str, preset: str, settings: Mapping[str, object]) -> Parameters:
        """The recorded parameters with the settings on top; those of a preset if one is named or the router is another."""
        if preset or router != event.router:
            return self.routing.parameters(router, settings, preset=preset or DEFAULT_PRESET)
        recorded: dict[str, Any] = json.loads(event.parameters_json)
        known = self.routing.parameters(router).values()  # parameters of earlier versions may be gone
        kept = {name: value for name, value in recorded.items() if name in known}
        return self.routing.parameters(router, {**kept, **settings})


class _Past:
    """A catalog's statistics at each of its events."""

    def __init__(self, catalogs: CatalogService, catalog: str) -> None:
        self._catalogs = catalogs
        self._name = catalog
        self._outcomes: list[OutcomeEvent] = []
        self._overrides: list[Override] = []
        self._projections: dict[object, StatisticsProjection] = {}

    def add(self, event: OutcomeEvent | Override) -> None:
        """Fold the next event."""
        if isinstance(event, Override):
            self._overrides.append(event)
            self._projections.clear()
            return
        self._outcomes.append(event)
        for projection in self._projections.values():
            projection.observe(event)

    def context(self, parameters: Parameters, event: DecisionEvent) -> RoutingContext:
        """The context that a router would have read then."""
        learning = parameters if isinstance(parameters, LearningParameters) else LearningParameters()
        key = learning.priors(), learning.rates()
        catalog = self._catalogs.catalog(self._name)
        if key not in self._projections:
            projection = StatisticsProjection(catalog, overrides=self._overrides, priors=key[0], rates=key[1])
            for outcome in self._outcomes:
                projection.observe(outcome)
            self._projections[key] = projection
        return replace(
            self._catalogs.context(self._name),
            statistics=self._projections[key].snapshot(event.at),
            network=measured_network(catalog, self._outcomes),
        )


def _names(parameters: type[Parameters]) -> set[str]:
    return {knob.name for knob in parameters.knobs()}


def _then(event: DecisionEvent) -> Chosen:
    candidates: list[dict[str, Any]] = json.loads(event.candidates_json)
    tokens = sum(int(one.get("tokens", 0)) for one in candidates)
    return Chosen(event.winner, event.expected_price_usd, event.expected_time_s, tokens)


def _now(decision: Decision) -> Chosen:
    winner, tokens = decision.winner, int(decision.tool_tokens[list(decision.candidates)].sum())
    if winner is None:
        return Chosen(None, None, None, tokens)
    return Chosen(winner.tool, winner.payment_usd, winner.time_cost_s, tokens)
