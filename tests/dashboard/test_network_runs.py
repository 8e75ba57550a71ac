"""The Network page's earlier runs, chosen, compared, deleted; and live mode: nothing is called unasked, what was measured is told as that."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.lab_runs import LIVE, SIMULATED
from core.lab.scenarios.measures import ScenarioRun
from core.routers import ROUTERS
from core.store import Store
from dashboard.pages.network.charts.runs import LiveCall, calls_so_far
from dashboard.pages.network.job import JOB, LIVE_RUN
from dashboard.pages.network.runs import (
    chosen_after,
    differences,
    names,
    not_by_step,
    runs_frame,
    runs_styler,
)
from dashboard.pages.network.tables import latency_text, outcome_text
from tests.dashboard.harness import app_with, charts, checked, open_page, press, text_of
from tests.store.conftest import T0
from tests.store.test_scenario_runs import STEPS, run

HOSTILE = "<b>:red[x]</b> $a$ \u202e"
TITLES = {name: router.title for name, router in ROUTERS.items()}
OTHERS = replace(STEPS, ok=np.array([True, True, True]), server=np.array([1, 1, 1], dtype=np.int32))


def script() -> None:
    import streamlit as st

    from dashboard.pages.network.runs import chosen_runs, earlier_runs
    from dashboard.session import current_app

    st.session_state["written"] = chosen_runs(dict(st.query_params.items()))
    earlier_runs(current_app())


app = app_with()


@pytest.fixture
def store(app: App) -> Store:
    return app.store


@pytest.fixture
def seven(store: Store) -> Store:
    """r0 is the newest, of PRAG; the others are of SONAR, r3 over another catalog, r4 of another seed, r6 with damaged steps."""
    changes = [{"router": "prag"}, {}, {}, {"catalog": "mine", "catalog_fingerprint": "x"}, {"seed": 8}, {}, {}]
    for place, change in enumerate(changes):
        scenario_run = run(f"r{place}", at=T0 - timedelta(minutes=place), **change)
        store.scenario_runs.save([(scenario_run, STEPS if place else OTHERS)])
    with store._database.transaction() as connection:
        connection.execute("UPDATE scenario_runs SET ok = [true] WHERE id = 'r6'")
    return store


def visit(**query: str) -> AppTest:
    page = AppTest.from_function(script, default_timeout=30)
    page.query_params.update(query)
    return checked(page.run())


def test_a_link_compares_with_the_run_that_it_names_first(seven: Store) -> None:
    page = visit(runs="r1,r0,r3,r6")
    assert page.session_state["written"] == "r1,r0,r3,r6"
    assert len(charts(page)) == 2
    words = text_of(page)
    assert "1 SONAR · search-15**]" in words
    assert "the baseline of the others" in words
    assert "2 PRAG · search-15" in words
    assert "The same server at 33.3 % of the steps; success only here: 2, only in the first: 0." in words
    assert "Not comparable step by step:] catalog mine, not search-15." in words
    assert "Its steps are damaged" in words


def test_the_first_that_was_chosen_stays_the_first_and_more_than_six_are_not_taken() -> None:
    ids, notice = chosen_after(["r4", "r0"], [f"r{row}" for row in range(7)])
    assert (ids, notice[:28]) == (["r4", "r0", "r1", "r2", "r3", "r5"], "At most 6 runs can be compar")


def test_the_chosen_runs_are_deleted_by_a_second_press(seven: Store) -> None:
    page = visit(runs="r0,r5")
    assert "Delete these 2 runs from the store?" in text_of(page)
    assert seven.scenario_runs.count() == 7
    page = checked(page.button(key="network.runs.delete").click().run())
    assert [stored.id for stored in seven.scenario_runs.newest(9)] == ["r1", "r2", "r3", "r4", "r6"]
    assert "2 runs were deleted." in text_of(page)
    assert page.session_state["written"] == ""
    assert len(page.dataframe[0].value) == 5


def test_strangers_names_are_text(store: Store) -> None:
    hostile = run(HOSTILE, profile=HOSTILE, catalog=HOSTILE, tasks=HOSTILE, router=HOSTILE, setting=HOSTILE)
    store.scenario_runs.save([(hostile, STEPS), (run(), STEPS)])
    page = visit(runs=f"{HOSTILE},one")
    line = next(str(e.value) for e in page.markdown if "is the baseline" in str(e.value))
    assert "\\<b\\>" in line
    assert "<b>" not in line
    assert "\u202e" not in line + page.dataframe[0].value.to_string()


def test_the_table_has_units_and_gaps_where_nothing_is_known() -> None:
    frame = runs_frame([run(), run(utility=0.25, al_ms=1234.5)], TITLES, "Asia/Tokyo")
    html = runs_styler(frame).to_html()
    for text in ("1,234.5 ms", "1 m$", "50 %", "0.250", "–", "1.50 ms"):
        assert f">{text}<" in html
    assert frame["at"][0].hour == 21


def test_a_name_says_in_what_the_chosen_differ() -> None:
    assert names([run(), run()], TITLES) == ("SONAR", "SONAR")
    others = [run(seed=1), run(mode="live"), run(profile="chaos_monday"), run(parameters_json='{"a": 0.1, "s": 9}')]
    assert names([run(), *others], TITLES) == (
        "SONAR · hybrid · seed 0 · simulated · a=0.5",
        "SONAR · hybrid · seed 1 · simulated · a=0.5",
        "SONAR · hybrid · seed 0 · live · a=0.5",
        "SONAR · chaos monday · seed 0 · simulated · a=0.5",
        "SONAR · hybrid · seed 0 · simulated · a=0.1",
    )
    assert names([run(router="prag", parameters_json="{"), run()], TITLES) == ("PRAG", "SONAR")
    assert names([run(tasks="own.jsonl"), run(raw_questions=True)], TITLES) == (
        "SONAR · own.jsonl",
        "SONAR · raw questions",
    )


def test_what_cannot_be_compared_step_by_step() -> None:
    assert not_by_step(run(profile="ideal", router="prag", mode="live", predicted="x"), run()) == ""
    assert not_by_step(run(catalog_fingerprint="x"), run()) == "another content of catalog search-15"
    assert not_by_step(run(tasks="t.jsonl", tasks_fingerprint="x"), run()) == "tasks t.jsonl, not search-15"
    assert (
        not_by_step(run(seed=2, steps=2000, lead_in=0), run()) == "seed 2, not 0, steps 2,000, not 3, lead-in 0, not 30"
    )


def test_differences_are_told_in_words() -> None:
    worse = run(ssr=0.45, al_ms=6250.0, fr=0.5, sl_ms=1.2, cost_usd=0.0)
    assert differences(worse, run()) == (
        "right server (SSR) 5.0 points lower (45 %, not 50 %); latency (AL) 10 times higher (6.25 s, not 625 ms); "
        "outages (FR) the same (50 %); selection (SL) 20 % lower (1.2 ms, not 1.5 ms); cost 0 m$, not 1 m$"
    )
    assert differences(run(steps=6), run()).endswith("cost a query 2 times lower (0.167 m$, not 0.333 m$)")


LINK = {"routers": "prag,sonar", "profile": "ideal", "mode": "live", "calls": "10"}
MARKUP = "<img src=x onerror=alert(1)> <b>"


def test_opening_a_link_calls_nothing_and_a_press_makes_the_calls(app: App) -> None:
    page = open_page("network", **LINK)
    assert "Up to 20 calls" in text_of(page)
    assert JOB not in page.session_state
    press(page, "network:make")
    app.store.events.flush()
    calls = app.store.activity.calls()
    assert (len(calls), set(calls["origin"]), set(calls["simulated"])) == (20, {"scenario"}, {True})
    assert all(calls["injected"])
    text = text_of(page)
    assert "live, network injected" in text
    assert "network injected: " in text  # the badge on both cards
    assert "latency and outages are measured" in text
    assert (page.query_params["mode"], page.query_params["calls"]) == ("live", "10")
    assert "steps" not in page.query_params
    prag, sonar = page.session_state[JOB].future.result().runs
    assert {prag.mode, sonar.mode} == {"live"}
    assert text.count("measured latency") == 2
    count = len(app.store.activity.calls())
    page.run()
    assert len(app.store.activity.calls()) == count  # shown again, not called again


def test_a_call_without_an_answer_has_no_latency_of_its_own() -> None:
    zeros = np.zeros(2, dtype=np.int64)
    run = ScenarioRun(
        "prag", "s3t6", {}, 1, 1, 0, 0, 0.5, 0, None, at=zeros, task=zeros, server=zeros, tool=zeros,
        network_s=np.array([0.161, 1.0]), price_usd=np.zeros(2), ok=np.array([True, False]), mode=LIVE,
        injected=("delayed by 160 ms", "connection dropped"),
    )  # fmt: skip
    assert [latency_text(run, step) for step in (0, 1)] == ["measured latency **161 ms**", "counts as **1 s**"]
    assert "no answer" in outcome_text(run, 1)
    assert latency_text(replace(run, mode=SIMULATED), 1) == "network latency **1 s**"


def test_calls_so_far_are_marks_at_what_was_measured() -> None:
    calls = [
        LiveCall(0, 0, "a", 1.0, ok=False, injected="connection dropped"),
        LiveCall(1, 0, MARKUP, 0.161, ok=True, injected="delayed by 160 ms"),
    ]
    figure = calls_so_far(calls, ("PRAG", MARKUP), 10)
    assert isinstance(figure, go.Figure)
    first, second = figure.data
    assert (list(first.y), list(first.marker.symbol)) == ([1000.0], ["x"])
    assert list(second.y) == [161.0]
    assert "delayed by 160 ms" in second.hovertext[0]
    assert "<img" not in figure.to_json()
    assert calls_so_far([], ("PRAG", "SONAR"), 10).data[0].x == ()


def test_a_live_run_is_found_after_a_reload_and_no_other_begins_beside_it(app: App) -> None:
    page = open_page("network", **LINK)
    press(page, "network:make")
    job = page.session_state[JOB]
    reloaded = open_page("network", **LINK)
    assert reloaded.session_state[JOB] is job  # another visit, the same result
    assert "20 calls were made" in text_of(reloaded)

    going = app.background.start(LIVE_RUN, lambda run: run.stop.wait(20), replace(job.about, seed=7))
    for mode in ("live", "simulated"):
        page = open_page("network", **{**LINK, "seed": "3", "mode": mode, "steps": "10"})
        assert "A live run is under way" in text_of(page)
        assert "network:make" not in [button.key for button in page.button]
    press(page, "network:other:stop")
    going.future.result(20)
    page = open_page("network", **LINK)
    assert "under way" not in text_of(page)
    press(page, "network:make")  # again
    assert app.background.of(LIVE_RUN, job.about) not in {None, job}
