"""The order of tries on the Route page: the plan of expected value, with its sums."""

from __future__ import annotations

from functools import partial

from core.app import App
from core.domain import units
from core.domain.untrusted_text import one_line
from tests.dashboard.harness import app_with, live_of, open_page, text_of, words_of

TOOLS = [
    {"name": name, "description": f"Reads a file{more}.", "price_usd": 0.001, "latency_s": 0.1, "success": 0.9}
    for name, more in (("read", ""), ("peek", " a little"), ("<b>deep</b>", " deeply"))
]
CATALOG = {"servers": [{"name": "files", "description": "Reads files.", "tools": TOOLS}]}
ROUTER = {"router": "expected_value"}

app = app_with({"small": CATALOG}, scope="module")
visit = partial(open_page, "route", q="read a file", catalog="small", **ROUTER)


def test_the_tries_are_those_of_the_decision_and_so_are_the_sums(app: App) -> None:
    chosen = app.routing.parameters("expected_value", {"worth_usd": 5.0})
    plan = app.routing.route(
        "read a file", catalog="small", router="expected_value", parameters=chosen, record=False
    ).tries
    assert plan is not None
    assert plan.tries
    page = visit(worth_usd="5.0")
    html = live_of(page)["route:tries"]
    said = one_line(words_of(html))
    assert f"Together {units.share(plan.success)} solved" in said
    assert f"V = {units.price(5.0)}" in said
    assert "<b>deep" not in html


def test_where_no_try_is_worth_it_the_next_tool_and_its_worth_are_named() -> None:
    said = one_line(text_of(visit(worth_usd="0.0")))
    assert "Together 0 % solved" in said
    assert "is worth a try from V = " in said
