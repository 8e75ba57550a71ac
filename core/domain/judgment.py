"""Judgments: how well a tool does a sub-task, in grades, by named judges, in sets of one's own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from core.domain.scenario_run import fingerprint

GRADES = (0, 1, 2, 3)
GRADE_WORDS = ("cannot do it", "does a part of it", "does it", "does it best")
MOST_NOTE_CHARACTERS = 2_000
MOST_NAME_CHARACTERS = 80
FIRST_SET = "my judgments"  # what a set is called where nobody named one


class AskedQuery(NamedTuple):
    """What was asked: a sub-task and its server hint."""

    subtask: str
    server_hint: str = ""

    @property
    def id(self) -> str:
        """The query's id in files and as a task: the same words have the same id.

        >>> AskedQuery("read a file").id
        '70a80f9069a89f26'
        """
        return fingerprint([self.subtask, self.server_hint])


@dataclass(frozen=True, slots=True)
class Judgment:
    """One judge's grade, 0 to 3 (`GRADE_WORDS`), of one tool (`server::tool`) for one sub-task, in a named set of a catalog.

    `grade` None takes back what this judge said before. `at` is when it was judged, UTC; `note` says why, and `decision_id` names
    the decision that was looked at, None where there was none.
    """

    at: datetime
    catalog: str
    set_name: str
    subtask: str
    server_hint: str
    tool: str
    grade: int | None
    judge: str
    note: str
    origin: str
    decision_id: str | None = None

    @property
    def query(self) -> AskedQuery:
        """What was asked."""
        return AskedQuery(self.subtask, self.server_hint)


def last_said(entries: Iterable[Judgment]) -> tuple[Judgment, ...]:
    """The judgments that count; `entries` and these in order of commit. Of each set, query, tool and judge it is the last one, and
    nothing where that takes back."""
    last: dict[tuple[str, AskedQuery, str, str], Judgment] = {}
    for one in entries:
        key = one.set_name, one.query, one.tool, one.judge
        last.pop(key, None)
        last[key] = one
    return tuple(one for one in last.values() if one.grade is not None)


@dataclass(frozen=True, slots=True)
class JudgmentSets:
    """The judgments of a catalog that count, in order of commit; its sets with how many each has, the newest first; and by set and
    judge what that one says of a tool for a query."""

    judgments: tuple[Judgment, ...]
    sets: Mapping[str, int]
    graded: Mapping[tuple[str, str], Mapping[tuple[AskedQuery, str], Judgment]]

    @classmethod
    def of(cls, entries: Iterable[Judgment]) -> JudgmentSets:
        """From entries in order of commit."""
        judgments = last_said(entries)
        graded: dict[tuple[str, str], dict[tuple[AskedQuery, str], Judgment]] = {}
        for one in judgments:
            graded.setdefault((one.set_name, one.judge), {})[one.query, one.tool] = one
        return cls(judgments, Counter(one.set_name for one in reversed(judgments)), graded)
