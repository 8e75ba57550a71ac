"""A first start: after an import the console says which tools would not be found and why, and a model or a prompt writes requests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from dashboard import session
from tests.dashboard.catalog_visits import importing
from tests.dashboard.harness import app_with, checked, open_page, press, text_of, titles, with_services
from tests.importing import import_text
from tests.planning import endpoints

LIMIT_S = 120
TOOLS = {
    "web::back": ("Navigate in the browser.", ["return to the last page", "step back one page", "the page before"]),
    "web::on": (
        "Return to the previous page.",
        ["return to the last page please", "step back a page", "previous page"],
    ),
    "mail::send": ("Send a mail letter.", ["mail a letter", "send mail to Bo", "post mail to Ann"]),
    "mail::read": ("Read the mail.", ["read my mail", "any mail today", "is there mail from Bo"]),
    "lone::**dance**": ("Dance.", ["mail the previous page to Bo", "mail Bo the page before"]),
    "lone::sing": ("Sing.", []),
}
app = app_with()


def document(*, with_requests: bool = True) -> str:
    servers: dict[str, Any] = {}
    for place, (description, requests) in TOOLS.items():
        server, _, name = place.partition("::")
        tool = {"name": name, "description": description, "requests": requests if with_requests else []}
        servers.setdefault(server, {"name": server, "tools": []})["tools"].append(tool)
    return json.dumps({"servers": list(servers.values())})


EXAMPLE = ":gray-badge[example] The sample catalog"


def imported(app: App, text: str) -> AppTest:
    """The Catalog page after an import and its look."""
    page = press(importing(text), "catalog.import.go")
    ended(app, "first look", "imported-1")
    return checked(page.run())


def ended(app: App, kind: str, catalog: str) -> None:
    job = app.background.of(f"{kind} of {catalog}", catalog)
    assert job is not None
    assert job.wait(LIMIT_S)


def test_an_import_ends_with_the_tools_that_will_hardly_be_found(app: App) -> None:
    page = imported(app, document())
    report = app.findable.known("imported-1")
    assert report is not None
    assert [row.tool for row in report.seldom] == ["lone::**dance**"]
    text = text_of(page)
    assert "1 of 6 tools of imported-1 will hardly be found, and this is why:" in text.replace("**", "")
    assert "lone::**dance**: 0 of its 2 requests find it among three; " in text.replace("****", "**")
    assert "Of 1 tool nothing is known" in text
    assert page.button(key="catalog.write.prompt").label == "Write requests by a prompt"
    assert "hardly be found" in text_of(open_page("route", catalog="imported-1"))
    assert EXAMPLE not in text_of(open_page("catalog", catalog="imported-1", view="findable"))
    assert "hardly be found" not in text_of(open_page("route"))
    assert "hardly be found" not in text_of(press(page, "catalog.first.close"))


def test_a_start_with_ones_own_catalog_looks_at_it(app: App) -> None:
    import_text(app.catalog_editor, document(), "mine")
    open_page("route", catalog="mine")
    ended(app, "first look", "mine")
    assert "1 of 6 tools of mine will hardly be found" in text_of(open_page("route", catalog="mine"))


def test_without_requests_it_says_so_and_findable_opens_the_prompt(app: App) -> None:
    page = imported(app, document(with_requests=False))
    assert "None of the 6 tools of imported-1 has example requests" in text_of(page)
    findable = open_page("catalog", catalog="imported-1", view="findable")
    assert "No tool of this catalog has two example requests" in text_of(findable)
    assert EXAMPLE in text_of(findable)
    assert "Meant (rows) and found first (columns)" in titles(findable)
    (fold,) = [fold for fold in findable.expander if "without requests" in fold.label]
    assert fold.proto.expanded
    assert not [button for button in findable.button if button.label == "Estimate"]
    import_text(app.catalog_editor, '{"servers": [{"name": "bare", "connection": {"command": "none"}}]}', "bare")
    assert "No server of this catalog lists a tool" in text_of(open_page("catalog", catalog="bare", view="findable"))


@pytest.fixture
def model(app: App) -> Iterator[tuple[Any, App]]:
    """A model behind real HTTP that writes two requests for each tool. The pages use an app that names it."""
    with contextmanager(endpoints.serving)() as served:

        def write(handler: Any) -> None:
            tools = json.loads(served.asked[-1].user.partition("<data>")[2].partition("</data>")[0])["tools"]
            requests = [
                {"tool": tool["tool"], "requests": TOOLS[tool["tool"]][1] or ["sing it", "sing on"]} for tool in tools
            ]
            served.answer({"tools": requests})(handler)

        served.reactions = [write]
        env = {"WAYFARE_LLM_MODEL": "gpt-4o-mini", "WAYFARE_LLM_BASE_URL": served.url, "WAYFARE_LLM_API_KEY": "k"}
        session.use_app(model_app := with_services(app, settings=replace(app.settings, environment=env)))
        yield served, model_app


def test_one_button_has_the_model_write_and_looks_again(model: tuple[Any, App]) -> None:
    served, app = model
    page = imported(app, document(with_requests=False))
    assert not served.asked
    page.session_state["catalog.write"] = True  # as a click opens it
    page = checked(page.run())
    assert "6 tools without requests. gpt-4o-mini would take about: " in text_of(page)
    page = press(page, "catalog.write.begin")
    ended(app, "requests", "imported-1")
    ended(app, "first look", "imported-1")
    page = checked(page.run())
    assert len(served.asked) == 2
    assert "16 requests of 6 tools were written." in text_of(page)
    assert "will hardly be found, and this is why:" in text_of(page).replace("**", "")
    assert {item.source for items in app.requests.of_catalog("imported-1").values() for item in items} == {"model"}
    assert "were written" not in text_of(press(page, "catalog.write.ok"))
