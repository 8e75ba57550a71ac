"""Labels of decisions, calibrations fitted to them, and judgments.

A label says that a tool was right or wrong for a sub-task. Nothing is changed or removed. A new entry that names a label
takes it back. "Should have been X" is two labels: right for X, wrong for the shown tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from core.domain.catalog import Catalog
from core.domain.lab_runs import fingerprint, json_object

# The trade-off of refusing: questions that no tool fits against wrong refusals.


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """The effect of the knob at `percent`: `wrong` is the refused share of answerable questions, `refused` the refused share of
    impossible questions, both in [0, 1]."""

    percent: float
    wrong: float
    refused: float


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Points by rising percent, from never refusing. It was measured on so many `questions`. 0 marks the curve that comes
    with Wayfare, measured on catalogs that the constants were not fitted to."""

    points: tuple[RefusalPoint, ...]
    questions: int = 0

    def at(self, percent: float) -> RefusalPoint:
        """The point at a setting of the knob, interpolated linearly between measured points."""
        knob = [point.percent for point in self.points]
        wrong, refused = ([getattr(point, name) for point in self.points] for name in ("wrong", "refused"))
        return RefusalPoint(percent, float(np.interp(percent, knob, wrong)), float(np.interp(percent, knob, refused)))


@dataclass(frozen=True, slots=True)
class By:
    """The author of a label or switch, or "" if unknown, and its origin (console, cli, file, agent)."""

    visitor: str = ""
    origin: str = "console"


@dataclass(frozen=True, slots=True)
class Label:
    """A judgement of a tool (`server::tool`) for a sub-task.

    `visitor` and `origin` are as in `By`. `retracts` is the id of the label that this entry repeats and takes back, or "" for
    a label.
    """

    id: str
    at: datetime
    catalog: str
    subtask: str
    server_hint: str
    tool: str
    right: bool
    visitor: str
    origin: str
    decision_id: str | None
    note: str = ""
    retracts: str = ""

    @property
    def by_agent(self) -> bool:
        """Whether the label comes from an agent, not from a person."""
        return self.origin == "agent"


@dataclass(frozen=True, slots=True)
class LabelledQuery:
    """A sub-task with its right and wrong tools. Sub-tasks of one question have the same `group`."""

    query: str
    server_hint: str
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A named fit to a catalog's labels. `values_json` holds the fitted values (`core.relevance.learnt_values`), `report_json` the
    measures on held-back folds before and after, with intervals. `labels` is the number of fitted sub-tasks."""

    id: str
    at: datetime
    catalog: str
    name: str
    values_json: str
    report_json: str
    labels: int
    catalog_fingerprint: str
    origin: str

    @property
    def report(self) -> dict[str, Any]:
        """The measures; empty if their text is damaged."""
        return json_object(self.report_json)

    @property
    def values(self) -> dict[str, Any]:
        """The values, unchecked. Empty for a damaged text."""
        return json_object(self.values_json)


@dataclass(frozen=True, slots=True)
class CalibrationSwitch:
    """A step in the history of the calibration in force. `calibration` is the id that was switched on, "" for the values that
    come with Wayfare, None for an undo."""

    at: datetime
    catalog: str
    calibration: str | None
    visitor: str
    origin: str


def in_force(entries: Iterable[Label]) -> tuple[Label, ...]:
    """Labels that count, oldest first: the last label of each visitor, sub-task and tool, unless it was taken back. `entries` are
    in order of commit. Taking back a label does not restore the label that it replaced."""
    last: dict[tuple[str, ...], Label] = {}
    keys: dict[str, tuple[str, ...]] = {}
    for label in entries:
        if label.retracts:
            key = keys.get(label.retracts)
            if key in last and last[key].id == label.retracts:
                del last[key]
        else:
            key = keys[label.id] = (label.visitor, label.origin, label.subtask, label.server_hint, label.tool)
            last.pop(key, None)
            last[key] = label
    return tuple(last.values())


def steps_to_undo(switches: Iterable[CalibrationSwitch]) -> list[str]:
    """The ids that were switched on and not undone, oldest first. "" stands for the values that come with Wayfare."""
    stack: list[str] = []
    for switch in switches:
        if switch.calibration is not None:
            stack.append(switch.calibration)
        elif stack:
            stack.pop()
    return stack


def switched_on(switches: Iterable[CalibrationSwitch]) -> str:
    """The id of the calibration in force after these steps, or "". An undo goes one step back.

    >>> from datetime import UTC
    >>> steps = [CalibrationSwitch(datetime.now(UTC), "demo", step, "", "cli") for step in ("a", "b", None)]
    >>> switched_on(steps), switched_on(steps[:2]), switched_on([*steps, steps[-1]])
    ('a', 'b', '')
    """
    stack = steps_to_undo(switches)
    return stack[-1] if stack else ""


def labelled_queries(labels: Sequence[Label]) -> tuple[LabelledQuery, ...]:
    """Labels in force by sub-task and hint, in order of their first label. A tool is right if more visitors call it right than
    wrong, and neither in a tie. Agents count only if no person has judged the tool."""
    votes: dict[tuple[str, str], dict[str, int]] = {}
    judged = {(label.subtask, label.server_hint, label.tool) for label in labels if not label.by_agent}
    for label in labels:
        tools = votes.setdefault((label.subtask, label.server_hint), {})
        counts = not label.by_agent or (label.subtask, label.server_hint, label.tool) not in judged
        tools[label.tool] = tools.get(label.tool, 0) + (1 if label.right else -1) * counts
    return tuple(
        LabelledQuery(
            query,
            hint,
            tuple(tool for tool, vote in tools.items() if vote > 0),
            tuple(tool for tool, vote in tools.items() if vote < 0),
        )
        for (query, hint), tools in votes.items()
    )


def catalog_fingerprint(catalog: Catalog) -> str:
    """A fingerprint of the names and descriptions of a catalog's tools, 16 hexadecimal digits."""
    return fingerprint([[tool.id, tool.description] for tool in catalog.tools])


# Judgments: grades of how well a tool does a sub-task, by named judges, in named sets.

GRADES = (0, 1, 2, 3)
GRADE_WORDS = ("cannot do it", "does a part of it", "does it", "does it best")
MOST_NOTE_CHARACTERS = 2_000
MOST_NAME_CHARACTERS = 80
FIRST_SET = "my judgments"  # the name of a set without a name


class AskedQuery(NamedTuple):
    text: str
    server_hint: str = ""

    @property
    def id(self) -> str:
        """The query's id in files and as a task. Equal queries have equal ids.

        >>> AskedQuery("read a file").id
        '70a80f9069a89f26'
        """
        return fingerprint([self.text, self.server_hint])


@dataclass(frozen=True, slots=True)
class Judgment:
    """A judge's grade, 0 to 3 (`GRADE_WORDS`), of a tool (`server::tool`) for a sub-task, in a named set of a catalog.

    `grade` None takes back this judge's earlier grade. `at` is the time of the judgment, UTC. `note` says why. `decision_id`
    names the shown decision, or is None.
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
    def asked(self) -> AskedQuery:
        return AskedQuery(self.subtask, self.server_hint)


def last_said(entries: Iterable[Judgment]) -> tuple[Judgment, ...]:
    """The judgments that count, in order of commit: the last judgment of each set, query, tool and judge, unless it takes back.
    `entries` are in order of commit."""
    last: dict[tuple[str, AskedQuery, str, str], Judgment] = {}
    for judgment in entries:
        key = judgment.set_name, judgment.asked, judgment.tool, judgment.judge
        last.pop(key, None)
        last[key] = judgment
    return tuple(judgment for judgment in last.values() if judgment.grade is not None)


@dataclass(frozen=True, slots=True)
class JudgmentSets:
    """The judgments of a catalog that count, in order of commit. `sets` counts them by set, newest set first. `graded` has them by
    set and judge, then by query and tool."""

    judgments: tuple[Judgment, ...]
    sets: Mapping[str, int]
    graded: Mapping[tuple[str, str], Mapping[tuple[AskedQuery, str], Judgment]]

    @classmethod
    def of(cls, entries: Iterable[Judgment]) -> JudgmentSets:
        """From entries in order of commit."""
        judgments = last_said(entries)
        graded: dict[tuple[str, str], dict[tuple[AskedQuery, str], Judgment]] = {}
        for judgment in judgments:
            graded.setdefault((judgment.set_name, judgment.judge), {})[judgment.asked, judgment.tool] = judgment
        return cls(judgments, Counter(judgment.set_name for judgment in reversed(judgments)), graded)
