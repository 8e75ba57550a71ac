"""Labels of decisions, calibrations fitted to them, and judgments.

A label says that a tool was right or wrong for a sub-task. Nothing is changed or removed: a label is taken back by an entry
that names it. "Should have been X" is two labels: right for X, wrong for the tool that was shown.
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

# The trade-off of refusing: what turning down what nothing fits costs in wrong refusals.


@dataclass(frozen=True, slots=True)
class RefusalPoint:
    """The effect of the knob at `percent`: `wrong` is the share of answerable questions that are refused, `refused` that of
    impossible ones, both in [0, 1]."""

    percent: float
    wrong: float
    refused: float


@dataclass(frozen=True, slots=True)
class RefusalCurve:
    """Points by rising percent, from never refusing. `questions` is how many it was measured on; 0: it is the one that comes
    with Wayfare, measured on catalogs that the constants were not fitted to."""

    points: tuple[RefusalPoint, ...]
    questions: int = 0

    def at(self, percent: float) -> RefusalPoint:
        """The point of a setting of the knob, on straight lines between those that were measured."""
        knob = [point.percent for point in self.points]
        wrong, refused = ([getattr(point, name) for point in self.points] for name in ("wrong", "refused"))
        return RefusalPoint(percent, float(np.interp(percent, knob, wrong)), float(np.interp(percent, knob, refused)))


@dataclass(frozen=True, slots=True)
class By:
    """The author of a label or switch, as far as known, and its way (console, cli, file, agent)."""

    visitor: str = ""
    origin: str = "console"


@dataclass(frozen=True, slots=True)
class Label:
    """One judgement of one tool (`server::tool`) for one sub-task.

    `visitor` and `origin` are those of `By`. `retracts` is the id of the label that this entry takes back, which it otherwise
    repeats; empty for a label itself.
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
    """One sub-task with what labels say of it; `group` is shared by sub-tasks of one question, which belong together."""

    query: str
    server_hint: str
    right: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class Calibration:
    """A named fit to one catalog's labels: `values_json` is what it sets (`core.relevance.learnt_values`), `report_json` the
    measures on held-back folds before and after, with intervals. `labels` is how many sub-tasks it was fitted to."""

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
    """One step in the history of what is in force: `calibration` is the id that was switched on, "" for what Wayfare comes
    with, None for an undone step."""

    at: datetime
    catalog: str
    calibration: str | None
    visitor: str
    origin: str


def in_force(entries: Iterable[Label]) -> tuple[Label, ...]:
    """Labels that count, oldest first; `entries` in order of commit. Not taken back, and of each visitor, sub-task and tool the
    last one. A repeated label adds nothing, and taking back a label does not restore the one it replaced."""
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
    """The ids that were switched on and not undone, oldest first; "" stands for what Wayfare comes with."""
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
    """Labels in force, one entry for each sub-task and hint, in order of their first label. A tool that more visitors call
    right than wrong is right; one that as many call wrong is neither. Agents count where no person has judged the tool."""
    votes: dict[tuple[str, str], dict[str, int]] = {}
    judged = {(one.subtask, one.server_hint, one.tool) for one in labels if not one.by_agent}
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
    """Names and descriptions of a catalog's tools in 16 hexadecimal digits: whether a fit was made to these very texts."""
    return fingerprint([[tool.id, tool.description] for tool in catalog.tools])


# Judgments: how well a tool does a sub-task, in grades, by named judges, in sets of one's own.

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
        """The query's id in files and as a task: the same words have the same id.

        >>> AskedQuery("read a file").id
        '70a80f9069a89f26'
        """
        return fingerprint([self.text, self.server_hint])


@dataclass(frozen=True, slots=True)
class Judgment:
    """One judge's grade, 0 to 3 (`GRADE_WORDS`), of one tool (`server::tool`) for one sub-task, in a named set of a catalog.

    `grade` None takes back what this judge said before. `at` is when it was judged, UTC; `note` says why, and `decision_id` names
    the decision that was shown, or None.
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
    """The judgments that count; `entries` and these in order of commit. Of each set, query, tool and judge it is the last one, and
    nothing where that takes back."""
    last: dict[tuple[str, AskedQuery, str, str], Judgment] = {}
    for one in entries:
        key = one.set_name, one.asked, one.tool, one.judge
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
            graded.setdefault((one.set_name, one.judge), {})[one.asked, one.tool] = one
        return cls(judgments, Counter(one.set_name for one in reversed(judgments)), graded)
