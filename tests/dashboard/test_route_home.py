"""The Route page without a question: its purpose, and examples to press if the catalog has some."""

from __future__ import annotations

from functools import partial

from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from core.app import App
from dashboard.pages.route.view import EXAMPLES, LOOK_AT
from dashboard.ui.text import escaped
from tests.dashboard.harness import app_with, charts, checked, markdown_of, open_page, plain

SMALL = {
    "servers": [
        {"name": "files", "tools": [{"name": name} for name in ("read", "remove", "stat")]},
        {"name": "mail", "tools": [{"name": "send"}]},
    ]
}

app = app_with({"small": SMALL}, scope="module")
visit = partial(open_page, "route")


def test_the_empty_page_says_what_it_is_for_and_an_example_fills_the_field(app: App) -> None:
    page = visit()
    assert "Which tool should a sub-task go to?" in markdown_of(page)
    info = app.catalogs.infos()[0]
    assert f"ranks the {info.servers} servers and {info.tools} tools of the catalog sample" in plain(markdown_of(page))
    assert [plain(button.label) for button in examples(page)] == [example.query for example in EXAMPLES]
    assert sum(line.value.startswith(":violet[:material/") for line in page.markdown) == len(EXAMPLES) + len(LOOK_AT)
    decided = checked(examples(page)[1].click().run())
    assert decided.text_input(key="ask.q").value == EXAMPLES[1].query
    assert decided.query_params == {"q": EXAMPLES[1].query}
    assert len(charts(decided)) == 7
    planned = checked(examples(visit())[2].click().run())
    assert planned.query_params == {"q": EXAMPLES[2].query, "plan": "rules"}


def examples(page: AppTest) -> list[Button]:
    return [button for button in page.button if (button.key or "").startswith("route.example:")]


def test_names_in_the_url_that_are_not_there_are_said() -> None:
    name = "no evil <b>x</b> **y** :red[z] $a$"
    page = visit(catalog=name, router=name)
    defaults = {"catalog": "sample", "router": "ehrr"}
    assert [warning.value for warning in page.warning] == [
        f"There is no {kind} {escaped(name)}; this is {value}." for kind, value in defaults.items()
    ]
    assert {kind: page.selectbox(key=f"ask.{kind}").value for kind in defaults} == defaults
    assert page.query_params == {}
    assert not checked(page.run()).warning


def test_an_imported_catalog_is_embedded_and_has_examples_of_its_own(app: App) -> None:
    page = visit(catalog="small")
    assert "the 2 servers and 4 tools of the catalog small" in plain(markdown_of(page))
    assert page.query_params == {"catalog": "small"}
    button = examples(page)[0]
    assert any(button.label == example.question for example in app.examples.of("small"))
    assert len(charts(checked(button.click().run()))) > 0
