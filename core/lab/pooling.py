"""Pooling: what is to be judged so that no router is judged on another's results (Sparck Jones and van Rijsbergen 1975; TREC).

The pool of a query is the union of the first k tools of every router; its order says nothing of who proposed what.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from core.domain.judgment import AskedQuery
from core.domain.task import Task
from core.lab.stored_runs import Result


@dataclass(frozen=True, slots=True)
class Pooled:
    """One tool to be judged for one query, and whether it is judged already."""

    query: AskedQuery
    tool: str
    judged: bool = False


def pooled(
    tasks: Sequence[Task],
    results: Sequence[Result],
    depth: int,
    judged: Collection[tuple[AskedQuery, str]],
) -> tuple[Pooled, ...]:
    """The pool of all tasks over stored runs, unjudged tools first; the tools of a query stay together.

    `results` are entries of `wayfare bench --json`; a run that does not have a task proposes nothing for it. `judged` has
    the queries and tools that count as judged.
    """
    found: dict[AskedQuery, set[str]] = {}
    for task in tasks:
        query = AskedQuery(task.subtask, task.server_hint)
        for result in results:
            entry = result["tasks"].get(task.id)
            found.setdefault(query, set()).update(() if entry is None else entry["candidates"][:depth])
    pairs = [
        (query, tool) for query, tools in found.items() for tool in sorted(tools, key=lambda one: _place(query, one))
    ]
    return tuple(
        Pooled(query, tool, done)
        for done in (False, True)
        for query, tool in pairs
        if ((query, tool) in judged) is done
    )


def _place(query: AskedQuery, tool: str) -> str:
    """Where a tool stands among those of its query: by a hash, so that neither name nor rank decides it."""
    return hashlib.sha256(f"{query.id} {tool}".encode()).hexdigest()
