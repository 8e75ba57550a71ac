"""A stored run as TREC's files, to be scored by any other program; the query ids are those of its tasks."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain.lab_run import LabRun
from core.domain.task import Task
from core.importers.trec import qrels_text, run_text
from core.lab.benchmark import grades


def run_file(run: LabRun) -> str:
    """What a run ranked."""
    return run_text(
        {name: entry["candidates"] for name, entry in run.result["tasks"].items()}, f"{run.router}-{run.id[:8]}"
    )


def run_qrels(tasks: Sequence[Task]) -> str:
    """The labels of its tasks."""
    return qrels_text({task.id: grades(task) for task in tasks})
