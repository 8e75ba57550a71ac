"""Stores in memory and on disk, and makers of events with every field filled."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from core.domain.events import DecisionEvent, OutcomeEvent, Override, ParameterEvent, Spent, StatisticsEvent
from core.domain.feedback import Judgment, Label
from core.store import Store

T0 = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)


def maker(example: Any) -> Any:
    """A function that makes copies of an example, each a second later and with an id of its own."""
    numbers = count()

    def make(**changes: Any) -> Any:
        number = next(numbers)
        fresh: dict[str, Any] = {"at": example.at + timedelta(seconds=number)}
        if hasattr(example, "id"):
            fresh["id"] = f"{example.id}{number}"
        return dataclasses.replace(example, **(fresh | changes))

    return make


DECISION = DecisionEvent(
    "d",
    T0,
    "demo",
    "ehrr",
    "read a file",
    "files",
    '{"k": 5}',
    "files::read",
    "",
    0.002,
    1.5,
    3.25,
    "[]",
    "{}",
    "console",
)
OUTCOME = OutcomeEvent("o", T0, None, "demo", "files", "read", "ok", 0.5, None, 1, 0.002, False, "", "console")
STATISTICS = StatisticsEvent(T0, "o0", "demo", "files", "read", 0.9, 0.01, 0.05, 1.2, 0.3, 0.95, 0.5, 7, 3)
PARAMETER = ParameterEvent(T0, "ehrr", "k", "5", "6", "console")
LABEL = Label("l", T0, "demo", "read a file", "", "files::read", True, "ann", "console", None)
JUDGMENT = Judgment(T0, "demo", "trip", "read a file", "", "files::read", 2, "ann", "it reads", "console")
SPENT = Spent("1", T0, "2026-03-01", "ann", "demo", "files", "read", 0.002, 1, 40, False, True)
OVERRIDE = Override("demo", "files", "read", "price_usd", 0.004, T0)


@pytest.fixture
def make() -> SimpleNamespace:
    """`make.decision(winner=None)` and so on."""
    return SimpleNamespace(
        decision=maker(DECISION),
        outcome=maker(OUTCOME),
        statistics=maker(STATISTICS),
        parameter=maker(PARAMETER),
        override=maker(OVERRIDE),
        label=maker(LABEL),
        judgment=maker(JUDGMENT),
    )


@pytest.fixture
def store() -> Iterator[Store]:
    with Store(clock=lambda: T0) as new_store:
        yield new_store
