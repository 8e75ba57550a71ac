"""Labels on the Route page: one click stores, the same click takes back, the next decision follows, and the page says why."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain import units
from core.domain.decision import Decision
from core.domain.feedback import By
from dashboard.ui.labels import LISTED
from tests.dashboard.harness import app_with, checked, live_of, markdown_of, open_page, press, text_of
from tests.importing import import_text

HOSTILE = ":red[z]"
TASK = "read a file"
READ, STAT, SEND = "files::read", "files::stat", "mail::send"
CATALOG = {
    "servers": [
        {
            "name": "files",
            "tools": [{"name": "read", "description": "Reads a file."}, {"name": "stat", "description": "Size of a file."}],
        },
        {"name": "mail", "tools": [{"name": "send", "description": "Sends a letter."}]},
    ]
}  # fmt: skip

TWINS = {
    "servers": [*CATALOG["servers"], {"name": "disk", "tools": [{"name": "read", "description": "Reads a file."}]}]
}
app = app_with({"small": CATALOG, "twins": TWINS}, scope="module")


@pytest.fixture(autouse=True)
def without_labels(app: App) -> None:
    for label in app.feedback.labels("small"):
        app.feedback.retract(label.id)


def visit() -> AppTest:
    return open_page("route", q=TASK, catalog="small")


def decided(app: App) -> Decision:
    return app.routing.route(TASK, catalog="small")


def fits(app: App, tool: str) -> str:
    decision = decided(app)
    return units.share(decision.fit_at(decision.tools.ids.index(tool))["p_fit"])


def said(app: App) -> dict[str, bool]:
    return {label.tool: label.right for label in app.feedback.labels("small")}


def test_one_click_is_stored_and_moves_the_next_decision_and_the_same_click_takes_it_back(app: App) -> None:
    page, old_fit = visit(), fits(app, READ)
    press(page, f"label:card:wrong:{READ}")
    assert said(app) == {READ: False}
    (label,) = app.feedback.labels("small")
    assert (label.subtask, label.origin, label.visitor) == (TASK, "console", "")
    new_fit = fits(app, READ)
    assert f"Stored: {READ} is **wrong**." in text_of(page)
    assert f"{READ} fits {old_fit} → **{new_fit}**" in text_of(page)
    assert new_fit != old_fit
    press(page, f"label:why:right:{READ}")  # the other click replaces it
    assert said(app) == {READ: True}
    reloaded = visit()  # as after a reload
    assert reloaded.button(key=f"label:why:right:{READ}").label == ":green[**right**]"
    assert reloaded.button(key=f"label:why:wrong:{READ}").label == "wrong"
    liked = fits(app, READ)
    press(reloaded, f"label:why:right:{READ}")
    assert said(app) == {}
    assert f"Taken back: {READ} is no longer labelled right." in text_of(reloaded)
    assert f"{READ} fits {liked} → **{old_fit}**" in text_of(reloaded)


def test_the_message_says_what_became_of_tools_that_do_the_same_and_of_others(app: App) -> None:
    app.feedback.label(TASK, STAT, right=True, catalog="twins", by=By("somebody"))
    app.equal_sets.judge("twins", READ, SEND, "different")  # an encoder that counts letters finds them equal
    page = open_page("route", q=TASK, catalog="twins")
    press(page, f"label:card:right:{READ}")
    assert "The same click takes it back. files::read fits" in text_of(page)
    assert "; disk::read, which does the same, went up too; files::stat fell from" in text_of(page)
    assert f"right for “{TASK}”, said of the equal tool {READ}" in text_of(page)
    press(page, f"label:card:right:{READ}")
    assert "Taken back: files::read is no longer labelled right. files::read fits" in text_of(page)
    assert "; disk::read, which does the same, fell too; files::stat rose from" in text_of(page)


def chosen(page: AppTest, tool: str, right: str) -> AppTest:
    key = f"label:card:other:{tool}"
    page.session_state[key] = True  # as a click opens it
    checked(page.run())
    return checked(page.selectbox(key=f"{key}:chosen").set_value(right).run())


def test_should_have_been_stores_both_and_one_press_takes_both_back(app: App) -> None:
    page = visit()
    assert not [box for box in page.selectbox if box.label == "It should have been"]
    chosen(page, READ, SEND)
    assert said(app) == {SEND: True, READ: False}
    assert f"Stored: {SEND} is **right**, {READ} is **wrong**." in text_of(page)
    assert decided(app).winner.tool == SEND
    assert not [box for box in page.selectbox if box.label == "It should have been"]
    press(page, "label:card:back")
    assert said(app) == {}
    assert decided(app).winner.tool == READ


def test_card_and_why_name_the_labels_and_their_parts_add_up(app: App) -> None:
    for number in range(LISTED + 2):
        app.feedback.label(TASK, READ, right=True, catalog="small", by=By(f"visitor {number}"))
    moves = [label for label in app.feedback.moved(TASK, catalog="small") if label.tool == READ]
    total = sum(label.move.logits for label in moves)
    text = text_of(visit())
    assert f"labels **{total:+.1f}** (right for “{TASK}”; {len(moves)} labels)" in text
    assert f"labels] **{total:+.2f}** :gray[of at most ±6" in text
    lines = [line for line in text.splitlines() if line.startswith("- :small[")]
    assert len(moves) > LISTED
    assert len(lines) == LISTED + 1
    assert lines[0].startswith(f"- :small[**{moves[0].move.logits:+.2f}** right for “{TASK}”, similarity 1.00, console")
    rest = sum(label.move.logits for label in moves[LISTED:])
    assert lines[-1] == f"- :small[**{rest:+.2f}** {len(moves) - LISTED} more]"


def test_a_hostile_sub_task_of_a_label_is_text_and_what_the_fit_is_made_of_adds_up(app: App) -> None:
    app.feedback.label(f"{TASK} {HOSTILE}", READ, right=True, catalog="small")
    page = visit()
    assert f"(right for “{TASK} {HOSTILE}”; 1 label)" in text_of(page)
    assert HOSTILE not in markdown_of(page)
    headline = live_of(page)["route:headline"]
    whole, parts = headline.split("from its relevance ")[1].split(", and from its lead")[0].split(" = ")
    assert " + labels " in parts
    assert sum(float(part.rsplit(" ", 1)[1]) for part in parts.split(" + ")) == pytest.approx(float(whole), abs=0.03)


def test_what_cannot_be_stored_is_one_sentence(app: App) -> None:
    page = visit()
    import_text(app.catalog_editor, '{"servers": [{"name": "mail", "tools": [{"name": "send"}]}]}', "small")
    press(page, f"label:card:right:{READ}")
    assert "There is no tool 'files::read'" in text_of(page)
    assert said(app) == {}
