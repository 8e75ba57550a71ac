"""The form of an agent's task and its limits, kept in the URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.params import Parameters
from core.services.call.agent import ROUNDS, AgentTask
from dashboard.session import first_catalog
from dashboard.ui.knobs import knob_panel, read_knobs, start_knobs
from dashboard.ui.presets import preset_choice
from dashboard.ui.query_form import DEFAULT_ROUTER
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select

SIMULATE, READ, WRITE = "simulate", "read", "write"
CALLS = {READ: "only tools that read", WRITE: "all tools", SIMULATE: "none, simulate"}
RULES = "rules"
MOST_ROUNDS = 20
OWN = ("planner", "calls", "rounds", "budget", "hand")  # texts of the URL that are not part of the question


@dataclass(frozen=True, slots=True)
class Filled:
    """The task, and whether each action waits for a person."""

    task: AgentTask
    by_hand: bool


def task_form(app: App, state: UrlState, linked: Mapping[str, str]) -> tuple[Filled, dict[str, str]]:
    """Draw the fields. Returns the task and the texts for the URL."""
    router, parameters = _sidebar(app, state, linked)
    _start(state.key("q"), linked.get("q", ""))
    question = st.text_area(
        "What should be done?", key=state.key("q"), height=76, max_chars=20_000,
        placeholder="One or several things, such as: convert 300 from 'mile' to 'kilometre', then make a QR code for 'hello'",
    )  # fmt: skip
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    catalogs = [info.name for info in app.catalogs.infos()]
    catalog = select(row, state, linked, "catalog", "Catalog", catalogs, start=first_catalog(), width=150)
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
        "q": question.strip(), "catalog": "" if catalog == first_catalog() else catalog,
        "planner": "" if planner == RULES else planner, "calls": "" if calls == READ else calls,
        "rounds": "" if rounds == ROUNDS else str(rounds), "budget": "" if budget is None else f"{budget:g}",
        "hand": "1" if by_hand else "", "router": "" if router == DEFAULT_ROUTER else router,
        **{name: str(value) for name, value in parameters.changed().items()},
    }  # fmt: skip
    live, may_write = calls != SIMULATE, calls == WRITE
    task = AgentTask(question.strip(), catalog, router, parameters, planner, rounds, budget, live, may_write)
    return Filled(task, by_hand), texts


def _sidebar(app: App, state: UrlState, linked: Mapping[str, str]) -> tuple[str, Parameters]:
    """Draw the choice of the router and its knobs. Tool Attention has two phases."""
    titles = {router.id: router.title for router in app.routing.routers()}
    with st.sidebar:
        router = select(
            st.container(), state, linked, "router", "Router", list(titles), start=DEFAULT_ROUTER, show=titles.__getitem__, width=240,
            note="Tool Attention shows one line for every tool in a stable prefix (phase 1) and the definitions of the active ones "
            "(phase 2), and refuses calls of other tools. Earlier steps change its state.",
        )  # fmt: skip
        defaults, prefix = app.routing.parameters(router), f"agent.knob.{router}"
        problems = start_knobs(defaults, linked, prefix)
        preset_choice(defaults, prefix)
        knob_panel(defaults, prefix, ())
    for problem in problems:
        st.warning(f"A part of the link was not used: {escaped(problem)}", icon=":material/link_off:")
    return router, read_knobs(defaults, prefix)


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
