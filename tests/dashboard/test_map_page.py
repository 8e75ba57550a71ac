"""The Map page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.params import NetworkMoment
from core.routers.why import why
from dashboard.pages.map import view
from tests.dashboard.harness import app_with, charts, checked, open_page, text_of
from tests.importing import import_text

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


@pytest.fixture(autouse=True)
def small_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shows the small catalog first."""
    monkeypatch.setenv("WAYFARE_CATALOG", "small")


app = app_with({"small": CATALOG, "plain": PLAIN}, scope="module")
visit = partial(open_page, "map")


def chart(page: AppTest) -> dict[str, Any]:
    """The chart as sent to the browser."""
    (figure,) = charts(page)
    return figure


def shown_tools(page: AppTest) -> list[str]:
    (trace,) = [trace for trace in chart(page)["data"] if "customdata" in trace]
    return trace["customdata"]


def table(page: AppTest) -> list[str]:
    """The tools of the list beside the map."""
    frame = page.dataframe[0].value
    return [f"{server}::{tool}" for server, tool in zip(frame["server"], frame["tool"], strict=True)]


def test_all_tools_are_on_the_map_and_it_says_how_far_to_trust_it(app: App) -> None:
    page = visit()
    assert shown_tools(page) == ["files::read", "files::remove", "files::stat", "mail::send", "mail::Read"]
    assert "Distances on the map are approximate" in text_of(page)
    assert "Which tools are alike?" in text_of(page)
    assert page.query_params == {"by": "category"}
    assert not page.dataframe


def test_a_sub_task_is_placed_with_its_candidates_and_its_list_is_exact(app: App) -> None:
    page = visit(q="read a file", k="1", n="2")
    decision = app.routing.route(
        "read a file", catalog="small", parameters=app.routing.parameters("ehrr", {"k": 1, "n": 2}), record=False
    )
    candidates = [decision.tools.ids[row] for row in decision.candidates]
    assert table(page)[: len(candidates)] == candidates
    assert len(table(page)) == 5
    frame = page.dataframe[0].value
    place = app.maps.place("small", "read a file")
    assert frame["cosine"].tolist() == pytest.approx([float(place.cosine[row]) for row in frame.index])
    assert frame["similarity"].tolist() == pytest.approx([decision.tools.similarity[row] for row in frame.index])
    assert decision.reason in text_of(page)
    assert page.query_params == {"q": "read a file", "k": "1", "n": "2", "by": "category"}
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0  # to look is not to decide


def test_a_simulated_network_counts_as_on_decision(app: App) -> None:
    page, network = visit(q="send a letter", network="fluctuating", at_s="300"), NetworkMoment("fluctuating", 300.0)
    decision = app.routing.route("send a letter", catalog="small", network=network)
    assert decision.reason in text_of(page)
    assert sum(page.dataframe[0].value["rank"] != "") == len(decision.candidates) == 1


def test_a_chosen_tool_is_read_beside_the_map_with_its_exact_neighbours(app: App) -> None:
    page = visit(tool="files::read")
    assert [neighbour.tool for neighbour in app.maps.neighbours("small", "files::read")] == table(page)
    exact = [neighbour.cosine for neighbour in app.maps.neighbours("small", "files::read")]
    assert page.dataframe[0].value["cosine"].tolist() == pytest.approx(exact)
    assert page.text[0].value == f"Reads a file. {HOSTILE}"
    assert "price **2 m$**" in text_of(page).replace(":gray[price]", "price")
    assert "Tools of the same name: on mail." in text_of(page)
    (trace,) = [trace for trace in chart(page)["data"] if "customdata" in trace]
    assert trace["selectedpoints"] == [0]
    asked_page = visit(tool="files::read", q="read a file")
    decision = app.routing.route("read a file", catalog="small", record=False)
    assert why(decision, "files::read") in text_of(asked_page)


def test_the_chosen_tool_can_be_put_away(app: App) -> None:
    page = visit(tool="files::read")
    checked(next(button for button in page.button if button.key == "map:close").click().run())
    assert "tool" not in page.query_params
    assert not page.dataframe
    assert "selectedpoints" not in str(chart(page))


def test_a_tool_that_is_removed_elsewhere_is_gone_from_the_panel(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    import_text(app.catalog_editor, json.dumps(CATALOG), "moved")
    drawn, smaller = view._chart, json.dumps({"servers": CATALOG["servers"][1:]})

    def then_removed(*args: Any) -> None:
        drawn(*args)
        if "files" in app.catalogs.catalog("moved").server_row:
            import_text(app.catalog_editor, smaller, "moved")

    monkeypatch.setattr(view, "_chart", then_removed)
    assert "Which tools are alike?" in text_of(visit(catalog="moved", tool="files::read"))


def test_highlighting(app: App) -> None:
    for show, lit in {"category: disk": 3, "server: gone": 0, "READS a": 2}.items():
        page = visit(show=show)
        assert f"{lit} of 5 tools are highlighted" in text_of(page)
        assert page.query_params["show"] == show
        (trace,) = [trace for trace in chart(page)["data"] if "customdata" in trace]
        assert sum("0.22" not in colour for colour in trace["marker"]["color"]) == lit


def test_colours_by_server_and_only_by_server_where_there_are_no_categories(app: App) -> None:
    page = visit(by="server")
    notes = [note["text"] for note in chart(page)["layout"]["annotations"]]
    assert sorted(notes) == ["files", "mail"]
    plain = visit(catalog="plain", by="category")
    assert plain.query_params == {"catalog": "plain", "by": "server"}
    assert [note["text"] for note in chart(plain)["layout"]["annotations"]] == ["one"]


def test_a_link_that_makes_no_sense_says_so_and_works(app: App) -> None:
    page = visit(router="gone", q="read", tool="no::tool", by="nothing", alpha_t="a lot")
    assert "There is no router gone" in text_of(page)
    assert "A part of the link was not used" in text_of(page)
    assert len(shown_tools(page)) == 5
    assert "tool" not in page.query_params


def test_what_fails_is_said(app: App) -> None:
    page = visit(q="x" * 20_001)
    assert "shorten it" in text_of(page)
    assert not charts(page)


def test_a_tool_of_another_catalog_is_forgotten(app: App) -> None:
    page = visit(tool="files::read")
    checked(page.selectbox(key="ask.catalog").set_value("plain").run())
    assert page.query_params == {"catalog": "plain", "by": "server"}
    assert "Which tools are alike" in text_of(page)
