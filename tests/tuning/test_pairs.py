"""Pairs: which texts ask for which tool, drawn alike for a seed."""

from __future__ import annotations

import pytest

from core.domain.catalog import Tool
from core.domain.errors import ParameterError
from core.relevance.tuning.judging import (
    SAMPLE_TASKS,
    TuningSettings,
    labelled,
    shipped_catalogs,
    synthetic,
    training_pairs,
)
from tests.cases import each

from .toys import CATALOG, TASKS, TOOLS


def test_question_subtask_and_steps_of_plans_are_labelled_and_refusals_are_not() -> None:
    assert list(labelled(TASKS)) == [
        ("what do my notes say", ("files::read_file",)),
        ("open the notes", ("files::read_file",)),
        ("tell Ann by mail", ("mail::send_mail",)),
        ("look it up and keep it", ("web::search", "files::write_file")),
        ("look it up", ("web::search",)),
        ("keep it", ("files::write_file",)),
        ("a tool of another catalog", ("moon::land",)),
    ]


def test_pairs_know_everything_that_is_right_and_nothing_that_is_not_there() -> None:
    pairs = training_pairs([CATALOG], TuningSettings(synthetic=0), 0)
    assert {pair.query for pair in pairs} == {query for query, _ in labelled(TASKS)} - {"a tool of another catalog"}
    equal = {"mail::find_mail", "web::search"}
    assert {pair.accepted for pair in pairs if pair.query == "look it up"} == {frozenset(equal)}
    two_each = training_pairs([CATALOG], TuningSettings(synthetic=0, positives=2), 0)
    assert [pair.tool for pair in two_each if pair.query == "look it up and keep it"] in (
        ["web::search", "files::write_file"],
        ["files::write_file", "web::search"],
    )


def test_pairs_are_drawn_by_seed_and_epoch() -> None:
    first = training_pairs([CATALOG], TuningSettings(), 0)
    assert first == training_pairs([CATALOG], TuningSettings(), 0)
    assert first != training_pairs([CATALOG], TuningSettings(), 1)
    assert first != training_pairs([CATALOG], TuningSettings(seed=13), 0)


def test_a_text_made_from_a_tool_is_never_in_its_view() -> None:
    for tool in TOOLS:
        for query, views in synthetic(tool):
            assert all(query not in view for view in views), (query, views)
    assert synthetic(Tool("web", "fetch", "x")) == []


def test_the_shipped_catalogs_are_labelled_and_the_everyday_questions_stay_out() -> None:
    catalogs = shipped_catalogs()
    assert [catalog.name for catalog in catalogs] == ["sample", "attention-120", "search-15"]
    assert "everyday" not in SAMPLE_TASKS
    for catalog in catalogs:
        tool_ids = {tool.id for tool in catalog.tools}
        assert all(set(relevant) <= tool_ids for _, relevant in labelled(catalog.tasks))
        assert catalog.tasks
    assert len(training_pairs(catalogs, TuningSettings(), 0)) > 4000


@each(("name", "value"), [("rank", 0), ("layers", -1), ("steps", -1), ("seed", -2)])
def test_settings_below_their_least_are_one_sentence(name: str, value: int) -> None:
    with pytest.raises(ParameterError, match=rf"^{name} is {value}; give \d or more\.$"):
        TuningSettings(**{name: value})
