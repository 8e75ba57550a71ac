"""The Lab page: runs over labelled tasks, measured in the background, stored, and compared."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from urllib.parse import parse_qs, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.catalogs.background_jobs import Job
from core.lab.execution import Playing
from core.lab.lab_runs import Experiment
from dashboard.pages.lab.leaderboard import _line
from dashboard.pages.lab.run import JOB
from dashboard.pages.lab.view import LABELS, OWN_FILE
from tests.dashboard.harness import TIMEOUT_S, app_with, charts, checked, open_page, press, text_of, titles, turn

CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads and writes files.",
            "ask_usd": 0.001,
            "tools": [
                {"name": "read", "description": "Reads a file.", "price_usd": 0.001, "success": 1.0, "latency_s": 0.1},
                {
                    "name": "write",
                    "description": "Writes a file.",
                    "price_usd": 0.001,
                    "success": 1.0,
                    "latency_s": 0.1,
                },
            ],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "ask_usd": 0.001,
            "tools": [{"name": "send", "description": "Sends a <b>letter</b>.", "price_usd": 0.002, "latency_s": 0.1}],
        },
    ]
}
TASKS = "\n".join(
    json.dumps(task)
    for task in (
        {"id": "r", "subtask": "read a file", "server_hint": "files", "relevant": ["files::read"]},
        {"id": "w", "subtask": "write a file", "relevant": ["files::write"]},
        {"id": "s", "subtask": "send a letter", "relevant": ["mail::send"]},
        {"id": "gone", "subtask": "a task of a tool that left", "relevant": ["moon::fly"]},
        {"id": "none", "subtask": "fly to the moon", "relevant": []},
    )
)

app = app_with({"small": CATALOG})
visit = partial(open_page, "lab", catalog="small")


def given(page: AppTest) -> AppTest:
    """The page after a file of tasks was given."""
    return checked(page.file_uploader(key="lab:file").upload("mine.jsonl", TASKS.encode(), "text/plain").run())


def finished(page: AppTest) -> AppTest:
    """The page when its work in the background is done."""
    if JOB in page.session_state:  # else it was done before the page was drawn
        page.session_state[JOB].future.exception(TIMEOUT_S)
    return checked(page.run())


def stored(app: App, router: str, *, played: bool = False, **values: object) -> str:
    """A run over the tasks, as the page stores one; its id."""
    parameters = app.routing.parameters(router, {"n": 10, **values})
    tasks = app.lab.parse_tasks(TASKS.encode(), source="mine.jsonl")
    playing = Playing(10) if played else None
    run = app.measuring.measure(
        Experiment(tasks, source="mine.jsonl", catalog="small", router=router, parameters=parameters, playing=playing)
    )
    return app.lab_runs.keep(run.conditions, tasks, run.entry)


def table(page: AppTest, column: str):
    """The table with this column."""
    return next(frame.value for frame in page.dataframe if column in frame.value.columns)


def test_without_tasks_and_without_runs_a_sentence_says_what_to_do_and_an_example_what_comes(app: App) -> None:
    page = visit()
    assert "Upload a file of labelled tasks" in text_of(page)
    page = given(page)
    assert "press Run" in text_of(page)
    assert ":gray-badge[example] 4 routers" in text_of(page)
    assert [title for title in titles(page) if "Example" in title]
    for view, phrase in (("Sweep", "over alpha_t"), ("Search", "Pareto front")):
        empty = given(visit(view=view))
        assert ":gray-badge[example] EHRR at nine values" in text_of(empty)
        assert [title for title in titles(empty) if phrase in title]
    page = finished(press(page, "lab:run-example"))
    assert {run.router for run in app.lab_runs.runs()} == {"ehrr", "expected_value", "rag_mcp", "tool_attention"}
    assert all(run.played for run in app.lab_runs.runs())
    assert "example" not in text_of(page)


def test_routers_are_measured_in_the_background_and_stored(app: App) -> None:
    page = given(visit(router="rag_mcp", also="tool_attention"))
    assert "the time of RAG-MCP, Tool Attention is not known yet" in text_of(page)
    page = finished(press(page, "lab:run"))
    assert "Stored as" in text_of(page)
    assert "5 tasks, 2 routers; about 1 s as in the last runs." in text_of(page)
    runs = app.lab_runs.runs()
    assert {run.router for run in runs} == {"rag_mcp", "tool_attention"}
    assert {run.parameters["n"] for run in runs} == {10}
    board = table(page, "Judged@10")
    assert sorted(board["run"]) == ["RAG-MCP (present knobs)", "Tool Attention"]
    assert list(board)[:3] == ["run", "solved, simulated", "money each"]
    assert set(board["Success@1"].str[:5]) <= {f"{share / 4:.3f}" for share in range(5)}  # of 4 possible tasks
    assert page.query_params["tasks"] == "a file of mine"
    assert app.store.activity.decision_count() == 0


def test_a_look_at_another_catalog_leaves_the_tasks() -> None:
    page = visit(catalog="sample")
    for catalog in ("small", "sample"):
        checked(page.selectbox(key="ask.catalog").set_value(catalog).run())
    assert page.selectbox(key="lab.tasks:sample").value == page.query_params["tasks"] != OWN_FILE


def test_stored_runs_of_the_same_tasks_are_ranked_and_tested(app: App) -> None:
    good, bad = stored(app, "rag_mcp", played=True), stored(app, "ehrr", budget_usd=0.0)
    run, digest = app.lab_runs.find(bad), app.lab_runs.digest("small")
    tools = {name: {key: tool[key] for key in tool.keys() - {"hints", "equal"}} for name, tool in digest.tools.items()}
    earlier = replace(digest, tools=tools)  # as an earlier version of Wayfare stored it
    inputs = {earlier.fingerprint: ("catalog", json.dumps(asdict(earlier)))}
    app.store.lab_runs.save([replace(run, catalog_fingerprint=earlier.fingerprint)], inputs)
    page = visit(tasks=f"stored:{run.tasks_fingerprint}", runs=f"{bad},{good}", measure="hit@1")
    board = table(page, "Judged@10")
    assert board["id"].tolist() == [good[:8], bad[:8]]
    unpriced = {"usd_per_solved": 0.0, "unpriced_tries": 1.0, "latency_ms_p50": 1.0}
    assert _line(run, "", unpriced, same_catalog=True)["money each"] == "unpriced"
    assert board["run"][1] == "EHRR · budget_usd = 0.0"
    (test,) = table(page, "p (Holm)").to_dict("records")
    assert (test["run"], test["won, lost, same"]) == ("RAG-MCP", "3, 0, 1")
    assert test["p (Holm)"] == "0.250"  # 2^4 signs: those of the 3 differences all alike, twice
    assert [title.split(",")[0] for title in titles(page)] == ["Success@1", "Solved"]
    assert board["catalog"].tolist() == ["unchanged", "unchanged"]
    assert "until *grade…* on Decision, Compare or Call grades them" in text_of(page)


def test_the_name_of_a_judgment_set_in_the_progress_is_text() -> None:
    page = visit(view="Snapshots", remembered={JOB: Job(("run", None), "Routing **mine**", of=3)})
    assert page.get("progress")[0].proto.text.startswith(r"Routing \*\*mine\*\*: 0 of 3")


def test_tasks_are_compared_with_a_baseline_and_open_both_decisions(app: App) -> None:
    base, mine = stored(app, "ehrr", budget_usd=0.0), stored(app, "rag_mcp")
    link = {"tasks": f"stored:{app.lab_runs.find(base).tasks_fingerprint}", "base": base, "against": mine}
    page = visit(view="Task by task", measure="hit@1", **link)
    rows = table(page, "baseline rank").to_dict("records")
    assert [row[""] for row in rows] == [
        "▼ lost",
        "▲ won",
        "▲ won",
        "▲ won",
        "= same",
    ]  # without money nothing is tried
    read_row = next(row for row in rows if row["sub-task"] == "read a file")
    assert read_row["base"] == "./?q=read+a+file&hint=files&catalog=small&router=ehrr&n=10&budget_usd=0.0"
    assert parse_qs(urlsplit(read_row["both"]).query)["with"] == ["ehrr~n=10~budget_usd=0.0,rag_mcp~n=10"]
    assert "1 × not in the index" in text_of(page)
    failed = visit(view="Task by task", show="failed", **link)
    assert table(failed, "baseline rank")["why it failed"].tolist() == [
        "not refused",
        "not in the catalog",
    ]
    failed.text_input(key="lab.find").set_value("nowhere").run()
    assert "Choose another one" in text_of(failed)


def test_a_sweep_is_drawn_and_a_point_that_loses_says_so_before_it_is_applied(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = given(visit(view="Sweep", axis1="budget_usd:0:0.01:2"))
    assert "2 points over 5 tasks" in text_of(page)
    page = finished(press(page, "lab:sweep"))
    (chart,) = charts(page)
    assert (chart["data"][0]["text"], chart["data"][0]["customdata"]) == (["0", "0.01"], ["0", "1"])
    assert chart["data"][0]["x"] == [0.0, pytest.approx(0.01 ** (1 / 3))], "the axis is stretched as the knob's track"
    (sweep,) = app.lab_runs.sweeps()
    assert page.query_params["sweep"] == sweep.id
    assert app.sweeps.document(sweep.id)["points"][0]["success_rate"] == chart["data"][0]["y"][0]

    page.selectbox(key=f"lab.point.{sweep.id}").set_value("0")  # without money; the page is not drawn before the press
    page = finished(press(page, "lab:change"))
    assert "budget_usd None → 0" in text_of(page)
    assert "**1 won**: fly to the moon" in text_of(page)
    assert app.lab_runs.runs() == (), "looking stores nothing"
    lost = text_of(page).split("**3 lost**")[1]
    assert all(query in lost for query in ("read a file", "write a file", "send a letter"))

    assert "does not gain beyond noise in “Solved”" in text_of(page)
    assert page.button(key="lab:apply").label == "Apply all the same"

    later = visit(view="Sweep")  # without a link: the newest that is stored
    assert later.query_params["sweep"] == sweep.id
    assert later.selectbox(key="lab.sweep").options[0].startswith("2 points over budget_usd · 20")
    monkeypatch.setattr(type(app.lab_runs), "sweeps", lambda _: ())
    older = visit(view="Sweep", sweep=sweep.id[:8])  # by the beginning of its id, and no longer among the newest
    assert older.query_params["sweep"] == sweep.id
    monkeypatch.undo()
    worse = turn(page, "ask.knob.ehrr", budget_usd=0.0)
    worse = checked(worse.selectbox(key=f"lab.point.{sweep.id}").set_value("0").run())
    assert "The knobs are at this point." in text_of(worse)


def test_the_labels_of_a_catalog_are_tasks_too(app: App) -> None:
    app.feedback.label("read a file", "files::read", right=True, catalog="small")
    page = visit(tasks=LABELS)
    assert "1 task, 1 router" in text_of(page)
    finished(press(page, "lab:run"))
    (run,) = app.lab_runs.runs()
    assert [task.relevant for task in app.lab_runs.tasks(run)] == [("files::read",)]


class Model:
    """A planner that says everything twice."""

    name = "small"

    def reword(self, request: str, _tools: Sequence[str], _server: str = "") -> str:
        return f"{request}, {request}"


def test_a_model_that_is_chosen_words_the_tasks(app: App) -> None:
    app.task_writing.planners["model"] = Model()
    try:
        page = checked(visit().selectbox(key="lab:write-planner").set_value("model").run())
        finished(press(page, "lab:write"))
    finally:
        del app.task_writing.planners["model"]
    ((key, source),) = app.lab_runs.task_sets("small").items()
    tasks = app.lab_runs.stored_tasks(key, source)
    assert {task.provenance["by"] for task in tasks} == {"small"}
    assert all(task.subtask.count(task.provenance["was"]) == 2 for task in tasks)


def test_written_tasks_are_chosen_and_named_generated(app: App) -> None:
    page = finished(press(visit(), "lab:write"))
    ((key, source),) = app.lab_runs.task_sets("small").items()
    assert source == "generated"
    assert page.session_state["lab.tasks:small"] == f"stored:{key}"
    tasks = app.lab_runs.stored_tasks(key, source)
    assert f"Generated: {len(tasks)} of {len(tasks)} tasks. Nobody has checked their labels." in text_of(page)
    page = checked(page.selectbox(key="lab.tasks:small").set_value(OWN_FILE).run())
    assert "Generated:" not in text_of(page), "the choice stays with the person"
