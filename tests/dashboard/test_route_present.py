"""A decision to present from: five steps of the shown decision, with strangers' texts as text."""

from __future__ import annotations

from core.app import App
from core.decisions.routing import Asked
from dashboard.pages.route.decision import steps
from tests.dashboard.harness import app_with

HOSTILE = "<img src=x onerror=alert(1)>"
CATALOG = {
    "servers": [
        {"name": HOSTILE, "description": "Reads files.", "ask_usd": 0.001, "tools": [{"name": "read", "description": "Reads a file."}]},
        {"name": "mail", "description": "Sends mail.", "ask_usd": 0.001, "tools": [{"name": "send", "description": HOSTILE}]},
    ]
}  # fmt: skip

app = app_with({"small": CATALOG})


def test_a_decision_has_five_steps_and_no_markup_of_strangers(app: App) -> None:
    for router, third in (("ehrr", "The auction"), ("rag_mcp", "The stages")):
        decision = app.routing.preview(Asked(f"read a file {HOSTILE}", app.routing.parameters(router), "small", router))
        shown = steps(decision)
        assert [one["title"] for one in shown] == ["The question", "The candidates", third, "The winner", "Why"]
        text = "".join(one["html"] for one in shown)
        assert "<img" not in text
        assert "&lt;img" in text
        assert decision.winner is not None
        assert decision.winner.tool.rpartition("::")[2] in shown[3]["html"]


def test_without_a_winner_the_steps_say_why(app: App) -> None:
    nothing = app.routing.parameters("ehrr", {"budget_usd": 0.0})
    shown = steps(app.routing.preview(Asked("read a file", nothing, "small")))
    assert "No tool" in shown[3]["html"]
