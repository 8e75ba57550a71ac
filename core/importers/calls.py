"""Calls that another gateway made, from JSON Lines: questions of agents, and the calls that followed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from operator import itemgetter

from core.domain.events import DecisionEvent, OutcomeEvent
from core.domain.outcome import OutcomeKind
from core.importers.entry import Entry
from core.importers.reading import BrokenDocumentError, Reading, decode
from core.importers.tasks import json_lines, tool_name


def read_calls(text: str | bytes, *, source: str, catalog: str) -> tuple[DecisionEvent | OutcomeEvent, ...]:
    """The questions and calls of a file as events of a catalog, in the order of time. Raises BrokenDocumentError that names the line.

    A line is `{time, session, question, tool "server::tool", ok, latency_s, price_usd}`, or a record of mcpproxy-go's activity. A line
    without a tool is a question alone; a call without a question belongs to the question before it in its session, or to none.

    >>> line = '{"time": "2026-11-28T09:00:00Z", "question": "read a file", "tool": "files::read", "ok": true}'
    >>> [type(event).__name__ for event in read_calls(line, source="day.jsonl", catalog="mine")]
    ['DecisionEvent', 'OutcomeEvent']
    """
    reading = Reading(source)
    own = (_own(entry) for entry in json_lines(reading, decode(text, source=source)))
    lines = [(_time(entry), entry) for entry in own if entry is not None]
    events = tuple(_events(sorted(lines, key=itemgetter(0)), catalog))
    if not reading.problems and not any(isinstance(event, DecisionEvent) for event in events):
        reading.problem("", "no line has a question; give JSON Lines with time, session, question, tool and ok")
    if reading.problems:
        raise BrokenDocumentError(reading.problems)
    return events


def _own(entry: Entry) -> Entry | None:
    """A line in our shape, made of a call or a search (`retrieve_tools`) of mcpproxy-go. None for other records of its activity."""
    if entry.get("timestamp") is None or entry.get("type") is None:
        return entry
    said: dict[str, object] = {"time": entry.get("timestamp"), "session": entry.get("session_id")}
    if entry.get("tool_name") == "retrieve_tools" and entry.get("type") == "internal_tool_call":
        said["question"] = (entry.mapping("arguments") or {}).get("query")
    elif entry.get("type") == "tool_call":
        took_ms = entry.number("duration_ms")
        said["tool"] = f"{entry.text('server_name')}::{entry.text('tool_name')}"
        said |= {"ok": entry.get("status") == "success", "latency_s": None if took_ms is None else took_ms / 1e3}
    return Entry(entry.reading, entry.where, said) if len(said) > 2 else None


def _time(entry: Entry) -> datetime:
    try:
        at = datetime.fromisoformat(entry.text("time"))
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        entry.problem("time is not in ISO 8601; write it as 2026-11-28T09:00:00Z")
        return datetime.min.replace(tzinfo=UTC)


def _events(lines: Iterable[tuple[datetime, Entry]], catalog: str) -> Iterator[DecisionEvent | OutcomeEvent]:
    asked: dict[str, DecisionEvent] = {}
    for at, entry in lines:
        question, session, called = " ".join(entry.text("question").split()), entry.line("session"), entry.get("tool")
        last = asked.get(session)
        if question and (last is None or last.subtask != question):
            last = asked[session] = DecisionEvent(
                entry.where, at, catalog, "", question, "", "{}", None, "", None, None, math.nan, "[]", "", "file", session
            )  # fmt: skip
            yield last
        if called is not None:
            server, _, tool = tool_name(entry, "tool", called).partition("::")
            ok, latency_s = entry.flag("ok"), entry.number("latency_s")
            if ok is None:
                entry.problem("ok is missing; give true or false")
            yield OutcomeEvent(
                f"{entry.where} call", at, last.id if last else None, catalog, server, tool,
                str(OutcomeKind.OK if ok else OutcomeKind.TOOL_ERROR), math.nan if latency_s is None else latency_s, None, 1,
                entry.number("price_usd"), False, "", "file", client=session,
            )  # fmt: skip
        elif not question:
            entry.problem("question and tool are missing; give one of them")
