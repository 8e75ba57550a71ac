"""The planners that this process has: rules always, a model where the environment names one."""

from __future__ import annotations

from collections.abc import Mapping

from core.planning.base import Planner
from core.planning.rules import RulesPlanner
from core.shared.errors import PlannerError

MODEL, BASE_URL, KEY = "WAYFARE_LLM_MODEL", "WAYFARE_LLM_BASE_URL", "WAYFARE_LLM_API_KEY"
NO_MODEL = (
    f"No model is set; set {MODEL}, with {BASE_URL} and {KEY} where the endpoint needs them, or choose planner=rules."
)


def planners(environment: Mapping[str, str]) -> dict[str, Planner]:
    """By the name that the parameter `planner` takes.

    >>> list(planners({})), list(planners({"WAYFARE_LLM_MODEL": "local-7b", "WAYFARE_LLM_BASE_URL": "http://127.0.0.1:1/v1"}))
    (['rules'], ['rules', 'model'])
    """
    found: dict[str, Planner] = {"rules": RulesPlanner()}
    model = environment.get(MODEL, "").strip()
    if model:
        from core.planning.endpoint import LiteLlmEndpoint
        from core.planning.model import ModelPlanner

        url, key = environment.get(BASE_URL, "").strip(), environment.get(KEY, "").strip()
        found["model"] = ModelPlanner(LiteLlmEndpoint(model, url, key))
    return found


def chosen_planner(known: Mapping[str, Planner], name: str) -> Planner:
    """The planner of that name. Raises PlannerError where there is none."""
    if name not in known:
        raise PlannerError(NO_MODEL)
    return known[name]
