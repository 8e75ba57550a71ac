"""The Network page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import json
import threading
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.catalogs.background_jobs import Stopped
from core.domain.errors import StoreError
from core.domain.lab_runs import KeptRun
from core.lab.scenario_runs import planned
from core.lab.scenarios.measures import SETTINGS
from dashboard.pages.network.charts.latency import Event
from dashboard.pages.network.job import JOB
from dashboard.pages.network.tables import NEWEST, events_frame
from tests.dashboard.harness import app_with, charts, checked, open_page, state_of, text_of, turn
from tests.importing import import_text

QUERY = {"routers": "prag,sonar", "steps": "60"}
DOWN, UP = 13, 35  # web-finder under hybrid_default, seed 0


app = app_with(scope="module")


def visit(**query: str) -> AppTest:
    return open_page("network", **{**QUERY, **query})


def press(page: AppTest, key: str) -> AppTest:
    return checked(page.button(key=f"network:{key}").click().run())


def step(page: AppTest) -> int:
    return page.slider(key="network.step").value


def events(page: AppTest) -> list[tuple[int, str, str]]:
    frame = page.dataframe[1].value
    return list(zip(frame["step"], frame["who"], frame["what"], strict=True))


def test_a_link_is_the_whole_page(app: App) -> None:
    page = visit(step=str(DOWN + 1))
    assert page.query_params == {
        "profile": "hybrid_default", "catalog": "search-15", "routers": "prag,sonar", "setting": "s3t6", "seed": "0",
        "steps": "60", "step": str(DOWN + 1),
    }  # fmt: skip
    world = app.scenarios.world("hybrid_default", catalog="search-15", steps=60)
    prag, sonar = app.scenarios.run(world, planned(["prag", "sonar"], SETTINGS[:1]))
    for run in (prag, sonar):
        tool = world.context.catalog.tools[int(run.tool[DOWN + 1])]
        assert tool.id in text_of(page)
    assert world.tasks[int(world.order[DOWN + 1])].subtask in text_of(page)
    table = page.dataframe[0].value
    assert table["router"].tolist() == ["PRAG", "SONAR"]
    assert table["ssr"].tolist() == pytest.approx([prag.ssr * 100, sonar.ssr * 100])
    assert table["fr"].tolist() == pytest.approx([prag.fr * 100, sonar.fr * 100])
    assert len(charts(page)) == 6
    assert any("simulated" in element.value for element in page.markdown)
    app.store.events.flush()
    assert app.store.activity.latest_sequence() == 0  # nothing is recorded


def test_a_move_in_time_shows_another_step_and_simulates_nothing(app: App) -> None:
    page = visit(step="0")
    job = page.session_state[JOB]
    assert "No events yet" in text_of(page)
    checked(page.slider(key="network.step").set_value(DOWN).run())
    assert page.query_params["step"] == str(DOWN)
    assert events(page) == [(DOWN, "web-finder", "goes down")]
    checked(page.slider(key="network.step").set_value(UP).run())
    assert events(page)[0] == (UP, "web-finder", "is up again, after 220 s")
    assert page.session_state[JOB] is job
    checked(page.number_input(key="network.seed").set_value(1).run())
    assert page.session_state[JOB] is not job
    assert (page.query_params["seed"], page.query_params["step"]) == ("1", str(UP))


def test_a_router_meets_itself_with_other_parameters(app: App) -> None:
    page = visit(routers="ehrr,ehrr", other="exploration=thompson&half_life_s=600")
    assert page.dataframe[0].value["router"].tolist() == ["EHRR", "EHRR, changed"]
    assert dict(parse_qsl(page.query_params["other"])) == {"exploration": "thompson", "half_life_s": "600.0"}
    assert "one" not in page.query_params
    plain, changed = page.session_state[JOB].future.result().runs
    world = app.scenarios.world("hybrid_default", catalog="search-15", steps=60)
    (expected,) = app.scenarios.run(
        world, planned(["ehrr"], SETTINGS[:1], {"exploration": "thompson", "half_life_s": 600.0})
    )
    np.testing.assert_array_equal(changed.tool, expected.tool)
    assert changed.parameters != plain.parameters

    turn(page, "network.knob.0.ehrr", alpha_t=1.0)
    assert page.dataframe[0].value["router"].tolist() == ["EHRR, changed"] * 2
    assert page.query_params["one"] == "alpha_t=1.0"
    press(page, "knobs:reset:1")
    assert page.dataframe[0].value["router"].tolist() == ["EHRR, changed", "EHRR"]
    assert "other" not in page.query_params


def test_a_finished_simulation_is_stored_once_and_the_url_keeps_the_chosen_runs(app: App) -> None:
    def stored() -> list[KeptRun]:
        return [run for run in app.store.scenario_runs.newest(99) if (run.steps, run.seed) == (40, 77)]

    page = visit(steps="40", seed="77")
    (prag, sonar) = stored_runs = stored()
    assert [(run.router, run.profile, run.tasks) for run in stored_runs] == [
        ("prag", "hybrid_default", "search-15"), ("sonar", "hybrid_default", "search-15"),
    ]  # fmt: skip
    press(page, "play")
    press(page, "play")
    assert stored() == stored_runs
    page = visit(steps="40", seed="77", runs=f"{sonar.id},{prag.id}", step="3")
    assert (page.query_params["runs"], page.query_params["step"]) == (f"{sonar.id},{prag.id}", "3")
    assert "1 SONAR" in text_of(page)
    assert stored() == stored_runs  # the result survives a reload
    runs = open_page("activity", view="runs")
    assert "Simulated network run: PRAG and SONAR over search-15" in text_of(runs)
    assert len([link for link in runs.get("link_button") if "seed=77&steps=40" in link.proto.url]) == 1


def test_a_store_that_refuses_the_runs_does_not_lose_the_run(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(app.store.scenario_runs, "save", refuse)
    page = visit(seed="78")
    assert "These runs are not stored. The disk is full." in text_of(page)
    assert page.slider(key="network.step").value > 0


def test_play_goes_on_until_it_is_paused_or_over(app: App) -> None:
    page = press(visit(step="50"), "play")
    assert step(page) == 51
    assert page.button(key="network:play").label == "Pause"
    assert step(checked(page.run())) == 52
    assert page.query_params["step"] == "50"  # a place in the browser's history a tick would bury the others
    press(page, "play")
    assert (step(page), page.query_params["step"]) == (52, "52")
    assert step(checked(page.run())) == 52
    page.slider(key="network.step").set_value(57).run()
    press(page, "play")
    checked(page.run())
    assert step(page) == 59
    assert page.button(key="network:play").label == "Play"
    assert step(press(page, "play")) == 1  # from the beginning


def test_why_a_router_goes_elsewhere_than_last_time(app: App) -> None:
    page = visit(routers="sonar,prag", profile="chaos_monday", steps="200")
    changes = page.session_state[JOB].future.result().changes[0]
    change = next(change for change in changes if "down" in change.why)
    checked(page.slider(key="network.step").set_value(change.step).run())
    assert f"this query went to {change.left}. {change.why}" in text_of(page)
    assert (change.step, "SONAR", f"leaves {change.left} for {change.chosen}: {change.why}") in events(page)
    assert "The first query of this kind." in text_of(checked(page.slider(key="network.step").set_value(3).run()))


def test_a_link_that_asks_for_what_is_not_there(app: App) -> None:
    page = visit(profile="/etc/x.json", routers="none,sonar", seed="-4", steps="1", step="x", setting="s9t9")
    for sentence in ("/etc/x.json; this is hybrid default", "none; this is SONAR", "s9t9; this is s3t6"):
        assert sentence in text_of(page)
        assert sentence in text_of(checked(page.run()))
    assert page.query_params == {
        "profile": "hybrid_default", "catalog": "search-15", "routers": "sonar,sonar", "setting": "s3t6", "seed": "0",
        "steps": "10", "step": str(page.session_state[JOB].future.result().first_step),
    }  # fmt: skip


def test_a_simulation_can_be_stopped_and_run_again(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    cancels: list[threading.Event] = []

    def stopped(*_: object, cancel: threading.Event, **__: object) -> None:
        cancels.append(cancel)
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(app.scenarios, "run", stopped)
        page = visit(step="7", seed="5")
    assert "The simulation was stopped." in text_of(page)
    assert "network.step" not in [slider.key for slider in page.slider]
    assert page.query_params["step"] == "7"
    press(page, "again")
    assert step(page) == 7
    assert len(cancels) == 1


def test_the_newest_events_come_first_and_those_to_come_do_not() -> None:
    events = [Event(n, f"who {n}", "goes down") for n in range(20)]
    frame = events_frame(events, 12)
    assert frame["step"].tolist() == list(range(12, 12 - NEWEST, -1))
    assert events_frame([Event(1, "a\u202eb", "x")], 1)["who"][0] != "a\u202eb"


def test_a_catalog_of_ones_own_is_simulated_over_its_labels_as_they_are_now(app: App) -> None:
    servers = [
        {"name": name, "description": text, "tools": [{"name": "do", "description": text, "inputSchema": {"type": "object"}}]}
        for name, text in (("files", "Read a file."), ("post", "Send a letter."))
    ]  # fmt: skip
    import_text(app.catalog_editor, json.dumps({"servers": servers}), "mine", "test")
    mine = {"catalog": "mine", "profile": "ideal"}
    assert "No labelled tasks are known for catalog 'mine'" in text_of(visit(**mine))
    for number, (text, tool) in enumerate((("read a file", "files::do"), ("send a letter", "post::do")), start=1):
        app.feedback.label(text, tool, right=True, catalog="mine")
        page = visit(**mine)
        assert tool in text_of(page)
        assert f"Each of the {number} sub-tasks is asked once" in text_of(page)


def test_the_second_router_is_that_of_the_question_with_its_knobs_until_it_is_turned_here() -> None:
    question = {"q": "read a file", "router": "rag_mcp", "n": "7", "network": "fluctuating", "at_s": "900"}
    page = open_page("network", remembered={"url:question": question}, steps="10")
    assert state_of(page)["state"] == {"at_s": "900", "n": "7", "network": "fluctuating", "router": "rag_mcp"}
    assert [page.selectbox(key=f"network.{name}").value for name in ("one", "other", "profile")] == [
        "sonar",
        "rag_mcp",
        "fluctuating",
    ]
    assert page.session_state["network.knob.1.rag_mcp.n"] == 7
    page = turn(page, "network.knob.1.rag_mcp", n=4)
    assert page.session_state["network.knob.1.rag_mcp.n"] == 4
