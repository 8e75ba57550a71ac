"""The examples of the home page come out right with the real encoder over the sample."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.app import App, Settings, open_app
from dashboard.pages.route.view import EXAMPLES, Example
from tests.cases import each


@pytest.fixture(scope="module")
def sample(warm_store: Path, encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app over a copy of the store in which the sample has been embedded."""
    db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("home") / "home.duckdb"))
    with open_app(Settings(db=db, cache=encoder_cache, words_after_s=60.0)) as app:
        yield app


@each("example", EXAMPLES, ids=lambda example: example.title)
def test_an_example_comes_out_right(sample: App, example: Example) -> None:
    if example.planner:
        decisions = [step.decision for step in sample.routing.plan(example.subtask, planner=example.planner).steps]
    else:
        decisions = [sample.routing.route(example.subtask, record=False)]
    assert len(decisions) == len(example.winners)
    for decision, right in zip(decisions, example.winners, strict=True):
        assert decision.winner is not None
        assert decision.winner.tool in right


def test_examples_of_any_catalog_come_out_as_they_are_announced(sample: App) -> None:
    one, changes, steps = sample.examples.of("sample")
    assert won(sample, one.question) == one.winners[0]
    assert changes.knob is not None
    assert won(sample, changes.question) == changes.winners[0]
    higher = {changes.knob.name: changes.beyond * 1.05}
    assert won(sample, changes.question, **higher) == changes.winners[1] != changes.winners[0]
    planned = sample.routing.plan(steps.question, planner="rules").steps
    assert tuple(step.decision.winner.tool for step in planned if step.decision.winner) == steps.winners
    assert sample.examples.of("sample") is sample.examples.of("sample")


def won(app: App, question: str, **values: float) -> str:
    winner = app.routing.route(question, parameters=app.routing.parameters("ehrr", values), record=False).winner
    return "" if winner is None else winner.tool
