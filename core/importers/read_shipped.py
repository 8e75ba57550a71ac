"""Shipped catalogs, read from their files."""

from __future__ import annotations

import json
from functools import cache

import sample_catalog
from core.domain.catalog import Catalog
from core.importers import read_document, read_tasks
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS


@cache
def shipped(name: str) -> Catalog:
    """A shipped catalog by name; read once in a process, as it is immutable."""
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED_CATALOGS[name].files()]
    return Catalog(name, read_document(json.dumps({"servers": documents}), source="sample catalog").servers)


def sample() -> Catalog:
    """The shipped catalog to start with."""
    return shipped(SAMPLE)


def starting_subtasks(catalog: str, count: int = 6) -> tuple[str, ...]:
    """Sub-tasks to start from: labelled ones of the sample, spread over the servers that really run; none elsewhere."""
    if catalog != SAMPLE:
        return ()
    path = sample_catalog.TASKS_DIR / "subtasks.jsonl"
    tasks = [task for task in read_tasks(path.read_bytes(), source=path.name) if task.relevant]
    step = max(1, len(tasks) // max(1, count))
    return tuple(task.subtask for task in tasks[::step][:count])
