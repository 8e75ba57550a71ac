"""A query of several steps: whether to take it apart, and then every step with the totals of all."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from core.app import App
from core.domain.params import Parameters
from core.domain.plans import Plan
from core.shared import units
from dashboard.pages.route.agent_state import agent_state
from dashboard.pages.route.charts.plan_steps import plan_steps
from dashboard.session import visitor
from dashboard.ui.chart import chart
from dashboard.ui.navigation import open_page
from dashboard.ui.query_form import QueryForm
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

ONE = "one"
HELP = (
    "One decision looks the whole query up at once. A plan takes it apart and routes each part by itself; "
    "the planner of rules goes by the wording and may be wrong."
)


def start_plan(state: UrlState, linked: Mapping[str, str]) -> None:
    """Begin with the planner of the link."""
    st.session_state.setdefault(state.key("plan"), linked.get("plan", "") or ONE)


def plan_choice(app: App, state: UrlState, subtask: str) -> str:
    """Who takes the query apart, for the URL too: empty for nobody. Nothing is drawn where it asks for one thing."""
    key, planners = state.key("plan"), app.routing.planners()
    count = len(app.routing.parts(subtask))
    chosen = st.session_state.get(key, ONE)
    if count < 2 and len(planners) < 2 and chosen == ONE:
        return ""
    options = {ONE: "One decision", **{name: _option(name, title, count) for name, title in planners.items()}}
    if chosen not in options:
        st.session_state[key] = ONE
    picked = st.segmented_control(
        "Steps", list(options), key=key, format_func=options.__getitem__, required=True, label_visibility="collapsed",
        help=HELP,
    )  # fmt: skip
    return "" if picked is None or picked == ONE else picked


def plan_body(
    app: App, query: QueryForm, parameters: Parameters, planner: str, texts: Mapping[str, str], knobs: str
) -> None:
    """Plan the query and show the steps over time, and a line for each with the way to its decision and its call.

    `texts` are what a link to it carries, `knobs` the prefix of the router's. Raises WayfareError as the planner does.
    """
    plan = app.routing.plan(
        query.subtask,
        visitor=visitor(),
        planner=planner,
        catalog=query.catalog,
        router=query.router,
        parameters=parameters,
    )
    _totals(plan)
    agent_state(app, [step.decision for step in plan.steps], knobs)
    grid = st.grid(2, min_column_width=400, gap="medium")
    with grid.cell():
        chart(plan_steps(plan), key="route:plan")
        st.caption("Violet steps decide how long all takes; an arrow leads from a step to one that needs its result.")
    with grid.cell():
        for position in range(len(plan.steps)):
            _step(app, plan, position, texts)


def _option(name: str, title: str, count: int) -> str:
    return f"Plan of {count} steps" if name == "rules" else f"Plan by {escaped(title, 30)}"


def _totals(plan: Plan) -> None:
    """What all steps take together."""
    missing = plan.unanswered
    if missing:
        steps = ", ".join(str(position + 1) for position in missing)
        st.warning(f"Nothing can do step {steps}: the totals are without it.", icon=":material/block:")
    row = st.container(horizontal=True, gap="medium")
    unpriced = f" {plan.unpriced} without a price not counted." if plan.unpriced else ""
    for name, value, help_text in (
        ("Steps", str(len(plan.steps)), f"Taken apart by {plan.planner}."),
        ("Price", units.price(plan.price_usd), f"Sum over the steps' winners.{unpriced}"),
        ("Expected time", units.seconds(plan.elapsed_s), "Until all is done, where steps that need no other run at once."),
        ("One by one", units.seconds(plan.work_s), "Expected seconds of all steps one after another."),
        ("Tokens exposed", f"{plan.exposed_tokens:,}", "cl100k_base tokens that all steps newly put before a model."),
    ):  # fmt: skip
        row.metric(name, value, help=help_text, width="content")


def _step(app: App, plan: Plan, position: int, texts: Mapping[str, str]) -> None:
    step = plan.steps[position]
    winner = step.decision.winner
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="xsmall"):
        after = f" · after {', '.join(str(need + 1) for need in step.needs)}" if step.needs else ""
        tool = escaped(winner.tool, 60) if winner else escaped(step.decision.reason, 160)
        st.container(width="stretch").markdown(
            f"**{position + 1}** {escaped(step.text, 160)}  \n:small[:gray[{tool}{after}]]"
        )
        if st.button("Open", key=f"route:plan:open:{position}", help="This step as a decision of its own"):
            changed = app.routing.parameters(step.decision.router, step.decision.parameters).changed()
            own = {name: str(value) for name, value in changed.items()}  # a later step has seen what earlier ones bring
            open_page("route", **{**texts, **own, "q": step.text, "plan": "", "hint": ""})
        if winner and st.button("Call", key=f"route:plan:call:{position}"):
            open_page("call", catalog=step.decision.catalog, tool=winner.tool, decision=step.decision.id)
