"""Preconditions of calls: three predicates in one form, nothing evaluated; and how an agent's state satisfies them."""

from __future__ import annotations

import pytest

from core.domain.execution import AgentState, Precondition
from tests.cases import each


def state(scopes: str = "none", outputs: str = "none", milestones: str = "none") -> AgentState:
    return AgentState.of(scopes=scopes, outputs=outputs, milestones=milestones)


@each("form", ['{}("{}")', "{}('{}')", "  {}(  '{}'  )  ", "{}({argument} = '{}')"])
@each(("name", "argument"), [("is_authenticated", "scope"), ("has_prior_tool_output", "prefix"), ("milestone_reached", "name")])  # fmt: skip
def test_one_precondition_has_one_text(form, name, argument):
    text = str(Precondition.parse(form.format(name, "a.b/c-d_e@f+g:h", argument=argument)))
    assert text == f'{name}({argument}="a.b/c-d_e@f+g:h")'
    assert str(Precondition.parse(text)) == text


@each(("text", "said"), [
    *((text, "is none of is_authenticated") for text in (
        "", "__import__('os').system('true')", 'eval("1")', "is_authenticated", "is_authenticated(mail)",
        'is_authenticated("a") or milestone_reached("b")', "is_authenticated('a\")")),
    ('is_authenticated(name="a")', "names its argument name; is_authenticated takes scope"), ('is_authenticated("")', "has a scope that is no name"),
    ('milestone_reached("<b>")', "has a name that is no name"), ('has_prior_tool_output("\u202e")', "has a prefix that is no name"),
    (f'is_authenticated("{"x" * 101}")', "has a scope that is no name"),
], ids=lambda case: ascii(case)[:30])  # fmt: skip
def test_anything_else_is_refused_with_what_would_be_right(text, said):
    with pytest.raises(ValueError, match=said):
        Precondition.parse(text)


@each(("predicate", "value", "part", "held", "holds"), [
    *(("is_authenticated", "mail:write", "scopes", held, True) for held in ("mail:write", "*", "mail:*")),
    *(("is_authenticated", "mail:write", "scopes", held, False) for held in ("none", "mail:read", "mail", "")),
    *(("has_prior_tool_output", "search_", "outputs", held, True) for held in (
        "files::search_text", "search_web", "*", "files::read, web::search_news", "search_files::list")),
    *(("has_prior_tool_output", "search_", "outputs", held, False) for held in ("files::research_", "none")),
    ("has_prior_tool_output", "files::search", "outputs", "files::search_text", True),
    ("has_prior_tool_output", "files::search", "outputs", "mail::search_text", False),
    ("milestone_reached", "plan_confirmed", "milestones", "drafted plan_confirmed", True),
    ("milestone_reached", "plan_confirmed", "milestones", "plan", False),
    ("milestone_reached", "confirmed", "scopes", "confirmed", False),
])  # fmt: skip
def test_what_a_state_satisfies(predicate, value, part, held, holds):
    assert state(**{part: held}).satisfies(Precondition(predicate, value)) is holds


def test_all_of_a_tools_preconditions_have_to_hold():
    needs = ('is_authenticated(scope="a")', 'milestone_reached(name="b")', 'is_authenticated(scope="c")')
    assert state(scopes="a").unmet(needs) == needs[1:]
    assert state(scopes="a,c", milestones="b").unmet(needs) == ()
    assert state(scopes="*", outputs="*", milestones="*").unmet(("anything()",)) == ("anything()",)


def test_a_state_in_words_stays_short():
    words = state(scopes=",".join(f"scope{n:02}" for n in range(20)), outputs="x" * 500).in_words()
    assert words.startswith("scopes scope00, scope01")
    assert "12 more; outputs xxx" in words
    assert words.endswith("milestones none")
    assert len(words) < 200
