"""The steps of a run: what was routed, called and stopped, the planner's words apart from those of tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.domain.plans import AgentEvent, Executed, Routed, Stopped
from core.governance.refusals import APPROVAL_NEEDED, DEFINITION_CHANGED
from core.services.call.supervised_agent import SupervisedAgent
from core.shared import units
from core.shared.untrusted_text import visible
from dashboard.session import first_catalog
from dashboard.ui.navigation import open_page
from dashboard.ui.query_form import DEFAULT_ROUTER
from dashboard.ui.text import escaped

SAID_CHARACTERS = 4_000
SHOWN = 5


def steps(app: App, run: SupervisedAgent) -> None:
    """A card for each sub-task."""
    for step, events in groupby(enumerate(run.events), key=lambda pair: pair[1].step):
        with st.container(border=True):
            _card(app, run, step, list(events))


def _card(app: App, run: SupervisedAgent, step: int, events: Sequence[tuple[int, AgentEvent]]) -> None:
    first, last = events[0][1], events[-1][1]
    text = first.decision.subtask if isinstance(first, Routed) else ""
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
                st.markdown(f":gray-badge[STOP] {_words(run, event.words) or 'The call ended well.'}")


def _badge(run: SupervisedAgent, event: AgentEvent) -> str:
    if not isinstance(event, Stopped):
        return ":orange-badge[ended]" if run.done else ":blue-badge[under way]"
    return ":green-badge[:material/check: done]" if event.done else ":orange-badge[not done]"


def _routed(app: App, run: SupervisedAgent, number: int, event: Routed) -> None:
    decision = event.decision
    if event.words:
        st.markdown(_words(run, event.words))
    found = [decision.tools.ids[row] for row in decision.candidates]
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    names = ", ".join(
        f"**{escaped(name, 80)}**" if not place else escaped(name, 80) for place, name in enumerate(found[:SHOWN])
    )
    tokens = decision.tokens
    cached = f", {tokens['cached']:,} in the prefix" if tokens["cached"] else ""
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    row.container(width="stretch").markdown(
        f":violet-badge[ROUTE] {names or 'no candidate'}{more}  \n"
        f":small[:gray[{units.seconds(decision.timings_ms['total'] / 1e3)} · {tokens['exposed']:,} tokens shown{cached}, of "
        f"{tokens['baseline']:,}]]"
    )
    if row.button("Why", key=f"agent:route:{number}", icon=":material/alt_route:", help="This decision on Route"):
        open_page("route", **_link(app, decision))
    if not found:
        st.code(visible(decision.reason), language=None, wrap_lines=True)


def _executed(run: SupervisedAgent, number: int, event: Executed) -> None:
    outcome = event.outcome
    if event.words:
        st.markdown(_words(run, event.words))
    if outcome is None:
        how = f":orange-badge[not called: {escaped(event.error.replace('_', ' '))}]"
    else:
        colour = "green" if outcome.kind.success else "red"
        mark = " :gray-badge[simulated]" if outcome.simulated else ""
        how = f":{colour}-badge[{outcome.kind.replace('_', ' ')}]{mark} :small[:gray[{escaped(units.price(outcome.price_usd))} · {units.seconds(outcome.latency_s)}]]"
    given = json.dumps(dict(event.arguments), ensure_ascii=False, default=str)
    st.markdown(
        f":blue-badge[EXECUTE] **{escaped(event.tool, 120)}** {how}  \n:small[:gray[with {escaped(visible(given), 600)}]]"
    )
    _said(event)
    if event.error in {APPROVAL_NEEDED, DEFINITION_CHANGED}:
        what = "Approve it on Govern" if event.error == APPROVAL_NEEDED else "See what changed on Govern"
        if st.button(what, key=f"agent:govern:{number}", icon=":material/shield_person:"):
            open_page("govern")


def _said(event: Executed) -> None:
    """What goes back to the planner, verbatim."""
    said = visible(event.said)
    shown = said if len(said) <= SAID_CHARACTERS else f"{said[:SAID_CHARACTERS]}… [{len(said):,} characters]"
    st.code(shown, language=None, wrap_lines=True, height=240 if len(shown) > 1_200 else "content")
    for block in event.outcome.content if event.outcome is not None else ():
        if block.kind == "image" and block.mime_type in {"image/png", "image/jpeg"}:
            st.image(block.data, width=160)


def _words(run: SupervisedAgent, words: str) -> str:
    """The planner's words, which no tool said; "" where there are none."""
    icon = "rule" if run.task.planner == "rules" else "smart_toy"
    return f":material/{icon}: *{escaped(run.run.planner, 60)}:* {escaped(words, 3_000)}" if words else ""


def _link(app: App, decision: Decision) -> dict[str, str]:
    """The query of a decision on Route."""
    changed = app.routing.parameters(decision.router, decision.parameters).changed()
    texts = {
        "q": decision.subtask,
        "catalog": "" if decision.catalog == first_catalog() else decision.catalog,
        "router": "" if decision.router == DEFAULT_ROUTER else decision.router,
    }
    return {name: value for name, value in texts.items() if value} | {
        name: str(value) for name, value in changed.items()
    }
