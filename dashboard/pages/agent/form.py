"""The form of an agent's task and its limits, kept in the URL."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.agents.agent import ROUNDS, AgentTask
from dashboard.ui.question import Question
from dashboard.ui.url_state import select

SIMULATE, READ, WRITE = "simulate", "read", "write"
CALLS = {READ: "only tools that read", WRITE: "all tools", SIMULATE: "none, simulate"}
RULES = "rules"
MOST_ROUNDS = 20


@dataclass(frozen=True, slots=True)
class Filled:
    """The task, and whether each action waits for a person."""

    task: AgentTask
    by_hand: bool


def task_form(question: Question) -> tuple[Filled, dict[str, str]]:
    """Draw the fields. Returns the task, and the texts for the URL that are not part of the question."""
    app, state, linked, query = question.app, question.state, question.linked, question.query
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    planners = {name: "rules" if name == RULES else title for name, title in app.routing.planners().items()}
    planner = select(
        row, state, linked, "planner", "Planner", list(planners), start=RULES, show=planners.__getitem__, width=170,
        note="Splits the task, chooses tools and fills arguments: rules, or the model of WAYFARE_LLM_MODEL.",
    )  # fmt: skip
    calls = select(
        row, state, linked, "calls", "Real calls", list(CALLS), start=READ, show=CALLS.__getitem__, width=180,
        note="Tools without a read-only hint are called only with “all tools”. Simulated outcomes are drawn from the "
        "known statistics, are marked, and do not change them.",
    )  # fmt: skip
    _start(state.key("rounds"), _rounds(linked.get("rounds", "")))
    rounds = int(
        row.number_input(
            "Rounds", 1, MOST_ROUNDS, key=state.key("rounds"), width=110,
            help="The maximum number of actions for each sub-task.",
        )
    )  # fmt: skip
    _start(state.key("budget"), _budget(linked.get("budget", "")))
    budget: float | None = row.number_input(
        "Budget, USD", 0.0, None, key=state.key("budget"), step=0.01, format="%.3f", placeholder="none", width=130,
        help="A call that costs more than the rest, or without a known price, is not made. It also pays for the model.",
    )  # fmt: skip
    _start(state.key("hand"), linked.get("hand") == "1")
    by_hand = row.toggle(
        "Step by step", key=state.key("hand"), help="Each action waits for you: do it, do another one, or end here."
    )
    texts = {
        "planner": "" if planner == RULES else planner, "calls": "" if calls == READ else calls,
        "rounds": "" if rounds == ROUNDS else str(rounds), "budget": "" if budget is None else f"{budget:g}",
        "hand": "1" if by_hand else "",
    }  # fmt: skip
    task = AgentTask(
        query.subtask, query.catalog, query.router, question.parameters, planner, rounds, budget, calls != SIMULATE, calls == WRITE
    )  # fmt: skip
    return Filled(task, by_hand), texts


def _start(key: str, value: object) -> None:
    st.session_state.setdefault(key, value)


def _rounds(text: str) -> int:
    """Returns the rounds of a link, or the default if the field cannot take them.

    >>> _rounds("5"), _rounds(""), _rounds("999")
    (5, 3, 3)
    """
    return int(text) if text.isdecimal() and 1 <= int(text) <= MOST_ROUNDS else ROUNDS


def _budget(text: str) -> float | None:
    """Returns the budget of a link, or None.

    >>> _budget("0.05"), _budget(""), _budget("-1"), _budget("nan")
    (0.05, None, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None
