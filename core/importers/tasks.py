"""JSON Lines: labelled tasks, and the calls that another gateway made. Unknown fields are ignored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, fields
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from operator import itemgetter
from typing import Any, cast

from core.domain.events import DecisionEvent, OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.domain.tasks import Step, Task
from core.importers.entry import Entry
from core.importers.reading import (
    BrokenDocumentError,
    Reading,
    decode,
    inspect,
    keep_repeats,
    kind,
    shown,
)


def read_tasks(text: str | bytes, *, source: str) -> tuple[Task, ...]:
    """Reads the tasks of a file, in its order. Raises BrokenDocumentError that names file, line and field.

    >>> read_tasks('{"id": "t1", "subtask": "read a file", "relevant": ["files::read"]}', source="a.jsonl")[0].relevant
    ('files::read',)
    >>> read_tasks('{"id": "t1", "subtask": "read a file"}', source="tasks.jsonl")
    Traceback (most recent call last):
    core.importers.reading.BrokenDocumentError: tasks.jsonl: line 1: relevant is missing; give a list of server::tool, \
empty where nothing can do the task.
    """
    reading = Reading(source)
    lines: dict[str, str] = {}
    tasks: list[Task] = []
    for entry in json_lines(reading, decode(text, source=source)):
        task = _task(entry)
        if task.id and lines.setdefault(task.id, entry.where) != entry.where:
            entry.problem(f"id {shown(task.id)} is the same as that of {lines[task.id]}; rename one of them")
        tasks.append(task)
    if not tasks and not reading.problems:
        reading.problem("", "it holds no task; give one JSON object a line")
    if reading.problems:
        raise BrokenDocumentError(reading.problems)
    return tuple(tasks)


def tasks_text(tasks: Iterable[Task]) -> str:
    """Tasks as JSON Lines that `read_tasks` reads back as they were.

    >>> read_tasks(tasks_text([Task("t1", "read a file", relevant=("files::read",))]), source="a")[0].relevant
    ('files::read',)
    """
    return "".join(json.dumps(_document(task), ensure_ascii=False) + "\n" for task in tasks)


def _document(task: Task) -> dict[str, Any]:
    """Returns the fields with a value. An empty `relevant` says that no tool can do the task."""
    values = {field.name: getattr(task, field.name) for field in fields(task)}
    values |= {
        "grades": dict(task.grades),
        "provenance": dict(task.provenance),
        "plan": [asdict(step) for step in task.plan],
    }
    return {name: value for name, value in values.items() if value or name == "relevant"}


def json_lines(reading: Reading, text: str) -> Iterator[Entry]:
    """Yields the objects of JSON Lines with their line numbers. Records a fault for each line that is not an object."""
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"line {number}"
        if not line.strip():
            continue
        try:
            value = json.loads(line, object_pairs_hook=keep_repeats)
        except (ValueError, RecursionError) as error:
            column = f", column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            reading.problem("", f"{where}{column} is not JSON; give one JSON object a line")
            continue
        line_reading = Reading(f"{reading.source}: {where}")
        inspect(line_reading, value)
        reading.problems += line_reading.problems
        if not isinstance(value, dict):
            reading.problem("", f"{where} is {kind(value)}; give an object")
        elif not line_reading.problems:
            yield Entry(reading, where, cast("dict[str, Any]", value))


def _task(entry: Entry) -> Task:
    raw_id = entry.get("id")
    whole = isinstance(raw_id, int) and not isinstance(raw_id, bool)
    query = entry.text("subtask")
    if not query.strip() and (entry.get("subtask") is None or isinstance(entry.get("subtask"), str)):
        entry.problem("subtask is empty; say what is to be done")
    return Task(
        id=str(raw_id) if whole else entry.name("id"),
        subtask=query,
        server_hint=entry.text("server_hint"),
        relevant=_relevant(entry),
        grades=_grades(entry),
        level=entry.line("level"),
        category=entry.line("category"),
        plan=_plan(entry),
        question=entry.text("question"),
        gap=entry.line("gap"),
        provenance={name: str(value) for name, value in (entry.mapping("provenance") or {}).items()},
    )


def _relevant(entry: Entry) -> tuple[str, ...]:
    if entry.get("relevant") is None:
        entry.problem("relevant is missing; give a list of server::tool, empty where nothing can do the task")
    return _tools(entry, "relevant")


def _tools(entry: Entry, field: str) -> tuple[str, ...]:
    tools = [tool_name(entry, f"{field}[{i}]", raw) for i, raw in enumerate(entry.list(field))]
    return tuple(dict.fromkeys(tools))


def _grades(entry: Entry) -> dict[str, float]:
    return {tool_name(entry, f"grades {shown(tool)}", tool): grade for tool, grade in entry.numbers("grades").items()}


def tool_name(entry: Entry, label: str, raw: object) -> str:
    """A tool's id. Records a fault and returns "" for anything else."""
    if isinstance(raw, str) and all(raw.partition("::")):
        return raw
    entry.problem(f"{label} is not of the form server::tool; write it so")
    return ""


def _plan(entry: Entry) -> tuple[Step, ...]:
    """Reads the steps of a plan. A step needs other steps by position; a cycle is a fault."""
    steps = tuple(entry.entries("plan"))
    plan = tuple(_step(step, len(steps)) for step in steps)
    try:
        TopologicalSorter({position: step.needs for position, step in enumerate(plan)}).prepare()
    except CycleError:
        entry.problem("plan has steps that wait for each other; take one of their needs away")
    return plan


def _step(step: Entry, steps: int) -> Step:
    tool = tool_name(step, "tool", step.get("tool"))
    return Step(tool, _needs(step, steps), _tools(step, "equal"), step.text("subtask"))


def _needs(step: Entry, steps: int) -> tuple[int, ...]:
    needs: list[int] = []
    for position, raw in enumerate(step.list("needs")):
        if isinstance(raw, bool) or not isinstance(raw, int) or not 0 <= raw < steps:
            step.problem(f"needs[{position}] is not the position of a step; give a whole number from 0 to {steps - 1}")
        else:
            needs.append(raw)
    return tuple(dict.fromkeys(needs))


# Questions of agents, and the calls that followed.


def read_calls(text: str | bytes, *, source: str, catalog: str) -> tuple[DecisionEvent | OutcomeEvent, ...]:
    """Reads the questions and calls of a file as events of a catalog, in the order of time. Raises BrokenDocumentError that names the line.

    A line is `{time, session, question, tool "server::tool", ok, latency_s, price_usd}`, or a record of mcpproxy-go's activity. A line
    without a tool is a question alone; a call without a question belongs to the question before it in its session, or to none."""
    reading = Reading(source)
    entries = (_own(entry) for entry in json_lines(reading, decode(text, source=source)))
    lines = [(_time(entry), entry) for entry in entries if entry is not None]
    events = tuple(_events(sorted(lines, key=itemgetter(0)), catalog))
    if not reading.problems and not any(isinstance(event, DecisionEvent) for event in events):
        reading.problem("", "no line has a question; give JSON Lines with time, session, question, tool and ok")
    if reading.problems:
        raise BrokenDocumentError(reading.problems)
    return events


def _own(entry: Entry) -> Entry | None:
    """Returns a line in our format, also for a call or a search (`retrieve_tools`) of mcpproxy-go. None for its other records."""
    if entry.get("timestamp") is None or entry.get("type") is None:
        return entry
    values: dict[str, object] = {"time": entry.get("timestamp"), "session": entry.get("session_id")}
    if entry.get("tool_name") == "retrieve_tools" and entry.get("type") == "internal_tool_call":
        values["question"] = (entry.mapping("arguments") or {}).get("query")
    elif entry.get("type") == "tool_call":
        took_ms = entry.number("duration_ms")
        values["tool"] = f"{entry.text('server_name')}::{entry.text('tool_name')}"
        values |= {"ok": entry.get("status") == "success", "latency_s": None if took_ms is None else took_ms / 1e3}
    return Entry(entry.reading, entry.where, values) if len(values) > 2 else None


def _time(entry: Entry) -> datetime:
    try:
        time = datetime.fromisoformat(entry.text("time"))
        return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        entry.problem("time is not in ISO 8601; write it as 2026-11-28T09:00:00Z")
        return datetime.min.replace(tzinfo=UTC)


def _events(lines: Iterable[tuple[datetime, Entry]], catalog: str) -> Iterator[DecisionEvent | OutcomeEvent]:
    decisions: dict[str, DecisionEvent] = {}
    for time, entry in lines:
        question, session, call = " ".join(entry.text("question").split()), entry.line("session"), entry.get("tool")
        last = decisions.get(session)
        if question and (last is None or last.subtask != question):
            last = decisions[session] = DecisionEvent(
                entry.where, time, catalog, "", question, "", "{}", None, "", None, None, math.nan, "[]", "", "file", session
            )  # fmt: skip
            yield last
        if call is not None:
            server, _, tool = tool_name(entry, "tool", call).partition("::")
            ok, latency_s = entry.flag("ok"), entry.number("latency_s")
            if ok is None:
                entry.problem("ok is missing; give true or false")
            yield OutcomeEvent(
                f"{entry.where} call", time, last.id if last else None, catalog, server, tool,
                str(OutcomeKind.OK if ok else OutcomeKind.TOOL_ERROR), math.nan if latency_s is None else latency_s, None, 1,
                entry.number("price_usd"), False, "", "file", client=session,
            )  # fmt: skip
        elif not question:
            entry.problem("question and tool are missing; give one of them")
