"""Knobs as widgets: each declared parameter of each router has one of the right kind, filled from the URL, and resettable."""

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
from tests.dashboard.harness import app_with, checked, open_page

ROUTER = pytest.mark.parametrize("router", list(ROUTERS))
HOSTILE = "<b>**x**</b> :red[y] https://evil.example"


app = app_with(scope="module")
visit = partial(open_page, "route")


def widget(page: AppTest, info: Knob) -> Any:
    """The widget of a knob, of the kind that fits it."""
    if info.kind is bool:
        found = page.toggle
    elif info.choices:
        found = page.selectbox
    elif info.free_text:
        found = page.text_input
    else:
        found = page.number_input if info.optional else page.slider
    return found(key=f"route.knob.{page.session_state['route.router']}.{info.name}")


def knobs_of(router: str) -> list[Knob]:
    """The knobs in the sidebar; the agent's state has an editor of its own."""
    return [info for info in ROUTERS[router].parameters.knobs() if info.group != STATE]


def set_knob(page: AppTest, info: Knob, value: object) -> AppTest:
    """The whole page after a knob was moved: first what the knob redraws, then everything."""
    checked(widget(page, info).set_value(value).run())
    return checked(page.run())


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


def group_titles(page: AppTest) -> dict[str, str]:
    return {part.label.split(" · ")[0].lower(): part.label for part in page.expander}


@ROUTER
def test_every_knob_is_a_widget_that_shows_its_range_default_and_help(router) -> None:
    page = visit(router=router)
    for info in knobs_of(router):
        drawn = widget(page, info)
        assert drawn.value == info.default, info.name
        assert type(drawn.value) is type(info.default)
        assert info.help.replace("$", r"\$").replace("_", r"\_") in drawn.help
        assert f"`{info.name}`" in drawn.help
        assert f"default {'off' if info.default is None else info.default}" in drawn.help
        assert info.label, "every knob has a plain name"
        assert drawn.label.startswith(knob_title(info).replace("_", r"\_"))
        assert info.unit.replace("$", r"\$") in drawn.label
        assert "●" not in drawn.label
        if info.choices:
            assert tuple(drawn.options) == info.choices
        elif info.kind not in (bool, str):
            assert (drawn.min, drawn.max, drawn.step) == (info.low, info.high, info.step)


def panel_of(info: Knob) -> str:
    """The fold that a knob stands in."""
    return ADVANCED if info.advanced else info.group


@ROUTER
def test_every_group_is_open_without_a_mark_at_first_and_what_few_people_change_is_folded(router) -> None:
    page = visit(router=router)
    panels = {panel_of(info) for info in knobs_of(router)}
    assert set(group_titles(page).values()) == {name.capitalize() for name in panels}
    assert {part.label for part in page.expander if not part.proto.expanded} <= {"Advanced"}
    assert sum(not info.advanced for info in knobs_of(router)) <= 12


def test_weights_priors_and_rates_are_advanced_and_what_decides_is_not() -> None:
    infos = {info.name: info for info in ROUTERS["ehrr"].parameters.knobs()}
    for name in ("w_names", "hint_weight", "prior_r", "lambda_r", "eps", "l_route_s", "billing", "hierarchy"):
        assert infos[name].advanced, name
    for name in ("n", "k", "alpha_t", "alpha_s", "kappa", "budget_usd", "p_bs", "p_ofs", "exploration"):
        assert not infos[name].advanced, name
    assert knob_title(infos["alpha_t"]) == "Time matters, αt"


@ROUTER
def test_a_link_sets_every_knob_and_the_url_keeps_it(router) -> None:
    knobs = knobs_of(router)
    texts = {info.name: str(other_value(info)) for info in knobs}
    page = visit(router=router, **texts)
    for info in knobs:
        assert widget(page, info).value == other_value(info), info.name
        assert "●" in widget(page, info).label
    assert not page.warning
    assert {name: text for name, text in page.query_params.items() if name != "router"} == texts
    for name, title in group_titles(page).items():
        assert title.endswith(f":violet[{sum(panel_of(info) == name for info in knobs)} changed]")


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("alpha_t", "abc", "is not a number"),
        ("alpha_t", "99", "is outside 0.0 to 2.0"),
        ("alpha_t", "inf", "is not a finite number"),
        ("n", "NaN", "is not a whole number"),
        ("n", "2.5", "is not a whole number"),
        ("n", "0", "is outside 1 to 50"),
        ("auction", "maybe", "is not true or false"),
        ("billing", "free", "is not one of per_call, per_attempt"),
        ("budget_usd", "-1", "is outside 0.0 to 1.0"),
        ("kappa", HOSTILE, "is not a number"),
    ],
)
def test_a_text_that_does_not_fit_is_named_and_the_default_stands(name, text, said) -> None:
    info = knob("ehrr", name)
    page = visit(**{name: text, "k": "7"})
    assert widget(page, info).value == info.default
    assert widget(page, knob("ehrr", "k")).value == 7
    (warning,) = page.warning
    plain = warning.value.replace("\\", "").replace("\u2060", "")
    assert f"{name} = " in plain
    assert said in plain
    assert page.query_params == {"k": "7"}
    assert not checked(page.run()).warning
    assert escaped(text) in warning.value


def test_names_that_no_parameter_has_are_passed_over() -> None:
    page = visit(alpha_z="1", decision="abc", alpha_t="0.5")
    assert widget(page, knob("ehrr", "alpha_t")).value == 0.5
    assert not page.warning
    assert page.query_params == {"alpha_t": "0.5"}


def test_a_moved_knob_is_marked_and_put_back_it_is_not() -> None:
    info = knob("ehrr", "alpha_t")
    page = set_knob(visit(), info, 0.5)
    assert "●" in widget(page, info).label
    assert group_titles(page)["reliability and time"] == "Reliability and time · :violet[1 changed]"
    assert page.query_params == {"alpha_t": "0.5"}
    back = set_knob(page, info, info.default)
    assert "●" not in widget(back, info).label
    assert group_titles(back)["reliability and time"] == "Reliability and time"
    assert back.query_params == {}


def test_reset_puts_every_knob_back() -> None:
    knobs = ROUTERS["ehrr"].parameters.knobs()
    page = visit(**{info.name: str(other_value(info)) for info in knobs})
    checked(next(button for button in page.button if button.label.startswith("Reset")).click().run())
    assert {info.name: widget(page, info).value for info in knobs} == {info.name: info.default for info in knobs}
    assert not [title for title in group_titles(page).values() if "changed" in title]
    assert page.query_params == {}


def test_no_limit_and_a_limit_of_nothing_are_two_things() -> None:
    budget = knob("ehrr", "budget_usd")
    page = visit()
    assert widget(page, budget).value is None
    assert widget(set_knob(page, knob("ehrr", "n"), 4), budget).value is None
    set_knob(page, budget, 0.0)
    assert page.query_params == {"n": "4", "budget_usd": "0.0"}
    assert "●" in widget(page, budget).label
    set_knob(page, budget, None)
    assert widget(page, budget).value is None
    assert page.query_params == {"n": "4"}
    assert widget(visit(budget_usd="0.0"), budget).value == 0.0
    assert widget(visit(budget_usd="off"), budget).value is None
