"""The Route page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import json
from functools import partial

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core.app import App
from core.domain import units
from core.domain.decision import Decision
from core.routers import ROUTERS
from core.routers.base import RefusingParameters
from core.routers.expected_value import ExpectedValueParameters
from core.routers.why import why
from dashboard.ui.text import escaped
from tests.cases import each
from tests.dashboard.harness import (
    BARE,
    app_with,
    charts,
    checked,
    live_of,
    markdown_of,
    metrics_of,
    open_page,
    plain,
    state_of,
    text_of,
    titles,
    turn,
    words_of,
)
from tests.importing import import_text

HOSTILE = "evil <b>x</b> **y** :red[z] $a$"
FIELDS = ("text_input", "selectbox", "multiselect", "slider", "number_input", "toggle", "button_group")
ASKED = {"q": "read a file", "catalog": "small"}
CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads and removes files.",
            "ask_usd": 0.001,
            "tools": [
                {"name": "read", "description": f"Reads a file. {HOSTILE}", "price_usd": 0.002},
                {"name": "remove", "description": "Removes a file for ever.", "price_usd": 0.001},
                {"name": "deep", "description": "Reads a file deeply.", "price_usd": 0.9},
                {"name": "stat", "description": "Size of a file."},
            ],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "ask_usd": 0.9,
            "tools": [{"name": "send", "description": "Sends a letter.", "price_usd": 0.004}],
        },
    ]
}
CHARTS = [
    "1 · Servers by utility", "2 · Auction: ask ● ≤ posted |", "3 · Tools:", "Refused sub-tasks", "Utility against αt", "Utility against κ",
    "Price posted to ",
]  # fmt: skip

OTHER = {"servers": [{"name": "notes", "tools": [{"name": "write", "description": "Writes a note."}]}]}
app = app_with({"small": CATALOG, "other": OTHER, "hollow": BARE}, scope="module")
visit = partial(open_page, "route")


def cards(page: AppTest) -> list[str]:
    """Tools with a button to call them, in order."""
    prefix = "route:call:"
    return [button.key.removeprefix(prefix) for button in page.button if (button.key or "").startswith(prefix)]


def decided(app: App, **parameters: object) -> Decision:
    return app.routing.route(
        ASKED["q"], catalog="small", parameters=app.routing.parameters("ehrr", parameters), record=False
    )


def recorded(app: App) -> int:
    app.store.events.flush()
    return app.store.activity.decision_count()


def chooser(page: AppTest) -> Selectbox:
    (selectbox,) = [box for box in page.selectbox if box.label == "Why this server or tool?"]
    return selectbox


def test_a_question_gives_charts_cards_and_why_for_every_tool_and_server(app: App) -> None:
    page, decision = visit(**ASKED), decided(app)
    for title, start in zip(titles(page), CHARTS, strict=True):
        assert title.startswith(start)
    assert cards(page) == [decision.tools.ids[row] for row in decision.candidates]
    winner = decision.winner
    assert page.info[0].value == escaped(why(decision, winner.tool), 600)
    values = metrics_of(page)
    assert values.pop("Decided in").endswith(" ms")
    assert values == {
        "Fits": units.share(float(decision.fit.tools[decision.candidates[0]])),
        "Price a call": units.price(winner.price_usd),
        "Expected time": units.seconds(winner.time_cost_s),
        "One attempt succeeds": units.share(winner.success),
        "Tokens exposed": f"{decision.tokens['exposed']:,}",
    }
    assert decision.reason in text_of(page)
    assert page.query_params == ASKED
    captions = [plain(caption.value) for caption in page.caption]
    for symbol in ("αt", "κ"):  # the interval in which the winner stays, under its curve
        assert [text for text in captions if symbol in text]

    for place, row in enumerate(decision.candidates):
        tool = decision.tool_at(row)
        card = words_of(live_of(page)[f"route:card:{place}"])
        assert tool.tool.split("::")[1] in card
        assert f"U \n{tool.utility:.3f}" in card
        figures = (units.price(tool.price_usd), units.seconds(tool.time_cost_s), units.share(tool.success))
        assert " · ".join((*figures, f"{tool.tokens} tokens")) == words_of(live_of(page)[f"route:card:{place}:numbers"])

    assert chooser(page).options[0] == winner.tool
    assert set(chooser(page).options) == {*decision.tools.ids, *decision.servers.names}
    assert "wins up to price" in plain(markdown_of(page))
    for subject, figure in (("files::deep", "utility U"), ("mail", "ask price c"), ("mail::send", "price")):
        checked(chooser(page).set_value(subject).run())
        assert page.info[0].value == escaped(why(decision, subject), 600)
        assert f":gray[{figure}] **" in plain(markdown_of(page))
    assert ":gray[words that its text lacks] **read, file**" in plain(markdown_of(page))


def test_why_explains_the_winner_and_keeps_a_choice_while_question_and_catalog_stay(app: App) -> None:
    def winner(q: str, **values: object) -> str:
        parameters = app.routing.parameters("ehrr", values)
        return app.routing.route(q, catalog="small", parameters=parameters, record=False).winner.tool

    page, second = visit(**ASKED), "write a letter to Bo"
    assert chooser(page).value == winner(ASKED["q"]) != winner(second)
    checked(page.text_input(key="ask.q").set_value(second).run())
    assert chooser(page).value == winner(second)
    checked(chooser(page).set_value("files::deep").run())
    page.session_state["ask.knob.ehrr.alpha_t"] = 0.05
    assert chooser(checked(page.run())).value == "files::deep"
    checked(page.text_input(key="ask.q").set_value(ASKED["q"]).run())
    assert chooser(page).value == winner(ASKED["q"], alpha_t=0.05)
    checked(page.selectbox(key="ask.catalog").set_value("other").run())
    assert chooser(page).value == "notes::write"


@each("view", ["route", "whatif", "compare", "map", "call", "agent"])
def test_below_the_question_of_a_catalog_without_tools_stands_what_to_do_and_nothing_else(view: str) -> None:
    query = {"catalog": "hollow", "rounds": "5", "k": "3", **({} if view == "route" else {"q": "anything"})}
    page = open_page(view, **query)
    assert "Catalog hollow has no tools: none of its servers lists one." in text_of(page)
    assert [button.label for button in page.button] == ["Open the Catalog page"]
    fields = [field.label for kind in FIELDS for field in page.get(kind)]
    assert fields == ["What is needed?", "Server hint", "Catalog", "Router"]
    assert not titles(page)
    assert {name: "".join(text) for name, text in page.query_params.items()} == query


def test_nothing_accepted_is_a_warning_with_the_reason_and_why_tells_who_refused(app: App) -> None:
    page = visit(**ASKED, budget_usd="0.0")
    decision = decided(app, budget_usd=0.0)
    assert decision.reason in words_of(live_of(page)["route:headline"])
    assert "accepted the posted price" in decision.reason
    assert not cards(page)
    assert not metrics_of(page)
    assert len(titles(page)) == 7
    assert page.info[0].value == escaped(why(decision, chooser(page).value), 600)
    assert markdown_of(page).count("No tool can win here.") == 2


# one of each kind that looks different
LOOKS = {
    (kind.score == "utility", issubclass(kind.parameters, RefusingParameters), issubclass(kind.parameters, ExpectedValueParameters)): router
    for router, kind in ROUTERS.items()
}  # fmt: skip


@each("router", LOOKS.values())
def test_a_router_can_be_chosen_and_decides(app: App, router: str) -> None:
    page = visit(**ASKED, router=router)
    chooser = page.selectbox(key="ask.router")
    assert chooser.value == router
    assert chooser.options == [kind.title for kind in ROUTERS.values()]
    economic = ROUTERS[router].score == "utility"
    refuses = "P(nothing fits)" in markdown_of(page)
    assert refuses == issubclass(ROUTERS[router].parameters, RefusingParameters)
    assert len(titles(page)) - refuses == (6 if economic else 2)
    app.store.events.flush()
    assert app.store.activity.decisions()["router"].iloc[0] == router


def test_the_bar_says_what_differs_what_to_compare_with_and_with_what_agents_decide(app: App) -> None:
    page = open_page("route", **ASKED, alpha_t="0.08", alpha_s="0.02", kappa="10")
    state = state_of(page)
    chips = state["knobs"]["ask.knob.ehrr"]
    assert [chip["text"] for chip in chips] == ["αs 0.02 1/s", "αt 0.08 1/s", "κ 10 s/$"]
    assert chips[1]["about"] == "Time matters, αt: 0.02 → 0.08 1/s"
    assert state["preset"] == "Quick"
    assert ["the defaults", "ehrr"] in [list(pair) for pair in state["others"]]
    assert "Quick" not in dict(state["others"])
    assert (state["agents"]["same"], state["agents"]["words"]) == (False, "the defaults")
    app.agent_knobs.put("ehrr", ROUTERS["ehrr"].parameters().replaced({"alpha_t": 0.08, "alpha_s": 0.02, "kappa": 10}))
    state = state_of(checked(page.run()))
    assert (state["agents"]["same"], state["agents"]["words"]) == (True, "αs 0.02 1/s, αt 0.08 1/s and 1 more")


def test_a_question_and_each_change_of_hint_or_knob_are_decided_recorded_once_and_in_the_url(app: App) -> None:
    count, question = recorded(app), {**ASKED, "q": "read a letter"}
    page = visit(**question)
    assert recorded(app) == count + 1
    page.run()
    assert recorded(app) == count + 1  # nothing has changed: the same decision
    turn(page, "ask.knob.ehrr", n=1)
    assert recorded(app) == count + 2
    assert len(cards(page)) == 1
    assert page.query_params == {**question, "n": "1"}
    newest = app.store.activity.decisions().iloc[0]
    assert (newest["subtask"], newest["catalog"], newest["origin"]) == (question["q"], "small", "console")
    assert app.routing.decision(newest["id"]).parameters["n"] == 1
    checked(page.text_input(key="ask.hint").set_value("  sends letters ").run())
    assert page.query_params == {**question, "n": "1", "hint": "sends letters"}
    assert recorded(app) == count + 3
    assert app.store.activity.decisions()["server_hint"].tolist()[:2] == ["sends letters", ""]


def test_strangers_names_are_text_everywhere(app: App) -> None:
    server = {
        "name": HOSTILE,
        "description": HOSTILE,
        "tools": [{"name": "t", "description": HOSTILE, "price_usd": 0.001}],
    }
    import_text(app.catalog_editor, json.dumps({"servers": [server]}), "evil")
    page = visit(q=HOSTILE, catalog="evil")
    assert f"{HOSTILE}::t" in text_of(page)
    assert not [html for html in live_of(page).values() if "<b>x" in html]
    for markup in ("<b>", "**y", ":red[z", "$a$"):
        assert markup not in markdown_of(page)
        assert not [button for button in page.button if markup in button.label]
    figures = charts(page)
    for trace in (trace for figure in figures for trace in figure["data"]):
        trace.pop("customdata", None)  # comes back with a click; it is not drawn
    assert "&lt;b&gt;x" in json.dumps(figures)
    assert "<b>x" not in json.dumps(figures)
