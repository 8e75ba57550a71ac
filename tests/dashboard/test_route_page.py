"""The Route page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Selectbox

from core import units
from core.console import Console
from core.domain.decision import Decision
from core.embedding.cached import CachedEncoder, EncoderSource
from core.routers import ROUTERS
from core.store import Store
from dashboard import session
from dashboard.widgets.text import escaped
from tests.dashboard.drawn import charts, titles

HOSTILE = "evil <b>x</b> **y** :red[z] $a$"
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
    "1 · Servers by utility", "2 · Auction: ask ● ≤ posted |", "3 · Tools:", "Utility against αt", "Utility against κ",
    "Posted price ◆ and ask ●",
]  # fmt: skip


class Letters:
    """An encoder without a model: counts of letters."""

    model, dimension, note = "letters", 26, ""

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """One row a text, of length 1."""
        rows = np.array(
            [[text.lower().count(chr(97 + n)) + 0.01 for n in range(26)] for text in texts], dtype=np.float32
        )
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    def tokens(self, texts: Sequence[str]) -> list[np.ndarray]:
        """One row a word."""
        return [self.encode(text.split() or [text]) for text in texts]


def script() -> None:
    from dashboard.views.route import page

    page()


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """A console in memory with a small catalog and one whose server has no tools."""
    store = Store(None)
    with Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as opened:
        opened.desk.import_text(json.dumps(CATALOG), "small")
        opened.desk.import_text(
            json.dumps({"servers": [{"name": "bare", "connection": {"command": "none"}}]}), "hollow"
        )
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=30)
    app.query_params.update(query)
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def said(app: AppTest) -> str:
    """All text of the page that Markdown is made from."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


def plain(text: str) -> str:
    return text.replace("\\", "").replace("\u2060", "")


def cards(app: AppTest) -> list[str]:
    """Tools with a button to call them, in order."""
    prefix = "route:call:"
    return [button.key.removeprefix(prefix) for button in app.button if (button.key or "").startswith(prefix)]


def decided(console: Console, **parameters: object) -> Decision:
    return console.route(ASKED["q"], catalog="small", parameters=console.parameters("ehrr", parameters), record=False)


def recorded(console: Console) -> int:
    console.store.events.flush()
    return console.store.activity.decision_count()


def test_the_empty_page_says_what_it_is_for_and_an_example_asks_itself(console: Console) -> None:
    app = visit()
    assert "Which tool should a sub-task go to?" in said(app)
    assert not titles(app)
    info = console.catalogs()[0]
    assert f"The catalog sample has {info.servers} servers with {info.tools} tools. For example:" in plain(said(app))
    texts = console.example_subtasks("sample")
    buttons = [button for button in app.button if (button.key or "").startswith("route:example:")]
    assert [plain(button.label) for button in buttons] == [
        text[:119] + "…" if len(text) > 120 else text for text in texts
    ]
    asked = checked(buttons[1].click().run())
    assert asked.text_input(key="route.q").value == texts[1]
    assert asked.query_params == {"q": texts[1]}
    assert len(charts(asked)) == 6


def test_an_empty_page_of_an_imported_catalog_has_no_examples(console: Console) -> None:
    app = visit(catalog="small")
    assert "The catalog small has 2 servers with 5 tools." in plain(said(app))
    assert "For example" not in said(app)
    assert app.query_params == {"catalog": "small"}


def test_a_question_gives_the_charts_the_candidates_and_why(console: Console) -> None:
    app, decision = visit(**ASKED), decided(console)
    for title, start in zip(titles(app), CHARTS, strict=True):
        assert title.startswith(start)
    assert cards(app) == [decision.tools.ids[row] for row in decision.candidates]
    winner = decision.winner
    assert app.info[0].value == escaped(console.why(decision, winner.tool), 600)
    values = {metric.label: metric.value for metric in app.metric}
    values.pop("Decided in")
    assert values == {
        "Price a call": units.price(winner.price_usd),
        "Expected time": units.seconds(winner.time_cost_s),
        "Success": units.share(winner.success),
        "Tokens exposed": f"{decision.tokens['exposed']:,}",
    }
    assert escaped(decision.reason, 300) in said(app)
    assert app.query_params == ASKED


def test_each_card_shows_utility_price_time_success_and_tokens(console: Console) -> None:
    app, decision = visit(**ASKED), decided(console)
    for row in decision.candidates:
        tool = decision.tool_at(row)
        assert f"U **{tool.utility:.3f}**" in said(app)
        figures = (units.price(tool.price_usd), units.seconds(tool.time_cost_s), units.share(tool.success))
        assert " · ".join((*figures, f"{tool.tokens} tokens")) in plain(said(app))


def why(app: AppTest) -> Selectbox:
    (found,) = [box for box in app.selectbox if box.label == "Why this server or tool?"]
    return found


def test_why_answers_for_every_tool_and_server_losers_too(console: Console) -> None:
    app, decision = visit(**ASKED), decided(console)
    chooser = why(app)
    assert chooser.options[0] == decision.winner.tool
    assert set(chooser.options) == {*decision.tools.ids, *decision.servers.names}
    assert "wins up to price" in plain(said(app))
    for subject, figure in (("files::deep", "utility U"), ("mail", "ask price c"), ("mail::send", "price")):
        checked(why(app).set_value(subject).run())
        assert app.info[0].value == escaped(console.why(decision, subject), 600)
        assert f":gray[{figure}] **" in plain(said(app))


def test_why_starts_afresh_where_the_catalog_does_not_know_the_subject(console: Console) -> None:
    app = visit(**ASKED)
    checked(app.selectbox(key="route.catalog").set_value("sample").run())
    chosen = why(app).value
    assert chosen == why(app).options[0]
    assert not chosen.startswith("files::read")
    assert app.query_params == {"q": ASKED["q"]}


@pytest.mark.parametrize(("kind", "shown"), [("catalog", "sample"), ("router", "ehrr")])
def test_a_name_in_the_url_that_is_not_there_is_said(console: Console, kind: str, shown: str) -> None:
    app = visit(**{kind: f"no {HOSTILE}"})
    assert app.warning[0].value == f"There is no {kind} {escaped(f'no {HOSTILE}')}; this is {shown}."
    assert app.selectbox(key=f"route.{kind}").value == shown
    assert app.query_params == {}
    assert not checked(app.run()).warning


def test_a_catalog_without_tools_says_so_and_is_no_error(console: Console) -> None:
    app = visit(q="anything", catalog="hollow")
    assert plain(app.warning[0].value) == "The catalog has no tools; import or discover a catalog that has some."
    assert not cards(app)
    assert len(titles(app)) == 6
    assert why(app).options == ["bare"]


def test_nothing_accepted_is_a_warning_with_the_reason_and_why_tells_who_refused(console: Console) -> None:
    app = visit(**ASKED, budget_usd="0.0")
    decision = decided(console, budget_usd=0.0)
    assert [warning.value for warning in app.warning] == [escaped(decision.reason, 600)]
    assert "accepted the posted price" in decision.reason
    assert not cards(app)
    assert not app.metric
    assert len(titles(app)) == 6
    assert app.info[0].value == escaped(console.why(decision, why(app).value), 600)
    assert said(app).count("No tool can win here.") == 2


def test_a_sub_task_that_is_too_long_is_said(console: Console) -> None:
    app = visit(q="x" * 20_001, catalog="small")
    assert [plain(error.value) for error in app.error] == [
        "The sub-task has 20,001 characters; shorten it to at most 20,000."
    ]
    assert not titles(app)


@pytest.mark.parametrize("router", list(ROUTERS))
def test_every_router_can_be_chosen_and_decides(console: Console, router: str) -> None:
    app = visit(**ASKED, router=router)
    chooser = app.selectbox(key="route.router")
    assert chooser.value == router
    assert chooser.options == [kind.title for kind in ROUTERS.values()]
    assert len(titles(app)) == (6 if ROUTERS[router].score == "utility" else 3)
    console.store.events.flush()
    assert console.store.activity.decisions()["router"].tolist() == [router]


def test_the_hint_goes_into_the_decision_and_the_url(console: Console) -> None:
    app = visit(**ASKED)
    checked(app.text_input(key="route.hint").set_value("  sends letters ").run())
    assert app.query_params == {**ASKED, "hint": "sends letters"}
    console.store.events.flush()
    assert console.store.activity.decisions()["server_hint"].tolist() == ["sends letters", ""]


def test_a_question_and_each_change_are_recorded_once(console: Console) -> None:
    assert recorded(console) == 0
    app = visit(**ASKED)
    assert recorded(console) == 1
    app.run()
    assert recorded(console) == 1  # nothing has changed: the same decision
    checked(app.slider(key="route.knob.ehrr.alpha_t").set_value(0.5).run())
    assert recorded(console) == 2
    console.store.events.flush()
    newest = console.store.activity.decisions().iloc[0]
    assert (newest["subtask"], newest["catalog"], newest["origin"]) == (ASKED["q"], "small", "console")
    assert console.decision(newest["id"]).parameters["alpha_t"] == 0.5


def test_a_knob_changes_the_decision_and_the_url(console: Console) -> None:
    app = visit(**ASKED)
    checked(app.slider(key="route.knob.ehrr.n").set_value(1).run())
    assert cards(app) == [decided(console).winner.tool]
    assert app.query_params == {**ASKED, "n": "1"}


def test_what_holds_stands_under_the_curves(console: Console) -> None:
    captions = [plain(caption.value) for caption in visit(**ASKED).caption]
    assert [text for text in captions if "αt" in text]
    assert [text for text in captions if "κ" in text]


def test_strangers_names_are_text_everywhere(console: Console) -> None:
    server = {
        "name": HOSTILE,
        "description": HOSTILE,
        "tools": [{"name": "t", "description": HOSTILE, "price_usd": 0.001}],
    }
    console.desk.import_text(json.dumps({"servers": [server]}), "evil")
    app = visit(q=HOSTILE, catalog="evil")
    assert "evil" in said(app)
    for markup in ("<b>", "**y", ":red[z", "$a$"):
        assert markup not in said(app)
        assert not [button for button in app.button if markup in button.label]
    drawn = charts(app)
    for trace in (trace for figure in drawn for trace in figure["data"]):
        trace.pop("customdata", None)  # comes back with a click; it is not drawn
    assert "&lt;b&gt;x" in json.dumps(drawn)
    assert "<b>x" not in json.dumps(drawn)
