"""The Compare page: several routers on one sub-task, from a link and by hand."""

from __future__ import annotations

from functools import partial

from core.app import App
from core.domain.trace import Drop
from core.routers import ROUTERS
from dashboard.pages.compare.view import LABELS
from dashboard.ui.text import DROPPED
from dashboard.ui.variants import MOST
from tests.cases import each
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
    for at in range(0, len(ROUTERS), MOST):
        few = list(ROUTERS)[at : at + MOST]
        page = visit(**ASKED, **{"with": ",".join(few)})
        assert not page.error, few
        assert f" of {len(few)}** choose" in markdown_of(page), few
        assert page.dataframe[0].value.columns.tolist()[0] == "tool"


def test_to_compare_records_nothing(app: App) -> None:
    visit(**ASKED)
    app.store.events.flush()
    assert app.store.activity.decision_count() == 0


def test_a_link_pins_parameters_and_the_url_keeps_them() -> None:
    page = visit(**ASKED, **{"with": "ehrr,ehrr~n=1~alpha_t=0.0"})
    assert "EHRR · n = 1, alpha\\_t = 0.0" in markdown_of(page).replace("\\=", "=").replace(
        "\\.", "."
    ) or "n" in markdown_of(page)
    assert page.multiselect(key="compare.with").value == ["ehrr", "ehrr~n=1~alpha_t=0.0"]
    assert page.query_params["with"] in ("ehrr,ehrr~n=1~alpha_t=0.0", ["ehrr,ehrr~n=1~alpha_t=0.0"])


@each(
    ("text", "problem"),
    [("nobody", "There is no router"), ("ehrr~k=0", "outside 1"), ("ehrr~zzz=1", "no parameter"), ("~", "no router")],
)
def test_a_link_that_does_not_fit_is_named_and_the_rest_stands(text: str, problem: str) -> None:
    page = visit(**ASKED, **{"with": f"rag_mcp,{text}"})
    assert problem in page.warning[0].value.replace("\\", "")
    assert page.multiselect(key="compare.with").value == ["rag_mcp"]
    assert "**1 of 1** choose" in markdown_of(page)
    assert [problem in one.value.replace("\\", "") for one in checked(page.run()).warning] == [
        True
    ]  # until the choice changes
    assert not checked(page.multiselect(key="compare.with").select("ehrr").run()).warning


def test_every_stage_that_drops_a_tool_has_its_words() -> None:
    assert set(DROPPED) == set(Drop)


def test_two_that_agree_say_so_and_two_that_differ_say_why() -> None:
    assert "same candidates" in visit(**ASKED, **{"with": "rag_mcp,rag_mcp~k=6"}).success[0].value
    page = visit(**ASKED, **{"with": "ehrr,ehrr~n=1"})
    assert "Outranked" in markdown_of(page)


def test_names_of_strangers_are_text() -> None:
    assert "<b>mail" not in markdown_of(visit(q="send a letter", catalog="small"))


def test_without_a_sub_task_there_are_examples_and_without_routers_a_hint() -> None:
    assert "What" in visit(catalog="small").text_input[0].label
    page = visit(**ASKED)
    checked(page.multiselect(key="compare.with").set_value([]).run())
    assert "Choose the routers" in page.info[0].value


def test_playing_goes_on_without_its_page_and_its_result_is_found_again(app: App) -> None:
    choice = {**ASKED, "with": "ehrr,rag_mcp"}
    app.feedback.label("convert miles", "units::convert_length", right=True, catalog="small")
    page = visit(**choice)
    page.selectbox(key="compare.tasks").set_value(LABELS)
    press(page, "compare:play")
    (job,) = app.background.listed()
    assert (job.title, job.of) == (f"Playing {LABELS}", 2)
    assert job.link.endswith("with=ehrr%2Crag_mcp")
    assert job.wait(TIMEOUT_S)
    again = text_of(visit(**choice))  # another visit, as after a reload
    assert "1 answerable tasks" in again
    assert "answerable tasks" not in text_of(visit(**ASKED, **{"with": "ehrr,pa_rag"}))
    app.feedback.label("convert miles", "units::convert_length", right=False, catalog="small")
