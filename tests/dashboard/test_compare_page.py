"""The Compare page: several routers on one sub-task, from a link and by hand."""

from __future__ import annotations

import math
from functools import partial
from types import SimpleNamespace as Some

from core.app import App
from core.domain.trace import Drop
from core.lab.execution import Interval
from core.routers import ROUTERS
from dashboard.pages.compare.view import LABELS, OWN_FILE, votes_words
from dashboard.ui.charts.shared import frontier
from dashboard.ui.presets import MOST
from dashboard.ui.text import DROPPED
from tests.dashboard.harness import TIMEOUT_S, app_with, checked, markdown_of, open_page, press, text_of

CATALOG = {
    "servers": [
        {
            "name": "units",
            "description": "Converts units of measure.",
            "ask_usd": 0.001,
            "call_s": 0.2,
            "tools": [
                {"name": "convert_length", "description": "Converts a length.", "price_usd": 0.001, "latency_s": 0.2},
                {"name": "list_units", "description": "Lists every unit.", "price_usd": 0.001, "latency_s": 0.1},
            ],
        },
        {
            "name": "<b>mail</b>",
            "description": "Sends letters.",
            "ask_usd": 0.001,
            "tools": [{"name": "send", "description": "Sends a letter to somebody.", "price_usd": 0.002}],
        },
    ]
}
ASKED = {"q": "convert miles to kilometres", "catalog": "small"}


app = app_with({"small": CATALOG}, scope="module")
visit = partial(open_page, "compare")


def test_every_router_can_be_compared(app: App) -> None:
    for start in range(0, len(ROUTERS), MOST):
        few = list(ROUTERS)[start : start + MOST]
        page = visit(**ASKED, **{"with": ",".join(few)})
        assert not page.error, few
        assert f" of {len(few)}** " in markdown_of(page), few
        assert page.dataframe[0].value.columns.tolist()[0] == "tool"


def test_a_tie_of_routers_is_said() -> None:
    def words(winners: str) -> str:
        return votes_words([Some(winner=None if name == "-" else Some(tool=name)) for name in winners])

    assert words("aab") == "**2 of 3** choose a."
    assert words("aab-b") == "**A tie**: **2 of 5** choose a, **2 of 5** choose b."
    assert words("ab-") == "**No two of 3** agree."
    assert words("a") == "**1 of 1** choose a."


def test_a_link_pins_parameters_what_does_not_fit_is_named_and_nothing_is_recorded(app: App) -> None:
    wrong = {"nobody": "There is no router", "ehrr~k=0": "outside 1", "ehrr~zzz=1": "no parameter", "~": "no router"}
    page = visit(**ASKED, **{"with": ",".join(["ehrr", "ehrr~n=1~alpha_t=0.0", *wrong])})
    warnings = " ".join(warning.value.replace("\\", "") for warning in page.warning)
    assert [text for text in wrong.values() if text not in warnings] == []
    assert page.multiselect(key="compare.with").value == ["ehrr", "ehrr~n=1~alpha_t=0.0"]
    assert "n = 1" in text_of(page)
    assert checked(page.run()).warning  # until the choice changes
    assert not checked(page.multiselect(key="compare.with").select("rag_mcp").run()).warning
    assert page.query_params["with"] in ("ehrr,ehrr~n=1~alpha_t=0.0,rag_mcp", ["ehrr,ehrr~n=1~alpha_t=0.0,rag_mcp"])
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_every_stage_that_drops_a_tool_has_its_words() -> None:
    assert set(DROPPED) == set(Drop)


def test_two_that_agree_say_so_and_two_that_differ_say_why() -> None:
    assert "same candidates" in visit(**ASKED, **{"with": "rag_mcp,rag_mcp~k=6"}).success[0].value
    page = visit(**ASKED, **{"with": "ehrr,ehrr~n=1"})
    assert "Outranked" in markdown_of(page)


def test_names_of_strangers_are_text_and_without_routers_there_is_a_hint() -> None:
    page = visit(q="send a letter", catalog="small")
    assert "<b>mail" not in markdown_of(page)
    checked(page.multiselect(key="compare.with").set_value([]).run())
    assert "Choose the routers" in page.info[0].value


def test_tasks_are_played_on_a_press_and_go_on_without_the_page_which_finds_the_result_again(app: App) -> None:
    choice = {**ASKED, "with": "ehrr,rag_mcp"}
    app.feedback.label("convert miles", "units::convert_length", right=True, catalog="small")
    page = visit(**choice)
    assert "simulated" not in markdown_of(page)
    checked(page.selectbox(key="compare.tasks:small").set_value(OWN_FILE).run())
    assert page.button(key="compare:play").disabled, "there is no file yet"
    page.selectbox(key="compare.tasks:small").set_value(LABELS).run()
    press(page, "compare:play")
    (job,) = app.background.listed()
    assert (job.title, job.of) == (f"Playing {LABELS}", 2)
    assert job.link.endswith("with=ehrr%2Crag_mcp")
    assert job.wait(TIMEOUT_S)
    page = visit(**choice)  # another visit, as after a reload
    assert "1 answerable tasks" in text_of(page)
    assert ":gray-badge[simulated]" in markdown_of(page)
    table = next(frame.value for frame in page.dataframe if "m$ each" in frame.value.columns)
    assert table["router"].tolist() == ["EHRR", "RAG-MCP"]
    assert "◆" in table["front"].tolist()
    assert all(" ± " in text for text in table["solved"])
    assert "answerable tasks" not in text_of(visit(**ASKED, **{"with": "ehrr,pa_rag"}))
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_the_frontier_marks_the_front_and_leaves_out_who_solved_nothing() -> None:
    success, money = ([Interval(value, value, value) for value in values] for values in ((0.8, 0.0), (0.01, math.nan)))
    line, point = frontier(["<b>good</b>", "none"], success, money).to_dict()["data"]
    assert (line["x"], line["y"]) == (point["x"], point["y"])
    assert point["marker"]["symbol"] == "diamond"
    assert "&lt;b&gt;" in point["text"][0]
