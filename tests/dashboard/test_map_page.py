"""The Map page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.embedding.cached import CachedEncoder, EncoderSource
from core.store import Store
from dashboard import session
from tests.dashboard.drawn import charts
from tests.embedding.toys import Letters

HOSTILE = "evil <b>x</b> **y** :red[z] $a$"
CATALOG = {
    "servers": [
        {
            "name": "files",
            "category": "disk",
            "description": "Reads and removes files.",
            "ask_usd": 0.001,
            "tools": [
                {"name": "read", "description": f"Reads a file. {HOSTILE}", "price_usd": 0.002},
                {"name": "remove", "description": "Removes a file for ever.", "price_usd": 0.001},
                {"name": "stat", "description": "Size of a file."},
            ],
        },
        {
            "name": "mail",
            "category": "letters",
            "description": "Sends letters.",
            "ask_usd": 0.9,
            "tools": [
                {"name": "send", "description": "Sends a letter.", "price_usd": 0.004},
                {"name": "Read", "description": "Reads a letter."},
            ],
        },
    ]
}
PLAIN = {"servers": [{"name": "one", "tools": [{"name": "only"}]}]}


def script() -> None:
    from dashboard.views.map import page

    page()


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Iterator[Console]:
    """A console in memory with a small catalog, one of a single tool, and one whose server has no tools."""
    monkeypatch.setenv("WAYFARE_CATALOG", "small")
    store = Store(None)
    with Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as opened:
        opened.desk.import_text(json.dumps(CATALOG), "small")
        opened.desk.import_text(json.dumps(PLAIN), "plain")
        opened.desk.import_text(
            json.dumps({"servers": [{"name": "bare", "connection": {"command": "none"}}]}), "hollow"
        )
        monkeypatch.setattr(session, "_console", opened)
        yield opened


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update(query)
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def said(app: AppTest) -> str:
    """All text of the page that Markdown is made from, without its escapes."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error)
    found = "\n".join(str(element.value) for kind in kinds for element in kind)
    return found.replace("\\", "").replace("\u2060", "")


def chart(app: AppTest) -> dict[str, object]:
    """The chart as it is sent."""
    (found,) = charts(app)
    return found


def shown_tools(app: AppTest) -> list[str]:
    (trace,) = [trace for trace in chart(app)["data"] if "customdata" in trace]
    return trace["customdata"]


def table(app: AppTest) -> list[str]:
    """The tools of the list beside the map."""
    frame = app.dataframe[0].value
    return [f"{server}::{tool}" for server, tool in zip(frame["server"], frame["tool"], strict=True)]


def test_all_tools_are_on_the_map_and_it_says_how_far_to_trust_it(console: Console) -> None:
    app = visit()
    assert shown_tools(app) == ["files::read", "files::remove", "files::stat", "mail::send", "mail::Read"]
    assert "Distances on the map are approximate" in said(app)
    assert "Which tools can stand in for one another?" in said(app)
    assert app.query_params == {"by": "category"}
    assert not app.dataframe


def test_a_sub_task_is_placed_with_its_candidates_and_its_list_is_exact(console: Console) -> None:
    app = visit(q="read a file", k="1", n="2")
    decision = console.route(
        "read a file", catalog="small", parameters=console.parameters("ehrr", {"k": 1, "n": 2}), record=False
    )
    candidates = [decision.tools.ids[row] for row in decision.candidates]
    assert table(app)[: len(candidates)] == candidates
    assert len(table(app)) == 5
    frame = app.dataframe[0].value
    place = console.desk.place("small", "read a file")
    assert frame["cosine"].tolist() == pytest.approx([float(place.cosine[row]) for row in frame.index])
    assert frame["similarity"].tolist() == pytest.approx([decision.tools.similarity[row] for row in frame.index])
    assert decision.reason in said(app)
    assert "Knobs as on the Route page: n = 2, k = 1" in said(app)
    assert app.query_params == {"q": "read a file", "k": "1", "n": "2", "by": "category"}
    console.store.events.flush()
    assert console.store.activity.decision_count() == 0  # to look is not to decide


def test_the_defaults_are_one_press_away(console: Console) -> None:
    app = visit(q="read a file", k="1")
    checked(next(button for button in app.button if button.key == "map:defaults").click().run())
    assert "k" not in app.query_params
    assert "Knobs as on" not in said(app)


def test_a_chosen_tool_is_read_beside_the_map_with_its_exact_neighbours(console: Console) -> None:
    app = visit(tool="files::read")
    assert [found.tool for found in console.desk.neighbours("small", "files::read")] == table(app)
    exact = [found.cosine for found in console.desk.neighbours("small", "files::read")]
    assert app.dataframe[0].value["cosine"].tolist() == pytest.approx(exact)
    assert app.text[0].value == f"Reads a file. {HOSTILE}"
    assert "price **2 m$**" in said(app).replace(":gray[price]", "price")
    assert "Tools of the same name: on mail." in said(app)
    (trace,) = [trace for trace in chart(app)["data"] if "customdata" in trace]
    assert trace["selectedpoints"] == [0]
    asked = visit(tool="files::read", q="read a file")
    decision = console.route("read a file", catalog="small", record=False)
    assert console.why(decision, "files::read") in said(asked)


def test_the_chosen_tool_can_be_put_away(console: Console) -> None:
    app = visit(tool="files::read")
    checked(next(button for button in app.button if button.key == "map:close").click().run())
    assert "tool" not in app.query_params
    assert not app.dataframe
    assert "selectedpoints" not in str(chart(app))


def test_a_row_of_the_list_becomes_the_chosen_tool(console: Console) -> None:
    app = visit(q="read a file")
    app.session_state["map.tool"] = "mail::send"
    checked(app.run())
    assert app.query_params["tool"] == "mail::send"
    assert "##### send" in said(app)


@pytest.mark.parametrize(
    ("show", "lit"), [("category: disk", 3), ("server: mail", 2), ("letter", 2), ("server: gone", 0), ("READS a", 2)]
)
def test_highlighting(console: Console, show: str, lit: int) -> None:
    app = visit(show=show)
    assert f"{lit} of 5 tools are highlighted" in said(app)
    assert app.query_params["show"] == show
    (trace,) = [trace for trace in chart(app)["data"] if "customdata" in trace]
    assert sum("0.22" not in colour for colour in trace["marker"]["color"]) == lit


def test_colours_by_server_and_only_by_server_where_there_are_no_categories(console: Console) -> None:
    app = visit(by="server")
    notes = [note["text"] for note in chart(app)["layout"]["annotations"]]
    assert sorted(notes) == ["files", "mail"]
    plain = visit(catalog="plain", by="category")
    assert plain.query_params == {"catalog": "plain", "by": "server"}
    assert [note["text"] for note in chart(plain)["layout"]["annotations"]] == ["one"]


def test_a_catalog_without_tools_says_what_to_do(console: Console) -> None:
    app = visit(catalog="hollow", q="read a file")
    assert "has no tools yet" in said(app)
    assert any(button.label == "Open the Catalog page" for button in app.button)
    assert not charts(app)


def test_a_link_that_makes_no_sense_says_so_and_works(console: Console) -> None:
    app = visit(router="gone", q="read", tool="no::tool", by="nothing", alpha_t="a lot")
    assert "There is no router gone" in said(app)
    assert "The link was not taken whole" in said(app)
    assert len(shown_tools(app)) == 5
    assert "tool" not in app.query_params


def test_what_fails_is_said(console: Console) -> None:
    app = visit(q="x" * 20_001)
    assert "shorten it" in said(app)
    assert not charts(app)


def test_a_tool_of_another_catalog_is_forgotten(console: Console) -> None:
    app = visit(tool="files::read")
    checked(app.selectbox(key="map.catalog").set_value("plain").run())
    assert app.query_params == {"catalog": "plain", "by": "server"}
    assert "Which tools can stand in" in said(app)
