"""A request in several steps, and the state of an agent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job
from core.domain import units
from core.domain.decision import Decision
from core.domain.execution import EVERYTHING, AgentState, Precondition
from core.domain.params import NOTHING
from core.planning.base import Watch, watched
from core.planning.plans import Plan
from core.routers.attention import HeldBack, StateView
from dashboard.pages.route.charts import plan_steps
from dashboard.session import visitor
from dashboard.ui.chart import chart
from dashboard.ui.long_work import job_progress
from dashboard.ui.question import Question, redraw_all
from dashboard.ui.text import counted, escaped
from dashboard.ui.url_state import UrlState, open_page

SHOWN = 4


def _gated_tools(views: Sequence[StateView], knobs: str) -> None:
    """Draw a line for each tool, best first, with a button that adds its missing preconditions to the state. A tool of several steps is
    listed once, for the first step that leaves it out."""
    if not views[0].checked:
        st.caption("Preconditions are off, so the state leaves out no tool.")
        return
    held_tools: dict[str, tuple[HeldBack, str]] = {}
    for step, view in enumerate(views, start=1):
        for tool in view.held_back:
            held_tools.setdefault(tool.tool, (tool, f"step {step}: " if len(views) > 1 else ""))
    if not held_tools:
        st.caption("The state leaves out no tool above the threshold.")
        return
    first, rest = list(held_tools.values())[:SHOWN], list(held_tools)[SHOWN:]
    grid = st.grid(2, min_column_width=430, gap="xxsmall")
    for tool, step in first:
        with grid.cell():
            _line(tool, step, partial(_grant, knobs, views[0].state, tool.lacks))
    if rest:
        st.caption(f"And {len(rest)} more: {', '.join(escaped(name, 90) for name in rest[:20])}.")


def _line(tool: HeldBack, step: str, grant: Callable[[], None]) -> None:
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    lacks = " ".join(f":orange-badge[{escaped(lack_in_words(text), 120)}]" for text in tool.lacks)
    place = "would be outranked" if tool.rank is None else f"would be candidate {tool.rank}"
    row.markdown(
        f":material/lock: **{escaped(tool.tool, 90)}** lacks {lacks}  \n:small[:gray[{step}ISO {tool.iso:.3f}, {place}]]",
        width="content",
    )
    row.button("Grant", key=f"route:grant:{tool.tool}", type="tertiary", on_click=grant)


def lack_in_words(precondition: str) -> str:
    """Returns a precondition as a phrase, or unchanged if it cannot be parsed.

    >>> lack_in_words('is_authenticated(scope="mail:write")'), lack_in_words("a gate")
    ('scope mail:write', 'a gate')
    """
    try:
        return Precondition.parse(precondition).in_words()
    except ValueError:
        return precondition


LABELS = {"scopes": "Scopes granted", "outputs": "Outputs seen", "milestones": "Milestones reached"}
DECLARED = (
    "The catalog declares the preconditions of a tool beside its description: "
    '`"preconditions": ["is_authenticated(scope=\'mail:write\')", "milestone_reached(name=\'confirmed\')"]`.'
)
STATE_HELP = {
    "scopes": "Scopes of the agent: is_authenticated(scope). mail:* grants every scope that begins with mail:.",
    "outputs": "Tools with an output that the agent has seen, by a prefix of their name: has_prior_tool_output(prefix).",
    "milestones": "Milestones of the work: milestone_reached(name).",
}


def agent_state(app: App, decisions: Sequence[Decision], knobs: str) -> None:
    """Draw the editor of the state, and the tools that it leaves out. Draws nothing for a router without a state.

    The first decision has the given state; later steps of a plan have seen more. `knobs` is the prefix of the session keys of the
    router's parameters.
    """
    views = [view for decision in decisions if (view := app.attention.agent_state(decision))]
    if not views:
        return
    view = views[0]
    with st.container(border=True, gap="xsmall", key="route:state"):
        _title(view.guarded, knobs)
        grid = st.grid(3, min_column_width=220, gap="small")
        for name in LABELS:
            with grid.cell():
                granted, named = (sorted(getattr(state, name)) for state in (view.state, view.named))
                _choice(name, granted, named, knobs, disabled=not view.checked)
        if len(views) > 1 and EVERYTHING not in view.state.outputs:
            st.caption("A step of the plan has also seen the outputs of the steps that it needs.")
        _gated_tools(views, knobs)


def _title(guarded: int, knobs: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        tools = {0: "No tool has", 1: "1 tool has"}.get(guarded, f"{guarded} tools have")
        st.markdown(
            f"**Agent state** :small[:gray[{tools} preconditions in this catalog.]]", width="content", help=DECLARED
        )
        with st.container(horizontal=True, width="content", gap="xsmall"):
            for label, text in (("Grant nothing", NOTHING), ("Grant everything", EVERYTHING)):
                st.button(label, key=f"route:state:{text}", type="tertiary", on_click=_set_all, args=(knobs, text))


def _choice(name: str, granted: list[str], named: list[str], knobs: str, *, disabled: bool) -> None:
    key = f"route.state.{name}"
    st.session_state[key] = granted
    st.multiselect(
        LABELS[name], list(dict.fromkeys([EVERYTHING, *named, *granted])), key=key, help=STATE_HELP[name], disabled=disabled,
        format_func=lambda value: "everything" if value == EVERYTHING else value, placeholder="Nothing",
        accept_new_options=True, select_all=False, wrap=True, on_change=_chosen, args=(name, granted, knobs),
    )  # fmt: skip


def _chosen(name: str, previous: Sequence[str], knobs: str) -> None:
    """Store the choice. "Everything" and single values exclude each other: the last choice counts."""
    values: list[str] = st.session_state[f"route.state.{name}"]
    if EVERYTHING in values and len(values) > 1:
        values = [value for value in values if value != EVERYTHING] if EVERYTHING in previous else [EVERYTHING]
    st.session_state[f"{knobs}.{name}"] = ",".join(values)


def _grant(knobs: str, state: AgentState, lacks: Sequence[str]) -> None:
    for name, text in (state | AgentState.satisfying(lacks)).texts().items():
        st.session_state[f"{knobs}.{name}"] = text


def _set_all(knobs: str, text: str) -> None:
    for name in LABELS:
        st.session_state[f"{knobs}.{name}"] = text


ONE = "one"
HELP = (
    "One decision routes the whole query. Split, it is a plan: each step is routed by itself, and their totals are shown. "
    "The planner of rules splits by wording and may be wrong."
)


def plan_choice(app: App, state: UrlState, query: str) -> str:
    """Draw the choice of a planner if the query has several parts, and the parts. Returns the planner, or ""."""
    key, planners = state.key("plan"), app.routing.planners()
    parts = app.routing.parts(query)
    count = len(parts)
    choice = st.session_state.get(key, ONE)
    if count < 2 and len(planners) < 2 and choice == ONE:
        return ""
    options = {ONE: "One decision", **{name: _option(name, title, count) for name, title in planners.items()}}
    if choice not in options:
        st.session_state[key] = ONE
    row = st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:split")
    planner_name = row.segmented_control(
        "Steps", list(options), key=key, format_func=options.__getitem__, required=True, label_visibility="collapsed",
        help=HELP, width="content", on_change=redraw_all,
    )  # fmt: skip
    if planner_name is not None and planner_name != ONE:
        return planner_name
    if count > 1:
        steps = " ".join(f"**{number}** {escaped(part.text, 70)}" for number, part in enumerate(parts[:SHOWN], 1))
        more = f" and {count - SHOWN} more" if count > SHOWN else ""
        row.markdown(f":small[It seems to ask for {count} things: {steps}{more}]", width="stretch")
    return ""


def plan_body(question: Question, planner: str) -> None:
    """Plan the question and show the steps over time, each with buttons to its decision and its call. Raises WayfareError if the planner
    fails."""
    app, query = question.app, question.form
    if planner != "rules" and not _split(app, query.query, planner):
        return
    plan = app.routing.plan(
        query.query, visitor=visitor(), planner=planner, catalog=query.catalog, router=query.router,
        parameters=question.parameters, at_once=True, network=question.asked.network,
    )  # fmt: skip
    _totals(plan)
    agent_state(app, [step.decision for step in plan.steps], question.prefix)
    grid = st.grid(2, min_column_width=400, gap="medium")
    with grid.cell():
        chart(plan_steps(plan), key="route:plan")
        st.caption("Violet steps are on the longest path. An arrow leads from a step to one that needs its result.")
    with grid.cell():
        for position in range(len(plan.steps)):
            _step(app, plan, position, question.texts)


SOON_S = 0.3


def _split(app: App, question: str, planner: str) -> bool:
    """Let a model split the question, and draw the progress, with Stop. Returns whether the answer is in the model's cache. Raises
    WayfareError if it fails."""
    jobs, key, about = app.background, f"split {visitor()}", (planner, question)

    def work(job: Job) -> object:
        watch = Watch(job.stop)
        job.reported.append(watch)
        with watched(watch):
            return app.routing.parts(question, planner=planner)

    job = jobs.of(key, about)
    if job is None:
        if (earlier := jobs.under_way(key)) is not None:
            earlier.stop.set()  # no visitor waits for the parts of an earlier question
        job = jobs.start(key, work, about, several=True)
        job.wait(SOON_S)
    if job.under_way:
        job_progress(job, _told, stop="route:split:stop")
        return False
    if job.error is not None and job.stop.is_set():
        st.info("The model was stopped before it had split the question.", icon=":material/stop_circle:")
        st.button("Split again", key="route:split:again", icon=":material/refresh:", on_click=jobs.forget, args=(job,))
        return False
    jobs.forget(job)
    job.future.result()
    return True


def _told(job: Job) -> tuple[float, str]:
    words = job.reported[0].words() if job.reported else ""
    return 0.0, f"Splitting the question: {words}" if words else "Splitting the question"


def _option(name: str, title: str, count: int) -> str:
    if name != "rules":
        return f":material/account_tree: Split by {escaped(title, 30)}"
    return f":material/account_tree: Split into {counted(count, 'step')}"


def _totals(plan: Plan) -> None:
    missing = plan.unanswered
    if missing:
        steps = ", ".join(str(position + 1) for position in missing)
        st.warning(f"No tool can do step {steps}. The totals leave it out.", icon=":material/block:")
    row = st.container(horizontal=True, gap="medium")
    for name, value, help_text in (
        ("Steps", str(len(plan.steps)), f"Split by {plan.planner}."),
        ("Payment", units.spent(plan.price_usd, len(plan.steps) - len(missing), plan.unpriced), "Sum over the steps' winners."),
        ("Expected time", units.seconds(plan.elapsed_s), "Time until all steps are done; independent steps run in parallel."),
        ("One by one", units.seconds(plan.work_s), "Expected seconds of all steps one after another."),
        ("Tokens exposed", f"{plan.exposed_tokens:,}", "New cl100k_base tokens of all steps for a model."),
    ):  # fmt: skip
        row.metric(name, value, help=help_text, width="content")


def _step(app: App, plan: Plan, position: int, texts: Mapping[str, str]) -> None:
    step = plan.steps[position]
    winner = step.decision.winner
    with st.container(border=True, horizontal=True, vertical_alignment="center", gap="xsmall"):
        needs = f" · after {', '.join(str(need + 1) for need in step.needs)}" if step.needs else ""
        tool = escaped(winner.tool, 60) if winner else escaped(step.decision.reason, 160)
        st.container(width="stretch").markdown(
            f"**{position + 1}** {escaped(step.text, 160)}  \n:small[:gray[{tool}{needs}]]"
        )
        if st.button("Open", key=f"route:plan:open:{position}", help="This step as a single decision"):
            changed = app.routing.parameters(step.decision.router, step.decision.parameters).changed()
            knobs = {
                name: str(value) for name, value in changed.items()
            }  # a later step has seen the outputs of earlier steps
            open_page("route", **{**texts, **knobs, "q": step.text, "hint": ""})
        if winner and st.button("Call", key=f"route:plan:call:{position}"):
            link = {} if step.decision.network.simulated else {"decision": step.decision.id}
            about = {"catalog": step.decision.catalog, "tool": winner.tool, **link}
            open_page("call", **{**texts, "q": step.text, "hint": "", **about})
