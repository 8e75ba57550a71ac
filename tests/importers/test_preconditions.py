"""Preconditions in a plain catalog: one form, every fault named with its place."""

from __future__ import annotations

import json

import pytest

from core.importers import read_document
from core.importers.reading import BrokenDocumentError
from tests.cases import each


def imported(preconditions: object):
    tool = {"name": "send", "description": "Sends.", "inputSchema": {}, "preconditions": preconditions}
    document = {"servers": [{"name": "mail", "description": "Mail.", "tools": [tool]}]}
    return read_document(json.dumps(document), source="a.json").servers[0].tools[0].preconditions


def test_they_are_kept_in_their_one_form_once_each():
    found = imported(
        ["is_authenticated('mail:write')", 'is_authenticated(scope="mail:write")', 'milestone_reached("ok")']
    )
    assert found == ('is_authenticated(scope="mail:write")', 'milestone_reached(name="ok")')


@pytest.mark.parametrize("nothing", [None, []])
def test_a_tool_without_any_has_none(nothing):
    assert imported(nothing) == ()


@each(
    ("preconditions", "said"),
    [
        ("is_authenticated('a')", r"preconditions is text; give a list"),
        ([7], r"preconditions\[0\] is a number; give text"),
        (['is_authenticated("a")', "open('x')"], r"preconditions\[1\] is none of is_authenticated"),
        (['is_authenticated(name="a")'], r"preconditions\[0\] names its argument name; is_authenticated takes scope"),
    ],
)
def test_what_is_none_is_a_fault_with_its_place(preconditions, said):
    with pytest.raises(BrokenDocumentError, match=r'tools\[0\] "send": ' + said):
        imported(preconditions)
