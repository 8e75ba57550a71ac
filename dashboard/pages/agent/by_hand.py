"""The person's turn: what the planner proposes, and what to do instead."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, cast

import streamlit as st

from core.app import App
from core.domain.outcome import ToolCall
from core.endpoint.search import signature
from core.governance.calls import Outlook
from core.planning.arguments import filled
from core.planning.base import Action
from core.services.call.supervised_agent import Proposal, SupervisedAgent
from core.services.govern.clients import AGENT_LOOP
from dashboard.session import origin
from dashboard.ui.leave import leave_note
from dashboard.ui.text import escaped

EXECUTE, ROUTE, STOP = "Call a tool", "Ask for other tools", "Stop this sub-task"
KINDS = {"execute": EXECUTE, "route": ROUTE, "stop": STOP}


def your_turn(app: App, run: SupervisedAgent, proposal: Proposal) -> None:
    """A form that begins with the proposal."""
    turn, action = proposal.turn, proposal.action
    key = f"agent:hand:{run.id}:{len(run.events)}"
    with st.container(border=True):
        st.markdown(f":material/back_hand: **Your turn.** {_proposed(run, action)}")
        options = [EXECUTE, ROUTE, STOP] if turn.offered else [ROUTE, STOP]
        st.session_state.setdefault(f"{key}:kind", KINDS[action.kind] if KINDS[action.kind] in options else STOP)
        kind = st.segmented_control(
            "What to do", options, key=f"{key}:kind", required=True, label_visibility="collapsed"
        )
        chosen: Action | None = Action("stop", action.words)
        if kind == EXECUTE:
            chosen = _call(key, proposal)
        elif kind == ROUTE:
            words = st.text_input("In other words", turn.subtask, key=f"{key}:words", max_chars=4_000)
            chosen = Action("route", "", subtask=words.strip() or turn.subtask)
        outlook = _outlook(app, run, chosen)
        if chosen is not None and outlook != Outlook():
            catalog = app.catalogs.catalog(run.task.catalog)
            leave_note(app, catalog.name, catalog.tools[catalog.tool_row[chosen.tool]], outlook)
        if _done(key, outlook, disabled=chosen is None) and chosen is not None:
            run.answer(replace(chosen, approved_by=origin() if outlook.reasons else ""))
            run.wait(0.5)
            st.rerun()


def _outlook(app: App, run: SupervisedAgent, action: Action | None) -> Outlook:
    """What a real call would meet."""
    if action is None or action.kind != "execute" or not run.task.live:
        return Outlook()
    server, _, tool = action.tool.partition("::")
    call = ToolCall(server, tool, action.arguments or {}, catalog=run.task.catalog)
    return app.governed.outlook(call, client=AGENT_LOOP)


def _done(key: str, outlook: Outlook, *, disabled: bool) -> bool:
    """Whether the button was pressed; to approve is another one than to do, so that nobody approves what was not shown."""
    if outlook.reasons:
        return st.button(
            "Approve and do it", key=f"{key}:approve", type="primary", icon=":material/how_to_reg:", disabled=disabled
        )
    return st.button("Do it", key=f"{key}:do", type="primary", icon=":material/check:", disabled=disabled)


def _proposed(run: SupervisedAgent, action: Action) -> str:
    who = escaped(run.run.planner, 60)
    match action.kind:
        case "execute":
            return f"{who} would call **{escaped(action.tool, 120)}**. {escaped(action.words, 1_000)}"
        case "route":
            return f"{who} would ask for: {escaped(action.subtask, 400)}. {escaped(action.words, 1_000)}"
        case _:
            return f"{who} would stop here. {escaped(action.words, 1_000)}"


def _call(key: str, proposal: Proposal) -> Action | None:
    """A call of an offered tool; None where the arguments are no object."""
    turn, action = proposal.turn, proposal.action
    tools = {tool.id: tool for tool in turn.offered}
    tried = {attempt.tool for attempt in turn.attempts}
    untried = next((name for name in tools if name not in tried), next(iter(tools)))
    first = action.tool if action.tool in tools else untried
    name = st.selectbox("Tool", list(tools), list(tools).index(first), key=f"{key}:tool")
    tool = tools[name]
    st.caption(escaped(signature(tool), 600))
    start = action.arguments if name == action.tool and action.arguments else filled(tool.input_schema, turn.subtask)[0]
    text = st.text_area("Arguments, JSON", json.dumps(dict(start) or _blank(tool.input_schema), ensure_ascii=False, indent=1),
                        key=f"{key}:arguments:{name}", height=110)  # fmt: skip
    try:
        given: object = json.loads(text)
    except ValueError as error:
        st.error(f"This is not JSON: {escaped(str(error), 200)}", icon=":material/data_object:")
        return None
    if not isinstance(given, dict):
        st.error("Arguments are an object: {…}", icon=":material/data_object:")
        return None
    return Action("execute", "", name, cast("dict[str, Any]", given))


def _blank(schema: Any) -> dict[str, str]:
    """The names of what has to be given."""
    return {str(name): "" for name in (schema or {}).get("required", ())}
