"""Knobs: each declared parameter of each router has a knob of the right kind, filled from the URL, and resettable."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.domain.params import Knob
from core.routers import ROUTERS
from core.routers.tool_attention import STATE
from dashboard.ui.knobs import ADVANCED, knob_title
from dashboard.ui.text import escaped
from tests.cases import each
from tests.dashboard.harness import app_with, checked, knob_panel_of, open_page, plain, turn

ROUTER = each("router", list(ROUTERS))
EHRR = "ask.knob.ehrr"
HOSTILE = "<b>**x**</b> :red[y] https://evil.example"


CATALOG = {"servers": [{"name": "files", "tools": [{"name": "read", "description": "Reads a file."}]}]}
app = app_with({"small": CATALOG}, scope="module")
visit = partial(open_page, "route")


@pytest.fixture(autouse=True)
def first_catalog(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYFARE_CATALOG", "small")


def drawn(page: AppTest) -> dict[str, dict[str, Any]]:
    """The browser's data of each knob, with its value and the name of its fold."""
    panel = knob_panel_of(page)
    return {
        spec["name"]: {**spec, "value": panel["values"][spec["name"]], "fold": fold["name"]}
        for fold in panel["groups"]
        for part in fold["parts"]
        for spec in part["knobs"]
    }


def knobs_of(router: str) -> list[Knob]:
    """The knobs in the sidebar; the agent's state has an editor of its own."""
    return [info for info in ROUTERS[router].parameters.knobs() if info.group != STATE]


def knob(router: str, name: str) -> Knob:
    return next(info for info in ROUTERS[router].parameters.knobs() if info.name == name)


def other_value(info: Knob) -> Any:
    """An admitted value that is not the default."""
    if info.kind is bool:
        return not info.default
    if info.choices:
        return next(choice for choice in info.choices if choice != info.default)
    if info.free_text:
        return "mail:write, files::read"
    return info.kind(info.low if info.default is None else info.high if info.default == info.low else info.low)


@ROUTER
def test_every_knob_shows_its_kind_range_default_and_help_in_an_open_group_or_a_fold(router) -> None:
    page = visit(router=router)
    specs = drawn(page)
    assert set(specs) == {info.name for info in knobs_of(router)}
    for info in knobs_of(router):
        spec = specs[info.name]
        assert spec["value"] == spec["default"] == info.default, info.name
        assert type(spec["value"]) is type(info.default)
        assert info.help in spec["help"]
        assert f"Parameter {info.name}, default {'off' if info.default is None else info.default}." in spec["help"]
        assert info.label, "every knob has a plain name"
        assert spec["title"] == knob_title(info)
        assert spec["unit"] == info.unit
        if info.choices:
            assert (spec["kind"], tuple(spec["choices"])) == ("choice", info.choices)
        elif info.kind in (bool, str):
            assert spec["kind"] == ("switch" if info.kind is bool else "text")
        else:
            assert spec["kind"] == ("optional" if info.optional else "slider")
            assert (spec["low"], spec["high"], spec["step"], spec["scale"]) == (
                info.low,
                info.high,
                info.step,
                info.scale,
            )
            assert round(info.step, spec["digits"]) == info.step
    folds = {info.name: ADVANCED if info.advanced else info.group for info in knobs_of(router)}
    assert {name: spec["fold"] for name, spec in specs.items()} == folds
    assert {fold["name"] for fold in knob_panel_of(page)["groups"] if not fold["open"]} <= {ADVANCED}
    assert sum(not info.advanced for info in knobs_of(router)) <= 12


def test_weights_priors_and_rates_are_advanced_and_what_decides_is_not() -> None:
    infos = {info.name: info for info in ROUTERS["ehrr"].parameters.knobs()}
    for name in ("w_names", "hint_weight", "prior_r", "lambda_r", "eps", "l_route_s", "billing", "hierarchy"):
        assert infos[name].advanced, name
    for name in ("n", "k", "alpha_t", "alpha_s", "kappa", "budget_usd", "p_bs", "p_ofs"):
        assert not infos[name].advanced, name
    assert knob_title(infos["alpha_t"]) == "Time matters, αt"


@ROUTER
def test_a_link_sets_every_knob_and_the_url_keeps_it(router) -> None:
    knobs = knobs_of(router)
    texts = {info.name: str(other_value(info)) for info in knobs}
    page = visit(router=router, **texts)
    assert knob_panel_of(page)["values"] == {info.name: other_value(info) for info in knobs}
    assert not page.warning
    assert {name: text for name, text in page.query_params.items() if name != "router"} == texts


def test_texts_that_do_not_fit_are_named_their_defaults_stand_and_names_of_no_parameter_are_passed_over() -> None:
    wrong = {
        "alpha_t": ("99", "is outside 0.0 to 2.0"),
        "n": ("2.5", "is not a whole number"),
        "auction": ("maybe", "is not true or false"),
        "billing": ("free", "is not one of per_call, per_attempt"),
        "budget_usd": ("-1", "is outside 0.0 to 1.0"),
        "kappa": (HOSTILE, "is not a number"),
    }
    page = visit(**{name: text for name, (text, _) in wrong.items()}, k="7", alpha_z="1", decision="abc")
    values = knob_panel_of(page)["values"]
    assert {name: values[name] for name in wrong} == {name: knob("ehrr", name).default for name in wrong}
    assert values["k"] == 7
    assert len(page.warning) == len(wrong)
    for name, (text, sentence) in wrong.items():
        (warning,) = (element.value for element in page.warning if f": {name} = " in plain(element.value))
        assert sentence in plain(warning)
        assert escaped(text) in warning
    assert page.query_params == {"k": "7"}
    assert not checked(page.run()).warning


def test_no_limit_and_a_limit_of_nothing_are_two_things() -> None:
    page = turn(visit(n="4"), EHRR, budget_usd=0.0)
    assert page.query_params == {"n": "4", "budget_usd": "0.0"}
    assert turn(page, EHRR, budget_usd=None).query_params == {"n": "4"}
    assert knob_panel_of(visit(budget_usd="0.0"))["values"]["budget_usd"] == 0.0
    assert knob_panel_of(visit(budget_usd="off"))["values"]["budget_usd"] is None


def test_a_knob_that_both_routers_have_stays_as_it_is_and_the_others_begin_anew() -> None:
    page = turn(visit(), EHRR, alpha_t=0.5, k=7)
    checked(page.selectbox(key="ask.router").set_value("rag_mcp").run())
    assert knob_panel_of(page)["values"]["k"] == 7
    checked(page.selectbox(key="ask.router").set_value("ehrr").run())
    values = knob_panel_of(page)["values"]
    assert (values["k"], values["alpha_t"]) == (7, 0.02)


def turning() -> None:
    import streamlit as st

    from core.routers.ehrr import EhrrParameters
    from dashboard.ui.knobs import take_turned

    take_turned(st.session_state["said"], EhrrParameters.knobs(), "p")


@each(
    ("said", "taken", "sentence"),
    [
        ([{"count": 3, "values": {"alpha_t": 0.5, "nobody": 1}}], {"p.alpha_t": 0.5, "heard:p": 3}, ""),
        ([{"count": 3, "values": {"alpha_t": 99, "k": 7}}], {"p.k": 7, "heard:p": 3}, "alpha_t = 99.0 is outside"),
        ([{"count": 3, "values": {"kappa": HOSTILE + "\u202e"}}], {"heard:p": 3}, "is not a number"),
        ([{"count": 2, "values": {"k": 7}}, {"count": 2, "values": {"k": 8}}], {"p.k": 7, "heard:p": 2}, ""),
        ([{"count": 3, "values": [1]}], {"heard:p": 3}, ""),
        ([{"values": {"k": 7}}, 5, "nothing"], {}, ""),
        ({"count": 3, "values": {"k": 7}}, {}, ""),
        ("nothing", {}, ""),
        (None, {}, ""),
    ],
)
def test_what_the_browser_says_is_taken_as_far_as_it_can_be(said, taken, sentence) -> None:
    page = AppTest.from_function(turning)
    page.session_state["said"] = said
    checked(page.run())
    keys = [f"p.{info.name}" for info in ROUTERS["ehrr"].parameters.knobs()] + ["heard:p", "p:said"]
    state = {key: page.session_state[key] for key in keys if key in page.session_state}
    problem = state.pop("p:said", "")
    assert state == taken
    assert sentence in problem
    assert bool(sentence) == bool(problem)
    assert "\u202e" not in problem


def stepping() -> None:
    from functools import partial

    import streamlit as st

    from core.routers.ehrr import EhrrParameters
    from dashboard.ui.frame import moved, noted
    from dashboard.ui.knobs import read_knobs, take_turned

    class Asked:
        defaults, prefix = EhrrParameters(), "ask.knob.ehrr"

        @property
        def setting(self) -> dict[str, str]:
            return {name: str(value) for name, value in read_knobs(self.defaults, self.prefix).changed().items()}

    noted(Asked().setting)
    take_turned(st.session_state["messages"], EhrrParameters.knobs(), Asked.prefix, partial(moved, Asked()))


def test_a_step_goes_back_through_gestures_and_one_that_was_not_stored_is_a_step_too() -> None:
    page = AppTest.from_function(stepping)
    messages = [{"count": 1, "values": {"alpha_t": 0.5}}, {"count": 2, "values": {"k": 7, "n": 5}}]
    page.session_state["messages"] = messages
    checked(page.run())

    def after(*messages: dict[str, Any]) -> tuple[object, ...]:
        page.session_state["messages"] = list(messages)
        checked(page.run())
        return tuple(page.session_state[f"{EHRR}.{name}"] for name in ("alpha_t", "k", "n", "kappa"))

    assert after({"count": 3, "step": -1}) == (0.5, 5, 3, 100.0)
    old_message, new_message = {"count": 3, "step": -1}, {"count": 4, "values": {"kappa": 3.0}, "step": -1}
    assert after(old_message, new_message) == (
        0.5,
        5,
        3,
        100.0,
    )  # what was undone before is gone, and what was heard is not done again
    assert after({"count": 5, "step": 1}) == (0.5, 5, 3, 3.0)
    assert after({"count": 6, "step": -(10**9)}) == (0.02, 5, 3, 100.0)
    assert after({"count": 7, "step": "1"}) == (0.02, 5, 3, 100.0)
    assert after({"count": 8, "step": 10**9}) == (0.5, 5, 3, 3.0)
    assert after({"count": 9, "to": 1}, {"count": 10, "to": "0"}) == (0.5, 5, 3, 100.0)
