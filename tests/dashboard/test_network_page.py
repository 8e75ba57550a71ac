"""The Network page as a visitor uses it, over a store in memory and an encoder that counts letters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.domain.scenario_run import KeptRun
from core.embedding.cached import CachedEncoder, EncoderSource
from core.errors import StoreError
from core.lab.scenario_measures import SETTINGS
from core.scenarios import Cancelled, planned
from core.store import Store
from dashboard import session
from dashboard.widgets.network_job import JOB
from dashboard.widgets.network_story import Event
from dashboard.widgets.network_tables import NEWEST, events_frame
from tests.dashboard.drawn import charts
from tests.embedding.toys import Letters

QUERY = {"routers": "prag,sonar", "steps": "60"}
DOWN, UP = 13, 35  # web-finder under hybrid_default, seed 0


def script() -> None:
    from dashboard.views.network import page

    page()


@pytest.fixture(scope="module")
def opened() -> Iterator[Console]:
    """A console in memory; it has the shipped catalogs."""
    store = Store(None)
    with Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as console:
        yield console


@pytest.fixture
def console(opened: Console, monkeypatch: pytest.MonkeyPatch) -> Console:
    monkeypatch.setattr(session, "_console", opened)
    return opened


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update({**QUERY, **query})
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def press(app: AppTest, key: str) -> AppTest:
    return checked(app.button(key=f"network:{key}").click().run())


def said(app: AppTest) -> str:
    """All text of the page that Markdown is made from, without its escapes."""
    kinds = (app.markdown, app.caption, app.info, app.warning, app.error)
    found = "\n".join(str(element.value) for kind in kinds for element in kind)
    return found.replace("\\", "").replace("\u2060", "")


def step(app: AppTest) -> int:
    return app.slider(key="network.step").value


def events(app: AppTest) -> list[tuple[int, str, str]]:
    frame = app.dataframe[1].value
    return list(zip(frame["step"], frame["who"], frame["what"], strict=True))


def test_a_link_is_the_whole_page(console: Console) -> None:
    app = visit(step=str(DOWN + 1))
    assert app.query_params == {
        "profile": "hybrid_default", "catalog": "search-15", "routers": "prag,sonar", "setting": "s3t6", "seed": "0",
        "steps": "60", "step": str(DOWN + 1),
    }  # fmt: skip
    world = console.scenarios.world("hybrid_default", catalog="search-15", steps=60)
    prag, sonar = console.scenarios.run(world, planned(["prag", "sonar"], SETTINGS[:1]))
    for run in (prag, sonar):
        tool = world.scene.catalog.tools[int(run.tool[DOWN + 1])]
        assert tool.id in said(app)
    assert world.tasks[int(world.order[DOWN + 1])].subtask in said(app)
    table = app.dataframe[0].value
    assert table["router"].tolist() == ["PRAG", "SONAR"]
    assert table["ssr"].tolist() == pytest.approx([prag.ssr * 100, sonar.ssr * 100])
    assert table["fr"].tolist() == pytest.approx([prag.fr * 100, sonar.fr * 100])
    assert len(charts(app)) == 6
    assert any("simulated" in element.value for element in app.markdown)
    console.store.events.flush()
    assert console.store.activity.latest_sequence() == 0  # nothing of it is recorded


def test_a_move_in_time_shows_another_step_and_simulates_nothing(console: Console) -> None:
    app = visit()
    job = app.session_state[JOB]
    assert "Nothing has happened yet" in said(app)
    checked(app.slider(key="network.step").set_value(DOWN).run())
    assert app.query_params["step"] == str(DOWN)
    assert events(app) == [(DOWN, "web-finder", "goes down")]
    checked(app.slider(key="network.step").set_value(UP).run())
    assert events(app)[0] == (UP, "web-finder", "is up again, after 220 s")
    assert app.session_state[JOB] is job
    checked(app.number_input(key="network.seed").set_value(1).run())
    assert app.session_state[JOB] is not job
    assert (app.query_params["seed"], app.query_params["step"]) == ("1", str(UP))


def test_a_router_meets_itself_with_other_parameters(console: Console) -> None:
    app = visit(routers="ehrr,ehrr", other="exploration=thompson&half_life_s=600")
    assert app.dataframe[0].value["router"].tolist() == ["EHRR", "EHRR, changed"]
    assert dict(parse_qsl(app.query_params["other"])) == {"exploration": "thompson", "half_life_s": "600.0"}
    assert "one" not in app.query_params
    plain, changed = app.session_state[JOB].future.result().runs
    world = console.scenarios.world("hybrid_default", catalog="search-15", steps=60)
    (wanted,) = console.scenarios.run(
        world, planned(["ehrr"], SETTINGS[:1], {"exploration": "thompson", "half_life_s": 600.0})
    )
    np.testing.assert_array_equal(changed.tool, wanted.tool)
    assert changed.parameters != plain.parameters

    checked(app.slider(key="network.knob.0.ehrr.alpha_t").set_value(1.0).run())
    assert app.dataframe[0].value["router"].tolist() == ["EHRR, changed"] * 2
    assert app.query_params["one"] == "alpha_t=1.0"
    press(app, "knobs:reset:1")
    assert app.dataframe[0].value["router"].tolist() == ["EHRR, changed", "EHRR"]
    assert "other" not in app.query_params


def test_a_link_with_knobs_that_make_no_sense_says_so(console: Console) -> None:
    app = visit(routers="prag,ehrr", other="half_life_s=<b>&k=20&planner=model&nonsense=1", one="=&&;%")
    assert "half" in said(app)
    assert app.dataframe[0].value["router"].tolist() == ["PRAG", "EHRR"]
    assert app.session_state[JOB].future.result().runs[1].parameters["k"] == SETTINGS[0].s


def test_a_finished_simulation_is_stored_once_and_the_url_keeps_the_chosen_runs(console: Console) -> None:
    def stored() -> list[KeptRun]:
        return [run for run in console.store.scenario_runs.newest(99) if (run.steps, run.seed) == (40, 77)]

    app = visit(steps="40", seed="77")
    (prag, sonar) = made = stored()
    assert [(run.router, run.profile, run.tasks) for run in made] == [
        ("prag", "hybrid_default", "search-15"), ("sonar", "hybrid_default", "search-15"),
    ]  # fmt: skip
    press(app, "play")
    press(app, "play")
    assert stored() == made
    app = visit(steps="40", seed="77", runs=f"{sonar.id},{prag.id}", step="3")
    assert (app.query_params["runs"], app.query_params["step"]) == (f"{sonar.id},{prag.id}", "3")
    assert "1 SONAR" in said(app)
    again = stored()
    assert [run.id for run in again] == [prag.id, sonar.id]
    assert again[0].at > prag.at  # another visitor's simulation took its place


def test_a_store_that_refuses_the_runs_does_not_lose_the_story(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreError("The disk is full.")

    monkeypatch.setattr(console.store.scenario_runs, "save", refuse)
    app = visit(seed="78")
    assert "These runs are not stored. The disk is full." in said(app)
    assert step(app) == 0


def test_play_goes_on_until_it_is_paused_or_over(console: Console) -> None:
    app = press(visit(step="50"), "play")
    assert step(app) == 51
    assert app.button(key="network:play").label == "Pause"
    assert step(checked(app.run())) == 52
    assert app.query_params["step"] == "50"  # a place in the browser's history a tick would bury the others
    press(app, "play")
    assert (step(app), app.query_params["step"]) == (52, "52")
    assert step(checked(app.run())) == 52
    app.slider(key="network.step").set_value(57).run()
    press(app, "play")
    checked(app.run())
    assert step(app) == 59
    assert app.button(key="network:play").label == "Play"
    assert step(press(app, "play")) == 1  # from the beginning


def test_why_a_router_goes_elsewhere_than_last_time(console: Console) -> None:
    app = visit(routers="sonar,prag", profile="chaos_monday", steps="200")
    changes = app.session_state[JOB].future.result().changes[0]
    change = next(change for change in changes if "down" in change.why)
    checked(app.slider(key="network.step").set_value(change.step).run())
    assert f"this went to {change.left}. {change.why}" in said(app)
    assert (change.step, "SONAR", f"leaves {change.left} for {change.chosen}: {change.why}") in events(app)
    assert "This was not asked before." in said(checked(app.slider(key="network.step").set_value(3).run()))


def test_fewer_steps_than_the_chosen_one(console: Console) -> None:
    app = visit(step="59")
    checked(app.number_input(key="network.steps").set_value(20).run())
    assert (step(app), app.query_params["step"]) == (19, "19")


def test_a_link_that_asks_for_what_is_not_there(console: Console) -> None:
    app = visit(profile="/etc/x.json", routers="none,sonar", seed="-4", steps="9999999", step="x", setting="s9t9")
    for wanted in ("/etc/x.json", "none", "s9t9"):
        assert f"{wanted} here" in said(app)
    assert app.query_params == {
        "profile": "hybrid_default", "catalog": "search-15", "routers": "sonar,sonar", "setting": "s3t6", "seed": "0",
        "steps": "2000", "step": "0",
    }  # fmt: skip


def test_a_simulation_can_be_stopped_and_run_again(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[threading.Event] = []

    def stopped(*_: object, cancel: threading.Event, **__: object) -> None:
        asked.append(cancel)
        raise Cancelled

    with monkeypatch.context() as patch:
        patch.setattr(console.scenarios, "run", stopped)
        app = visit(step="7")
    assert "The simulation was stopped." in said(app)
    assert "network.step" not in [slider.key for slider in app.slider]
    assert app.query_params["step"] == "7"
    press(app, "again")
    assert step(app) == 7
    assert len(asked) == 1


def test_the_newest_events_come_first_and_those_to_come_do_not() -> None:
    found = [Event(n, f"who {n}", "goes down") for n in range(20)]
    frame = events_frame(found, 12)
    assert frame["step"].tolist() == list(range(12, 12 - NEWEST, -1))
    assert events_frame([Event(1, "a\u202eb", "x")], 1)["who"][0] != "a\u202eb"
