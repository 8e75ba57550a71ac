"""Replies of planners are cached within a simulated world, each planner's for itself."""

from __future__ import annotations

from core.lab.scenarios.simulation import LookupCache, cached_planner
from core.planning.rules import RulesPlanner


class Other(RulesPlanner):
    """A planner that predicts another tool."""

    name = "other"

    def predict_tool(self, question: str) -> str:
        return f"another tool than {question}"

    def rewrite(self, question: str) -> str:
        return f"other than {question}"


def test_planners_of_one_world_do_not_answer_for_each_other() -> None:
    cache = LookupCache()
    rules, other = (cached_planner(planner, cache) for planner in (RulesPlanner(), Other()))
    assert rules.predict_tool("q") != other.predict_tool("q")
    assert rules.rewrite("q") != other.rewrite("q")
