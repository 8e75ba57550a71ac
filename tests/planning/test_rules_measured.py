"""The rules on labelled questions: floors a little under the figures of docs/decisions/0006-planner.md."""

from __future__ import annotations

from statistics import fmean

import sample_catalog
from core.domain.tasks import Task
from core.importers import read_tasks
from core.planning.rules import RulesPlanner
from tests.cases import each

RULES = RulesPlanner()


def tasks(name: str) -> tuple[Task, ...]:
    return read_tasks((sample_catalog.TASKS_DIR / f"{name}.jsonl").read_bytes(), source=name)


@each(
    ("name", "right"),
    [("l3_within_server", 0.45), ("l4_across_servers", 0.40), ("pa_rag_complex", 0.35), ("pa_rag_simple", 0.65)],
)
def test_the_number_of_parts_is_that_of_the_plan_as_often_as_before(name, right):
    assert fmean(len(RULES.decompose(task.question)) == len(task.plan) for task in tasks(name)) >= right


@each(
    ("name", "label", "right"),
    [
        ("l1_direct", "simple", 0.95),
        ("l2_context", "simple", 0.93),
        ("pa_rag_simple", "simple", 0.90),
        ("pa_rag_complex", "complex", 0.85),
        ("l4_across_servers", "complex", 0.72),
    ],
)
def test_questions_are_labelled_as_often_as_before(name, label, right):
    assert fmean(RULES.complexity(task.question, ()).label == label for task in tasks(name)) >= right
