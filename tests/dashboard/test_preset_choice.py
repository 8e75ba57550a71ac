"""Presets in the sidebar: choosing one sets the knobs; a knob set by hand makes them one's own."""

from __future__ import annotations

from functools import partial
from typing import Any

from streamlit.testing.v1 import AppTest

from core.routers.ehrr import EhrrParameters
from core.routers.presets import PRESETS
from dashboard.ui.question import _apply
from dashboard.ui.text import escaped
from tests.dashboard.harness import app_with, checked, markdown_of, open_page

CATALOG = {
    "servers": [{"name": "files", "description": "Files.", "tools": [{"name": "read", "description": "Reads a file."}]}]
}
ALPHA, N = "ask.knob.ehrr.alpha_t", "ask.knob.ehrr.n"

app = app_with({"small": CATALOG}, scope="module")
visit = partial(open_page, "route", q="read a file", catalog="small")


def preset(page: AppTest) -> Any:
    """The choice of a preset."""
    return next(box for box in page.selectbox if box.label == "Preset")


def test_a_preset_sets_the_knobs_and_leaves_the_number_of_candidates() -> None:
    page = visit(n="7")
    assert preset(page).value == "balanced"
    checked(preset(page).set_value("paper").run())
    assert (page.session_state[ALPHA], page.session_state[N]) == (0.25, 7)
    assert escaped(PRESETS["paper"].sentence)[:40] in markdown_of(page)
    assert page.query_params["alpha_t"] == "0.25"


def test_a_link_that_is_a_preset_says_so_and_one_that_is_none_is_ones_own() -> None:
    quick = {name: str(value) for name, value in PRESETS["quick"].values.items()}
    assert preset(visit(**quick)).value == "quick"
    page = visit(alpha_t="0.5")
    assert preset(page).value == "own"
    checked(preset(page).set_value("balanced").run())
    assert page.session_state[ALPHA] == 0.02


def test_a_late_message_about_a_choice_that_is_gone_changes_nothing() -> None:
    _apply(EhrrParameters(), "ask.knob.ehrr", "ask.knob.ehrr:preset.0", "balanced")
