"""The Agent page: Algorithm 1 of EHRR for a task that is typed, watched step by step and continued by hand."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.services.call.supervised_agent import SupervisedAgent
from core.shared.errors import WayfareError
from dashboard.pages.agent.by_hand import your_turn
from dashboard.pages.agent.form import OWN, Filled, task_form
from dashboard.pages.agent.steps import steps
from dashboard.pages.agent.totals import totals, turn_table
from dashboard.session import current_app
from dashboard.ui.index_progress import show_preparing
from dashboard.ui.planner_usage import planner_usage
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

RUN, GO = "agent:run", "agent:go"
POLL_S = 0.4
EXAMPLES = (
    "convert 300 from 'mile' to 'kilometre', then make a QR code for 'https://example.org'",
    "encode 'hello world' in base64, then count the words of 'one two three'",
    "find the matches of the pattern '[0-9]+' in the text 'a1 b22', and compare the texts 'kitten' and 'sitting'",
)


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("agent", asks=True)
    linked = state.begin()
    texts, question = dict(linked), state.question
    try:
        filled, texts = task_form(app, state, linked)
        hint = {name: text for name, text in question.items() if name == "hint"}
        question = {**hint, **{name: text for name, text in texts.items() if name not in OWN}}
        run: SupervisedAgent | None = st.session_state.get(RUN)
        run = _controls(app, filled, run)
        if run is None:
            _empty(state)
        else:
            _run(app, run, state)
    except WayfareError as error:
        st.error(escaped(str(error), 600), icon=":material/error:")
    planner_usage(app)
    state.end(texts, question)


def _controls(app: App, filled: Filled, run: SupervisedAgent | None) -> SupervisedAgent | None:
    """The buttons; a run that was begun with them."""
    under_way = run is not None and not run.done
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    go = row.button(
        "Run", key="agent:start", type="primary", icon=":material/play_arrow:",
        disabled=under_way or not filled.task.question,
        help="It is running." if under_way else None if filled.task.question else "Say what should be done first.",
    )  # fmt: skip
    if run is not None and under_way:
        if run.paused:
            row.button("Go on by itself", key="agent:go_on", icon=":material/fast_forward:", on_click=run.go_on)
        else:
            row.button(
                "Pause", key="agent:pause", icon=":material/pause:", on_click=run.pause,
                help="Before its next action it waits for you.",
            )  # fmt: skip
        row.button("End", key="agent:end", icon=":material/stop:", on_click=run.end)
    if (go or st.session_state.pop(GO, False)) and filled.task.question and not under_way:
        show_preparing(app, filled.task.catalog, decides=True)
        app.catalogs.open(filled.task.catalog)
        st.session_state[RUN] = SupervisedAgent(app.agent, filled.task, paused=filled.by_hand)
        st.rerun()
    return run


def _empty(state: UrlState) -> None:
    st.markdown("#### One of these, to begin with")
    st.caption(
        "The loop splits the task, routes each part (ROUTE), calls its candidates until one ends well (EXECUTE), and stops (STOP). "
        "These run on servers that come with Wayfare and need no network. Rules take arguments from quotes and numbers; a model "
        "can do without them."
    )
    for number, example in enumerate(EXAMPLES):
        st.button(
            escaped(example, 160), key=f"agent:example:{number}", icon=":material/north_east:",
            on_click=_begin, args=(state.key("q"), example),
        )  # fmt: skip


def _begin(key: str, example: str) -> None:
    st.session_state.update({key: example, GO: True})


def _run(app: App, run: SupervisedAgent, state: UrlState) -> None:
    """What has happened; while it goes on, drawn again and again."""
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
        st.caption(
            ":material/hourglass_top: Pausing before the next action …"
            if run.paused
            else ":material/hourglass_top: Working …"
        )

    watch()


def _ended(run: SupervisedAgent, state: UrlState) -> None:
    """Why it ended early, and the way to go on by hand where something is left."""
    if run.problem:
        st.warning(escaped(run.problem, 1_000), icon=":material/stop_circle:")
    if run.unfinished:
        st.button(
            "Once more, step by step", key="agent:again", icon=":material/back_hand:",
            on_click=lambda: st.session_state.update({state.key("q"): run.task.question, state.key("hand"): True, GO: True}),
            help="The same task; each action waits for you, and you fill in what is missing.",
        )  # fmt: skip
