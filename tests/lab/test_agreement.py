"""Several judges: alpha against a published example and by hand, rules that settle, judged sub-tasks as tasks."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pytest

from core.domain.feedback import AskedQuery, Judgment
from core.lab.agreement import Settled, agreement, judged_tasks, ordinal_alpha, settled
from core.shared.errors import ParameterError
from tests.cases import each

NOW = datetime(2026, 3, 1, tzinfo=UTC)
READ, FLY = AskedQuery("read a file"), AskedQuery("fly", "travel")


def judgment(query: AskedQuery, tool: str, judge: str, grade: int) -> Judgment:
    return Judgment(NOW, "demo", "trip", *query, tool, grade, judge, "", "console")


def judged(*said: tuple[str, str]) -> list[Judgment]:
    """Judgments of one query: tools, each with the grades of judges in turn, "." where one says nothing."""
    return [
        judgment(READ, tool, f"j{at}", int(grade))
        for tool, grades in said
        for at, grade in enumerate(grades)
        if grade != "."
    ]


def test_alpha_is_that_of_the_published_example() -> None:
    """Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", section C: 4 observers, 12 units, ordinal 0.815."""
    observers = [
        "1233214 12...".replace(" ", ""),
        "123322412 5.3".replace(" ", ""),
        ".33323422 51.".replace(" ", ""),
        "123324412 51.".replace(" ", ""),
    ]
    counts = np.array(
        [[sum(row[unit] == str(value) for row in observers) for value in range(1, 6)] for unit in range(12)]
    )
    found = ordinal_alpha(counts)
    assert found is not None
    assert round(found, 3) == 0.815


def test_alpha_by_hand() -> None:
    """Two tools, (3, 2) and (0, 0): n = 2, 1, 1 of the grades 0, 2, 3. Distances d02 = (3 - 1.5)² = 2.25, d03 = (4 - 1.5)² = 6.25,
    d23 = (2 - 1)² = 1. Observed 2 · 1; expected 2 (2·1·2.25 + 2·1·6.25 + 1·1·1) / 3 = 12; alpha = 1 - 2 / 12."""
    found = agreement(judged(("a::x", "32"), ("a::y", "00"), ("a::z", "1.")))
    assert found.alpha == pytest.approx(1 - 2 / 12)
    assert (found.judges, found.units, found.shared, found.same) == ({"j0": 3, "j1": 2}, 3, 2, 1)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.alpha <= found.high


@pytest.mark.parametrize("said", [(("a::x", "3."), ("a::y", ".1")), (("a::x", "22"), ("a::y", "22"))])
def test_alpha_is_not_defined_without_shared_tools_or_without_differences(said: tuple[tuple[str, str], ...]) -> None:
    found = agreement(judged(*said))
    assert (found.alpha, found.low, found.high) == (None, None, None)


@each(
    ("grades", "median", "majority", "unanimous"),
    [
        ("2", 2, 2, 2),
        ("12", 1, None, None),
        ("033", 3, 3, None),
        ("0123", 1, None, None),
        ("11", 1, 1, 1),
        ("013", 1, None, None),
    ],
)
def test_rules_settle_or_leave_out(grades: str, median: int, majority: int | None, unanimous: int | None) -> None:
    for rule, expected in (("median", median), ("majority", majority), ("unanimous", unanimous)):
        found: Settled = settled(judged(("a::x", grades)), rule)
        assert found == ({} if expected is None else {READ: {"a::x": expected}}), rule


def test_one_judge_alone_counts_and_one_who_is_not_there_is_named() -> None:
    said = judged(("a::x", "03"), ("a::y", "1."))
    assert settled(said, "judge:j1") == {READ: {"a::x": 3}}
    with pytest.raises(ParameterError, match="no judgment of 'zoe' in this set; its judges are j0, j1"):
        settled(said, "judge:zoe")
    with pytest.raises(ParameterError, match=r"no rule 'mean'.*choose median, majority, unanimous or judge:NAME"):
        settled(said, "mean")


def test_judged_queries_are_tasks_with_the_best_tools_first() -> None:
    tasks, left_out = judged_tasks({READ: {"a::x": 0, "a::y": 1, "a::b": 3, "a::a": 1}, FLY: {"a::x": 0}})
    assert left_out == 1  # of FLY nobody said that nothing can do it
    (task,) = tasks
    assert (task.id, task.subtask, task.relevant) == (READ.id, "read a file", ("a::b", "a::a", "a::y"))
    assert task.grades == {"a::x": 0.0, "a::y": 1.0, "a::b": 3.0, "a::a": 1.0}
    assert FLY.id != AskedQuery("fly").id
