"""The Lab page's search, snapshots and stored runs: against what they take, taken up where they were ended, and repeated."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import partial

import pytest

from core.app import App
from core.domain.lab_runs import OPTUNA, LabRun
from core.lab.lab_runs import Experiment
from core.lab.sweep import read_axis
from core.lab.sweeps import SweepPlan
from tests.dashboard.harness import app_with, charts, checked, open_page, press, state_of, text_of, titles, turn
from tests.dashboard.test_lab_page import CATALOG, TASKS, finished, given, stored, table
from tests.importing import import_text

app = app_with({"small": CATALOG})
visit = partial(open_page, "lab", catalog="small")


MANY = "\n".join(
    json.dumps({"id": f"{number}", "subtask": "read a file", "server_hint": "files", "relevant": ["files::read"]})
    for number in range(20)
)


def searched(
    app: App, trials: int, *texts: str, progress=lambda _done, _of: None, tasks: str = TASKS, **values: object
) -> None:
    """A search over the tasks as the page makes one."""
    parameters = app.routing.parameters("ehrr", {"n": 10, **values})
    app.sweeps.run(
        Experiment(
            app.lab.parse_tasks(tasks.encode(), source="mine.jsonl"), source="mine.jsonl", catalog="small", router="ehrr",
            parameters=parameters,
        ),
        SweepPlan(tuple(read_axis(text, type(parameters)) for text in texts), OPTUNA, trials),
        progress=progress,
    )  # fmt: skip


def test_a_search_is_started_on_the_page(app: App) -> None:
    page = given(visit(view="Search", over="alpha_t,auction", trials="0", seed="12345"))
    assert [page.number_input(key=f"lab.{name}").value for name in ("trials", "seed")] == [1, 12345]
    assert "No search over these tasks" in text_of(page)
    finished(press(page, "lab:search"))
    (sweep,) = app.lab_runs.sweeps()
    assert sorted(app.sweeps.document(sweep.id)["points"][0]["values"]) == ["alpha_t", "auction"]


def test_a_search_is_drawn_and_a_trial_of_it_applied(app: App) -> None:
    searched(app, 14, "budget_usd=0:0.004", "auction=False,True")
    page = visit(view="Search")  # over the tasks that the search was stored with
    (sweep,) = app.lab_runs.sweeps()
    document = app.sweeps.document(sweep.id)
    headings = [title.partition(":")[0].partition(",")[0].partition(";")[0] for title in titles(page)]
    assert headings == ["Solved against money", "Importance of knobs for", "Parallel coordinates", "Slices"]
    pareto = charts(page)[0]["data"][0]
    assert pareto["y"] == [100 * point["success_rate"] for point in document["points"]]
    signs = dict(zip(map(int, pareto["customdata"]), pareto["marker"]["symbol"], strict=True))
    assert signs[0] == "star", "nothing gains over the present setting on these few tasks"
    assert {number for number, sign in signs.items() if sign == "diamond"} == set(document["front"]) - {0}
    sentence = "No trial gains more than noise in “{}” over the setting where this search began"
    assert f"{sentence.format('Solved')}. That setting is chosen." in text_of(page)
    assert "The knobs have changed since" not in text_of(page)
    bars = charts(page)[1]["data"][0]
    assert abs(sum(bars["x"]) - 100) < 1e-6
    number = next(p["number"] for p in document["points"] if p["values"]["auction"] is False)
    page = checked(page.selectbox(key=f"lab.point.{sweep.id}").set_value(str(number)).run())
    page = finished(press(page, "lab:change"))
    assert "does not gain beyond noise in “Solved”" in text_of(page)
    assert page.button(key="lab:apply").label == "Apply all the same"
    page.session_state["ask.knob.ehrr.kappa"] = 7.0
    assert "The knobs have changed since: changes are shown against them." in text_of(checked(page.run()))


def test_a_clear_gain_is_applied_to_the_question_of_all_pages(app: App) -> None:
    searched(app, 6, "budget_usd=0:0.004", tasks=MANY, budget_usd=0.0)
    page = visit(view="Search", budget_usd="0.0")
    page = turn(page, "ask.knob.ehrr", kappa=7.0)
    signs = charts(page)[0]["data"][0]["marker"]["symbol"]
    assert (signs[0], signs.count("star")) == ("square", 1)
    page = finished(press(page, "lab:change"))
    assert "p < 0.001: better" in text_of(page).replace("*", "")
    page = press(page, "lab:apply")
    question = page.session_state["url:question"]
    assert question == {"catalog": "small", "kappa": "7.0", "budget_usd": page.query_params["budget_usd"]}
    assert "The knobs are at this point." in text_of(page)
    assert state_of(page)["steps"][-1].startswith("B 0 →"), "Undo brings the knobs back"


def test_a_search_that_was_ended_goes_on(app: App) -> None:
    class Enough(Exception):
        pass

    def stop(done: int, _of: int) -> None:
        if done == 4:
            raise Enough

    with suppress(Enough):
        searched(app, 6, "alpha_t=0:1", progress=stop)
    page = visit(view="Search")
    assert "4 of 6 trials are finished" in text_of(page)
    page = finished(press(page, "lab:search-on"))
    (sweep,) = app.lab_runs.sweeps()
    assert len(app.sweeps.document(sweep.id)["points"]) == 6
    assert "trials are finished" not in text_of(page)


def test_a_snapshot_brings_all_pages_back(app: App) -> None:
    remembered = {"route:kept": {"q": "read a file", "alpha_t": "0.4"}, "ask.q": "read a file"}
    page = visit(view="Snapshots", remembered=remembered)
    page.text_input(key="lab:snapshot-name").set_value("before")
    page = press(page, "lab:snapshot-save")
    assert "Kept as before." in text_of(page)
    page.session_state["route:kept"] = {"q": "send a letter", "k": "3"}
    page.session_state["ask.q"] = "send a letter"
    page = checked(page.run())
    rows = table(page, "setting").query("page == 'route'").values.tolist()
    assert [row[1:] for row in rows] == [
        ["alpha_t", "0.4", "–"],
        ["k", "–", "3"],
        ["q", "read a file", "send a letter"],
    ]
    page.query_params.pop("view")  # the browser is busy, and still at the address of the view before
    page = press(page, "lab:snapshot-return")
    assert "before is restored." in text_of(page)
    assert page.session_state["route:kept"] == {"q": "read a file", "alpha_t": "0.4"}
    assert "ask.q" not in page.session_state, "the field begins with what the snapshot says"
    assert "No differences." in text_of(page)
    page.text_input(key="lab:snapshot-name").set_value("after")
    page = press(page, "lab:snapshot-save")
    box = page.selectbox(key="lab.snapshot")
    box.set_value("after" if box.value == "before" else "before")  # pressed before the page is drawn with it
    page = press(page, "lab:snapshot-remove")
    assert f"{box.value} is removed." in text_of(page)
    page = press(page, "lab:snapshot-remove")
    assert "No snapshot is kept yet" in text_of(page)


def test_the_state_of_the_question_is_measured_deep_enough_and_a_turn_in_the_lab_changes_it() -> None:
    page = visit(view="Sweep", q="read a file", alpha_t="0.3", n="4", network="fluctuating")
    state = state_of(page)
    assert state["state"] == {"alpha_t": "0.3", "n": "4", "network": "fluctuating", "at_s": "0", "catalog": "small"}
    assert state["ignored"] == ["n", "network", "at_s"]
    page = turn(page, "ask.knob.ehrr", alpha_t=0.5)
    assert page.session_state["url:question"]["alpha_t"] == "0.5"
    assert page.session_state["url:question"]["q"] == "read a file"


def tasks_of(app: App, run: str) -> str:
    return f"stored:{app.lab_runs.find(run).tasks_fingerprint}"


def test_runs_are_shown_in_parts_and_against_what_they_take(app: App) -> None:
    good, bad = stored(app, "rag_mcp", played=True), stored(app, "ehrr", played=True, budget_usd=0.0)
    page = visit(tasks=tasks_of(app, good), measure="hit@1", runs=f"{good},{bad}", cost="tokens_per_solved")
    assert any(title.startswith("Solved, %, against tokens") for title in titles(page))
    figure = next(chart for chart in charts(page) if "against tokens" in chart["layout"]["title"]["text"])
    run = app.lab_runs.find(good)
    assert isinstance(run, LabRun)
    tokens = run.result["tokens_per_solved"]
    assert [trace["x"] for trace in figure["data"]] == [[tokens], [tokens]], (
        "the front, and the one that solved anything"
    )
    rows = table(page, "tasks").set_index("server")
    assert rows["tasks"].to_dict() == {"files": "2", "mail": "1", "moon": "1", "no tool can do it": "1"}
    assert rows.loc["files"].tolist()[1:] == ["1.000 [1.00, 1.00]", "0.000 [0.00, 0.00]"]
    assert rows.loc["no tool can do it"].tolist()[1:] == ["0 of 1 refused", "1 of 1 refused"]


def test_a_run_is_repeated_from_its_page_and_what_is_other_is_said(app: App) -> None:
    run = stored(app, "rag_mcp", played=True)
    failed = visit(tasks=tasks_of(app, run), group="not in the index")
    (row,) = table(failed, "stage").to_dict("records")
    assert (row["right"], row["stage"]) == ("moon::fly", "not in the catalog")
    assert row["decision"].startswith("./?q=a+task+of+a+tool+that+left&catalog=small&router=rag_mcp")
    page = finished(press(visit(tasks=tasks_of(app, run)), "lab:repeat"))
    assert "Equal to the last byte" in text_of(page)
    other = json.loads(json.dumps(CATALOG))
    other["servers"][0]["tools"][0] |= {"name": "peek", "description": "Looks into <b>things</b>."}
    import_text(app.catalog_editor, json.dumps(other), "small", "test")
    page = finished(press(visit(tasks=tasks_of(app, run)), "lab:repeat"))
    text = text_of(page)
    assert "Different: " in text
    assert "first right tool: r." in text
    assert "Changed conditions: fingerprint of the catalog." in text
    assert "tool files::peek added" in text
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
    run = app.measuring.measure(
        Experiment(tasks, source="levels.jsonl", catalog="small", router="rag_mcp", parameters=parameters)
    )
    link = f"stored:{app.lab_runs.find(app.lab_runs.keep(run.conditions, tasks, run.entry)).tasks_fingerprint}"
    page = finished(press(visit(tasks=link), "lab:levels"))
    assert table(page, "exact match")["exact match"].tolist() == ["0.000"]
    app.equal_sets.judge("small", "files::read", "files::write", "equal")
    page = finished(press(visit(tasks=link), "lab:levels"))
    assert table(page, "exact match")["exact match"].tolist() == ["1.000"]
