"""A question of several steps on the Route page: offered for a question with several tasks, routed step by step."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.catalogs.decision_log import DecisionLog
from core.decisions.routing import RoutingService
from core.domain import units
from core.domain.errors import PlannerError
from core.planning.base import SubQuery, Usage, who_waits
from core.planning.plans import Plan, PlannedStep
from core.planning.rules import RulesPlanner
from dashboard import session
from dashboard.pages.route.charts import plan_steps
from tests.cases import each
from tests.dashboard.harness import app_with, checked, metrics_of, open_page, press, with_services

CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Local files.",
            "ask_usd": 0.001,
            "tools": [
                {"name": "find_report", "description": "Finds a report.", "price_usd": 0.001, "latency_s": 0.5},
                {"name": "read_report", "description": "Reads a report.", "latency_s": 0.5},
            ],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "ask_usd": 0.001,
            "tools": [
                {
                    "name": "mail_report",
                    "description": "Mails a report to somebody.",
                    "price_usd": 0.002,
                    "latency_s": 0.25,
                }
            ],
        },
    ]
}
TWO = "find the report and mail the report to Bo"
PLAN = "route.plan"


app = app_with({"small": CATALOG}, scope="module")


def visit(**query: str) -> AppTest:
    return open_page("route", **{**{"catalog": "small"}, **query})


def metrics(page: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in page.metric} | metrics_of(page)


def test_several_things_can_be_planned_and_the_link_says_so(app: App) -> None:
    assert not [group for group in visit(q="mail a report").button_group if group.key == PLAN]  # one thing is no plan
    page = visit(q=TWO)
    assert "Price a call" in metrics(page)
    assert "**1** find the report **2** mail the report to Bo" in " ".join(element.value for element in page.markdown)
    assert any("Split into 2 steps" in option for option in page.button_group(key=PLAN).options)
    checked(page.button_group(key=PLAN).set_value("rules").run())
    assert page.query_params["plan"] in ("rules", ["rules"])
    app.store.events.flush()
    assert app.store.activity.decisions()["subtask"].tolist()[:2] == ["mail the report to Bo", "find the report"]
    assert [b.key for b in page.button if b.key and b.key.startswith("route:plan:call")] == [
        "route:plan:call:0", "route:plan:call:1",
    ]  # fmt: skip
    plan = app.routing.plan(TWO, catalog="small")
    assert [step.needs for step in plan.steps] == [(), (0,)]
    figures = metrics(page)
    assert figures["Steps"] == "2"
    assert "Price a call" not in figures
    assert figures["Tokens exposed"] == f"{plan.exposed_tokens:,}"
    text = " ".join(element.value for element in page.markdown)
    assert all(step.decision.winner.tool.split("::")[1].replace("_", "\\_") in text for step in plan.steps)
    assert "after 1" in text


def test_the_payments_of_the_steps_sum_to_that_of_the_plan(app: App) -> None:
    parameters = app.routing.parameters("ehrr", {"settlement": "posted"})
    plan = app.routing.plan(TWO, catalog="small", parameters=parameters)
    shown = [text.rsplit(" · ", 1)[1] for text in plan_steps(plan).data[1].text]
    assert all(text.endswith(" m$") for text in shown)
    assert sum(float(text.removesuffix(" m$")) for text in shown) == pytest.approx(1e3 * plan.price_usd, rel=0.01)
    assert metrics(visit(q=TWO, plan="rules", settlement="posted"))["Payment"] == units.price(plan.price_usd)


def test_a_plan_without_a_price_is_unpriced_and_not_free() -> None:
    page = visit(q="read the report and read the report", plan="rules")
    assert metrics(page)["Payment"] == "unpriced"


@each("short, long", [(0.4, 8.0), (8.0, 0.4), (4.0, 4.0)])
def test_no_arrow_crosses_a_name(app: App, short: float, long: float) -> None:
    decision = app.routing.plan(TWO, catalog="small").steps[0].decision
    parts = (
        ((), 0.0, short),
        ((0,), short, short + long),
        ((0,), short, short + 1),
        ((1, 2), short + long, short + long + 1),
    )
    steps = tuple(PlannedStep("x", needs, decision, start, end) for needs, start, end in parts)
    figure = plan_steps(Plan("q", "rules", steps))
    names, (low, high) = figure.data[1], figure.layout.xaxis.range
    crossed = 0
    for start, height, text in zip(names.x, names.y, names.text, strict=True):
        for arrow in figure.layout.annotations:
            if arrow.y < height < arrow.ay:
                x = arrow.ax + (arrow.ay - height) / (arrow.ay - arrow.y) * (arrow.x - arrow.ax)
                place = (x - low) / (high - low)
                assert place < start or place > start + len(text) * 5.6 / 420, (
                    text
                )  # px of a letter, and of a narrow chart
                crossed += 1
    assert crossed > 4


def test_where_no_server_accepts_no_step_can_be_done(app: App) -> None:
    page = visit(q=TWO, plan="rules", p_bs="0", p_ofs="0")
    assert "No tool can do step 1, 2" in page.warning[0].value


def use_model(app: App, model: RulesPlanner) -> None:
    planners = {"rules": RulesPlanner(), "model": model}
    routing = RoutingService(app.catalogs, DecisionLog(app.store), planners, app.simulated_networks)
    session.use_app(with_services(app, routing=routing))


def test_a_model_that_takes_long_shows_its_tokens_and_is_stopped(app: App) -> None:
    class Slow(RulesPlanner):
        """Writes until stopped; answers at once from the second call on."""

        name = "slow"
        asked = 0

        def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
            self.asked += 1
            if self.asked == 1 and (watch := who_waits()) is not None:
                watch.tokens = 57
                if watch.stop.wait(20):
                    raise PlannerError("stopped")
            return super().decompose(question, limit)

    use_model(app, Slow())
    page = visit(q=TWO, plan="model")
    assert "tokens so far: 57" in page.get("progress")[0].proto.text
    assert "Steps" not in metrics(page)
    press(page, "route:split:stop")
    app.background.close(60)  # waits for its end
    page = checked(page.run())
    assert "stopped before it had split" in page.info[0].value
    press(page, "route:split:again")
    session.use_app(app)
    assert metrics(page)["Steps"] == "2"


def test_what_the_model_has_taken_stands_below_and_a_plan_by_it_is_offered(app: App) -> None:
    page = visit(q=TWO, plan="model")
    assert "Price a call" in metrics(page)  # a planner that is not there: one decision
    assert not [caption for caption in page.caption if "since the start" in caption.value]

    class Model(RulesPlanner):
        name = "<b>small</b>"
        usage = Usage("<b>small</b>", calls=2, cost_usd=None)

    use_model(app, Model())
    page = visit(q=TWO, plan="model")
    session.use_app(app)
    assert metrics(page)["Steps"] == "2"
    (line,) = (caption.value for caption in page.caption if "since the start" in caption.value)
    assert "price not known" in line
    assert "<b>" not in line
