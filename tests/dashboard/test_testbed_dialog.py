"""The dialog that draws a testbed, and its tasks on the Lab page."""

from __future__ import annotations

from core.app import App
from tests.dashboard.harness import app_with, checked, labelled, open_page, press, text_of

CATALOG = {
    "servers": [
        {"name": "web", "description": "Searches pages.", "tools": [{"name": "find", "description": "Finds a page."}]},
        {"name": "mail", "description": "Letters.", "tools": [{"name": "send", "description": "Sends a letter."}]},
    ]
}

app = app_with({"world": CATALOG})


def test_a_testbed_is_drawn_kept_and_its_tasks_are_offered(app: App) -> None:
    app.feedback.label("find a page", "web::find", right=True, catalog="world")
    app.feedback.label("write to her", "mail::send", right=True, catalog="world")
    page = checked(labelled(open_page("catalog", catalog="world"), "Testbed…").click().run())
    page = checked(page.text_input(key="catalog.testbed.words").set_value("nowhere").run())
    assert "No server matches" in text_of(page)
    assert page.button(key="catalog.testbed.go").disabled
    page = checked(page.text_input(key="catalog.testbed.words").set_value("page").run())
    page = checked(page.number_input(key="catalog.testbed.copies").set_value(1).run())
    assert "**2 servers with 2 tools** from 1 that match; 1 task, 1 of them answerable." in text_of(page)
    page.text_input(key="catalog.testbed.words").set_value("nowhere")
    page = press(page, "catalog.testbed.go")
    assert sum("No server matches" in element.value for element in (*page.info, *page.error)) == 2
    assert app.catalogs.infos()[-1].name == "world"
    page = checked(page.text_input(key="catalog.testbed.words").set_value("page").run())
    page.number_input(key="catalog.testbed.copies").set_value(2)  # and pressed before the page is drawn with it
    page = press(page, "catalog.testbed.go")
    assert "page-3 has 3 servers with 3 tools. The Lab page offers its 1 task." in text_of(page)
    assert page.query_params["catalog"] == "page-3"
    (task,) = app.lab_runs.stored_tasks(*next(iter(app.lab_runs.task_sets("page-3").items())))
    assert task.relevant == ("web::find", "web-1::find", "web-2::find")
    assert "1 task, 1 router" in text_of(open_page("lab", catalog="page-3"))
