"""Replay: recorded questions under other parameters or another router, with the statistics of their time, beside their calls.

Outcomes and edited prices are folded in order of commit; outcomes of another store take their place by time once they are imported. Each
decision is made again at its place among them. Catalog, labels and calibration are the present ones. A session is taken to stay open for
`SESSION` after a call. The questions of another gateway are decided with the present statistics.

Calls are measured. Prices, times and tokens of decisions are projected, then and now by one rule.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.catalogs.loaded_catalog import FROM_FILE, in_order, measured_network
from core.decisions.layer import connected
from core.decisions.routing import RoutingService
from core.domain import units
from core.domain.catalog import Catalog, tool_id
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.events import ActivityFilter, DecisionEvent, OutcomeEvent, Override
from core.domain.outcome import OutcomeKind
from core.domain.params import Parameters
from core.domain.significance import interval
from core.routers.context import RoutingContext
from core.routers.parameters import LearningParameters
from core.routers.presets import DEFAULT_PRESET
from core.routers.projection import StatisticsProjection, teaches
from core.store import Store
from core.store.activity import ALL


@dataclass(frozen=True, slots=True)
class Chosen:
    """A tool (None without one) with the payment for a call (None if unknown), its expected seconds to success, the tokens of the
    definitions of all candidates, and the estimated success of a call.
    """

    tool: str | None
    usd: float | None
    s: float | None
    tokens: int
    success: float | None = None

    @property
    def projected_usd(self) -> float | None:
        """The money to one success if every call is paid for and failed calls are repeated, usd / success. None if unknown.

        >>> Chosen("files::read", 0.003, 1.0, 40, 0.75).projected_usd
        0.004
        """
        return self.usd / self.success if self.usd is not None and self.success else None


@dataclass(frozen=True, slots=True)
class Replayed:
    """One recorded question: the decision then and now. In a file of another gateway, `then` is the called tool.

    `calls` are its calls, `offered` the candidates now. `absent` says that the answering tool is not in the catalog.
    """

    decision_id: str
    at: datetime
    subtask: str
    router: str
    then: Chosen
    now: Chosen
    calls: tuple[OutcomeEvent, ...] = ()
    offered: tuple[str, ...] = ()
    absent: bool = False
    server_hint: str = ""

    @property
    def changed(self) -> bool:
        """Whether the winner differs. No winner on one side is a difference."""
        return self.then.tool != self.now.tool

    @property
    def answer(self) -> str | None:
        """The tool of the last call that succeeded, or None."""
        return _answer(self.calls)

    @property
    def lost(self) -> bool:
        """Whether the answering tool is in the catalog, but not a candidate now."""
        return self.answer is not None and not self.absent and self.answer not in self.offered

    @property
    def projected_usd(self) -> tuple[float, float] | None:
        """The money to one success then and now. None if a price is unknown, or if no candidate of now answered."""
        then, now = self.then.projected_usd, self.now.projected_usd
        return None if self.answer not in self.offered or then is None or now is None else (then, now)

    def to_json(self) -> dict[str, Any]:
        """One entry of `wayfare replay --json`."""
        calls = [
            {"tool": tool_id(call.server, call.tool), "kind": call.kind, "usd": call.price_usd} for call in self.calls
        ]
        return asdict(self) | {"at": self.at.isoformat(), "changed": self.changed, "lost": self.lost, "calls": calls}


@dataclass(frozen=True, slots=True)
class ReplayTotals:
    """Comparable sums over the questions with a winner of the catalog then and now (`both`). Unpriced winners add 0 USD and are counted.

    `refused` counts questions that lost their winner, `answered` questions that gained a winner.

    Measured are `calls`, the number of `ok` and of `simulated` calls, and the money of real and of simulated calls. `unpriced` real calls add 0.
    `solved` counts the questions that a call answered, `lost` answers by tools that are not candidates now, `absent` answers by tools
    outside the catalog. Projected is the money to one success, over `compared` questions, with the 95 % interval of the mean difference.
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
    calls: int
    ok: int
    simulated: int
    paid_usd: float
    simulated_usd: float
    unpriced: int
    solved: int
    lost: int
    absent: int
    compared: int
    projected_usd_then: float
    projected_usd_now: float
    difference_usd: tuple[float, float]

    @classmethod
    def of(cls, rows: Sequence[Replayed]) -> ReplayTotals:
        both = [row for row in rows if row.then.s is not None and row.now.s is not None]
        then, now = [row.then for row in both], [row.now for row in both]
        calls = [call for row in rows for call in row.calls]
        pairs = np.array([row.projected_usd for row in rows if row.projected_usd is not None]).reshape(-1, 2)
        return cls(
            decisions=len(rows),
            changed=sum(row.changed for row in rows),
            refused=sum(row.then.tool is not None and row.now.tool is None for row in rows),
            answered=sum(row.then.tool is None and row.now.tool is not None for row in rows),
            both=len(both),
            usd_then=_sum(choice.usd for choice in then),
            usd_now=_sum(choice.usd for choice in now),
            unpriced_then=sum(choice.usd is None for choice in then),
            unpriced_now=sum(choice.usd is None for choice in now),
            s_then=_sum(choice.s for choice in then),
            s_now=_sum(choice.s for choice in now),
            tokens_then=sum(choice.tokens for choice in then),
            tokens_now=sum(choice.tokens for choice in now),
            calls=len(calls),
            ok=sum(OutcomeKind(call.kind).success for call in calls),
            simulated=sum(call.simulated for call in calls),
            paid_usd=_sum(call.price_usd for call in calls if not call.simulated),
            simulated_usd=_sum(call.price_usd for call in calls if call.simulated),
            unpriced=sum(call.price_usd is None for call in calls if not call.simulated),
            solved=sum(row.answer is not None for row in rows),
            lost=sum(row.lost for row in rows),
            absent=sum(row.absent for row in rows),
            compared=len(pairs),
            projected_usd_then=float(pairs[:, 0].sum()),
            projected_usd_now=float(pairs[:, 1].sum()),
            difference_usd=interval(pairs[:, 1] - pairs[:, 0]) if len(pairs) else (0.0, 0.0),
        )

    @property
    def headline(self) -> str:
        then, now = self.projected_usd_then, self.projected_usd_now
        money = "The same money" if self.compared else "No money to compare"
        if units.price(then) != units.price(now):
            more = units.share(abs(now / then - 1)) if then else units.price(now)
            money = f"{more} {'less' if now < then else 'more'} money"
        return f"{money}, {f'{self.lost:,} of {self.solved - self.absent:,} answers lost' if self.solved else 'no call succeeded'}"

    def words(self) -> list[tuple[str, str, str, str]]:
        """Each figure in words: its name, measured, projected then, projected now."""
        paid = units.spent(self.paid_usd, self.calls - self.simulated, self.unpriced)
        then, now = (
            units.price(usd) if self.compared else "–" for usd in (self.projected_usd_then, self.projected_usd_now)
        )
        simulated = (f"; simulated: {self.simulated:,}", f"; simulated: {units.price(self.simulated_usd)}")
        calls, money = simulated if self.simulated else ("", "")
        absent = f"; {self.absent:,} by tools not in the catalog" if self.absent else ""
        return [
            ("calls", f"{self.calls:,}, {self.ok:,} succeeded{calls}", "–", "–"),
            ("money paid for them", f"{paid}{money}", "–", "–"),
            ("questions that a call answered", f"{self.solved:,} of {self.decisions:,}", "–", f"{self.lost:,} lost{absent}"),
            (f"money to one success, {self.compared:,} of them", "–", then, now),
            (f"price of the first candidates, {self.both:,} of {self.decisions:,}", "–", units.spent(self.usd_then, self.both, self.unpriced_then), units.spent(self.usd_now, self.both, self.unpriced_now)),
            ("their expected time", "–", f"{self.s_then:,.2f} s", f"{self.s_now:,.2f} s"),
            ("tokens of all candidates", "–", f"{self.tokens_then:,}" if self.tokens_then else "–", f"{self.tokens_now:,}"),
        ]  # fmt: skip


def _sum(values: Iterable[float | None]) -> float:
    return float(sum(value for value in values if value is not None))


Progress = Callable[[int, int], None]
See = Callable[[str, Catalog], NDArray[np.int64] | None]
SESSION = timedelta(hours=1)  # as `PoolConfig.idle_s`


@dataclass(eq=False)
class ReplayService:
    """Decides recorded questions again, without a record. A client is offered the tools that it may `see` now."""

    store: Store
    catalogs: CatalogService
    routing: RoutingService
    see: See = lambda _client, _catalog: None

    def replay(
        self,
        catalog: str,
        *,
        router: str = "",
        preset: str = "",
        settings: Mapping[str, object] | None = None,
        decisions: int = 1_000,
        where: ActivityFilter = ALL,
        progress: Progress = lambda _done, _of: None,
    ) -> tuple[Replayed, ...]:
        """Decide again the newest `decisions` of a catalog that a filter admits, oldest first.

        Router, preset and settings are as recorded unless given. Without a router, decisions of routers that lack a setting
        are left out. Raises WayfareError if nothing is left, or the router lacks a setting.
        """
        self.store.events.flush()
        changed, where = settings or {}, replace(where, catalog=catalog)
        knobs = {info.id: {knob.name for knob in info.parameters.knobs()} for info in self.routing.routers()}
        able = {id_ for id_, names in knobs.items() if router or changed.keys() <= names}
        total = min(decisions, self.store.activity.decision_count(where))
        past = _Past(self.catalogs, catalog, self.see)
        rows: list[Replayed] = []
        for event in self.store.history.of_catalog(where, decisions=decisions):
            if not isinstance(event, DecisionEvent):
                past.add(event)
                continue
            if event.router not in able:
                total -= 1
                continue
            router_id = router or event.router
            parameters = self._parameters(event, router_id, preset, changed)
            decision = self.routing.decide(
                event.subtask, past.context(parameters, event), router_id, parameters, server_hint=event.server_hint
            )
            rows.append(_replayed(event, _then(event), decision))
            progress(len(rows), total)
        if not rows:
            suffix = f" by a router that has {' and '.join(changed)}" if changed and not router else ""
            raise WayfareError(f"Nothing was decided in catalog {catalog!r}{suffix}; there is nothing to replay.")
        known_tools = self.catalogs.catalog(catalog).tool_row
        return tuple(_with_calls(row, past.calls.get(row.decision_id, []), known_tools) for row in rows)

    def replay_calls(
        self,
        recorded: Sequence[DecisionEvent | OutcomeEvent],
        router: str,
        parameters: Parameters,
        *,
        decisions: int = 1_000,
        progress: Progress = lambda _done, _of: None,
    ) -> tuple[Replayed, ...]:
        """Decide the newest questions of another gateway (`core.importers.tasks`), oldest first, with the present statistics."""
        learning = parameters if isinstance(parameters, LearningParameters) else None
        questions = [event for event in recorded if isinstance(event, DecisionEvent)][-decisions:]
        calls: dict[str | None, list[OutcomeEvent]] = {question.id: [] for question in questions}
        for event in recorded:
            if isinstance(event, OutcomeEvent) and event.decision_id in calls:
                calls[event.decision_id].append(event)
        rows: list[Replayed] = []
        for event in questions:
            context, event_calls = self.catalogs.context(event.catalog, learning), calls[event.id]
            decision = self.routing.decide(event.subtask, context, router, parameters)
            tool = _answer(event_calls) or next((tool_id(call.server, call.tool) for call in event_calls[-1:]), None)
            row = _replayed(event, replace(_chosen(decision, tool), tokens=0), decision)  # its tools then are unknown
            rows.append(_with_calls(row, event_calls, context.catalog.tool_row))
            progress(len(rows), len(questions))
        return tuple(rows)

    def _parameters(self, event: DecisionEvent, router: str, preset: str, settings: Mapping[str, object]) -> Parameters:
        """The recorded parameters with the settings on top. A named preset or another router replaces the recorded parameters."""
        if preset or router != event.router:
            return self.routing.parameters(router, settings, preset=preset or DEFAULT_PRESET)
        stored: dict[str, Any] = json.loads(event.parameters_json)
        defaults = self.routing.parameters(router).values()  # parameters of earlier versions may be gone
        values = {name: value for name, value in stored.items() if name in defaults}
        return self.routing.parameters(router, {**values, **settings})


class _Past:
    def __init__(self, catalogs: CatalogService, catalog: str, see: See) -> None:
        self._catalogs = catalogs
        self._name = catalog
        self._see = see
        self._seen: dict[str, NDArray[np.int64] | None] = {"": None}
        self.calls: dict[str, list[OutcomeEvent]] = {}
        self._outcomes: list[OutcomeEvent] = []
        self._overrides: list[Override] = []
        self._projections: dict[object, StatisticsProjection] = {}
        self._session_ends: dict[tuple[str, str, str], datetime] = {}  # by origin, client and server

    def add(self, event: OutcomeEvent | Override) -> None:
        if isinstance(event, Override):
            self._overrides.append(event)
            self._projections.clear()
            return
        self._outcomes.append(event)
        if event.origin == FROM_FILE:  # an import makes the catalog fold all calls anew
            self._projections.clear()
        if teaches(event) and event.origin != "cli":  # a command ends its sessions
            lost = event.kind in {OutcomeKind.CRASH, OutcomeKind.NOT_CONNECTED}
            end = event.at if lost else event.at + SESSION
            self._session_ends[event.origin, event.client, event.server] = end
        if event.decision_id is not None:
            self.calls.setdefault(event.decision_id, []).append(event)
        for projection in self._projections.values():
            projection.observe(event)

    def context(self, parameters: Parameters, event: DecisionEvent) -> RoutingContext:
        learning = parameters if isinstance(parameters, LearningParameters) else LearningParameters()
        key = learning.priors(), learning.rates()
        catalog = self._catalogs.catalog(self._name)
        if not self._projections:
            self._outcomes = in_order(self._outcomes)
        if key not in self._projections:
            projection = StatisticsProjection(catalog, overrides=self._overrides, priors=key[0], rates=key[1])
            for outcome in self._outcomes:
                projection.observe(outcome)
            self._projections[key] = projection
        context = replace(
            self._catalogs.context(self._name),
            statistics=self._projections[key].snapshot(event.at),
            network=measured_network(catalog, self._outcomes),
        )
        rows = [
            row
            for server, row in catalog.server_row.items()
            if event.at < self._session_ends.get((event.origin, event.client, server), event.at)
        ]
        context = connected(context, rows) if rows else context
        if event.client not in self._seen:
            self._seen[event.client] = self._see(event.client, catalog)
        tools = self._seen[event.client]
        return context if tools is None else self._catalogs.part(context, tools)


def _answer(calls: Sequence[OutcomeEvent]) -> str | None:
    return next((tool_id(call.server, call.tool) for call in reversed(calls) if OutcomeKind(call.kind).success), None)


def _replayed(event: DecisionEvent, then: Chosen, decision: Decision) -> Replayed:
    offered = tuple(decision.tools.ids[row] for row in decision.candidates)
    now = _chosen(decision, offered[0] if offered else None)
    return Replayed(
        event.id, event.at, event.subtask, event.router, then, now, offered=offered, server_hint=event.server_hint
    )


def _with_calls(row: Replayed, calls: Sequence[OutcomeEvent], known_tools: Container[str]) -> Replayed:
    answer = _answer(calls)
    return replace(row, calls=tuple(calls), absent=answer is not None and answer not in known_tools)


def _then(event: DecisionEvent) -> Chosen:
    candidates: list[dict[str, Any]] = json.loads(event.candidates_json)
    tokens = sum(int(entry.get("tokens", 0)) for entry in candidates)
    success = next((entry.get("success") for entry in candidates if entry.get("tool") == event.winner), None)
    return Chosen(event.winner, event.expected_price_usd, event.expected_time_s, tokens, success)


def _chosen(decision: Decision, tool: str | None) -> Chosen:
    """A tool with its figures in a decision. A tool outside the catalog has no figures."""
    tokens, ids = int(decision.tool_tokens[list(decision.candidates)].sum()), list(decision.tools.ids)
    if tool is None or tool not in ids:
        return Chosen(tool, None, None, tokens)
    figures = decision.tool_at(ids.index(tool))
    return Chosen(tool, figures.payment_usd, figures.time_cost_s, tokens, figures.success)
