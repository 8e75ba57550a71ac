"""The editor of the agent's state on the Route page: its options, its effects, and why tools are held back."""

from __future__ import annotations

import itertools

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.ui.text import escaped
from tests.dashboard.harness import app_with, checked, markdown_of, open_page, text_of

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
FREE = {"servers": [{"name": "mail", "tools": [{"name": "find", "description": "Finds letters sent."}]}]}
ASKED = {"q": "send a letter", "catalog": "post", "router": "tool_attention", "theta": "0.0"}
NOTHING = {"scopes": "none", "outputs": "none", "milestones": "none"}


app = app_with({"post": CATALOG, "free": FREE}, scope="module")


def visit(**query: str) -> AppTest:
    return open_page("route", **{**ASKED, **query})


def part(page: AppTest, name: str):
    return page.multiselect(key=f"route.state.{name}")


def state(page: AppTest) -> dict[str, list[str]]:
    return {name: part(page, name).value for name in NOTHING}


def url(page: AppTest) -> dict[str, str]:
    """The URL's values beside the question."""
    return {name: text for name, text in page.query_params.items() if name not in ASKED}


def candidates(page: AppTest) -> set[str]:
    prefix = "route:call:"
    return {button.key.removeprefix(prefix) for button in page.button if (button.key or "").startswith(prefix)}


def click(page: AppTest, key: str) -> AppTest:
    return checked(page.button(key=key).click().run())


def test_it_offers_what_the_preconditions_name_and_a_change_changes_the_decision_and_the_url() -> None:
    page = visit()
    assert {name: part(page, name).options for name in NOTHING} == {
        "scopes": ["everything", "mail:write"],
        "outputs": ["everything", "find"],
        "milestones": ["everything", "confirmed"],
    }
    assert state(page) == {name: ["*"] for name in NOTHING}
    assert "2 tools have preconditions in this catalog." in markdown_of(page)
    assert "The state leaves out no tool above the threshold." in markdown_of(page)
    assert candidates(page) == {"mail::send", "mail::find", "mail::reply"}

    checked(part(page, "scopes").set_value([]).run())
    assert candidates(page) == {"mail::find", "mail::reply"}
    assert url(page) == {"scopes": "none"}
    checked(part(page, "scopes").set_value(["mail:write"]).run())
    assert candidates(page) == {"mail::send", "mail::find", "mail::reply"}
    assert url(page) == {"scopes": "mail:write"}
    checked(part(page, "scopes").set_value(["mail:write", "*"]).run())  # everything and something are not held together
    assert part(page, "scopes").value == ["*"]
    checked(part(page, "scopes").set_value(["*", "mail:write"]).run())
    assert part(page, "scopes").value == ["mail:write"]


def test_each_tool_that_is_left_out_says_what_it_lacks_and_where_it_would_stand() -> None:
    text = markdown_of(visit(**NOTHING))
    assert f"**{escaped('mail::send')}** lacks :orange-badge[{escaped('scope mail:write')}] " in text
    assert f":orange-badge[{escaped('milestone confirmed')}]" in text
    assert f"**{escaped('mail::reply')}** lacks :orange-badge[{escaped('output of find')}]" in text
    assert "would be candidate 1" in text
    assert "would be outranked" in markdown_of(visit(**NOTHING, n="1", q="finds letters sent"))


def test_a_link_opens_the_state_that_it_carries_as_text_and_granting_adds_what_a_tool_lacks() -> None:
    page = visit(scopes="chat:write,<b>**x**</b>", outputs="none", milestones="none")
    assert state(page) == {"scopes": ["<b>**x**</b>", "chat:write"], "outputs": [], "milestones": []}
    assert "**x**</b>" not in markdown_of(page)
    assert candidates(page) == {"mail::find"}
    click(page, "route:grant:mail::send")
    assert url(page) == {"scopes": "<b>**x**</b>,chat:write,mail:write", "outputs": "none", "milestones": "confirmed"}
    assert candidates(page) == {"mail::send", "mail::find"}
    click(page, "route:grant:mail::reply")
    assert url(page)["outputs"] == "find"
    assert candidates(page) == {"mail::send", "mail::find", "mail::reply"}


def test_one_click_holds_nothing_or_everything() -> None:
    page = visit()
    click(page, "route:state:none")
    assert url(page) == NOTHING
    assert candidates(page) == {"mail::find"}
    click(page, "route:state:*")
    assert url(page) == {}


def test_where_all_is_left_out_the_page_still_offers_a_way_out() -> None:
    page = visit(**NOTHING, similarity="views", theta="0.99", q="Sends a letter. mail send")
    assert candidates(page) == set()
    assert "The agent's state holds back the only tool above the threshold" in text_of(page)
    click(page, "route:grant:mail::send")
    assert candidates(page) == {"mail::send"}


def test_without_preconditions_the_state_is_not_asked_and_cannot_be_edited() -> None:
    page = visit(**NOTHING, preconditions="false")
    assert all(part(page, name).disabled for name in NOTHING)
    assert "Preconditions are off" in markdown_of(page)
    assert "mail::send" in candidates(page)


def test_a_catalog_without_preconditions_says_so() -> None:
    assert "No tool has preconditions in this catalog." in markdown_of(visit(catalog="free"))


def test_another_router_has_no_state() -> None:
    assert not visit(router="simple_retrieval", theta="").multiselect


PLANNED = {"q": "find letters sent, then reply to them with answers", "plan": "rules", "n": "3"}


def test_a_plan_has_the_state_too_and_says_which_step_leaves_a_tool_out() -> None:
    page = visit(**PLANNED, **NOTHING)
    assert state(page) == {name: [] for name in NOTHING}
    assert "has also seen the outputs" in markdown_of(page)
    lines = markdown_of(page).replace("\\", "").splitlines()
    reasons = {line.split("**")[1]: reason for line, reason in itertools.pairwise(lines) if "lock:" in line}
    assert set(reasons) == {"mail::send", "mail::reply"}
    assert "step 1: ISO" in reasons["mail::reply"]  # in step 2 the letters have been found
    page = click(page, "route:grant:mail::send")
    assert url(page) == {
        "plan": "rules",
        "n": "3",
        "scopes": "mail:write",
        "outputs": "none",
        "milestones": "confirmed",
    }
    assert not [
        line for line in markdown_of(page).replace("\\", "").splitlines() if "lock:" in line and "mail::send" in line
    ]


def test_a_plans_step_is_opened_with_what_it_has_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    links: list[dict[str, str]] = []
    monkeypatch.setattr("dashboard.pages.route.plan.open_page", lambda page, **texts: links.append(texts))
    click(visit(**PLANNED, **NOTHING), "route:plan:open:1")
    (texts,) = links
    assert texts["outputs"] == "mail::find"
    assert (texts["scopes"], texts.get("plan", ""), texts["router"]) == ("none", "", "tool_attention")
