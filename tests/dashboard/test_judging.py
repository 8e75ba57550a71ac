"""Judging on pages: a popover on Route and Compare, and the Lab's pool, set, files and failed tasks."""

from __future__ import annotations

from functools import partial

from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.feedback import MOST_NOTE_CHARACTERS
from dashboard.ui.calling import SET
from tests.dashboard.harness import app_with, checked, open_page, press, text_of
from tests.dashboard.test_lab_page import CATALOG
from tests.importing import import_text

ASKED = "read a file"
app = app_with({"small": CATALOG})
lab = partial(open_page, "lab", catalog="small")


def said(app: App, set_name: str = "my judgments") -> dict[tuple[str, str, str], int | None]:
    """Sub-task, tool and judge of every judgment, with its grade."""
    if set_name not in app.judgments.sets("small"):
        return {}
    return {
        (judgment.subtask, judgment.tool, judgment.judge): judgment.grade
        for judgment in app.judgments.judgments("small", set_name)
    }


def opened(page: AppTest, place: str) -> AppTest:
    """The page with its popover open, as a click opens it."""
    page.session_state[f"judging:{place}:open"] = True
    return checked(page.run())


def test_a_tool_is_graded_on_the_route_page_and_the_grade_taken_back(app: App) -> None:
    page = open_page("route", q=ASKED, catalog="small", hint="files")
    assert not [field for field in page.radio if field.label.startswith("How well")]  # filled only while it is open
    page = opened(page, "why")
    assert page.button(key="judging:why:store").disabled
    checked(page.text_input(key="judging:why:judge").set_value("ann").run())
    page = checked(page.radio[0].set_value(1).run())
    page.radio[0].set_value(2)  # and pressed before the page is drawn with these
    page.text_area[0].set_value("it reads")
    page = press(page, "judging:why:store")
    assert said(app) == {(ASKED, "files::read", "ann"): 2}
    (judgment,) = app.judgments.judgments("small", "my judgments")
    assert (judgment.server_hint, judgment.note, judgment.origin) == ("files", "it reads", "console")
    assert judgment.decision_id is not None
    assert "files::read has grade **2** in my judgments, by ann." in text_of(page)
    assert app.feedback.labels("small") == ()  # it moves no decision
    page = opened(page, "why")
    assert (page.radio[0].value, page.text_area[0].value) == (2, "it reads")
    page = press(page, "judging:why:back")
    assert said(app) == {}
    assert "Taken back: files::read has no grade of ann." in text_of(page)


def test_on_compare_any_candidate_is_graded_into_a_set_that_the_lab_measures_with(app: App) -> None:
    query = {"q": ASKED, "catalog": "small", "with": "rag_mcp,ehrr"}
    for tool, grade in (("mail::send", 0), ("files::write", 1)):
        page = opened(open_page("compare", remembered={SET: "trip"}, **query), "compare")
        checked(page.selectbox(key="judging:compare:tool").set_value(tool).run())
        press(checked(page.radio[0].set_value(grade).run()), "judging:compare:store")
    assert said(app, "trip") == {(ASKED, "mail::send", "operator"): 0, (ASKED, "files::write", "operator"): 1}
    app.judgments.judge("fly", "mail::send", 0, judge="ann", set_name="trip", catalog="small")
    page = lab(tasks="judgments: trip")
    assert "1 task, 1 router" in text_of(page)
    assert "1 judged sub-task has no tool above grade 0 and is left out" in text_of(page)


def test_what_cannot_be_stored_is_one_sentence(app: App) -> None:
    page = opened(open_page("route", q=ASKED, catalog="small"), "why")
    page = checked(page.radio[0].set_value(3).run())
    assert page.text_area[0].proto.max_chars == MOST_NOTE_CHARACTERS
    import_text(app.catalog_editor, '{"servers": [{"name": "mail", "tools": [{"name": "send"}]}]}', "small")
    page = press(page, "judging:why:store")
    assert "There is no tool 'files::read'" in text_of(page)
    assert app.judgments.sets("small") == {}


def test_a_file_is_taken_in_or_refused_whole(app: App) -> None:
    page = lab(view="Judgments")
    assert "There are no judgments in this set yet." in text_of(page)
    upload = partial(page.file_uploader(key="lab:judgments-file").upload, mime_type="text/plain")
    line = '{"subtask": "%s", "tool": "files::read", "grade": %d}'
    bad = "\n".join((line % (ASKED, 3), line % ("fly", 9)))
    page = press(checked(upload("a.jsonl", bad.encode()).run()), "lab:judgments-import")
    assert 'Nothing was imported. a.jsonl: line 2: grade is "9"' in text_of(page)
    assert said(app) == {}
    page.file_uploader(key="lab:judgments-file").upload("b.jsonl", (line % (ASKED, 3)).encode(), "text/plain")
    page = press(checked(page.run()), "lab:judgments-import")
    assert "1 judgments added, 0 known." in text_of(page)
    assert said(app) == {(ASKED, "files::read", "operator"): 3}
