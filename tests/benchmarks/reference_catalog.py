"""Tool Attention's public reference catalog as a testbed: a catalog and labelled tasks that `wayfare import` and `wayfare bench` read.

python -m tests.benchmarks.reference_catalog catalog.json tasks.jsonl
"""

from __future__ import annotations

import sys
from pathlib import Path

from core.importers import tasks_text
from core.papers.tool_attention_reference import ReferenceCatalog
from tests.benchmarks.large_testbed import write_catalog


def main(catalog: str, tasks: str) -> None:
    reference = ReferenceCatalog.of()
    write_catalog(Path(catalog), reference.catalog().servers)
    Path(tasks).write_text(tasks_text(reference.tasks()), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
