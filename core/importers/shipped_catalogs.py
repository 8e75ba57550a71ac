"""The catalogs that come with Wayfare: their names are reserved, and they cannot be removed. Nothing slow is imported here."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sample_catalog
from core.domain.catalog import Catalog
from core.domain.errors import CatalogError
from core.domain.progress import made_once
from core.importers import read_document, read_tasks
from core.importers.reading import name_fault
from sample_catalog import testbeds

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class ShippedCatalog:
    """A catalog that comes with Wayfare: its description, and the files of its servers."""

    about: str
    files: Callable[[], list[Path]]


SHIPPED_CATALOGS = {
    SAMPLE: ShippedCatalog("shipped with Wayfare", lambda: sorted(sample_catalog.SERVERS_DIR.glob("*.json"))),
    "attention-120": ShippedCatalog("shipped with Wayfare: the testbed of Tool Attention", testbeds.attention_files),
    "search-15": ShippedCatalog("shipped with Wayfare: the web-search testbed of NetMCP", testbeds.search_files),
}


@made_once
def shipped_size(name: str) -> tuple[int, int]:
    """Servers and tools of a catalog that comes with Wayfare, counted without reading it in full.

    >>> shipped_size("attention-120")
    (6, 120)
    """
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED_CATALOGS[name].files()]
    return len(documents), sum(len(document["tools"]) for document in documents)


@made_once
def played() -> Mapping[str, Any]:
    """The story of the sample: a sub-task whose winner changes with one knob, and the events after it, played once.

    `about` says how its figures were computed (`sample_catalog.authoring.played`).

    >>> sorted(played())
    ['about', 'call', 'catalog', 'changes_at', 'knob', 'question', 'router', 'saving', 'winners']
    """
    return json.loads(sample_catalog.PLAYED.read_text(encoding="utf-8"))


def check_name(name: str, stored: Collection[str] = ()) -> None:
    """Raises CatalogError if a catalog cannot have this name. A `stored` name may be older than the rule of the signs."""
    if name in SHIPPED_CATALOGS:
        raise CatalogError(f"The name {name!r} belongs to a shipped catalog; choose another with --name.")
    if fault := name_fault(name):
        raise CatalogError(f"The catalog's name {fault}; choose another with --name.")
    if name not in stored and not {"/", "+"}.isdisjoint(name):
        raise CatalogError(
            "A catalog's name cannot hold / or +, which stand between names; choose another with --name."
        )


# Shipped catalogs, read from their files.


@made_once
def shipped(name: str) -> Catalog:
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED_CATALOGS[name].files()]
    servers = read_document(json.dumps({"servers": documents}), source="sample catalog").servers
    requests = shipped_requests(name)
    return Catalog(
        name,
        tuple(
            replace(server, tools=tuple(replace(tool, requests=requests.get(tool.id, ())) for tool in server.tools))
            for server in servers
        ),
    )


def shipped_requests(name: str) -> dict[str, tuple[str, ...]]:
    """The example requests of a shipped catalog by tool: four in the words of an agent, eight in the words of people."""
    path = sample_catalog.REQUESTS / f"{name}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {row["tool"]: tuple(row["requests"]) for row in map(json.loads, lines)}


def sample() -> Catalog:
    return shipped(SAMPLE)


def starting_queries(catalog: str, count: int = 6) -> tuple[str, ...]:
    """Sub-tasks to start from: labelled sub-tasks of the sample, spread over the servers that really run; none elsewhere."""
    if catalog != SAMPLE:
        return ()
    path = sample_catalog.TASKS_DIR / "subtasks.jsonl"
    tasks = [task for task in read_tasks(path.read_bytes(), source=path.name) if task.relevant]
    step = max(1, len(tasks) // max(1, count))
    return tuple(task.subtask for task in tasks[::step][:count])
