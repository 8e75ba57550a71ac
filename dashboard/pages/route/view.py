"""The decision on a sub-task: its stages, and the first steps of a newcomer."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import streamlit as st

from core.app import App
from core.decisions.examples import ExampleQuestion
from core.decisions.routing import Asked
from core.decisions.strips import Segment, Strip
from core.domain import units
from core.domain.params import Knob
from core.importers.shipped_catalogs import SAMPLE, played
from core.routers.ehrr import EhrrParameters
from dashboard.lane import PATH as LANE_PATH
from dashboard.lane import lanes
from dashboard.pages.route.decision import ACTIONS, WHY_PANEL, decision_body
from dashboard.pages.route.drawing import AUCTION, HEADLINE, SERVERS, TOOLS, drawing, lane_answers, show
from dashboard.pages.route.plan import ONE, plan_body, plan_choice
from dashboard.ui.chart import component, live
from dashboard.ui.first_look import first_look
from dashboard.ui.knobs import LaneLink
from dashboard.ui.long_work import by_words_first, planner_usage, show_preparing
from dashboard.ui.question import Asks, Question, fill, winner_colours
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.token_meter import read_meter, start_meter
from dashboard.ui.url_state import UrlState

STEPS = (
    ("Ask", "enter a sub-task, or choose an example."),
    ("Turn", "a knob on the left: every chart follows."),
    ("Call", "a candidate: a real outcome counts in later decisions."),
)

_guide = component(
    "guide",
    '<div class="wayfare-guide" role="note" aria-label="The first minute" hidden></div>',
    "guide.css",
    "dom.js",
    "guide.js",
)


class Example(NamedTuple):
    """An example sub-task. `winners` are the right tools of each step."""

    icon: str
    title: str
    query: str
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
    (":material/play_arrow:", "**Call** opens the call. The outcome of a real call counts in the next decision."),
)  # fmt: skip


def home(question: Question) -> None:
    """Draw the page without a query: its purpose, the story of a decision that a knob changes, and examples."""
    app, state, catalog = question.app, question.state, question.form.catalog
    st.markdown("#### Which tool should a sub-task go to?")
    info = next(info for info in app.catalogs.infos() if info.name == catalog)
    st.markdown(
        f"Enter a sub-task. Wayfare ranks the {info.servers:,} servers and {info.tools:,} tools of the catalog "
        f"{escaped(catalog)}, weighs similarity against time, reliability and price, and shows every number."
    )
    story_box, cards = st.container(), st.container()
    first_look(app, catalog, "route", begins=True)
    for icon, text in LOOK_AT:
        st.markdown(f":violet[{icon}] {text}")
    with errors_shown():
        examples = EXAMPLES if catalog == SAMPLE else _examples_of(app, catalog)
        with cards:
            _example_cards(state, examples)
        with story_box:
            _tell(question, examples)


def _tell(question: Question, examples: Sequence[Example]) -> None:
    """Draw the recorded story of the sample, or a story of an example of another catalog. Draws nothing if no knob of a story changes the
    winner."""
    app, state, catalog = question.app, question.state, question.form.catalog
    title = KINDS["changes"][1]
    query = (
        str(played()["question"])
        if catalog == SAMPLE
        else next((example.query for example in examples if example.title == title), "")
    )
    if not query:
        return
    show_preparing(app, catalog, decides=True)
    asked = replace(question.asked, query=query, hint="")
    turn = story_of(app, asked)
    if turn is not None:
        ask = partial(fill, {state.key("q"): query, state.key("plan"): ONE})
        story(app, asked, turn, ask, lane_token(question.prefix))


def _examples_of(app: App, catalog: str) -> tuple[Example, ...]:
    """Returns the examples of a catalog. Embeds its tools first if necessary."""
    show_preparing(app, catalog, decides=True)
    with st.spinner("Choosing examples…"):
        return tuple(_shown(example) for example in app.examples.of(catalog))


def _shown(example: ExampleQuestion) -> Example:
    icon, title = KINDS[example.kind]
    names = [escaped(winner, 60) for winner in example.winners]
    about = f"{names[0]} fits clearly. Press Call to fill in its arguments."
    if example.knob is not None:
        limit = f"{example.beyond:.3g}{f' {example.knob.unit}' if example.knob.unit else ''}".replace("$", "\\$")
        about = f"{names[0]} wins. Raise “{example.knob.label}” above {limit}, and {names[1]} wins."
    elif example.kind == "steps":
        about = f"Split into {len(names)} steps: {', then '.join(names)}."
    winners = tuple(frozenset({winner}) for winner in example.winners)
    return Example(icon, title, example.question, about, winners, "rules" if example.kind == "steps" else "")


def _example_cards(state: UrlState, examples: Sequence[Example]) -> None:
    if not examples:
        return
    grid = st.grid(len(examples), min_column_width=260, gap="small")
    for number, example in enumerate(examples):
        with grid.cell(), st.container(border=True, height="stretch", gap="xsmall"):
            st.markdown(f":violet[{example.icon}] **{example.title}**")
            pressed = st.button(
                escaped(example.query, 120), key=f"{state.key('example')}:{number}", icon=":material/north_east:",
                on_click=fill, args=({state.key("q"): example.query, state.key("plan"): example.planner or ONE},),
                type="primary" if number == 0 else "secondary", width="stretch",
            )  # fmt: skip
            if pressed:
                st.rerun()  # the filled field is outside the fragment of this button
            st.caption(example.about)


RESULT, TOKEN = "route:result", "route:token"


def page(question: Question) -> None:
    """Draw the view. Its result writes the URL."""
    start_meter(question.state, question.linked)
    st.session_state.setdefault(question.state.key("plan"), question.linked.get("plan", "") or ONE)
    has_query = bool(question.form.query)
    _guide(key="route:guide", data={"steps": STEPS, "asked": has_query, "calls": _below(f"{ACTIONS}:call")})
    _result(question)


@st.fragment(key=RESULT)
def _result(question: Question) -> None:
    app, state, query, parameters = question.app, question.state, question.form, question.parameters
    linked = question.texts
    planner = plan_choice(app, state, query.query) if query.query else ""
    state.end({**linked, **read_meter(state).texts(), "plan": planner}, question=linked)
    if not query.query:
        home(question)
        return
    with errors_shown():
        if app.routing.by_fit(query.router, parameters):
            by_words_first(app, query.catalog)
        else:
            show_preparing(app, query.catalog, decides=True)
        if planner:
            live("", key=HEADLINE)  # in place of the decision, so that its colours leave the knobs
            plan_body(question, planner)
        else:
            decision_body(question, lane_token(question.prefix))
        planner_usage(app)


def _lane(prefix: str) -> LaneLink:
    return LaneLink(f".{LANE_PATH}", lane_token(prefix), HEADLINE, TOOLS, f"{_below(ACTIONS)}, {_below(WHY_PANEL)}")


def _below(key: str) -> str:
    """Returns a CSS selector of elements with a key that begins with `key`."""
    return f'[class*="st-key-{key.replace(":", "-")}"]'


def lane_token(prefix: str) -> str:
    """Returns the secret token of this visitor's page for the fast lane of the knobs with this prefix.

    Each router has its own token. While another router is chosen, its knobs are drawn before its lane is open.
    """
    return f"{st.session_state.setdefault(TOKEN, secrets.token_urlsafe(32))}:{prefix}"


ASKS = Asks("route", redraws=(RESULT,), lane=_lane)


KNOBS = ("alpha_t", "kappa")
"""The knobs of a story. The first that changes the winner is used."""
BESIDE = 0.4  # how far beyond the change the knob goes, as a share of the change's own value
ROOM = 1.3  # the end of the track over the larger value of the knob

_story = component(
    "story",
    '<section class="wayfare-story" aria-label="The winner changes with one knob"></section>',
    "story.css",
    "dom.js",
    "story.js",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """The turn of a knob from `now` to `to`. Another tool wins beyond `at`. Values up to `top` are shown."""

    knob: Knob
    now: float
    at: float
    to: float
    top: float
    bands: tuple[Segment, ...]
    winners: tuple[str, str]


def turn_of(strip: Strip, knob: Knob, now: float) -> Turn | None:
    """Returns the turn to the nearest other winner, above the present value if there is one. None if the winner never changes.

    >>> knob = Knob("alpha_t", float, 0.02, "αt", "1/s", 0.0, 2.0, 0.01, "", "")
    >>> strip = Strip("alpha_t", 0.0, 2.0, (Segment(0.0, 0.06, "a", "", "", 0.1), Segment(0.06, 2.0, "b", "", "", 0.1)))
    >>> turn = turn_of(strip, knob, 0.02)
    >>> turn.to, turn.winners, turn_of(strip, knob, 0.5).winners
    (0.08, ('a', 'b'), ('b', 'a'))
    """
    bands = strip.winners()
    current = max(place for place, band in enumerate(bands) if place == 0 or band.low <= now)
    winner = bands[current].winner
    others = [*bands[current + 1 :], *reversed(bands[:current])]
    other = next((band for band in others if band.winner not in {None, winner}), None)
    if winner is None or other is None or not knob.step:
        return None
    ends = (other.low, min(other.high, (1 + 2 * BESIDE) * other.low)) if other.low >= now else (other.low, other.high)
    to = round(round(sum(ends) / 2 / knob.step) * knob.step, 6)
    if not ends[0] < to < ends[1]:
        return None
    top = min(float(knob.high or to), math.ceil(ROOM * max(to, now) / knob.step) * knob.step)
    return Turn(knob, now, ends[0] if other.low >= now else ends[1], to, top, bands, (winner, str(other.winner)))


def story_of(app: App, asked: Asked) -> Turn | None:
    """Returns the turn that changes the winner. None for another router than EHRR, or if no knob of a story changes it."""
    if not isinstance(asked.parameters, EhrrParameters):
        return None
    strips, knobs = app.what_if.strips(asked), {knob.name: knob for knob in asked.parameters.knobs()}
    turns = (turn_of(strips[name], knobs[name], getattr(asked.parameters, name)) for name in KNOBS if name in strips)
    return next((turn for turn in turns if turn is not None), None)


def story(app: App, asked: Asked, turn: Turn, ask: Callable[[], None], token: str) -> None:
    """Draw the decision on this sub-task with a knob that moves by itself, and the next steps. The button calls `ask`.

    `token` belongs to the fast lane. Nothing is recorded.
    """
    decision = app.routing.preview(asked)
    colours = winner_colours(asked)
    band_colours = colours.of([turn.winners[0], *(band.winner for band in turn.bands)])
    lanes.open(token, lane_answers(app, asked, colours))
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="route:story:question"):
        st.container(width="stretch").markdown(f"For example: **{escaped(asked.query, 160)}**")
        if st.button("Ask this", key="route:story:ask", icon=":material/north_east:", on_click=ask):
            st.rerun()  # the filled field is outside the fragment of this button
    _story(key="route:story", data=_knob_of(turn, band_colours))
    parts = drawing(decision, asked.supposed)
    show(parts, HEADLINE, lane=token)
    grid = st.container(key="route:columns").grid(4, min_column_width=235, gap="xsmall")
    for key in (SERVERS, AUCTION, TOOLS):
        with grid.cell():
            show(parts, key)
    with grid.cell():
        _next(asked)


def _knob_of(turn: Turn, colours: Mapping[str | None, str]) -> dict[str, Any]:
    knob, (first, second) = turn.knob, turn.winners
    side = "above" if turn.to > turn.now else "below"
    title = knob.label or knob.symbol  # without its letter: the knob at the left has that name
    return {
        "name": knob.name, "title": title, "unit": knob.unit, "low": knob.low, "top": turn.top, "step": knob.step,
        "now": turn.now, "to": turn.to,
        "bands": [[band.low, band.high, colours[band.winner], band.winner or "no tool"] for band in turn.bands if band.low < turn.top],
        "before": f"{first} wins. Watch the knob “{title}”: it moves once, and {second} takes over.",
        "after": f"{second} takes over {side} {turn.at:.3g} {knob.unit}. Move the knob yourself: every chart follows.",
    }  # fmt: skip


def _next(asked: Asked) -> None:
    """Draw the steps after this decision from a recorded session. For another sub-task, draw the possible steps."""
    recording = played()
    if (asked.catalog, asked.query) != (recording["catalog"], recording["question"]):
        st.markdown("**What happens next**")
        st.markdown(
            "**Ask this** opens the decision with its candidates. **Call** fills in the form of a candidate and shows the answer. The "
            "outcome of a real call counts in the next decision."
        )
        return
    call, saving = recording["call"], recording["saving"]
    success, call_s = (
        [show(value) for value in call[name]] for name, show in (("success", units.share), ("call_s", units.seconds))
    )
    form = "  \n".join(
        f":small[{escaped(name, 40)} = {escaped(str(value), 120)}]" for name, value in call["arguments"].items()
    )
    time, money = (escaped(text) for text in (units.seconds(saving["time_s"]), units.price(abs(saving["usd"]))))
    words = f"save {time} and {'cost' if saving['usd'] < 0 else 'save'} {money}{' more' if saving['usd'] < 0 else ''}"
    with st.container(border=True, gap="xsmall", key="route:story:next"):
        st.markdown("**What happens next** :gray-badge[simulated]", help=recording["about"])
        st.markdown(
            f"**Call** {escaped(call['tool'], 60)}, which takes over: its form is filled from your words.  \n{form}"
        )
        st.markdown(
            f"**Answer** after {escaped(units.seconds(call['took_s']))}.  \n:small[{escaped(call['answer'], 200)}]"
        )
        st.markdown(
            f"**Simulated statistics** change, no measured one does.  \n:small[success {success[0]} → {success[1]}, call time "
            f"{escaped(call_s[0])} → {escaped(call_s[1])}]"
        )
        st.markdown(
            f"**{saving['calls']} such calls** {words} :gray-badge[projected]  \n:small[beside {escaped(recording['winners'][0], 60)}]"
        )
