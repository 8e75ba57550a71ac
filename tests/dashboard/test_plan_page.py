"""A question of several steps on the Route page: offered where it asks for several things, routed step by step."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.planning.rules import RulesPlanner
from core.planning.usage import Usage
from core.store import Store
from dashboard import session

CATALOG = """{"servers": [
  {"name": "files", "description": "Local files.", "ask_usd": 0.001, "tools": [
    {"name": "find_report", "description": "Finds a report.", "price_usd": 0.001, "latency_s": 0.5},
    {"name": "read_report", "description": "Reads a report.", "latency_s": 0.5}]},
  {"name": "mail", "description": "Sends letters.", "ask_usd": 0.001, "tools": [
    {"name": "mail_report", "description": "Mails a report to somebody.", "price_usd": 0.002, "latency_s": 0.25}]}]}"""
TWO = "find the report and mail the report to Bo"
PLAN = "route.plan"


def script() -> None:
    from dashboard.views.route import page

    page()


@pytest.fixture(autouse=True)
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    store = Store(None)
    with Console(store, CachedEncoder(onnx_source(), store.vectors)) as opened:
        opened.desk.import_text(CATALOG, "small")
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update({"catalog": "small", **query})
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    assert not app.error, app.error[0].value
    return app


def metrics(app: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in app.metric}


def test_one_thing_is_no_plan() -> None:
    assert not [group for group in visit(q="find the report").button_group if group.key == PLAN]


def test_several_things_can_be_planned_and_the_link_says_so(console: Console) -> None:
    app = visit(q=TWO)
    assert "Price a call" in metrics(app)
    checked(app.button_group(key=PLAN).set_value("rules").run())
    assert app.query_params["plan"] in ("rules", ["rules"])
    plan = console.plan(TWO, catalog="small")
    assert [step.needs for step in plan.steps] == [(), (0,)]
    shown = metrics(app)
    assert shown["Steps"] == "2"
    assert "Price a call" not in shown
    assert shown["Tokens exposed"] == f"{plan.exposed_tokens:,}"
    said = " ".join(part.value for part in app.markdown)
    assert all(step.decision.winner.tool.split("::")[1].replace("_", "\\_") in said for step in plan.steps)
    assert "after 1" in said


def test_each_step_is_a_recorded_decision_and_can_be_called(console: Console) -> None:
    app = visit(q=TWO, plan="rules")
    console.store.events.flush()
    assert console.store.activity.decision_count() == 2
    assert [b.key for b in app.button if b.key and b.key.startswith("route:plan:call")] == [
        "route:plan:call:0", "route:plan:call:1",
    ]  # fmt: skip


def test_a_link_to_a_planner_that_is_not_there_is_one_decision() -> None:
    assert "Price a call" in metrics(visit(q=TWO, plan="model"))


def test_an_empty_catalog_says_that_no_step_can_be_done(console: Console) -> None:
    console.desk.import_text('{"servers": [{"name": "bare", "connection": {"command": "none"}}]}', "hollow")
    app = visit(q=TWO, plan="rules", catalog="hollow")
    assert "Nothing can do step 1, 2" in app.warning[0].value


def test_what_the_model_has_taken_stands_below_and_a_plan_by_it_is_offered(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not [caption for caption in visit(q=TWO).caption if "since the start" in caption.value]

    class Model(RulesPlanner):
        name = "<b>small</b>"
        usage = Usage("<b>small</b>", calls=2, cost_usd=None)

    monkeypatch.setitem(console._planners, "model", Model())
    app = visit(q=TWO, plan="model")
    assert metrics(app)["Steps"] == "2"
    (line,) = (caption.value for caption in app.caption if "since the start" in caption.value)
    assert "price not known" in line
    assert "<b>" not in line
