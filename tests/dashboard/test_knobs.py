"""Knobs as widgets: each declared parameter of each router has one of the right kind, filled from the URL, and resettable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.domain.params import Knob
from core.embedding.cached import CachedEncoder
from core.embedding.onnx import onnx_source
from core.routers import ROUTERS
from core.routers.tool_attention import STATE
from core.store import Store
from dashboard import session
from dashboard.widgets.text import escaped

ROUTER = pytest.mark.parametrize("router", list(ROUTERS))
HOSTILE = "<b>**x**</b> :red[y] https://evil.example"


def script() -> None:
    from dashboard.views.route import page

    page()


@pytest.fixture(autouse=True, scope="module")
def console() -> Iterator[None]:
    """A console in memory; nothing is asked here, so nothing is embedded or recorded."""
    store = Store(None)
    with (
        Console(store, CachedEncoder(onnx_source(), store.vectors)) as opened,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        monkeypatch.setattr(session, "_console", opened)
        yield


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=30)
    app.query_params.update(query)
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def widget(app: AppTest, info: Knob) -> Any:
    """The widget of a knob, of the kind that fits it."""
    if info.kind is bool:
        found = app.toggle
    elif info.choices:
        found = app.selectbox
    elif info.free_text:
        found = app.text_input
    else:
        found = app.number_input if info.optional else app.slider
    return found(key=f"route.knob.{app.session_state['route.router']}.{info.name}")


def knobs_of(router: str) -> list[Knob]:
    """The knobs in the sidebar; the agent's state has an editor of its own."""
    return [info for info in ROUTERS[router].parameters.knobs() if info.group != STATE]


def set_knob(app: AppTest, info: Knob, value: object) -> AppTest:
    """The whole page after a knob was moved: first what the knob redraws, then everything."""
    checked(widget(app, info).set_value(value).run())
    return checked(app.run())


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


def group_titles(app: AppTest) -> dict[str, str]:
    return {part.label.split(" · ")[0].lower(): part.label for part in app.expander}


@ROUTER
def test_every_knob_is_a_widget_that_shows_its_range_default_and_help(router) -> None:
    app = visit(router=router)
    for info in knobs_of(router):
        drawn = widget(app, info)
        assert drawn.value == info.default, info.name
        assert type(drawn.value) is type(info.default)
        assert info.help.replace("$", r"\$").replace("_", r"\_") in drawn.help
        assert f"`{info.name}`" in drawn.help
        assert f"default {'off' if info.default is None else info.default}" in drawn.help
        assert info.symbol.replace("_", r"\_") in drawn.label
        assert info.unit.replace("$", r"\$") in drawn.label
        assert "●" not in drawn.label
        if info.choices:
            assert tuple(drawn.options) == info.choices
        elif info.kind not in (bool, str):
            assert (drawn.min, drawn.max, drawn.step) == (info.low, info.high, info.step)


@ROUTER
def test_every_group_is_an_expander_without_a_mark_at_first(router) -> None:
    groups = {info.group for info in knobs_of(router)}
    assert set(group_titles(visit(router=router)).values()) == {group.capitalize() for group in groups}


@ROUTER
def test_a_link_sets_every_knob_and_the_url_keeps_it(router) -> None:
    knobs = knobs_of(router)
    texts = {info.name: str(other_value(info)) for info in knobs}
    app = visit(router=router, **texts)
    for info in knobs:
        assert widget(app, info).value == other_value(info), info.name
        assert "●" in widget(app, info).label
    assert not app.warning
    assert {name: text for name, text in app.query_params.items() if name != "router"} == texts
    for group, title in group_titles(app).items():
        assert title.endswith(f":violet[{sum(info.group == group for info in knobs)} changed]")


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
    app = visit(**{name: text, "k": "7"})
    assert widget(app, info).value == info.default
    assert widget(app, knob("ehrr", "k")).value == 7
    (warning,) = app.warning
    plain = warning.value.replace("\\", "").replace("\u2060", "")
    assert f"{name} = " in plain
    assert said in plain
    assert app.query_params == {"k": "7"}
    assert not checked(app.run()).warning
    assert escaped(text) in warning.value


def test_names_that_no_parameter_has_are_passed_over() -> None:
    app = visit(alpha_z="1", decision="abc", alpha_t="0.5")
    assert widget(app, knob("ehrr", "alpha_t")).value == 0.5
    assert not app.warning
    assert app.query_params == {"alpha_t": "0.5"}


def test_a_moved_knob_is_marked_and_put_back_it_is_not() -> None:
    info = knob("ehrr", "alpha_t")
    app = set_knob(visit(), info, 0.5)
    assert "●" in widget(app, info).label
    assert group_titles(app)["reliability and time"] == "Reliability and time · :violet[1 changed]"
    assert app.query_params == {"alpha_t": "0.5"}
    back = set_knob(app, info, info.default)
    assert "●" not in widget(back, info).label
    assert group_titles(back)["reliability and time"] == "Reliability and time"
    assert back.query_params == {}


def test_reset_puts_every_knob_back() -> None:
    knobs = ROUTERS["ehrr"].parameters.knobs()
    app = visit(**{info.name: str(other_value(info)) for info in knobs})
    checked(next(button for button in app.button if button.label.startswith("Reset")).click().run())
    assert {info.name: widget(app, info).value for info in knobs} == {info.name: info.default for info in knobs}
    assert not [title for title in group_titles(app).values() if "changed" in title]
    assert app.query_params == {}


def test_no_limit_and_a_limit_of_nothing_are_two_things() -> None:
    budget = knob("ehrr", "budget_usd")
    app = visit()
    assert widget(app, budget).value is None
    assert widget(set_knob(app, knob("ehrr", "n"), 4), budget).value is None
    set_knob(app, budget, 0.0)
    assert app.query_params == {"n": "4", "budget_usd": "0.0"}
    assert "●" in widget(app, budget).label
    set_knob(app, budget, None)
    assert widget(app, budget).value is None
    assert app.query_params == {"n": "4"}
    assert widget(visit(budget_usd="0.0"), budget).value == 0.0
    assert widget(visit(budget_usd="off"), budget).value is None
