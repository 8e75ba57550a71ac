"""Judging on pages: a popover on Route and Compare, and the Lab's pool, set, files and failed tasks."""

from __future__ import annotations

import json
from functools import partial

from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.feedback import MOST_NOTE_CHARACTERS
from dashboard.ui.judging import JUDGE, SET
from tests.dashboard.harness import app_with, checked, markdown_of, open_page, press, text_of
from tests.importing import import_text

HOSTILE = ":red[z]"
ASKED = "read a file"
CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads and writes files.",
            "tools": [
                {"name": "read", "description": f"Reads a file. {HOSTILE}", "latency_s": 0.1},
                {"name": "write", "description": "Writes a file.", "latency_s": 0.1},
            ],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "tools": [{"name": "send", "description": "Sends a letter."}],
        },
    ]
}
TASKS = "\n".join(
    json.dumps(task)
    for task in (
        {"id": "r", "subtask": ASKED, "server_hint": "files", "relevant": ["files::read"]},
        {"id": "gone", "subtask": "write a tool that left", "relevant": ["moon::fly"]},
        {"id": "none", "subtask": "fly to the moon", "relevant": []},
    )
)

app = app_with({"small": CATALOG})
lab = partial(open_page, "lab", catalog="small")


def stored(app: App, *routers: str) -> str:
    """Runs over the tasks; what the link calls these."""
    tasks = app.lab.parse_tasks(TASKS.encode(), source="mine.jsonl")
    for router in routers:
        made = app.measuring.measure(
            tasks, source="mine.jsonl", catalog="small", router=router, preset="balanced",
            parameters=app.routing.parameters(router, {"n": 10}), hints=True, seed=0, playing=None, resumable=False,
        )  # fmt: skip
        app.lab_runs.keep(made.conditions, tasks, made.entry)
    return f"stored:{app.lab_runs.runs()[0].tasks_fingerprint}"


def said(app: App, set_name: str = "my judgments") -> dict[tuple[str, str, str], int | None]:
    """Sub-task, tool and judge of every judgment, with its grade."""
    if set_name not in app.judgments.sets("small"):
        return {}
    return {(one.subtask, one.tool, one.judge): one.grade for one in app.judgments.judgments("small", set_name)}


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
    (one,) = app.judgments.judgments("small", "my judgments")
    assert (one.server_hint, one.note, one.origin) == ("files", "it reads", "console")
    assert one.decision_id is not None
    assert "files::read has grade **2** in my judgments, by ann." in text_of(page)
    assert app.feedback.labels("small") == ()  # it moves no decision
    page = opened(page, "why")
    assert (page.radio[0].value, page.text_area[0].value) == (2, "it reads")
    page = press(page, "judging:why:back")
    assert said(app) == {}
    assert "Taken back: files::read has no grade of ann." in text_of(page)


def test_on_compare_any_candidate_is_graded_into_a_set_of_another_name(app: App) -> None:
    page = opened(
        open_page("compare", q=ASKED, catalog="small", remembered={SET: "trip"}, **{"with": "rag_mcp,ehrr"}), "compare"
    )
    checked(page.selectbox(key="judging:compare:tool").set_value("mail::send").run())
    page = checked(page.radio[0].set_value(0).run())
    press(page, "judging:compare:store")
    assert said(app, "trip") == {(ASKED, "mail::send", "operator"): 0}


def test_what_cannot_be_stored_is_one_sentence(app: App) -> None:
    page = opened(open_page("route", q=ASKED, catalog="small"), "why")
    page = checked(page.radio[0].set_value(3).run())
    assert page.text_area[0].proto.max_chars == MOST_NOTE_CHARACTERS
    import_text(app.catalog_editor, '{"servers": [{"name": "mail", "tools": [{"name": "send"}]}]}', "small")
    page = press(page, "judging:why:store")
    assert "There is no tool 'files::read'" in text_of(page)
    assert app.judgments.sets("small") == {}


def test_without_runs_there_is_no_pool_and_a_sentence_says_what_to_do(app: App) -> None:
    app.judgments.judge(ASKED, "files::read", 2, judge="ann", set_name="trip", catalog="small")
    page = lab(view="Judge", tasks="judgments: trip")
    assert "Measure the routers that you compare under Runs" in text_of(page)
    assert press(page, "lab:judge-runs").button_group(key="lab.view").value == "Runs"


def test_a_pool_is_gone_through_by_grades_and_back(app: App) -> None:
    tasks = stored(app, "rag_mcp", "ehrr")
    page = lab(view="Judge", tasks=tasks, depth="3")
    runs = [run.result["tasks"]["r"]["candidates"][:3] for run in app.lab_runs.runs()]
    pool = app.judgments.pool(
        app.lab_runs.tasks(app.lab_runs.runs()[0]), app.lab_runs.runs(), 3, catalog="small", set_name="my judgments",
        judge="operator",
    )  # fmt: skip
    assert {one.tool for one in pool if one.query.subtask == ASKED} == {tool for tools in runs for tool in tools}
    assert "have a grade of operator" in str(page.get("progress")[0].proto.text)
    for number, one in enumerate(pool):
        server, tool = one.tool.split("::")
        assert f"**{tool}** :small[:gray[{server}]]" in text_of(page)
        page.text_input(key=f"lab:pool-note:{number}").set_value(f"note {number}")
        page = press(page, f"lab:pool-grade:{number % 4}")
    notes = {(one.subtask, one.tool): one.note for one in app.judgments.judgments("small", "my judgments")}
    assert notes == {(one.query.subtask, one.tool): f"note {n}" for n, one in enumerate(pool)}
    assert said(app) == {(one.query.subtask, one.tool, "operator"): n % 4 for n, one in enumerate(pool)}
    assert "All tools of the pool are judged" in text_of(page)
    page = press(page, "lab:pool-back")
    assert ":blue-badge[grade" in text_of(page)
    before = len(app.store.judgments.history("small"))
    page = press(page, f"lab:pool-grade:{(len(pool) - 1) % 4}")  # the same again stores nothing
    assert len(app.store.judgments.history("small")) == before
    again = lab(view="Judge", tasks=tasks, depth="3")
    assert f"{len(pool)} grades so far" in text_of(again)


def test_a_hostile_description_is_shown_as_text(app: App) -> None:
    page = lab(view="Judge", tasks=stored(app, "rag_mcp"), depth="3")
    shown = []
    while not [one for one in page.success if "are judged" in one.value]:
        shown.append((HOSTILE in text_of(page), HOSTILE in markdown_of(page)))
        page = press(page, "lab:pool-skip")
    assert (True, False) in shown
    assert not any(raw for _, raw in shown)


def test_a_set_of_two_judges_is_settled_and_measured_with(app: App) -> None:
    for who, grade in (("ann", 3), ("bob", 0)):
        app.judgments.judge(ASKED, "files::read", grade, judge=who, set_name="trip", catalog="small")
        app.judgments.judge(ASKED, "files::write", 1, judge=who, set_name="trip", catalog="small")
    page = lab(tasks="judgments: trip", settle="judge:ann")
    assert page.selectbox(key="lab.settle").value == "judge:ann"
    assert "1 task, 1 router" in text_of(page)
    assert page.query_params["settle"] == "judge:ann"
    app.judgments.judge("fly", "mail::send", 0, judge="ann", set_name="trip", catalog="small")
    assert "1 judged sub-task has no tool above grade 0 and is left out" in text_of(checked(page.run()))
    page = open_page(
        "lab", catalog="small", view="Judge", tasks="judgments: trip",
        remembered={SET: "another", JUDGE: "ann", "lab:judgments-judges": True},
    )  # fmt: skip
    assert page.selectbox(key="judging:lab:set").value == "trip"
    assert {metric.label: metric.value for metric in page.metric}["Equal grades"] == "1 of 2"
    rules = next(frame.value for frame in page.dataframe if "settled" in frame.value.columns)
    assert rules["left out"].tolist() == [0, 1, 1]


def test_a_file_is_taken_in_or_refused_whole(app: App) -> None:
    page = lab(view="Judge", tasks=stored(app, "rag_mcp"))
    page.session_state["lab:judgments-files"] = True
    page = checked(page.run())
    upload = partial(page.file_uploader(key="lab:judgments-file").upload, mime_type="text/plain")
    page = press(checked(upload("a.qrels", b"r 0 files::read 3\nq 0 files::read 1\n").run()), "lab:judgments-import")
    assert 'Nothing was imported. a.qrels: line 2: query "q" is not known' in text_of(page)
    assert said(app) == {}
    page.file_uploader(key="lab:judgments-file").upload("b.qrels", b"r 0 files::read 3\n", "text/plain")
    page = press(checked(page.run()), "lab:judgments-import")
    assert "1 judgments added, 0 known." in text_of(page)
    assert said(app) == {(ASKED, "files::read", "operator"): 3}


def test_failed_tasks_are_grouped_by_why_with_a_link_to_the_decision(app: App) -> None:
    page = lab(tasks=stored(app, "rag_mcp"))
    groups = next(control for control in page.button_group if control.key == "lab.group")
    assert {str(option).rsplit(" ", 1)[0] for option in groups.options} == {"not in the index", "not refused"}
    page = lab(tasks=stored(app, "rag_mcp"), group="not in the index")
    (row,) = next(frame.value for frame in page.dataframe if "stage" in frame.value.columns).to_dict("records")
    assert (row["sub-task"], row["right"], row["stage"]) == (
        "write a tool that left",
        "moon::fly",
        "not in the catalog",
    )
    assert row["decision"] == "/?q=write+a+tool+that+left&catalog=small&router=rag_mcp&n=10"
