"""The Lab page: runs over labelled tasks, measured in the background, stored, and compared."""

from __future__ import annotations

import json
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from dashboard.pages.lab.job import JOB, RUN, Job, Stopped
from tests.dashboard.harness import TIMEOUT_S, app_with, checked, open_page, press, text_of, titles

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
    page.session_state[JOB].future.exception(TIMEOUT_S)
    return checked(page.run())


def stored(app: App, router: str, *, played: bool = False, **values: object) -> str:
    """A run over the tasks, as the page stores one; its id."""
    parameters = app.routing.parameters(router, {"n": 10, **values})
    return app.lab_runs.measure(
        app.lab.parse_tasks(TASKS.encode(), source="mine.jsonl"), source="mine.jsonl", catalog="small", router=router,
        preset="balanced", parameters=parameters, played=parameters if played else None,
    )  # fmt: skip


def table(page: AppTest, column: str):
    """The table with this column."""
    return next(frame.value for frame in page.dataframe if column in frame.value.columns)


def test_without_tasks_and_without_runs_a_sentence_says_what_to_do() -> None:
    page = visit()
    assert "Give a file of labelled tasks" in text_of(page)
    assert "press Run" in text_of(given(page))


def test_routers_are_measured_in_the_background_and_stored(app: App) -> None:
    page = given(visit(router="rag_mcp", also="tool_attention"))
    page = finished(press(page, "lab:run"))
    assert "Stored as" in text_of(page)
    runs = app.lab_runs.runs()
    assert {run.router for run in runs} == {"rag_mcp", "tool_attention"}
    assert {run.parameters["n"] for run in runs} == {10}
    board = table(page, "Judged@10")
    assert sorted(board["run"]) == ["RAG-MCP", "Tool Attention"]
    assert set(board["Success@1"].str[:5]) <= {f"{share / 4:.3f}" for share in range(5)}  # of 4 possible tasks
    assert page.query_params["tasks"] == "a file of mine"
    assert app.store.activity.decision_count() == 0


def test_a_run_that_is_stopped_stores_nothing_and_says_so(app: App) -> None:
    page = given(visit())
    job = Job(RUN, "Routing", 5, None)
    job.cancel.set()
    job.future.set_exception(Stopped())
    page.session_state[JOB] = job
    assert "Stopped." in text_of(checked(page.run()))
    with pytest.raises(Stopped):
        app.lab_runs.measure(
            app.lab.parse_tasks(TASKS.encode(), source="t"), source="t", catalog="small", router="ehrr",
            preset="balanced", parameters=app.routing.parameters("ehrr"), progress=job.report,
        )  # fmt: skip
    assert app.lab_runs.runs() == ()


def test_stored_runs_of_the_same_tasks_are_ranked_and_tested(app: App) -> None:
    good, bad = stored(app, "rag_mcp", played=True), stored(app, "ehrr", budget_usd=0.0)
    page = visit(tasks=f"stored:{app.lab_runs.find(good).tasks_fingerprint}", runs=f"{bad},{good}", measure="hit@1")
    board = table(page, "Judged@10")
    assert board["id"].tolist() == [good[:8], bad[:8]]
    assert board["run"][1] == "EHRR · budget_usd = 0.0"
    (test,) = table(page, "p (Holm)").to_dict("records")
    assert (test["run"], test["won, lost, same"]) == ("RAG-MCP", "3, 0, 1")
    assert test["p (Holm)"] == "0.250"  # 2^4 signs: those of the 3 differences all alike, twice
    assert [title.split(",")[0] for title in titles(page)] == ["Success@1", "Solved"]
    assert "as now" in board["catalog"].tolist()
