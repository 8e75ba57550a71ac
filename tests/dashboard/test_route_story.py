"""The Decision view without a sub-task, with the real encoder: examples that come out right, and a decision that one knob changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from core.app import App, Settings, open_app
from core.decisions.routing import Asked
from dashboard import session
from dashboard.pages.route.view import EXAMPLES, KNOBS, Example, story_of
from tests.cases import each
from tests.dashboard.harness import charts, markdown_of, open_page, press
from tests.importing import import_text


def tool(name: str, text: str, **figures: float) -> dict[str, Any]:
    return {"name": name, "description": text, **figures}


def converter(name: str, price_usd: float, latency_s: float) -> dict[str, Any]:
    figures = {"ask_usd": 0.0001, "conn_s": 0.1, "call_s": latency_s, "success": 0.95}
    text = "Converts a length from miles to kilometres."
    return {
        "name": name,
        "description": text,
        **figures,
        "tools": [tool("convert", text, price_usd=price_usd, latency_s=latency_s)],
    }


MINE = {
    "servers": [
        converter("slow", 0.0, 3.0), converter("quick", 0.02, 0.2),
        {"name": "weather", "description": "Weather.", "tools": [tool("forecast", "Gives tomorrow's weather forecast for a city.")]},
    ]
}  # fmt: skip
ALONE = {"servers": [{"name": "one", "description": "Writes.", "tools": [tool("write", "Writes.")]}]}

visit = partial(open_page, "route")


@pytest.fixture(scope="module")
def app(warm_store: Path, encoder_cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app with the real encoders, which tell what fits, for the pages."""
    db = Path(shutil.copy(warm_store, tmp_path_factory.mktemp("story") / "story.duckdb"))
    with open_app(Settings(db=db, cache=encoder_cache, words_after_s=60.0)) as app:
        for name, catalog in (("mine", MINE), ("alone", ALONE)):
            import_text(app.catalog_editor, json.dumps(catalog), name, "test")
        session.use_app(app)
        yield app
        session.use_app(None)


def told(page: Any) -> bool:
    return any(button.key == "route:story:ask" for button in page.button)


def asked(app: App, question: str, catalog: str) -> Asked:
    return Asked(question, app.routing.parameters("ehrr"), catalog)


def test_the_story_of_an_own_catalog_turns_a_knob_to_another_winner(app: App) -> None:
    changes = next(example for example in app.examples.of("mine") if example.kind == "changes")
    turn = story_of(app, asked(app, changes.question, "mine"))
    assert turn is not None
    assert turn.knob.name in KNOBS
    for value, winner in zip((turn.now, turn.to), turn.winners, strict=True):
        parameters = app.routing.parameters("ehrr", {turn.knob.name: value})
        decision = app.routing.preview(Asked(changes.question, parameters, "mine"))
        assert decision.winner is not None
        assert decision.winner.tool == winner

    page = visit(catalog="mine")
    assert told(page)
    assert len(charts(page)) == 3
    assert "What happens next" in markdown_of(page)
    assert "simulated" not in markdown_of(page)  # those figures are the sample's
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0
    page = press(page, "route:story:ask")
    assert page.text_input(key="ask.q").value == changes.question


def test_a_catalog_without_a_change_and_another_router_have_examples_alone(app: App) -> None:
    assert not told(visit(catalog="alone"))
    assert not told(visit(catalog="mine", router="rag_mcp"))
    assert story_of(app, asked(app, "write", "alone")) is None


@each("example", EXAMPLES, ids=lambda example: example.title)
def test_an_example_comes_out_right(app: App, example: Example) -> None:
    if example.planner:
        decisions = [step.decision for step in app.routing.plan(example.query, planner=example.planner).steps]
    else:
        decisions = [app.routing.route(example.query, record=False)]
    assert len(decisions) == len(example.winners)
    for decision, right in zip(decisions, example.winners, strict=True):
        assert decision.winner is not None
        assert decision.winner.tool in right


def test_examples_of_any_catalog_come_out_as_they_are_announced(app: App) -> None:
    example, changes, steps = app.examples.of("sample")
    assert won(app, example.question) == example.winners[0]
    assert changes.knob is not None
    assert won(app, changes.question) == changes.winners[0]
    higher = {changes.knob.name: changes.beyond * 1.05}
    assert won(app, changes.question, **higher) == changes.winners[1] != changes.winners[0]
    planned = app.routing.plan(steps.question, planner="rules").steps
    assert tuple(step.decision.winner.tool for step in planned if step.decision.winner) == steps.winners
    assert app.examples.of("sample") is app.examples.of("sample")


def won(app: App, question: str, **values: float) -> str:
    winner = app.routing.route(question, parameters=app.routing.parameters("ehrr", values), record=False).winner
    return "" if winner is None else winner.tool
