"""Decisions as pages, commands and agents ask for them, and the effect of refusing on a catalog."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from weakref import ref

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.catalogs.contexts import SimulatedNetworks
from core.catalogs.decision_log import ChosenParameters, DecisionLog
from core.decisions.layer import OpenSessions, Supposed, layered
from core.domain.catalog import Catalog
from core.domain.decision import SURE_FROM, Decision
from core.domain.errors import UnknownNameError
from core.domain.execution import SESSION_OWNER
from core.domain.feedback import LabelledQuery, RefusalCurve
from core.domain.params import AS_MEASURED, NetworkMoment, Parameters
from core.domain.people import person
from core.importers.shipped_catalogs import SAMPLE
from core.learning.feedback import FeedbackService
from core.planning.base import Planner, SubQuery, Usage
from core.planning.plans import Plan
from core.planning.rules import chosen_planner
from core.relevance.calibration import LEAST_LABELS
from core.relevance.labelled import IndexScorer
from core.relevance.relevance_index import asked_text
from core.relevance.requests import like_requests
from core.relevance.scoring import SAME_HIGH, limit_of, measured_curve, nothing_fits, shipped_curve, understood
from core.routers import ROUTERS
from core.routers.base import AnyRouter
from core.routers.context import RoutingContext, Same
from core.routers.parameters import LearningParameters
from core.routers.presets import DEFAULT_PRESET, applied, preset_of
from core.routers.why import fit_note, language_note, network_note, parts_note, words_note

KEPT = 8
MOST_MEASURED = 500  # the newest; each takes some milliseconds


@dataclass(eq=False)
class RefusalService:
    """Measures the trade-off of the knob `wrong_refusals`. Thread-safe."""

    catalogs: CatalogService
    feedback: FeedbackService

    def __post_init__(self) -> None:
        self._known: LRUCache[object, RefusalCurve] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def limit(self, percent: float) -> float:
        """P(nothing fits) from which the knob at `percent` refuses; 1 if it never does."""
        return limit_of(percent)

    def curve(self, catalog: str = SAMPLE) -> RefusalCurve:
        """Wrong refusals against impossible sub-tasks refused. A labelled sub-task becomes impossible without its right tools and
        their equals. Labels do not shift these decisions, because the curve is for new sub-tasks."""
        whole = self.catalogs.catalog(catalog)
        rows = whole.tool_row
        queries = tuple(query for query in self.feedback.queries(catalog) if any(tool in rows for tool in query.right))
        if len(queries) < LEAST_LABELS:
            return shipped_curve()
        scorer = self.catalogs.scorer(catalog)
        key = queries, Same(whole), Same(scorer.requests)
        with self._lock:
            curve = self._known.get(key)
        if curve is None:
            chances = [
                _chances(scorer, task, [rows[t] for t in task.right if t in rows]) for task in queries[-MOST_MEASURED:]
            ]
            curve = measured_curve([yes for yes, _ in chances], [no for _, no in chances])
            with self._lock:
                self._known[key] = curve
        return curve


def _chances(scorer: IndexScorer, query: LabelledQuery, right: list[int]) -> tuple[float, float]:
    """P(nothing fits) of a sub-task as it is, and without the tools that can do it."""
    signals, own_rows = scorer.found(query), scorer.index.own
    like = like_requests(scorer.requests, scorer.encoder, asked_text(query.query, query.server_hint), signals.vector)
    gone = np.flatnonzero((own_rows @ own_rows[right].T).max(axis=1) >= SAME_HIGH)
    left_out = (), (*right, *gone.tolist())
    yes, no = (nothing_fits(scorer.index, signals.raw, scorer.model, like, without) for without in left_out)
    return yes, no


# Routing: a decision, recorded once and available by id, or a plan.

DECISIONS_KEPT, PREVIEWS_KEPT = 64, 64  # each takes about 100 kB; older decisions are read from the store
Scope = Callable[[Catalog], NDArray[np.int64] | None]
CONSOLE = "console"
"""The origin of decisions on a page."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A sub-task with catalog, router and parameters. `supposed` figures replace measured figures and figures of a simulated `network`.
    `at_once` does not wait for the vectors of the catalog if words alone can decide."""

    query: str
    parameters: Parameters
    catalog: str = SAMPLE
    router: str = "ehrr"
    hint: str = ""
    supposed: tuple[Supposed, ...] = ()
    at_once: bool = False
    network: NetworkMoment = AS_MEASURED

    @property
    def hypothetical(self) -> bool:
        """Whether figures are supposed or simulated, so that the decision is not recorded."""
        return bool(self.supposed) or self.network.simulated


class RoutingService:
    """Asks the routers, records decisions, and keeps the latest decisions. Thread-safe."""

    def __init__(
        self,
        catalogs: CatalogService,
        log: DecisionLog,
        planners: Mapping[str, Planner],
        networks: SimulatedNetworks,
        sessions: OpenSessions | None = None,
    ) -> None:
        self._catalogs = catalogs
        self._sessions = sessions or OpenSessions()
        self.networks = networks
        self._log = log
        self._planners = planners
        self._routers: dict[str, AnyRouter] = {name: router(planners) for name, router in ROUTERS.items()}
        self._by_id: LRUCache[str, Decision] = LRUCache(DECISIONS_KEPT)
        # weak: decisions do not keep an outdated context alive
        self._recorded: LRUCache[tuple[object, ...], tuple[ref[RoutingContext], Decision]] = LRUCache(DECISIONS_KEPT)
        self._previewed: LRUCache[tuple[object, ...], tuple[ref[RoutingContext], Decision]] = LRUCache(PREVIEWS_KEPT)
        self._lock = threading.Lock()

    def routers(self) -> tuple[type[AnyRouter], ...]:
        return tuple(ROUTERS.values())

    def parameters(
        self, router: str, values: Mapping[str, object] | None = None, *, preset: str = DEFAULT_PRESET
    ) -> Parameters:
        """A router's parameters: a preset with some values replaced. Raises ParameterError, UnknownNameError."""
        return applied(self._router(router).parameters, preset, values)

    def route(
        self,
        query: str,
        *,
        catalog: str = SAMPLE,
        router: str = "ehrr",
        parameters: Parameters | None = None,
        server_hint: str = "",
        record: bool = True,
        origin: str = CONSOLE,
        visitor: str = "",
        seen: Sequence[str] = (),
        anew: bool = False,
        at_once: bool = False,
        scope: Scope | None = None,
        network: NetworkMoment = AS_MEASURED,
    ) -> Decision:
        """Decides. Records the decision as an event if `record` is set, the person may, and the network is not simulated.

        An equal query over unchanged statistics returns the recorded decision; `anew` makes and records another decision. `visitor` is the
        origin of changed parameters. `seen` are tools whose output the agent has, for a router that knows its state. `at_once` does not wait
        for vectors if words alone can decide. `scope` returns the visible tools (rows), or None for all. A simulated network has no scope.
        """
        algorithm = self._router(router)
        chosen = algorithm.checked(parameters)
        set_by = ChosenParameters(chosen, origin, visitor)
        if record:
            chosen = algorithm.having_seen(chosen, seen)
        asked = Asked(query, chosen, catalog, router, server_hint, at_once=at_once, network=network)
        if scope is not None and network.simulated:
            raise ValueError("A decision within a scope has no simulated network.")
        if record and (network.simulated or person().refusal("tune")):
            return self.preview(asked)
        context = self.figures(asked)
        tools = None if scope is None else scope(context.catalog)
        if tools is not None:
            context = self._catalogs.part(context, tools)
        if not record:
            return algorithm.route(query, context, chosen, server_hint=server_hint)
        key = _key(context, asked)
        recorded = (key, set_by.origin)
        with self._lock:
            stored = self._recorded.get(recorded)
            previewed = self._previewed.pop(key, None)
        if stored is not None and stored[0]() is context and not anew:
            self._log.repeated(algorithm, set_by)
            return stored[1]
        if previewed is not None and previewed[0]() is context and not anew:
            decision = replace(previewed[1], at=datetime.now(UTC), client=set_by.client)
        else:
            decision = algorithm.route(query, context, chosen, server_hint=server_hint)
            decision = replace(self._completed(decision, context, chosen, network), client=set_by.client)
        self._log.decision(algorithm, decision, set_by)
        with self._lock:
            self._by_id[decision.id] = decision
            self._recorded[recorded] = (ref(context), decision)
        return decision

    def preview(self, asked: Asked) -> Decision:
        """The decision of `route`, without recording it. A later `route` records this decision, unless it is hypothetical."""
        algorithm = self._router(asked.router)
        chosen = algorithm.checked(asked.parameters)
        context = self.context(asked)
        key = _key(context, asked)
        with self._lock:
            stored = self._recorded.get((key, CONSOLE)) or self._previewed.get(key)
        if stored is not None and stored[0]() is context:
            return stored[1]
        figures = layered(context, asked.supposed)
        decision = algorithm.route(asked.query, figures, chosen, server_hint=asked.hint)
        decision = self._completed(decision, figures, chosen, asked.network)
        with self._lock:
            self._previewed[key] = (ref(context), decision)
        return decision

    def decide(
        self, query: str, context: RoutingContext, router: str, parameters: Parameters, *, server_hint: str = ""
    ) -> Decision:
        """Decides over a given context. Records nothing."""
        return self._router(router).route(query, context, parameters, server_hint=server_hint)

    def parts(self, question: str, *, planner: str = "rules") -> tuple[SubQuery, ...]:
        """The parts of a question, a single part if it cannot be divided. Raises PlannerError."""
        return chosen_planner(self._planners, planner).decompose(question)

    def plan(
        self,
        question: str,
        *,
        planner: str = "rules",
        catalog: str = SAMPLE,
        router: str = "ehrr",
        parameters: Parameters | None = None,
        origin: str = CONSOLE,
        visitor: str = "",
        at_once: bool = False,
        network: NetworkMoment = AS_MEASURED,
    ) -> Plan:
        """A question divided into parts, each with a recorded decision.

        For a router that knows the agent's state, a step has seen the output of the steps that it needs. That changes the state, and
        no parameter.
        """

        def decide(text: str, seen: Sequence[str]) -> Decision:
            return self.route(
                text, catalog=catalog, router=router, parameters=parameters, origin=origin, visitor=visitor, seen=seen,
                at_once=at_once, network=network,
            )  # fmt: skip

        parts = [(part.text, part.needs) for part in self.parts(question, planner=planner)]
        return Plan.of(question, self._planners[planner].name, parts, decide)

    def planners(self) -> Mapping[str, str]:
        """The planners by their parameter value: `rules`, and the model if one is set."""
        return {name: planner.name for name, planner in self._planners.items()}

    def planner_usage(self) -> Usage | None:
        """The calls, tokens and USD of the planning model since the start. Returns None without a model."""
        return self._planners["model"].usage if "model" in self._planners else None

    def decision(self, decision_id: str) -> Decision | None:
        """A decision of this process by id. Returns None if it is no longer kept."""
        with self._lock:
            return self._by_id.get(decision_id)

    def by_fit(self, router: str, parameters: Parameters | None) -> bool:
        """Whether words alone can decide with this router, while a catalog has no vectors."""
        algorithm = self._router(router)
        return algorithm.by_fit(algorithm.checked(parameters))

    def context(self, asked: Asked) -> RoutingContext:
        """The catalog with its statistics as the parameters weigh them, the client's open sessions, and the simulated network's figures. Has
        no supposed figures. Raises UnknownNameError, CatalogError for a network."""
        learning = asked.parameters if isinstance(asked.parameters, LearningParameters) else None
        at_once = asked.at_once and self.by_fit(asked.router, asked.parameters)
        context = self._catalogs.context(
            asked.catalog, learning, at_once=at_once, with_simulated=asked.network.with_simulated
        )
        context = self._sessions.context(context, SESSION_OWNER.get().key or CONSOLE)
        return self.networks.context(context, asked.network)

    def figures(self, asked: Asked) -> RoutingContext:
        """The context, with the supposed figures laid over it. Raises as `context`."""
        return layered(self.context(asked), asked.supposed)

    def _completed(
        self, decision: Decision, context: RoutingContext, parameters: Parameters, network: NetworkMoment
    ) -> Decision:
        """A router's decision with each tool's probability of fit, the network, the preset of the parameters, and notes."""
        parts = 1 if decision.steps else len(self.parts(decision.query))
        # a router that does not rank by fit has none
        fit = decision.fit or context.matcher.fit(decision.query, decision.server_hint)[0]
        fit = understood(fit, decision.query)
        if fit.confidence == "sure" and decision.candidates:
            winner = decision.candidates[0]
            # "sure" is about the winner, not about a likelier tool that it beats by time or price
            if winner in decision.writing or fit.tools[winner] < SURE_FROM or parts > 1:
                fit = replace(fit, confidence="unsure")
        decision = replace(decision, fit=fit, network=network, parts=parts)
        return replace(
            decision,
            preset=preset_of(parameters),
            reason=decision.reason
            + fit_note(decision)
            + language_note(decision)
            + words_note(decision)
            + parts_note(decision)
            + network_note(decision),
        )

    def _router(self, name: str) -> AnyRouter:
        if name not in self._routers:
            raise UnknownNameError(f"There is no router {name!r}; choose one of: {', '.join(self._routers)}.")
        return self._routers[name]


def _key(context: RoutingContext, asked: Asked) -> tuple[object, ...]:
    """The key of a query, equal for equal queries of any visitor."""
    text, hint = asked.query.strip(), asked.hint.strip()
    return id(context), asked.router, asked.parameters, text, hint, asked.supposed, asked.network
