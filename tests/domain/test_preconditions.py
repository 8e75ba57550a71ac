"""Preconditions: three predicates in one form, nothing evaluated; and what an agent's state satisfies."""

from __future__ import annotations

import pytest

from core.domain.execution import AgentState, Precondition
from tests.cases import each


def state(scopes: str = "none", outputs: str = "none", milestones: str = "none") -> AgentState:
    return AgentState.of(scopes=scopes, outputs=outputs, milestones=milestones)


@each(
    "text",
    [
        'is_authenticated(scope="mail:write")',
        "is_authenticated(scope='mail:write')",
        'is_authenticated("mail:write")',
        "  is_authenticated(  'mail:write'  )  ",
        'is_authenticated(scope = "mail:write")',
    ],
)
def test_one_precondition_has_one_text(text):
    assert str(Precondition.parse(text)) == 'is_authenticated(scope="mail:write")'


@each("name", ["is_authenticated", "has_prior_tool_output", "milestone_reached"])
def test_what_is_written_is_read_back(name):
    once = Precondition.parse(f'{name}("a.b/c-d_e@f+g:h")')
    assert Precondition.parse(str(once)) == once


@each(
    ("text", "said"),
    [
        ("", "is none of is_authenticated"),
        ("__import__('os').system('true')", "is none of is_authenticated"),
        ('eval("1")', "is none of is_authenticated"),
        ("is_authenticated", "is none of is_authenticated"),
        ("is_authenticated(mail)", "is none of is_authenticated"),
        ('is_authenticated("a") or milestone_reached("b")', "is none of is_authenticated"),
        ("is_authenticated('a\")", "is none of is_authenticated"),
        ('is_authenticated(name="a")', "names its argument name; is_authenticated takes scope"),
        ('is_authenticated("")', "has a scope that is no name"),
        ('milestone_reached("a b")', "has a name that is no name"),
        ('milestone_reached("<b>")', "has a name that is no name"),
        ('has_prior_tool_output("\u202e")', "has a prefix that is no name"),
        (f'is_authenticated("{"x" * 101}")', "has a scope that is no name"),
    ],
)
def test_anything_else_is_refused_with_what_would_be_right(text, said):
    with pytest.raises(ValueError, match=said):
        Precondition.parse(text)


@each(
    ("held", "holds"),
    [
        ("mail:write", True),
        ("*", True),
        ("mail:*", True),
        ("none", False),
        ("mail:read", False),
        ("mail", False),
        ("", False),
    ],
)
def test_a_scope_is_held_by_its_name_or_by_what_begins_it(held, holds):
    assert state(scopes=held).satisfies(Precondition("is_authenticated", "mail:write")) is holds


@each(
    ("seen", "holds"),
    [
        ("files::search_text", True),
        ("search_web", True),
        ("*", True),
        ("files::read, web::search_news", True),
        ("files::research_", False),
        ("search_files::list", True),
        ("none", False),
    ],
)
def test_an_output_was_seen_where_the_tools_name_begins_so(seen, holds):
    assert state(outputs=seen).satisfies(Precondition("has_prior_tool_output", "search_")) is holds


def test_a_prefix_may_name_the_server():
    wanted = Precondition("has_prior_tool_output", "files::search")
    assert state(outputs="files::search_text").satisfies(wanted)
    assert not state(outputs="mail::search_text").satisfies(wanted)


def test_a_milestone_is_reached_by_its_name():
    wanted = Precondition("milestone_reached", "plan_confirmed")
    assert state(milestones="drafted plan_confirmed").satisfies(wanted)
    assert not state(milestones="plan").satisfies(wanted)


def test_a_scope_is_no_milestone():
    assert not state(scopes="confirmed", outputs="confirmed").satisfies(Precondition("milestone_reached", "confirmed"))


def test_all_of_a_tools_preconditions_have_to_hold():
    needs = ('is_authenticated(scope="a")', 'milestone_reached(name="b")', 'is_authenticated(scope="c")')
    assert state(scopes="a").unmet(needs) == needs[1:]
    assert state(scopes="a,c", milestones="b").unmet(needs) == ()


def test_a_precondition_that_cannot_be_read_does_not_hold():
    assert state(scopes="*", outputs="*", milestones="*").unmet(("anything()",)) == ("anything()",)


def test_a_state_in_words_stays_short():
    words = state(scopes=",".join(f"scope{n:02}" for n in range(20)), outputs="x" * 500).in_words()
    assert words.startswith("scopes scope00, scope01")
    assert "12 more; outputs xxx" in words
    assert words.endswith("milestones none")
    assert len(words) < 200
