"""The Agent page: a question, the steps of the agent that answers it, and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import streamlit as st

from core.agents.agent import ROUNDS, AgentTask
from core.agents.supervised_agent import SupervisedAgent
from core.app import App
from core.domain import units
from core.importers.shipped_catalogs import SAMPLE
from core.planning.base import MAY_WRITE
from core.planning.plans import Executed, Routed, Stopped, turn_tokens
from dashboard.pages.agent.steps import steps, your_turn
from dashboard.session import only
from dashboard.ui.long_work import planner_usage, show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.table import Column, table
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.url_state import UrlState, select

SIMULATE, READ, WRITE = "simulate", "read", "write"
CALLS = {READ: "only tools that read", WRITE: "all tools", SIMULATE: "none, simulate"}
RULES = "rules"
MOST_ROUNDS = 20


def task_form(question: Question) -> tuple[AgentTask, bool, dict[str, str]]:
    """Draw the fields. Returns the task, whether each action waits for a person, and the texts for the URL that are not part of the question."""
    app, state, linked, query = question.app, question.state, question.linked, question.form
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
    st.session_state.setdefault(state.key("rounds"), _rounds(linked.get("rounds", "")))
    rounds = int(
        row.number_input(
            "Rounds", 1, MOST_ROUNDS, key=state.key("rounds"), width=110,
            help="The maximum number of actions for each sub-task.",
        )
    )  # fmt: skip
    st.session_state.setdefault(state.key("budget"), _budget(linked.get("budget", "")))
    budget: float | None = row.number_input(
        "Budget, USD", 0.0, None, key=state.key("budget"), step=0.01, format="%.3f", placeholder="none", width=130,
        help="A call that costs more than the rest, or without a known price, is not made. It also pays for the model.",
    )  # fmt: skip
    st.session_state.setdefault(state.key("hand"), linked.get("hand") == "1")
    by_hand = row.toggle(
        "Step by step", key=state.key("hand"), help="Each action waits for you: do it, do another one, or end here."
    )
    texts = {
        "planner": "" if planner == RULES else planner, "calls": "" if calls == READ else calls,
        "rounds": "" if rounds == ROUNDS else str(rounds), "budget": "" if budget is None else f"{budget:g}",
        "hand": "1" if by_hand else "",
    }  # fmt: skip
    task = AgentTask(
        query.query, query.catalog, query.router, question.parameters, planner, rounds, budget, calls != SIMULATE, calls == WRITE,
        question.asked.network,
    )  # fmt: skip
    return task, by_hand, texts


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


COLUMNS = (
    Column("step", "sub-task"),
    Column("do", "action"),
    Column("exposed", "definitions shown, tokens", help="New definitions for the planner.", format="localized"),
    Column(
        "cached",
        "of the prefix, tokens",
        help="Phase 1 of Tool Attention: one line for each tool, cached by a provider.",
        format="localized",
    ),
    Column("baseline", "all definitions, tokens", help="The tokens of each turn without routing.", format="localized"),
    Column(
        "model",
        "model, tokens",
        help="Tokens that the planner's model read and wrote in this turn; 0 with rules.",
        format="localized",
    ),
)


def totals(run: SupervisedAgent) -> None:
    """The line above the steps."""
    events, loop = run.events, run.run
    begun_steps = {event.step for event in events if isinstance(event, Routed)}
    done = sum(isinstance(event, Stopped) and event.done for event in events)
    calls = [event.outcome for event in events if isinstance(event, Executed) and event.outcome is not None]
    simulated = sum(outcome.simulated for outcome in calls)
    turns = turn_tokens(events)
    exposed, baseline = sum(turn.exposed for turn in turns), sum(turn.baseline for turn in turns)
    row = st.container(horizontal=True, gap="medium")
    unpriced = f" Without {loop.unpriced} calls of unknown price." if loop.unpriced else ""
    budget_left = "" if loop.left_usd is None else f" {units.price(max(0.0, loop.left_usd))} of the budget are left."
    for name, value, note in (
        ("Sub-tasks done", f"{done} of {len(begun_steps)}", "Out of the started sub-tasks."),
        ("Calls", f"{len(calls)}", f"{simulated} of them simulated."),
        ("Calls cost", units.spent(loop.calls_usd, len(calls), loop.unpriced), f"Declared prices.{unpriced}{budget_left}"),
        ("Model", units.price(loop.model_usd), f"{loop.model_tokens:,} tokens read and written."),
        ("Definitions shown, tokens", f"{exposed:,}", f"cl100k_base: the sum over {len(turns)} turns, without the cached prefix; all definitions in each would be {baseline:,}."),
    ):  # fmt: skip
        row.metric(name, value, help=escaped(note, 300), width="content")


def turn_table(run: SupervisedAgent) -> None:
    """The tokens of each turn."""
    turns = turn_tokens(run.events)
    if not turns:
        return
    with st.expander("Tokens of each turn", icon=":material/data_usage:"):
        table([asdict(turn) | {"step": turn.step + 1} for turn in turns], COLUMNS)
        st.caption("Definitions are counted with cl100k_base; the count of a model is that of its endpoint.")


RUN, GO = "agent:run", "agent:go"  # GO is the catalog of a run to start, which may be gone since it was drawn
POLL_S = 0.4
EXAMPLES = (
    "convert 300 miles to kilometres, then tell me what time it is in Tokyo",
    "convert 20 kilograms to pounds, then make a QR code for https://example.org",
    "find the matches of the pattern '[0-9]+' in the text 'a1 b22', and compare the texts 'kitten' and 'sitting'",
)


ASKS = Asks("agent")


def page(question: Question) -> None:
    """Draw the view, and write the URL."""
    app, texts = question.app, dict[str, str]()
    with errors_shown():
        task, by_hand, texts = task_form(question)
        run: SupervisedAgent | None = st.session_state.get(RUN)
        run = _controls(app, task, by_hand, run)
        if run is not None:
            _run(app, run, question.state)
        else:
            _empty(app, question.state, task.catalog)
    planner_usage(app)
    question.state.end({**question.texts, **texts}, question=question.texts)


def _controls(app: App, task: AgentTask, by_hand: bool, run: SupervisedAgent | None) -> SupervisedAgent | None:
    """Draw the buttons. Run starts a new run and redraws the page."""
    under_way = run is not None and not run.done
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    go = row.button(
        "Run", key=f"agent:start.{task.catalog}", type="primary", icon=":material/play_arrow:",
        **only("call", disabled=under_way or not task.question, help="It is running." if under_way else None if task.question else "Enter a task first."),
    )  # fmt: skip
    if run is not None and under_way:
        if run.paused:
            row.button("Go on by itself", key="agent:go_on", icon=":material/fast_forward:", on_click=run.go_on)
        else:
            row.button(
                "Pause", key="agent:pause", icon=":material/pause:", on_click=run.pause,
                help="The run waits for you before its next action.",
            )  # fmt: skip
        row.button("End", key="agent:end", icon=":material/stop:", on_click=run.end)
    if (st.session_state.pop(GO, "") == task.catalog or go) and task.question and not under_way:
        show_preparing(app, task.catalog, decides=True)
        app.catalogs.open(task.catalog)
        st.session_state[RUN] = SupervisedAgent(app.agent, task, paused=by_hand)
        st.rerun()
    return run


def _empty(app: App, state: UrlState, catalog: str) -> None:
    own_catalog = catalog != SAMPLE
    st.markdown("#### Examples")
    st.caption(
        "The loop splits the task, routes each part (ROUTE), calls its candidates until one ends well (EXECUTE), and stops (STOP). "
        + (
            f"These are from the tools of {escaped(catalog, 60)}: choose one, complete it, and press Run. "
            if own_catalog
            else "These examples run on servers that come with Wayfare, without a network. "
        )
        + "Rules take arguments from numbers, dates, units, names, addresses and quotes; a model needs none of these."
    )
    if own_catalog:
        show_preparing(app, catalog, decides=True)
    examples = [example.question for example in app.examples.of(catalog)] if own_catalog else EXAMPLES
    for number, example in enumerate(examples):
        st.button(
            escaped(example, 160), key=f"agent:example:{number}", **only("call"), icon=":material/north_east:",
            on_click=_begin, args=(state.key("q"), example, "" if own_catalog else catalog),
        )  # fmt: skip


def _begin(key: str, example: str, catalog: str) -> None:
    st.session_state.update({key: example, GO: catalog})  # without a catalog, the user presses Run


def _run(app: App, run: SupervisedAgent, state: UrlState) -> None:
    proposal = run.proposal  # another visitor may answer it meanwhile
    if run.done or proposal is not None:
        totals(run)
        steps(app, run)
        if proposal is not None:
            your_turn(app, run, proposal)
        else:
            _ended(run, state)
            turn_table(run)
        return

    @st.fragment(run_every=POLL_S)
    def watch() -> None:
        if run.done or run.proposal is not None:
            st.rerun()
        totals(run)
        steps(app, run)
        words = run.run.watch.words()
        suffix = f": {words}" if words else ""
        st.caption(
            ":material/hourglass_top: Pausing before the next action …"
            if run.paused
            else f":material/hourglass_top: Working{suffix} …"
        )

    watch()


def _ended(run: SupervisedAgent, state: UrlState) -> None:
    """Say why the run ended early, and offer to go on by hand if sub-tasks are left."""
    if run.problem:
        st.warning(escaped(run.problem, 1_000), icon=":material/stop_circle:")
    if not run.unfinished:
        return
    row = st.container(horizontal=True)
    if any(isinstance(event, Executed) and event.error == MAY_WRITE for event in run.events):
        row.button(
            "Once more, with all tools", key="agent:writes", icon=":material/edit:", on_click=_again, args=(run, state, {"calls": WRITE}),
            **only("call", help="The same task. Tools that do not say that they only read are called, too."),
        )  # fmt: skip
    row.button(
        "Once more, step by step", key="agent:again", icon=":material/back_hand:", on_click=_again, args=(run, state, {"hand": True}),
        **only("call", help="The same task. Each action waits for you, and you can fill in missing arguments."),
    )  # fmt: skip


def _again(run: SupervisedAgent, state: UrlState, fields: Mapping[str, object]) -> None:
    values = {"q": run.task.question, "catalog": run.task.catalog, **fields}
    st.session_state.update({GO: run.task.catalog, **{state.key(name): value for name, value in values.items()}})
