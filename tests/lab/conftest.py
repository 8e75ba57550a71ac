"""Decisions for the tests of the lab."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.domain.decision import SubDecision
from core.lab.scenarios.simulation import World
from core.planning.rules import RulesPlanner
from core.routers.baselines import SimpleRetrieval
from tests.lab import search_world as searching


@pytest.fixture(scope="session")
def routed():
    """A decision of the plainest router over a routing context; `steps` are candidates by step, other fields as they are named."""

    def route(context, *, steps=(), **fields):
        decision = SimpleRetrieval().route("anything", context)
        parts = tuple(SubDecision(str(number), rows) for number, rows in enumerate(steps))
        return replace(decision, steps=parts, **fields)

    return route


@pytest.fixture
def world():
    """A world of the five search servers under a profile."""

    def of(profile, *, steps=360, seed=0, lead_in=30, planner=None, **settings):
        context = searching.context()
        traces = profile.traces(context.catalog.servers, lead_in + steps, seed=seed)
        planners = {"rules": planner or RulesPlanner()}
        return World.of(context, traces, searching.tasks(), planners, seed=seed, lead_in=lead_in, **settings)

    return of
