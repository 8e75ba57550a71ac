"""The dialog that edits a network: what is changed is shown, kept, used and deleted; what cannot be is said."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.domain.catalog import Server
from core.embedding.cached import CachedEncoder, EncoderSource
from core.network.draft import Draft, DraftRule
from core.network.high_latency import HighLatency
from core.network.ideal import Ideal
from core.network.profiles import Profile, load_profile, saved_profiles
from core.network.saved import save_profile
from core.store import Store
from dashboard import session
from dashboard.widgets.network_edit import STEPS_SHOWN, preview_curves
from dashboard.widgets.network_edit_parts import rule_frame, rules_of, server_frame
from dashboard.widgets.network_edit_state import OPEN
from dashboard.widgets.network_job import JOB
from tests.dashboard.drawn import charts
from tests.dashboard.test_network_page import checked, said, script
from tests.embedding.toys import Letters

HOSTILE = "<b>bold</b> :red[x] [link](javascript:alert(1))"
QUERY = {"routers": "prag,sonar", "steps": "10"}


@pytest.fixture(scope="module")
def opened() -> Iterator[Console]:
    """A console in memory; it has the shipped catalogs."""
    store = Store(None)
    with Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as console:
        yield console


@pytest.fixture(autouse=True)
def networks(opened: Console, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of saved networks."""
    monkeypatch.setattr(session, "_console", opened)
    monkeypatch.setenv("WAYFARE_DB", str(tmp_path / "wayfare.duckdb"))
    return tmp_path / "networks"


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    app.query_params.update({**QUERY, **query})
    return checked(app.run())


def editing(**query: str) -> AppTest:
    return checked(visit(**query).button(key="network:change").click().run())


def key(app: AppTest, name: str) -> str:
    return app.session_state[OPEN].key(name)


def press(app: AppTest, name: str) -> AppTest:
    return checked(app.button(key=key(app, name)).click().run())


def table(app: AppTest) -> list[tuple[str, str]]:
    editors = (pa.ipc.open_stream(one.proto.arrow_data.data).read_all() for one in app.data_editor)
    columns = next(one.to_pydict() for one in editors if "applies" in one.column_names)
    return list(zip(columns["applies"], columns["because"], strict=True))


def test_what_is_changed_is_shown_kept_and_used(networks: Path) -> None:
    app = editing(profile="ideal")
    assert set(table(app)) == {("Ideal", "all others")}
    app.multiselect(key=key(app, "default")).set_value(["High latency", "High jitter"])
    app.number_input(key=key(app, "Ideal.base_ms")).set_value(70.0)
    app = checked(app.run())
    assert set(table(app)) == {("High latency + High jitter", "all others")}
    app = checked(app.multiselect(key=key(app, "random")).set_value(["Ideal"]).run())
    assert set(table(app)) == {("Ideal", "at random")}
    assert "Ideal (base 70 ms)" in said(app)
    assert not networks.exists()

    app.text_input(key=key(app, "name")).set_value("Monday mess")
    app.text_input(key=key(app, "about")).set_value(HOSTILE)
    app = press(app, "save")
    assert OPEN not in app.session_state
    assert load_profile("monday_mess").random == ((Ideal(base_ms=70),),)
    assert (app.selectbox(key="network.profile").value, app.query_params["profile"]) == ("monday_mess", "monday_mess")
    assert "Saved as monday" in app.toast[0].value
    assert f"monday mess: {HOSTILE}" in said(app).replace("*", "")
    assert not any(HOSTILE in element.value for element in app.caption)
    curves = app.session_state[JOB].future.result().curves
    assert {curve.states for curve in curves} == {("Ideal",)}
    assert np.median([curve.latency_s for curve in curves]) == pytest.approx(0.07, abs=0.005)


def test_a_changed_network_is_simulated_anew_and_a_deleted_one_is_gone() -> None:
    save_profile(Profile("mine", default=(HighLatency(),)))
    app = editing(profile="mine")
    job = app.session_state[JOB]
    assert app.text_input(key=key(app, "name")).value == "mine"
    app.multiselect(key=key(app, "default")).set_value(["Ideal"])
    app = press(app, "save")
    assert load_profile("mine").default == (Ideal(),)
    assert app.session_state[JOB] is not job
    app = checked(app.button(key="network:change").click().run())
    app = press(app, "delete")
    assert saved_profiles() == ()
    assert (app.selectbox(key="network.profile").value, app.query_params["profile"]) == ("hybrid_default",) * 2
    assert "mine is deleted." in app.toast[0].value.replace("\\", "")
    assert "There is no network" not in said(app)
    assert "There is no network mine here" in said(visit(profile="mine"))


def test_one_more_of_a_state_keeps_what_was_changed_before() -> None:
    app = editing(profile="hybrid_default")
    assert "With figures of their own: Ideal 2 (base 30 ms)." in said(app)
    app.text_input(key=key(app, "name")).set_value("twice")
    app.multiselect(key=key(app, "random")).set_value(["High jitter + Ideal"])
    app = press(checked(app.selectbox(key=key(app, "state")).set_value("Intermittent outage").run()), "more")
    assert app.selectbox(key=key(app, "state")).value == "Intermittent outage 2"
    app.number_input(key=key(app, "Intermittent outage 2.start")).set_value(0.5)
    app.multiselect(key=key(app, "default")).set_value(["Intermittent outage 2"])
    press(app, "save")
    kept, before = load_profile("twice"), load_profile("hybrid_default")
    assert (kept.servers, kept.rules) == (before.servers, before.rules)
    assert [state.id for state in kept.random[0]] == ["high_jitter", "ideal"]
    assert [(state.id, state.start) for state in kept.default] == [("outage", 0.5)]


def test_what_cannot_be_is_said_and_not_kept() -> None:
    app = editing()
    drawn = len(charts(app))
    app = checked(app.selectbox(key=key(app, "state")).set_value("Intermittent outage").run())
    app = checked(app.number_input(key=key(app, "Intermittent outage.shortest")).set_value(40).run())
    assert "longest = 30 is below shortest = 40" in said(app)
    assert app.button(key=key(app, "save")).disabled
    app.number_input(key=key(app, "Intermittent outage.longest")).set_value(50)
    app = checked(app.multiselect(key=key(app, "default")).set_value([]).run())
    assert "All other servers need a state" in said(app)
    app.multiselect(key=key(app, "default")).set_value(["Ideal"])
    app = checked(app.multiselect(key=key(app, "random")).set_value(["Stormy"]).run())
    assert "There is no state 'Stormy'" in said(app)
    assert app.button(key=key(app, "save")).disabled
    assert len(charts(app)) == drawn - 1
    app = checked(app.multiselect(key=key(app, "random")).set_value([]).run())
    assert not app.button(key=key(app, "save")).disabled
    assert not app.error


def test_a_name_that_is_taken_or_impossible() -> None:
    save_profile(Profile("taken", "Old."))
    app = editing(profile="hybrid")
    assert app.text_input(key=key(app, "name")).value == "my_hybrid"
    for name, words in (
        ("hybrid", "belongs to a shipped network"),
        ("../x", "cannot name a network"),
        ("", "cannot name"),
    ):
        app.text_input(key=key(app, "name")).set_value(name)
        app = press(app, "save")
        assert words in said(app)
    app = checked(app.text_input(key=key(app, "name")).set_value("Taken").run())
    assert app.button(key=key(app, "save")).disabled
    app = checked(app.checkbox(key=key(app, "replace")).set_value(True).run())
    press(app, "save")
    assert load_profile("taken").servers == load_profile("hybrid").servers


def test_a_damaged_file_is_named_and_can_be_deleted(networks: Path) -> None:
    save_profile(Profile("fine"))
    (networks / "bad.json").write_text('{"name": 1,')
    app = visit(profile="bad")
    assert "bad.json: it cannot be read as a profile" in said(app)
    assert "fine" in app.selectbox(key="network.profile").options
    app = checked(app.button(key="network:change").click().run())
    assert "bad.json: it cannot be read as a profile" in said(app)
    app = press(app, "delete")
    assert saved_profiles() == ("fine",)
    assert "cannot be read" not in said(app)


def test_a_file_of_somebody_else() -> None:
    servers = {"web-finder": "outage", HOSTILE: "ideal"}
    theirs = {"name": HOSTILE, "about": f"{HOSTILE}\nsecond line", "servers": servers, "default": "packet_loss"}
    app = editing()
    for text, words in (
        (b"{", "theirs.json: it cannot be read"),
        (b'{"name": "x", "default": 1}', "a state should be"),
    ):
        app = checked(app.file_uploader(key=key(app, "file")).set_value(("theirs.json", text, "")).run())
        assert words in said(app)
    upload = ("theirs.json", json.dumps(theirs).encode(), "application/json")
    app = checked(app.file_uploader(key=key(app, "file")).set_value(upload).run())
    assert ("Intermittent outage", "by hand") in table(app)
    assert ("Packet loss", "all others") in table(app)
    assert "1 more by hand for servers of other catalogs" in said(app)
    assert app.text_input(key=key(app, "about")).value == f"{HOSTILE} second line"
    assert "cannot name a network" in said(press(app, "save"))
    app.text_input(key=key(app, "name")).set_value("theirs")
    press(app, "save")
    assert set(load_profile("theirs").servers) == {"web-finder", HOSTILE}


def test_the_preview_is_what_will_be_simulated(opened: Console) -> None:
    world = opened.scenarios.world("chaos_monday", steps=STEPS_SHOWN, seed=3)
    draft, servers = Draft.of(load_profile("chaos_monday")), world.scene.catalog.servers
    shown = preview_curves(draft, draft.rows(servers, 3), servers, 3)
    assert len({curve.states for curve in shown}) == 6
    for curve in shown:
        simulated = world.traces.latency_s[world.traces.servers.index(curve.server), world.lead_in :]
        np.testing.assert_array_equal(curve.latency_s, simulated)
        assert curve.time_s[0] == 0


def test_tables_have_lists_where_nothing_is_listed() -> None:
    rows = Draft.of(Profile("p")).rows([Server("a"), Server(HOSTILE)])
    assert server_frame(rows, {})["by_hand"].dtype == server_frame(rows, {"a": ("Ideal",)})["by_hand"].dtype
    rules = (DraftRule(("Ideal", "High jitter + Ideal"), "mail", "x*"), DraftRule(()))
    assert rules_of(rule_frame(rules)) == rules
    frame = rule_frame(rules)
    frame.loc[2] = [None, None, None]  # a row that was just added
    assert rules_of(frame)[2] == DraftRule(())
    assert rules_of(rule_frame(())) == ()
