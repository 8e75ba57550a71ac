"""The steps of an agent's run, and the form for a step by hand."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, cast

import streamlit as st

from core.agents.supervised_agent import Proposal, SupervisedAgent
from core.app import App
from core.domain import units
from core.domain.decision import Decision
from core.domain.execution import APPROVAL_NEEDED
from core.domain.outcome import ToolCall
from core.domain.untrusted_text import visible
from core.gateway.search import signature
from core.governance.clients import AGENT_LOOP
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Outlook
from core.planning.arguments import filled
from core.planning.base import Action
from core.planning.plans import AgentEvent, Executed, Routed, Stopped
from dashboard.session import first_catalog, only, origin
from dashboard.ui.calling import leave_note
from dashboard.ui.labels import asked_like
from dashboard.ui.question import QueryForm
from dashboard.ui.text import escaped
from dashboard.ui.url_state import open_page

SAID_CHARACTERS = 4_000
ENDED = {True: "The call ended well.", False: "No call ended well, and no other candidate is left to try."}
SHOWN = 5


def steps(app: App, run: SupervisedAgent) -> None:
    """Draw a card for each sub-task."""
    for step, events in groupby(enumerate(run.events), key=lambda pair: pair[1].step):
        with st.container(border=True):
            _card(app, run, step, list(events))


def _card(app: App, run: SupervisedAgent, step: int, events: Sequence[tuple[int, AgentEvent]]) -> None:
    first, last = events[0][1], events[-1][1]
    text = first.decision.query if isinstance(first, Routed) else ""
    needs = (
        f" :gray[needs {', '.join(str(need + 1) for need in first.needs)}]"
        if isinstance(first, Routed) and first.needs
        else ""
    )
    st.markdown(f"**{step + 1}. {escaped(text, 600)}**{needs} {_badge(run, last)}")
    for number, event in events:
        match event:
            case Routed():
                _routed(app, run, number, event)
            case Executed():
                _executed(run, number, event)
            case Stopped():
                st.markdown(f":gray-badge[STOP] {_words(run, event.words) or ENDED[event.done]}")


def _badge(run: SupervisedAgent, event: AgentEvent) -> str:
    if not isinstance(event, Stopped):
        return ":orange-badge[ended]" if run.done else ":blue-badge[under way]"
    return ":green-badge[:material/check: done]" if event.done else ":orange-badge[not done]"


def _routed(app: App, run: SupervisedAgent, number: int, event: Routed) -> None:
    decision = event.decision
    if event.words:
        st.markdown(_words(run, event.words))
    candidates = [decision.tools.ids[row] for row in decision.candidates]
    more = f" and {len(candidates) - SHOWN} more" if len(candidates) > SHOWN else ""
    names = ", ".join(
        f"**{escaped(name, 80)}**" if not place else escaped(name, 80) for place, name in enumerate(candidates[:SHOWN])
    )
    near = f"  \n{words}" if candidates and (words := asked_like(app, decision, candidates[0])) else ""
    tokens = decision.tokens
    cached = f", {tokens['cached']:,} in the prefix" if tokens["cached"] else ""
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    row.container(width="stretch").markdown(
        f":violet-badge[ROUTE] {names or 'no candidate'}{more}{near}  \n"
        f":small[:gray[{units.seconds(decision.timings_ms['total'] / 1e3)} · {tokens['exposed']:,} tokens shown{cached}, of "
        f"{tokens['baseline']:,}]]"
    )
    if row.button("Why", key=f"agent:route:{number}", icon=":material/alt_route:", help="This decision in full"):
        open_page("route", **_link(app, decision))
    if not candidates:
        st.code(visible(decision.reason), language=None, wrap_lines=True)


def _executed(run: SupervisedAgent, number: int, event: Executed) -> None:
    outcome = event.outcome
    if event.words:
        st.markdown(_words(run, event.words))
    if outcome is None:
        status = f":orange-badge[not called: {escaped(event.error.replace('_', ' '))}]"
    else:
        colour = "green" if outcome.kind.success else "red"
        mark = " :gray-badge[simulated]" if outcome.simulated else ""
        status = f":{colour}-badge[{outcome.kind.replace('_', ' ')}]{mark} :small[:gray[{escaped(units.price(outcome.price_usd))} · {units.seconds(outcome.latency_s)}]]"
    arguments = json.dumps(dict(event.arguments), ensure_ascii=False, default=str)
    st.markdown(
        f":blue-badge[EXECUTE] **{escaped(event.tool, 120)}** {status}  \n:small[:gray[with {escaped(visible(arguments), 600)}]]"
    )
    _said(event)
    if event.error in {APPROVAL_NEEDED, DEFINITION_CHANGED, DEFINITION_WAITS}:
        label = "Approve it on Govern" if event.error == APPROVAL_NEEDED else "See the changes on Govern"
        if st.button(label, key=f"agent:govern:{number}", icon=":material/shield_person:"):
            open_page("govern")


def _said(event: Executed) -> None:
    """Show the text that goes back to the planner, verbatim."""
    text = visible(event.said)
    excerpt = text if len(text) <= SAID_CHARACTERS else f"{text[:SAID_CHARACTERS]}… [{len(text):,} characters]"
    st.code(excerpt, language=None, wrap_lines=True, height=240 if len(excerpt) > 1_200 else "content")
    for block in event.outcome.content if event.outcome is not None else ():
        if block.kind == "image" and block.mime_type in {"image/png", "image/jpeg"}:
            st.image(block.data, width=160)


def _words(run: SupervisedAgent, words: str) -> str:
    """Returns the planner's own words, or ""."""
    icon = "rule" if run.task.planner == "rules" else "smart_toy"
    return f":material/{icon}: *{escaped(run.run.planner, 60)}:* {escaped(words, 3_000)}" if words else ""


def _link(app: App, decision: Decision) -> dict[str, str]:
    knobs = app.routing.parameters(decision.router, decision.parameters).changed()
    texts = QueryForm(decision.query, "", decision.catalog, decision.router).texts(first_catalog())
    return {**texts, **{name: str(value) for name, value in knobs.items()}}


EXECUTE, ROUTE, STOP = "Call a tool", "Ask for other tools", "Stop this sub-task"
KINDS = {"execute": EXECUTE, "route": ROUTE, "stop": STOP}


def your_turn(app: App, run: SupervisedAgent, proposal: Proposal) -> None:
    """Draws a form that is filled with the proposal."""
    turn, action = proposal.turn, proposal.action
    key = f"agent:hand:{run.id}:{len(run.events)}"
    with st.container(border=True):
        st.markdown(f":material/back_hand: **Your turn.** {_proposed(run, action)}")
        options = [EXECUTE, ROUTE, STOP] if turn.offered else [ROUTE, STOP]
        st.session_state.setdefault(f"{key}:kind", KINDS[action.kind] if KINDS[action.kind] in options else STOP)
        kind = st.segmented_control(
            "What to do", options, key=f"{key}:kind", required=True, label_visibility="collapsed"
        )
        choice: Action | None = Action("stop", action.words)
        if kind == EXECUTE:
            choice = _call(key, proposal)
        elif kind == ROUTE:
            words = st.text_input("Another wording", turn.query, key=f"{key}:words", max_chars=4_000)
            choice = Action("route", "", query=words.strip() or turn.query)
        outlook = _outlook(app, run, choice)
        if choice is not None and outlook != Outlook():
            catalog = app.catalogs.catalog(run.task.catalog)
            leave_note(app, catalog.name, catalog.tools[catalog.tool_row[choice.tool]], outlook)
        if _done(key, outlook, disabled=choice is None) and choice is not None:
            run.answer(replace(choice, approved_by=origin() if outlook.reasons else ""))
            run.wait(0.5)
            st.rerun()


def _outlook(app: App, run: SupervisedAgent, action: Action | None) -> Outlook:
    """Returns the checks that a real call would meet."""
    if action is None or action.kind != "execute" or not run.task.live:
        return Outlook()
    server, _, tool = action.tool.partition("::")
    call = ToolCall(server, tool, action.arguments or {}, catalog=run.task.catalog, network=run.task.network)
    return app.governed.outlook(call, client=AGENT_LOOP)


def _done(key: str, outlook: Outlook, *, disabled: bool) -> bool:
    """Tells whether the button was pressed. Approving has a separate button, so that an approval is deliberate."""
    if outlook.reasons:
        return st.button("Approve and do it", key=f"{key}:approve", type="primary", icon=":material/how_to_reg:", **only("approve", disabled=disabled))  # fmt: skip
    return st.button("Do it", key=f"{key}:do", type="primary", icon=":material/check:", disabled=disabled)


def _proposed(run: SupervisedAgent, action: Action) -> str:
    planner = escaped(run.run.planner, 60)
    match action.kind:
        case "execute":
            return f"{planner} would call **{escaped(action.tool, 120)}**. {escaped(action.words, 1_000)}"
        case "route":
            return f"{planner} would ask for: {escaped(action.query, 400)}. {escaped(action.words, 1_000)}"
        case _:
            return f"{planner} would stop here. {escaped(action.words, 1_000)}"


def _call(key: str, proposal: Proposal) -> Action | None:
    """Returns the call of an offered tool, or None if the arguments are not an object."""
    turn, action = proposal.turn, proposal.action
    tools = {tool.id: tool for tool in turn.offered}
    tried_tools = {attempt.tool for attempt in turn.attempts}
    untried = next((name for name in tools if name not in tried_tools), next(iter(tools)))
    first = action.tool if action.tool in tools else untried
    name = st.selectbox("Tool", list(tools), list(tools).index(first), key=f"{key}:tool")
    tool = tools[name]
    st.caption(escaped(signature(tool), 600))
    arguments = action.arguments if name == action.tool else None
    blank = {str(required): "" for required in (tool.input_schema or {}).get("required", ())}
    start = arguments or blank | filled(tool.input_schema, turn.query, tool.server)[0]
    text = st.text_area("Arguments, JSON", json.dumps(dict(start), ensure_ascii=False, indent=1),
                        key=f"{key}:arguments:{name}", height=110)  # fmt: skip
    try:
        document: object = json.loads(text)
    except ValueError as error:
        st.error(f"This is not JSON: {escaped(str(error), 200)}", icon=":material/data_object:")
        return None
    if not isinstance(document, dict):
        st.error("Arguments are an object: {…}", icon=":material/data_object:")
        return None
    return Action("execute", "", name, cast("dict[str, Any]", document))
