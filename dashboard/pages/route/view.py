"""The decision on a sub-task: its stages, and the first steps of a newcomer."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import streamlit as st
from streamlit.components.v2 import component

from core.app import App
from core.decisions.examples import ExampleQuestion
from core.decisions.routing import Asked
from core.importers.shipped_catalogs import SAMPLE, played
from dashboard.lane import PATH as LANE_PATH
from dashboard.pages.route.candidates import ACTIONS
from dashboard.pages.route.decision import WHY_PANEL, decision_body
from dashboard.pages.route.plan import ONE, plan_body, plan_choice, start_plan
from dashboard.pages.route.story import story, story_of
from dashboard.pages.route.turned import HEADLINE, TOOLS
from dashboard.ui.chart import live
from dashboard.ui.first_look import first_look
from dashboard.ui.knobs import LaneLink
from dashboard.ui.layer import supposed
from dashboard.ui.long_work import by_words_first
from dashboard.ui.query_form import fill, planner_usage, show_preparing
from dashboard.ui.question import Asks, Question
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.token_meter import read_meter, start_meter
from dashboard.ui.url_state import UrlState

ASSETS = Path(__file__).parents[2] / "assets"
STEPS = (
    ("Ask", "enter a sub-task, or choose an example."),
    ("Turn", "a knob on the left: every chart follows."),
    ("Call", "a candidate: its outcome counts in later decisions."),
)

_guide = component(
    "wayfare.guide",
    html='<div class="wayfare-guide" role="note" aria-label="The first minute" hidden></div>',
    css=(ASSETS / "guide.css").read_text(encoding="utf-8"),
    js=(ASSETS / "guide.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def guide(*, asked: bool, calls: str) -> None:
    """Draw the three steps. The first is done if a query was `asked`. `calls` is a CSS selector of the call buttons."""
    _guide(key="route:guide", data={"steps": STEPS, "asked": asked, "calls": calls})


class Example(NamedTuple):
    """An example sub-task. `winners` are the right tools of each step."""

    icon: str
    title: str
    subtask: str
    about: str
    winners: tuple[frozenset[str], ...]
    planner: str = ""


KINDS = {
    "one": (":material/target:", "One tool stands out"),
    "changes": (":material/balance:", "Two can do it"),
    "steps": (":material/account_tree:", "Several steps"),
}
EXAMPLES = (
    Example(
        *KINDS["one"], "convert 300 miles to kilometres",
        "One tool of the catalog fits. Press Call: its server runs on this machine.",
        (frozenset({"unit-exchange::convert_units"}),),
    ),
    Example(
        *KINDS["changes"], "where is the Super Bowl shown in Germany",
        "Both fit, so time, reliability and price decide. Raise “Time matters”, and the quicker one wins.",
        (frozenset({"Matinee::live.sport", "score-board::where_is_it_on"}),),
    ),
    Example(
        *KINDS["steps"], "get today's weather in Oslo, translate it into French and send it to Bo by mail",
        "Split into three steps. Each is routed separately, and their totals are shown.",
        (
            frozenset({"weather-now::current_weather"}),
            frozenset({"language-tutor::translate_text"}),
            frozenset({"mail-room::mail.send", "Pigeonhole::send_letter"}),
        ),
        planner="rules",
    ),
)  # fmt: skip
LOOK_AT = (
    (":material/arrow_right_alt:", "**From left to right:** servers, auction, tools, candidates, and the reason for each dropped one."),
    (":material/tune:", "**On the left,** behind » in a narrow window: the knobs. Every chart follows while you move them. Rare ones are under Advanced."),
    (":material/play_arrow:", "**Call** opens the call. Its outcome counts in the next decision."),
)  # fmt: skip


def home(question: Question) -> None:
    """Draw the page without a query: its purpose, the story of a decision that a knob changes, and examples."""
    app, state, catalog = question.app, question.state, question.query.catalog
    st.markdown("#### Which tool should a sub-task go to?")
    info = next(info for info in app.catalogs.infos() if info.name == catalog)
    st.markdown(
        f"Enter a sub-task. Wayfare ranks the {info.servers:,} servers and {info.tools:,} tools of the catalog "
        f"{escaped(catalog)}, weighs similarity against time, reliability and price, and shows every number."
    )
    told, cards = st.container(), st.container()
    first_look(app, catalog, "route", begins=True)
    for icon, text in LOOK_AT:
        st.markdown(f":violet[{icon}] {text}")
    with errors_shown():
        examples = EXAMPLES if catalog == SAMPLE else _examples_of(app, catalog)
        with cards:
            _example_cards(state, examples)
        with told:
            _tell(question, examples)


def _tell(question: Question, examples: Sequence[Example]) -> None:
    """Draw the story: of the sample as it was played, of another catalog with its example that a knob changes. Draws nothing if no knob
    of a story changes it."""
    app, state, query = question.app, question.state, question.query
    title = KINDS["changes"][1]
    subtask = (
        str(played()["question"])
        if query.catalog == SAMPLE
        else next((one.subtask for one in examples if one.title == title), "")
    )
    if not subtask:
        return
    show_preparing(app, query.catalog, decides=True)
    asked = Asked(subtask, question.parameters, query.catalog, query.router, supposed=supposed(query.catalog))
    turn = story_of(app, asked)
    if turn is not None:
        story(
            app,
            asked,
            turn,
            lambda: fill({state.key("q"): subtask, state.key("plan"): ONE}),
            lane_token(question.prefix),
        )


def _examples_of(app: App, catalog: str) -> tuple[Example, ...]:
    """The examples of one's own catalog. Embeds its tools first if they are not."""
    show_preparing(app, catalog, decides=True)
    with st.spinner("Choosing examples…"):
        return tuple(_shown(found) for found in app.examples.of(catalog))


def _shown(found: ExampleQuestion) -> Example:
    icon, title = KINDS[found.kind]
    names = [escaped(winner, 60) for winner in found.winners]
    about = f"{names[0]} fits clearly. Press Call to fill in its arguments."
    if found.knob is not None:
        moved = f"{found.beyond:.3g}{f' {found.knob.unit}' if found.knob.unit else ''}".replace("$", "\\$")
        about = f"{names[0]} wins. Raise “{found.knob.label}” above {moved}, and {names[1]} wins."
    elif found.kind == "steps":
        about = f"Split into {len(names)} steps: {', then '.join(names)}."
    winners = tuple(frozenset({winner}) for winner in found.winners)
    return Example(icon, title, found.question, about, winners, "rules" if found.kind == "steps" else "")


def _example_cards(state: UrlState, examples: Sequence[Example]) -> None:
    if not examples:
        return
    grid = st.grid(len(examples), min_column_width=260, gap="small")
    for number, example in enumerate(examples):
        with grid.cell(), st.container(border=True, height="stretch", gap="xsmall"):
            st.markdown(f":violet[{example.icon}] **{example.title}**")
            pressed = st.button(
                escaped(example.subtask, 120), key=f"{state.key('example')}:{number}", icon=":material/north_east:",
                on_click=fill, args=({state.key("q"): example.subtask, state.key("plan"): example.planner or ONE},),
                type="primary" if number == 0 else "secondary", width="stretch",
            )  # fmt: skip
            if pressed:
                st.rerun()  # the filled field is outside the fragment of this button
            st.caption(example.about)


RESULT, TOKEN = "route:result", "route:token"


def page(question: Question) -> None:
    """Draw the view. Its result writes the URL."""
    start_meter(question.state, question.linked)
    start_plan(question.state, question.linked)
    guide(asked=bool(question.query.subtask), calls=_below(f"{ACTIONS}:call"))
    _result(question)


@st.fragment(key=RESULT)
def _result(question: Question) -> None:
    """Draw everything below the query. It is redrawn when a knob moves."""
    app, state, query, parameters = question.app, question.state, question.query, question.parameters
    linked = question.texts
    planner = plan_choice(app, state, query.subtask) if query.subtask else ""
    state.end({**linked, **read_meter(state).texts(), "plan": planner}, question=linked)
    if not query.subtask:
        home(question)
        return
    with errors_shown():
        if app.routing.by_fit(query.router, parameters):
            by_words_first(app, query.catalog)
        else:
            show_preparing(app, query.catalog, decides=True)
        if planner:
            live("", key=HEADLINE)  # in place of the decision, so that its colours leave the knobs
            plan_body(app, query, parameters, planner, linked, question.prefix)
        else:
            decision_body(app, state, query, parameters, linked, question.prefix, lane_token(question.prefix))
        planner_usage(app)


def _lane(prefix: str) -> LaneLink:
    return LaneLink(LANE_PATH, lane_token(prefix), HEADLINE, TOOLS, f"{_below(ACTIONS)}, {_below(WHY_PANEL)}")


def _below(key: str) -> str:
    """Returns a CSS selector of elements with a key that begins with `key`."""
    return f'[class*="st-key-{key.replace(":", "-")}"]'


def lane_token(prefix: str) -> str:
    """Returns the secret token of this visitor's page for the fast lane of the knobs with this prefix.

    Each router has its own: while another one is chosen, its knobs are drawn before its lane is open.
    """
    return f"{st.session_state.setdefault(TOKEN, secrets.token_urlsafe(32))}:{prefix}"


ASKS = Asks("route", redraws=(RESULT,), lane=_lane)
