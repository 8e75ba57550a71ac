"""The Lab page's stored runs: in parts, against what they take, taken up where they were ended, and repeated."""

from __future__ import annotations

import json
from functools import partial

import pytest

from core.app import App
from core.domain.lab_runs import LabRun
from core.lab.lab_runs import Experiment
from tests.dashboard.harness import app_with, charts, checked, open_page, press, text_of, titles
from tests.dashboard.test_lab_page import CATALOG, TASKS, finished, given, stored, table
from tests.importing import import_text

app = app_with({"small": CATALOG})
visit = partial(open_page, "lab", catalog="small")


def tasks_of(app: App, run: str) -> str:
    return f"stored:{app.lab_runs.find(run).tasks_fingerprint}"


def test_runs_are_shown_in_parts_and_against_what_they_take(app: App) -> None:
    good, bad = stored(app, "rag_mcp", played=True), stored(app, "ehrr", played=True, budget_usd=0.0)
    page = visit(tasks=tasks_of(app, good), measure="hit@1", runs=f"{good},{bad}", cost="tokens_per_solved")
    assert any(title.startswith("Solved, %, against tokens") for title in titles(page))
    drawn = next(chart for chart in charts(page) if "against tokens" in chart["layout"]["title"]["text"])
    run = app.lab_runs.find(good)
    assert isinstance(run, LabRun)
    tokens = run.result["tokens_per_solved"]
    assert [trace["x"] for trace in drawn["data"]] == [[tokens], [tokens]], (
        "the front, and the one that solved anything"
    )
    rows = table(page, "tasks").set_index("server")
    assert rows["tasks"].to_dict() == {"files": "2", "mail": "1", "moon": "1", "no tool can do it": "1"}
    assert rows.loc["files"].tolist()[1:] == ["1.000 [1.00, 1.00]", "0.000 [0.00, 0.00]"]
    assert rows.loc["no tool can do it"].tolist()[1:] == ["0 of 1 refused", "1 of 1 refused"]


def test_a_run_is_repeated_from_its_page_and_what_is_other_is_said(app: App) -> None:
    run = stored(app, "rag_mcp", played=True)
    page = finished(press(visit(tasks=tasks_of(app, run)), "lab:repeat"))
    assert "Equal to the last byte" in text_of(page)
    other = json.loads(json.dumps(CATALOG))
    other["servers"][0]["tools"][0] |= {"name": "peek", "description": "Looks into <b>things</b>."}
    import_text(app.catalog_editor, json.dumps(other), "small", "test")
    page = finished(press(visit(tasks=tasks_of(app, run)), "lab:repeat"))
    said = text_of(page)
    assert "Different: " in said
    assert "first right tool: r." in said
    assert "Changed conditions: fingerprint of the catalog." in said
    assert "tool files::peek added" in said
    assert len(app.lab_runs.runs()) == 1, "a repeat stores nothing"


def test_a_run_that_was_stopped_says_what_is_kept_and_goes_on(app: App) -> None:
    def stop(done: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    tasks = app.lab.parse_tasks(TASKS.encode(), source="mine.jsonl")
    with pytest.raises(KeyboardInterrupt):
        app.measuring.measure(
            Experiment(
                tasks, source="mine.jsonl", catalog="small", router="rag_mcp",
                parameters=app.routing.parameters("rag_mcp", {"n": 10}),
            ),
            progress=stop,
        )  # fmt: skip
    page = given(visit(router="rag_mcp"))
    assert "3 decisions of stopped runs are kept, and Run continues from there" in text_of(page)
    page = checked(finished(press(page, "lab:run")).run())
    assert "decisions of stopped runs are kept" not in text_of(page)


def test_etoms_levels_count_what_the_catalog_says_is_equal(app: App) -> None:
    text = '{"id": "l2", "subtask": "write a file", "relevant": ["files::read"], "level": "L2"}'
    tasks = app.lab.parse_tasks(text.encode(), source="levels.jsonl")
    parameters = app.routing.parameters("rag_mcp", {"n": 10})
    made = app.measuring.measure(
        Experiment(tasks, source="levels.jsonl", catalog="small", router="rag_mcp", parameters=parameters)
    )
    link = f"stored:{app.lab_runs.find(app.lab_runs.keep(made.conditions, tasks, made.entry)).tasks_fingerprint}"
    page = finished(press(visit(tasks=link), "lab:levels"))
    assert table(page, "exact match")["exact match"].tolist() == ["0.000"]
    app.equal_sets.judge("small", "files::read", "files::write", "equal")
    page = finished(press(visit(tasks=link), "lab:levels"))
    assert table(page, "exact match")["exact match"].tolist() == ["1.000"]
