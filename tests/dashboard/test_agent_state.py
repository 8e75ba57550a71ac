"""The editor of the agent's state on the Route page: what it offers, what it changes, and what each held-back tool lacks."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

from core.console import Console
from core.embedding.cached import CachedEncoder, EncoderSource
from core.store import Store
from dashboard import session
from dashboard.widgets.text import escaped
from tests.embedding.toys import Letters

SEND = ['is_authenticated("mail:write")', 'milestone_reached("confirmed")']
CATALOG = {
    "servers": [
        {
            "name": "mail",
            "tools": [
                {"name": "send", "description": "Sends a letter.", "preconditions": SEND},
                {"name": "find", "description": "Finds letters sent."},
                {"name": "reply", "description": "Sends answers.", "preconditions": ['has_prior_tool_output("find")']},
            ],
        }
    ]
}
ASKED = {"q": "send a letter", "catalog": "post", "router": "tool_attention", "theta": "0.0"}
NOTHING = {"scopes": "none", "outputs": "none", "milestones": "none"}


def script() -> None:
    from dashboard.views.route import page

    page()


@pytest.fixture(autouse=True, scope="module")
def console() -> Iterator[None]:
    store = Store(None)
    with (
        Console(store, CachedEncoder(EncoderSource.of(Letters()), store.vectors), seed=1) as opened,
        pytest.MonkeyPatch.context() as monkeypatch,
    ):
        opened.desk.import_text(json.dumps(CATALOG), "post")
        free = {"servers": [{"name": "mail", "tools": [{"name": "find", "description": "Finds letters sent."}]}]}
        opened.desk.import_text(json.dumps(free), "free")
        monkeypatch.setattr(session, "_console", opened)
        yield


def visit(**query: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=30)
    app.query_params.update({**ASKED, **query})
    return checked(app.run())


def checked(app: AppTest) -> AppTest:
    assert not app.exception, app.exception[0].value
    return app


def part(app: AppTest, name: str):
    return app.multiselect(key=f"route.state.{name}")


def state(app: AppTest) -> dict[str, list[str]]:
    return {name: part(app, name).value for name in NOTHING}


def url(app: AppTest) -> dict[str, str]:
    """What the URL carries beside the question."""
    return {name: text for name, text in app.query_params.items() if name not in ASKED}


def candidates(app: AppTest) -> set[str]:
    prefix = "route:call:"
    return {one.key.removeprefix(prefix) for one in app.button if (one.key or "").startswith(prefix)}


def said(app: AppTest) -> str:
    return "\n".join(str(one.value) for kind in (app.markdown, app.caption, app.warning) for one in kind)


def click(app: AppTest, key: str) -> AppTest:
    return checked(app.button(key=key).click().run())


def test_it_offers_what_the_catalogs_preconditions_name_and_everything() -> None:
    app = visit()
    assert {name: part(app, name).options for name in NOTHING} == {
        "scopes": ["everything", "mail:write"],
        "outputs": ["everything", "find"],
        "milestones": ["everything", "confirmed"],
    }
    assert state(app) == {name: ["*"] for name in NOTHING}
    assert "2 tools have preconditions in this catalog." in said(app)
    assert "No tool above the threshold is held back." in said(app)
    assert candidates(app) == {"mail::send", "mail::find", "mail::reply"}


def test_a_change_changes_the_decision_and_the_url() -> None:
    app = visit()
    checked(part(app, "scopes").set_value([]).run())
    assert candidates(app) == {"mail::find", "mail::reply"}
    assert url(app) == {"scopes": "none"}
    checked(part(app, "scopes").set_value(["mail:write"]).run())
    assert candidates(app) == {"mail::send", "mail::find", "mail::reply"}
    assert url(app) == {"scopes": "mail:write"}


def test_a_link_opens_the_state_that_it_carries() -> None:
    app = visit(scopes="mail:read,mail:write", outputs="none", milestones="*")
    assert state(app) == {"scopes": ["mail:read", "mail:write"], "outputs": [], "milestones": ["*"]}
    assert candidates(app) == {"mail::send", "mail::find"}
    assert url(app) == {"scopes": "mail:read,mail:write", "outputs": "none"}


def test_each_tool_that_is_held_back_says_what_it_lacks_and_where_it_would_stand() -> None:
    text = said(visit(**NOTHING))
    assert f"**{escaped('mail::send')}** lacks :orange-badge[{escaped('scope mail:write')}] " in text
    assert f":orange-badge[{escaped('milestone confirmed')}]" in text
    assert f"**{escaped('mail::reply')}** lacks :orange-badge[{escaped('output of find')}]" in text
    assert "would be candidate 1" in text


def test_a_tool_that_would_not_be_among_the_k_is_no_candidate() -> None:
    assert "would be outranked" in said(visit(**NOTHING, n="1", q="finds letters sent"))


def test_granting_adds_what_a_tool_lacks_to_what_is_held() -> None:
    app = visit(scopes="chat:write", outputs="none", milestones="none")
    click(app, "route:grant:mail::send")
    assert url(app) == {"scopes": "chat:write,mail:write", "outputs": "none", "milestones": "confirmed"}
    assert candidates(app) == {"mail::send", "mail::find"}
    click(app, "route:grant:mail::reply")
    assert url(app)["outputs"] == "find"
    assert candidates(app) == {"mail::send", "mail::find", "mail::reply"}


def test_everything_and_something_are_not_held_together() -> None:
    app = visit()
    checked(part(app, "scopes").set_value(["*", "mail:write"]).run())
    assert part(app, "scopes").value == ["mail:write"]
    checked(part(app, "scopes").set_value(["mail:write", "*"]).run())
    assert part(app, "scopes").value == ["*"]
    assert url(app) == {}


def test_one_click_holds_nothing_or_everything_and_a_reset_everything() -> None:
    app = visit()
    click(app, "route:state:none")
    assert url(app) == NOTHING
    assert candidates(app) == {"mail::find"}
    click(app, "route:state:*")
    assert url(app) == {}
    click(app, "route:state:none")
    next(button for button in app.button if button.label == "Reset all knobs").click()
    assert state(checked(app.run())) == {name: ["*"] for name in NOTHING}


def test_where_all_is_held_back_the_page_still_offers_a_way_out() -> None:
    app = visit(**NOTHING, theta="0.99", q="Sends a letter. mail send")
    assert candidates(app) == set()
    assert "The agent's state holds back the only tool above the threshold" in said(app).replace("\\", "")
    click(app, "route:grant:mail::send")
    assert candidates(app) == {"mail::send"}


def test_without_preconditions_the_state_is_not_asked_and_cannot_be_edited() -> None:
    app = visit(**NOTHING, preconditions="false")
    assert all(part(app, name).disabled for name in NOTHING)
    assert "Preconditions are switched off" in said(app)
    assert "mail::send" in candidates(app)


def test_a_catalog_without_preconditions_says_so() -> None:
    assert "No tool has preconditions in this catalog." in said(visit(catalog="free"))


def test_another_router_has_no_state() -> None:
    assert not visit(router="simple_retrieval", theta="").multiselect


def test_what_a_link_puts_into_the_state_is_text() -> None:
    app = visit(scopes="<b>**x**</b>,:red[y]")
    assert state(app)["scopes"] == [":red[y]", "<b>**x**</b>"]
    assert "**x**</b>" not in said(app)


PLANNED = {"q": "find letters sent, then reply to them with answers", "plan": "rules", "n": "3"}


def test_a_plan_has_the_state_too_and_says_which_step_a_tool_is_held_back_from() -> None:
    app = visit(**PLANNED, **NOTHING)
    assert state(app) == {name: [] for name in NOTHING}
    assert "has besides seen the outputs" in said(app)
    lines = said(app).replace("\\", "").splitlines()
    held = {line.split("**")[1]: after for line, after in itertools.pairwise(lines) if "lock:" in line}
    assert set(held) == {"mail::send", "mail::reply"}
    assert "step 1: ISO" in held["mail::reply"]  # in step 2 the letters have been found
    app = click(app, "route:grant:mail::send")
    assert url(app) == {"plan": "rules", "n": "3", "scopes": "mail:write", "outputs": "none", "milestones": "confirmed"}
    assert not [line for line in said(app).replace("\\", "").splitlines() if "lock:" in line and "mail::send" in line]


def test_a_plans_step_is_opened_with_what_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[dict[str, str]] = []
    monkeypatch.setattr("dashboard.widgets.plan.open_page", lambda page, **texts: opened.append(texts))
    click(visit(**PLANNED, **NOTHING), "route:plan:open:1")
    (texts,) = opened
    assert texts["outputs"] == "mail::find"
    assert (texts["scopes"], texts["plan"], texts["router"]) == ("none", "", "tool_attention")
