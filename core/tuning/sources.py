"""The catalogs that an encoder is trained on: those that ship, with their labels, and any that an operator adds."""

from __future__ import annotations

import json
from collections.abc import Sequence

import sample_catalog
from core.domain.catalog import Catalog
from core.domain.task import Task
from core.importers import read_files, read_tasks
from core.importers.shipped_catalogs import SAMPLE, SHIPPED_CATALOGS
from core.shared.errors import CatalogError
from core.tuning.pairs import LabelledCatalog, labelled
from sample_catalog import testbeds

# their order is part of what makes a training repeatable; everyday.jsonl stays out, to judge by
SAMPLE_TASKS = (
    "l1_direct", "l2_context", "ehrr_categories", "pa_rag_simple", "subtasks",
    "l3_within_server", "l4_across_servers", "pa_rag_complex",
)  # fmt: skip
TASK_FILES = {
    SAMPLE: [sample_catalog.TASKS_DIR / f"{name}.jsonl" for name in SAMPLE_TASKS],
    "attention-120": [testbeds.ATTENTION_TASKS],
    "search-15": [testbeds.SEARCH_TASKS],
}


def shipped_catalogs() -> list[LabelledCatalog]:
    """The sample and both testbeds, with their labelled tasks and the sets of tools that do the same."""
    entries = json.loads(sample_catalog.EQUAL_SETS.read_text("utf-8"))
    equal = tuple(frozenset[str](entry["tools"]) for entry in entries)
    return [
        LabelledCatalog(
            name,
            tuple(tool for server in read_files(SHIPPED_CATALOGS[name].files()).servers for tool in server.tools),
            tuple(task for path in paths for task in read_tasks(path.read_bytes(), source=path.name)),
            equal,
        )
        for name, paths in TASK_FILES.items()
    ]


def labelled_catalog(catalog: Catalog, tasks: Sequence[Task] = ()) -> LabelledCatalog:
    """A catalog with tasks. Raises CatalogError where there are tasks and none of them names a tool of the catalog.

    >>> from core.domain.catalog import Server, Tool
    >>> catalog = Catalog("mine", (Server("files", tools=(Tool("files", "read", "Reads a file."),)),))
    >>> labelled_catalog(catalog, [Task("t1", "open it", relevant=("disk::read",))])
    Traceback (most recent call last):
    core.shared.errors.CatalogError: No task names a tool of the catalog mine; give the tasks that were labelled with it.
    """
    tools = tuple(tool for server in catalog.servers for tool in server.tools)
    known = {tool.id for tool in tools}
    if tasks and not any(known.intersection(relevant) for _, relevant in labelled(tasks)):
        raise CatalogError(
            f"No task names a tool of the catalog {catalog.name}; give the tasks that were labelled with it."
        )
    return LabelledCatalog(catalog.name, tools, tuple(tasks))
