"""The network of a question: its choice beside the knobs, its moment, its lane, and every view that follows it."""

from __future__ import annotations

import pytest

from core.app import App
from core.domain.params import MEASURED, WITH_SIMULATED
from dashboard.lane import lanes
from dashboard.pages.route.drawing import STILL
from dashboard.pages.route.view import TOKEN
from dashboard.pages.route.why import SCORE
from dashboard.ui.question import KIND, NETWORK
from tests.dashboard.harness import (
    knob_panel_of,
    live_of,
    metrics_of,
    network_panel_of,
    open_page,
    state_of,
    text_of,
    turn,
)

LINK = {"q": "convert 300 miles to kilometres", "network": "fluctuating", "at_s": "900"}


def test_it_is_as_measured_until_a_profile_is_chosen_which_has_a_moment(app: App) -> None:
    page = open_page("route", q=LINK["q"])
    panel = network_panel_of(page)
    (choice,) = panel["groups"][0]["parts"][0]["knobs"]
    assert (panel["groups"][0]["title"], panel["groups"][0]["open"]) == ("Network: as measured", False)
    assert choice["choices"] == [MEASURED, WITH_SIMULATED, *app.networks.names()]
    expected_time = metrics_of(page)["Expected time"]

    page = turn(page, NETWORK, network="fluctuating", at_s=900.0)
    assert [knob["name"] for knob in network_panel_of(page)["groups"][0]["parts"][0]["knobs"]] == ["network", "at_s"]
    assert page.query_params["network"] == "fluctuating"
    assert page.query_params["at_s"] == "900"
    assert metrics_of(page)["Time, simulated"] != expected_time
    assert "network fluctuating at 900 s" in text_of(page)

    page = turn(page, NETWORK, network=MEASURED)
    assert metrics_of(page)["Expected time"] == expected_time
    assert "network" not in page.query_params


def test_the_lane_draws_any_moment_as_the_page_does(app: App) -> None:
    page = open_page("route", **LINK)
    panel = network_panel_of(page)
    assert (panel["kind"], panel["plays"]) == (KIND, "at_s")
    assert panel["token"] == knob_panel_of(page)["token"] == f"{page.session_state[TOKEN]}:ask.knob.ehrr"
    answer = lanes._lanes[panel["token"]].answers[KIND]({"network": "fluctuating", "at_s": 2700.0})
    assert answer["parts"][SCORE] == STILL, "it is that of another moment"
    parts = live_of(turn(page, NETWORK, at_s=2700.0))
    (headline,) = {key for key in parts if key == "route:headline"}
    drop = [line for line in parts[headline].split("<dt>") if "Decided in" not in line]
    assert drop == [line for line in str(answer["parts"][headline]).split("<dt>") if "Decided in" not in line]


@pytest.mark.parametrize(
    ("link", "said"),
    [
        ({"network": "ideal", "at_s": "-1"}, "at_s = -1.0 is outside"),
    ],
)
def test_a_link_that_makes_no_sense_is_named(app: App, link: dict[str, str], said: str) -> None:
    assert said in text_of(open_page("route", q=LINK["q"], **link))


def test_every_view_that_asks_takes_it_over(app: App) -> None:
    page = open_page("call", **LINK)
    assert network_panel_of(page)["values"] == {"network": "fluctuating", "at_s": 900.0}
    assert "A part of the link was not used" not in text_of(page)
    assert [chip["text"] for chip in state_of(page)["knobs"][NETWORK]] == ["Network fluctuating", "Moment 900 s"]
    assert "meets the network fluctuating at 900 s" in text_of(page)
