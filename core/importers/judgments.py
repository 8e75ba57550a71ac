"""Judgments in files: JSON Lines and CSV, in and out, and labels in JSON Lines.

{"subtask": "read a file", "server_hint": "", "tool": "files::read", "grade": 3, "judge": "ann", "note": "", "at": "2026-11-20T09:00:00Z"}
subtask,server_hint,tool,grade,judge,note,at                     the same, as CSV
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from core.domain.feedback import GRADES, MOST_NAME_CHARACTERS, MOST_NOTE_CHARACTERS, AskedQuery, Judgment, LabelledQuery
from core.importers.entry import Entry
from core.importers.reading import BrokenDocumentError, Reading, decode, line_fault, shown
from core.importers.tasks import json_lines, read_tasks

# Labels from JSON Lines: labelled tasks that may also name wrong tools.


def read_labels(text: str | bytes, *, source: str) -> tuple[tuple[LabelledQuery, ...], int]:
    """Reads the labels of each sub-task of a file, in its order, and the number of generated tasks, which are left out, because no
    person labelled them. Raises BrokenDocumentError that names the line."""
    tasks = read_tasks(text, source=source)
    labels: list[LabelledQuery] = []
    for task, entry in zip(tasks, json_lines(Reading(source), decode(text, source=source)), strict=True):
        if task.provenance:
            continue
        wrong = _names(entry.get("wrong"), f"{source}: {entry.where}")
        bad = tuple(tool for tool in wrong if tool not in task.relevant)
        labels.append(LabelledQuery(task.subtask.strip(), task.server_hint.strip(), task.relevant, bad, task.question))
    return tuple(labels), len(tasks) - len(labels)


def _names(raw: object, where: str) -> tuple[str, ...]:
    if raw is None:
        return ()
    names = cast(list[Any], raw) if isinstance(raw, list) else [None]
    if not all(isinstance(name, str) and all(name.partition("::")) for name in names):
        raise BrokenDocumentError([f"{where}: wrong is no list of server::tool; write it so or leave it out."])
    return tuple(dict.fromkeys(cast(list[str], names)))


FIELDS = ("subtask", "server_hint", "tool", "grade", "judge", "note", "at")
FORMULA = re.compile(r"'*[=+\-@\t\r\n]")


@dataclass(frozen=True, slots=True)
class ReadJudgment:
    """One judgment of a file. `at` is None and `judge` "" if the file does not name them."""

    asked: AskedQuery
    tool: str
    grade: int
    judge: str
    note: str = ""
    at: datetime | None = None


def read_judgments(text: str | bytes, *, source: str, judge: str = "") -> tuple[ReadJudgment, ...]:
    """Reads the judgments of a file in its order, all or none. The first line tells the format.

    `judge` is the default judge. Raises BrokenDocumentError that names file and line."""
    plain, reading = decode(text, source=source), Reading(source)
    first = next((line for line in plain.splitlines() if line.strip()), "")
    judgments: list[ReadJudgment] = []
    places: dict[tuple[AskedQuery, str, str], str] = {}
    for entry in _csv_entries(reading, plain) if _is_header(first) else json_lines(reading, plain):
        if (judgment := _judgment(entry, judge)) is not None:
            key = judgment.asked, judgment.tool, judgment.judge
            if (place := places.setdefault(key, entry.where)) != entry.where:
                entry.problem(f"it judges the tool of {place} for the same sub-task again; keep one of them")
            judgments.append(judgment)
    if not all(judgment.judge for judgment in judgments):
        reading.problem("", "it does not name its judges; say whose judgments they are")
    if not judgments and not reading.problems:
        reading.problem("", "it holds no judgment; give one a line")
    if reading.problems:
        raise BrokenDocumentError(reading.problems)
    return tuple(judgments)


def json_lines_text(judgments: Iterable[Judgment]) -> str:
    return "".join(json.dumps(_row(judgment), ensure_ascii=False) + "\n" for judgment in judgments)


def csv_text(judgments: Iterable[Judgment]) -> str:
    """Judgments as CSV. A text that a spreadsheet would run as a formula gets a leading apostrophe, which reading removes."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for judgment in judgments:
        row = _row(judgment)
        writer.writerow([_disarmed(value) if isinstance(value, str) else value for value in row.values()])
    return out.getvalue()


def _row(record: Judgment) -> dict[str, Any]:
    time = record.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return dict(zip(FIELDS, (*record.asked, record.tool, record.grade, record.judge, record.note, time), strict=True))


def _disarmed(text: str) -> str:
    return f"'{text}" if FORMULA.match(text) else text


def _armed(text: str) -> str:
    return text[1:] if text.startswith("'") and FORMULA.match(text) else text


def _is_header(line: str) -> bool:
    try:
        names = {name.strip().lower() for name in next(csv.reader([line]))}
    except csv.Error:  # a long line of JSON
        return False
    return {"tool", "grade"} <= names


def _csv_entries(reading: Reading, text: str) -> Iterator[Entry]:
    rows = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""))
    names: list[str] = []
    while True:
        where = f"line {rows.line_num + 1}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            reading.problem(where, f"it is not CSV ({error}); mend it there")
            return
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        if not names:
            names = [name.strip().lower() for name in row]
        elif len(row) != len(names):
            reading.problem(where, f"it has {len(row)} fields, the first line {len(names)}; give as many")
        else:
            values: dict[str, Any] = {name: _armed(cell) for name, cell in zip(names, row, strict=True)}
            if re.fullmatch(r"\s*\d+\s*", values["grade"]):
                values["grade"] = int(values["grade"])
            yield Entry(reading, where, values)


def _judgment(entry: Entry, judge: str) -> ReadJudgment | None:
    problem_count = len(entry.reading.problems)
    query, tool, grade = entry.text("subtask").strip(), entry.get("tool"), entry.get("grade")
    if not query:
        entry.problem("subtask is missing; say what was to be done")
    time, note = _time(entry), entry.text("note")
    if len(note) > MOST_NOTE_CHARACTERS:
        entry.problem(f"note has {len(note):,} characters; use at most {MOST_NOTE_CHARACTERS:,}")
    if not isinstance(tool, str) or not all(tool.partition("::")) or line_fault(tool, 1_000):
        entry.problem("tool is not of the form server::tool; write it so")
    if isinstance(grade, bool) or grade not in GRADES:
        fault = "missing" if grade in (None, "") else shown(str(grade))
        entry.problem(f"grade is {fault}; give 0, 1, 2 or 3")
    if len(entry.reading.problems) > problem_count:
        return None
    name = " ".join(entry.text("judge").split()) or judge
    if fault := line_fault(name, MOST_NAME_CHARACTERS):
        entry.problem(f"judge {fault}")
    return ReadJudgment(
        AskedQuery(query, entry.text("server_hint").strip()), str(tool), int(cast("int", grade)), name, note, time
    )


def _time(entry: Entry) -> datetime | None:
    raw = entry.raw_text("at")
    if not raw:
        return None
    try:
        time = datetime.fromisoformat(raw)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        entry.problem("at is not a time with a zone; write for example 2026-11-20T09:00:00Z, or leave it out")
        return None
    return time.astimezone(UTC)
