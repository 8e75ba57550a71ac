"""Exact what-if on one sub-task as pages ask for it."""

from __future__ import annotations

import threading

from cachetools import LRUCache

from core.domain.params import Parameters
from core.importers.shipped_catalogs import SAMPLE
from core.planning.rules import RulesPlanner
from core.routers.base import checked_subtask
from core.routers.context import Query, RoutingContext
from core.routers.ehrr_parameters import EhrrParameters
from core.routers.expected_value import ExpectedValueParameters, prospects
from core.routers.exploration import beliefs
from core.routers.parameters import LearningParameters
from core.routers.refusing import refusal
from core.services.catalogs import CatalogService
from core.whatif.case import Case
from core.whatif.ehrr_strips import strips as ehrr_strips
from core.whatif.strips import Strip
from core.whatif.value_case import ValueCase
from core.whatif.value_strips import strips as value_strips

KEPT = 64


class WhatIfService:
    """Answers what a decision would be under other values. Nothing is recorded. Thread-safe."""

    def __init__(self, catalogs: CatalogService) -> None:
        self._catalogs = catalogs
        self._known: LRUCache[object, tuple[RoutingContext, dict[str, Strip]]] = LRUCache(KEPT)
        self._lock = threading.Lock()

    def strips(
        self,
        subtask: str,
        *,
        catalog: str = SAMPLE,
        router: str = "ehrr",
        parameters: Parameters,
        server_hint: str = "",
    ) -> dict[str, Strip]:
        """By parameter: who wins at which value, exactly. Empty for a router whose decision is not computed that way.

        Raises WayfareError as the router does.
        """
        text, hint = checked_subtask(subtask), server_hint.strip()
        learning = parameters if isinstance(parameters, LearningParameters) else None
        context = self._catalogs.context(catalog, learning)
        key = (id(context), router, parameters, text, hint)
        with self._lock:
            known = self._known.get(key)
        if known is not None and known[0] is context:
            return known[1]
        found = dict[str, Strip]()
        if context.tool_ids and isinstance(parameters, EhrrParameters):
            found = ehrr_strips(case_of(context, text, hint, parameters))
        elif context.tool_ids and isinstance(parameters, ExpectedValueParameters):
            found = value_strips(value_case_of(context, text, hint, parameters))
        with self._lock:
            self._known[key] = context, found
        return found


def case_of(context: RoutingContext, text: str, hint: str, parameters: EhrrParameters) -> Case:
    """The sub-task with its similarities, as the router sees it."""
    query = Query(text, hint, context.matcher, RulesPlanner())
    return Case(
        context,
        query.match(parameters),
        parameters,
        beliefs(context.statistics, parameters, rate=parameters.lambda_r),
        refusal(query, parameters),
    )


def value_case_of(context: RoutingContext, text: str, hint: str, parameters: ExpectedValueParameters) -> ValueCase:
    """The same for the router of expected value."""
    query = Query(text, hint, context.matcher, RulesPlanner())
    known = prospects(query.fit().tools, context)
    return ValueCase(context, known, query.likeness, parameters, refusal(query, parameters))
