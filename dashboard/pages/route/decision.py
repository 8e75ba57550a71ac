"""A decision: its parts from the winner to the reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import streamlit as st

from core.app import App
from core.decisions.curves import posted, utilities
from core.decisions.routing import Asked
from core.decisions.strips import Strip
from core.domain.decision import Decision
from core.domain.feedback import RefusalCurve
from core.domain.params import Knob, Parameters, Value
from core.domain.trace import ToolRow
from core.routers.parameters import RefusingParameters
from core.routers.why import IF_ANYTHING
from dashboard.lane import lanes
from dashboard.pages.route.charts import COLUMN_PX, refusal_curve
from dashboard.pages.route.drawing import (
    AUCTION,
    FLOW,
    HEADLINE,
    SERVERS,
    TOOLS,
    TRIES,
    Parts,
    card_key,
    drawing,
    lane_answers,
    numbers_key,
    show,
)
from dashboard.pages.route.plan import agent_state
from dashboard.pages.route.why import changed_answers, explain, scoreboard, scores, task_sets, why_panel
from dashboard.ui.chart import chart, component
from dashboard.ui.charts.shared import MARKS, TRACKS, curve_chart
from dashboard.ui.labels import LABELS_HELP, Labelling, label_bar, label_notice, labelling, moved_words
from dashboard.ui.question import Question, strip_colours, winner_colours
from dashboard.ui.text import escaped
from dashboard.ui.token_meter import folded_meter, read_meter
from dashboard.ui.url_state import open_page

_present = component(
    "present", '<button class="wayfare-present-open" type="button">Present</button>', "dom.js", "present.js"
)


WHY, WHY_PANEL = "route.why", "route:why-panel"


class Step(NamedTuple):
    """A step of a presentation: the view, the part to show, "" for the whole view, and CSS selectors of the focus. The
    first selector with an element counts."""

    view: str
    part: str
    said: str
    focus: Sequence[str] = ()


STEPS = (
    Step("route", "", "The question and its answer"),
    Step("route", SERVERS, "The servers"),
    Step("route", TRIES, "The order of tries"),
    Step("route", AUCTION, "The auction"),
    Step("route", TOOLS, "The tools of accepted servers"),
    Step("route", "route:candidates", "The candidates, to be tried in this order"),
    Step("route", "route:winner", "The winner"),
    Step("route", FLOW, "From all servers and tools to the candidates"),
    Step("route", WHY_PANEL, "Why"),
    Step("route", "route:scoreboard", "The same knobs over labelled tasks"),
    Step("route", "", "Turn a knob: another winner takes over", (".wayfare-knobs > section input[type=range]",)),
    Step("call", "call:form", "The call. A time limit that is too short lets it fail", (".st-key-call-run-timeout input",)),
    Step("call", "call:outcome", "The outcome. After a failure the next candidate is called", (".st-key-call-next-candidate button",)),
    Step("call", "call:learned", "What the call taught"),
    Step("call", "call:next", "The next decision"),
    Step("route", "", "The network over time: choose one, and play it", (".st-key-ask-network-of-panel .wayfare-play", ".st-key-ask-network-of-panel select")),
    Step("route", "", "Ask another question", ("[data-testid=stMain] input[aria-label='What is needed?']",)),
)  # fmt: skip


def present(parts: Parts) -> None:
    """Draw the button that presents the live pages: large, one part at a time. Arrow and Page keys lead through its steps, Escape ends it."""
    missing = {TRIES, AUCTION} - parts.keys()
    _present(
        key="route:present",
        data={"steps": [step._asdict() for step in STEPS if step.part not in missing]},
        width="content",
    )


def refusing(app: App, decision: Decision, parameters: Parameters) -> None:
    """Draw the refusal knob's effect in a fold. Draws nothing for a router without the knob, an empty catalog, or while P(nothing fits) is
    unknown."""
    nothing = None if decision.fit is None else decision.fit.nothing
    if not isinstance(parameters, RefusingParameters) or nothing is None or not decision.tools.ids:
        return
    percent = parameters.wrong_refusals
    with st.expander("What if no tool fits?", icon=":material/block:"):
        curve = app.refusals.curve(decision.catalog)
        text, drawing = st.columns([2, 3], gap="medium")
        limit = f"refused above **{app.refusals.limit(percent):.2f}**"
        words = limit if percent > 0 else "and the knob is at 0, so nothing is refused"
        text.markdown(f"P(nothing fits) **{nothing:.2f}** for this sub-task, {words}.")
        text.markdown(f":small[{_point(curve, percent)}]")
        text.caption(
            "P assumes that half of all sub-tasks are impossible. It orders sub-tasks and is not a frequency. The fit of a tool assumes that "
            "this one is possible, and leaves P out. P rises with the number of "
            "different tools that are about as good as the best, and falls with how near the best is and how like its nearest request. "
            "The knob is *Wrong refusals at most*, under Similarity."
        )
        with drawing:
            chart(refusal_curve(curve, percent), key="route:refusal")


def _point(curve: RefusalCurve, percent: float) -> str:
    point = curve.at(percent)
    source = (
        f":green-badge[measured] on {curve.questions:,} labelled sub-tasks of this catalog, each also asked without its right tools"
        if curve.questions
        else ":gray-badge[shipped] the mean over five catalogs that were held back from the fit, with requests and without. On single catalogs wrong refusals were "
        "between 0 and five times the limit. With 20 labelled sub-tasks it is measured here"
    )
    return (
        f"At {percent:g} %: {100 * point.wrong:.0f} % of the answerable sub-tasks are refused, and {100 * point.refused:.0f} % of the "
        f"impossible ones. {source}."
    )


def winning_interval(strip: Strip, knob: Knob, value: Value) -> str:
    """Returns Markdown: the exact interval around the current value, and the winner beyond each end."""
    winners = strip.winners()
    current = strip.high if value is None else float(value)
    index = max(place for place, band in enumerate(winners) if place == 0 or band.low <= current)
    if winners[index].winner is None:
        return "No tool can win here."
    unit = f" {knob.unit}" if knob.unit else ""
    if len(winners) == 1:
        return f"The winner stays the same for every {knob.symbol} up to {strip.high:g}{unit}."
    beyond = [
        f"{word} it {'no tool' if winners[place].winner is None else escaped(winners[place].winner or '', 60)} wins"
        for word, place in (("below", index - 1), ("above", index + 1))
        if 0 <= place < len(winners)
    ]
    return (
        f"The winner stays the same for {knob.symbol} from {winners[index].low:.3g} to {winners[index].high:.3g}{unit}; "
        f"{', '.join(beyond)}."
    )


HEIGHT_PX = 280  # of a cost curve


def decision_body(question: Question, token: str) -> None:
    """Route the question and show the decision. Raises WayfareError if the router fails. `token` belongs to the fast lane."""
    app, parameters, asked = question.app, question.parameters, replace(question.asked, at_once=True)
    decision = question.decide(at_once=True)
    sets = task_sets(question)
    lanes.open(token, {**lane_answers(app, asked, winner_colours(asked)), **scores(question, sets)})
    labels = labelling(app, decision, hypothetical=asked.hypothetical)
    parts = drawing(decision, asked.supposed)
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:winner"):
        with st.container(width="stretch"):
            show(parts, HEADLINE, lane=token)
        present(parts)
    score = scoreboard(question, token, sets)
    agent_state(app, [decision], question.prefix)
    _columns(labels, parts, question.texts, partial(explain, WHY))
    show(parts, FLOW)
    with st.container(key=WHY_PANEL):
        why_panel(labels, WHY)
    with st.container():  # drawn in every run, so that the charts below are not rebuilt
        changed_answers(question, score)
    refusing(app, decision, parameters)
    _cost_curves(app, asked, decision.winner.tool if decision.winner else "")
    folded_meter(app, question.state, read_meter(question.state), decision)


def _columns(labels: Labelling, parts: Parts, linked: Mapping[str, str], choose: Callable[[str], None]) -> None:
    """Draw columns: servers, auction or tries if the router has them, tools, candidates. A click calls `choose` with a name."""
    columns = [key for key in (SERVERS, TRIES, AUCTION, TOOLS) if key in parts]
    grid = st.container(key="route:columns").grid(len(columns) + 1, min_column_width=235, gap="xsmall")
    for key in columns:
        with grid.cell(), st.container(height=COLUMN_PX, border=False) if key == TRIES else nullcontext():
            show(parts, key, choose=choose)
    with grid.cell():
        candidate_cards(labels, parts, linked, height=COLUMN_PX)


def _cost_curves(app: App, asked: Asked, winner: str) -> None:
    """Draw the cost curves with the interval of the winner. Draws nothing for other routers than EHRR."""
    case = app.what_if.case(asked)
    if case is None:
        return
    strips, knobs = app.what_if.strips(asked), {knob.name: knob for knob in asked.parameters.knobs()}
    colours = strip_colours(asked, winner, strips)
    grid = st.grid(3, min_column_width=235, gap="xsmall")
    for axis in ("alpha_t", "kappa"):
        with grid.cell():
            chart(curve_chart(utilities(case, strips[axis]), colours, height=HEIGHT_PX), key=f"route:{axis}")
            st.caption(winning_interval(strips[axis], knobs[axis], getattr(asked.parameters, axis)))
    if case.parameters.auction:
        with grid.cell():
            chart(curve_chart(posted(case), height=HEIGHT_PX), key="route:posted")
            st.caption(MARKS)
    st.caption(TRACKS)


CARDS_HELP = f"Calibrated probability that the tool fits{IF_ANYTHING}, payment of a call, expected seconds until success, chance that one attempt succeeds, tokens of the definition."
CARD = "card"
HARDLY = 0.05  # below this fit the button of a further candidate is quiet
ACTIONS = "route:actions"


def candidate_cards(known: Labelling, parts: Parts, linked: Mapping[str, str], *, height: int) -> None:
    """Draw a card for each candidate, best first. `linked` are the texts of a link to this query."""
    decision, texts = known.decision, dict(linked)
    with st.container(height=height, border=False, gap="xxsmall", key="route:candidates"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            number = 4 if {TRIES, AUCTION} & parts.keys() else 3
            st.markdown(f"**{number} · Candidates**", help=CARDS_HELP, width="content")
            _links(texts)
        label_notice(known, CARD, now=decision)
        for place, row in enumerate(decision.candidates):
            with st.container(border=True, gap="xxsmall"):
                about, button = st.columns([3, 1.15], vertical_alignment="center", gap="xxsmall")
                with about:
                    show(parts, card_key(place))
                with button, st.container(key=f"{ACTIONS}:call:{place}"):
                    hardly = decision.fit is not None and float(decision.fit.tools[row]) < HARDLY
                    _call(known, decision.tool_at(row), texts, quiet=hardly and place > 0)
                show(parts, numbers_key(place))
                with st.container(gap="xxsmall", key=f"{ACTIONS}:{place}"):
                    _judge(known, decision.tool_at(row))


def _links(texts: dict[str, str]) -> None:
    with st.container(horizontal=True, width="content", gap="xsmall"):
        if st.button("", icon=":material/tune:", key="route:whatif", type="tertiary", help="What if"):
            open_page("whatif", **texts)
        if st.button("", icon=":material/scatter_plot:", key="route:map", type="tertiary", help="Show on the map"):
            open_page("map", **texts)


def _call(labels: Labelling, tool: ToolRow, texts: dict[str, str], *, quiet: bool) -> None:
    """Draw the button to the Call page, with the decision if it is recorded. A `quiet` button is a plain word."""
    decision = labels.decision
    kind = "tertiary" if quiet else "primary" if tool.rank == 1 else "secondary"
    if st.button("Call", key=f"route:call:{tool.tool}", type=kind, width="stretch"):
        link = {} if labels.hypothetical else {"decision": decision.id}
        open_page("call", **{**texts, "catalog": decision.catalog, "tool": tool.tool, **link})


def _judge(labels: Labelling, tool: ToolRow) -> None:
    if words := moved_words(labels.moves.get(tool.tool, ()), labels.learnt(tool.tool)):
        st.markdown(f":small[{words}]", help=LABELS_HELP)
    label_bar(labels, tool.tool, CARD)
