"""The dialog that edits a network: what is changed is shown, kept, used and deleted; what cannot be is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.network.draft import Draft
from core.network.profiles import NetworkProfiles, Profile, load_profile
from core.network.states import HighLatency, Ideal
from dashboard.pages.network.editor import OPEN, STEPS_SHOWN, preview_curves
from dashboard.pages.network.job import JOB
from tests.dashboard.harness import app_with, charts, checked, open_page, text_of

HOSTILE = "<b>bold</b> :red[x] [link](javascript:alert(1))"
QUERY = {"routers": "prag,sonar", "steps": "10"}


app = app_with(scope="module")


@pytest.fixture(autouse=True)
def networks(app: App) -> Iterator[NetworkProfiles]:
    """The shipped networks, and none that was saved before."""
    yield app.networks
    shutil.rmtree(app.networks.folder, ignore_errors=True)


def visit(**query: str) -> AppTest:
    return open_page("network", **{**QUERY, **query})


def editing(**query: str) -> AppTest:
    return checked(visit(**query).button(key="network:change").click().run())


def key(page: AppTest, name: str) -> str:
    return page.session_state[OPEN].key(name)


def press(page: AppTest, name: str) -> AppTest:
    return checked(page.button(key=key(page, name)).click().run())


def table(page: AppTest) -> list[tuple[str, str]]:
    editors = (pa.ipc.open_stream(editor.proto.arrow_data.data).read_all() for editor in page.data_editor)
    columns = next(frame.to_pydict() for frame in editors if "applies" in frame.column_names)
    return list(zip(columns["applies"], columns["because"], strict=True))


def test_what_is_changed_is_shown_kept_and_used(networks: NetworkProfiles) -> None:
    page = editing(profile="ideal")
    assert set(table(page)) == {("Ideal", "all others")}
    page.multiselect(key=key(page, "default")).set_value(["High latency", "High jitter"])
    page.number_input(key=key(page, "Ideal.base_ms")).set_value(70.0)
    page = checked(page.run())
    assert set(table(page)) == {("High latency + High jitter", "all others")}
    page = checked(page.multiselect(key=key(page, "random")).set_value(["Ideal"]).run())
    assert set(table(page)) == {("Ideal", "at random")}
    assert "Ideal (base 70 ms)" in text_of(page)
    assert not networks.folder.exists()

    page.text_input(key=key(page, "name")).set_value("Monday mess")
    page.text_input(key=key(page, "about")).set_value(HOSTILE)
    page = press(page, "save")
    assert OPEN not in page.session_state
    assert networks.load("monday_mess").random == ((Ideal(base_ms=70),),)
    assert (page.selectbox(key="network.profile").value, page.query_params["profile"]) == ("monday_mess", "monday_mess")
    assert "Saved as monday" in page.toast[0].value
    assert f"monday mess: {HOSTILE}" in text_of(page).replace("*", "")
    assert not any(HOSTILE in element.value for element in page.caption)
    curves = page.session_state[JOB].future.result().curves
    assert {curve.states for curve in curves} == {("Ideal",)}
    assert np.median([curve.latency_s for curve in curves]) == pytest.approx(0.07, abs=0.005)


def test_a_changed_network_is_simulated_anew_and_a_deleted_one_is_gone(networks: NetworkProfiles) -> None:
    networks.save(Profile("mine", default=(HighLatency(),)))
    page = editing(profile="mine")
    job = page.session_state[JOB]
    assert page.text_input(key=key(page, "name")).value == "mine"
    page.multiselect(key=key(page, "default")).set_value(["Ideal"])
    page = press(page, "save")
    assert networks.load("mine").default == (Ideal(),)
    assert page.session_state[JOB] is not job
    page = checked(page.button(key="network:change").click().run())
    page = press(page, "delete")
    assert networks.saved() == ()
    assert (page.selectbox(key="network.profile").value, page.query_params["profile"]) == ("hybrid_default",) * 2
    assert "mine is deleted." in page.toast[0].value.replace("\\", "")
    assert "There is no network" not in text_of(page)
    assert "There is no network mine; this is hybrid default" in text_of(visit(profile="mine"))


def test_what_cannot_be_is_said_and_not_kept() -> None:
    page = editing()
    count = len(charts(page))
    page = checked(page.selectbox(key=key(page, "state")).set_value("Intermittent outage").run())
    page = checked(page.number_input(key=key(page, "Intermittent outage.shortest")).set_value(40).run())
    assert "longest = 30 is below shortest = 40" in text_of(page)
    assert page.button(key=key(page, "save")).disabled
    page.number_input(key=key(page, "Intermittent outage.longest")).set_value(50)
    page = checked(page.multiselect(key=key(page, "default")).set_value([]).run())
    assert "All other servers need a state" in text_of(page)
    page.multiselect(key=key(page, "default")).set_value(["Ideal"])
    page = checked(page.multiselect(key=key(page, "random")).set_value(["Stormy"]).run())
    assert "There is no state 'Stormy'" in text_of(page)
    assert page.button(key=key(page, "save")).disabled
    assert len(charts(page)) == count - 1
    page = checked(page.multiselect(key=key(page, "random")).set_value([]).run())
    assert not page.button(key=key(page, "save")).disabled
    assert not page.error


def test_a_name_that_is_taken_or_impossible(networks: NetworkProfiles) -> None:
    networks.save(Profile("taken", "Old."))
    page = editing(profile="hybrid")
    assert page.text_input(key=key(page, "name")).value == "my_hybrid"
    page.text_input(key=key(page, "name")).set_value("hybrid")
    page = press(page, "save")
    assert "belongs to a shipped network" in text_of(page)
    page = checked(page.text_input(key=key(page, "name")).set_value("Taken").run())
    assert page.button(key=key(page, "save")).disabled
    page = checked(page.checkbox(key=key(page, "replace")).set_value(True).run())
    press(page, "save")
    assert networks.load("taken").servers == load_profile("hybrid").servers


def test_a_damaged_file_is_named_and_can_be_deleted(networks: NetworkProfiles) -> None:
    networks.save(Profile("fine"))
    (networks.folder / "bad.json").write_text('{"name": 1,')
    page = visit(profile="bad")
    assert "bad.json: it cannot be read as a profile" in text_of(page)
    assert "fine" in page.selectbox(key="network.profile").options
    page = checked(page.button(key="network:change").click().run())
    assert "bad.json: it cannot be read as a profile" in text_of(page)
    page = press(page, "delete")
    assert networks.saved() == ("fine",)
    assert "cannot be read" not in text_of(page)


def test_a_file_of_somebody_else(networks: NetworkProfiles) -> None:
    servers = {"web-finder": "outage", HOSTILE: "ideal"}
    theirs = {"name": HOSTILE, "about": f"{HOSTILE}\nsecond line", "servers": servers, "default": "packet_loss"}
    page = editing()
    for text, words in (
        (b"{", "theirs.json: it cannot be read"),
        (b'{"name": "x", "default": 1}', "there is no network state"),
    ):
        page = checked(page.file_uploader(key=key(page, "file")).set_value(("theirs.json", text, "")).run())
        assert words in text_of(page)
    upload = ("theirs.json", json.dumps(theirs).encode(), "application/json")
    page = checked(page.file_uploader(key=key(page, "file")).set_value(upload).run())
    assert ("Intermittent outage", "by hand") in table(page)
    assert ("Packet loss", "all others") in table(page)
    assert "1 states by hand are for servers of other catalogs" in text_of(page)
    assert page.text_input(key=key(page, "about")).value == f"{HOSTILE} second line"
    assert "cannot name a network" in text_of(press(page, "save"))
    page.text_input(key=key(page, "name")).set_value("theirs")
    press(page, "save")
    assert set(networks.load("theirs").servers) == {"web-finder", HOSTILE}


def test_the_preview_is_what_will_be_simulated(app: App) -> None:
    world = app.scenarios.world("chaos_monday", steps=STEPS_SHOWN, seed=3)
    draft, servers = Draft.of(load_profile("chaos_monday")), world.context.catalog.servers
    curves = preview_curves(draft, draft.rows(servers, 3), servers, 3)
    assert len({curve.states for curve in curves}) == 6
    for curve in curves:
        simulated = world.traces.latency_s[world.traces.servers.index(curve.server), world.lead_in :]
        np.testing.assert_array_equal(curve.latency_s, simulated)
        assert curve.time_s[0] == 0
