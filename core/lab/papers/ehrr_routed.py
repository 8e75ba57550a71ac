"""The tasks that EHRR's experiments are on: routed once each, and played out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from core.domain.decision import Decision
from core.domain.task import Task
from core.lab.benchmark import score_tasks
from core.lab.execution import ExecutionRun, execute
from core.lab.papers.material import SAMPLE, Material
from core.lab.papers.report import Link
from core.routers.presets import DEFAULT_PRESET

S_PER_USD, SEEDS = 1000.0, 20
THEIRS = (
    "81 servers, 810 tools, 95 tasks of existing benchmarks; a model that routes and calls, DeepSeek-v3 as the judge"
)
PLAYED = "the sample (81 servers, 950 tools) and our 95 tasks; one routing a task, played out without a model, 20 seeds"
DIFFERS = (
    "Tasks, tools, prices and the encoder (MiniLM for Qwen3-Embedding-0.6B) are others, nobody rewrites a task or routes again, and success is "
    "drawn from declared reliability instead of being judged. Compare the routers with each other, not our level with theirs. With Table V's αt = 0.25 a second outweighs a quarter of all "
    "similarity, more than what parts right from wrong for MiniLM: EHRR then solves less than similarity alone, and with Wayfare's defaults more."
)
LAB = Link("lab", {"catalog": SAMPLE, "tasks": "EHRR's categories"}, router="ehrr", preset="paper")
MINE = "EHRR, our defaults"
ROUTERS = {
    "EHRR": ("ehrr", "paper"),
    "RAG-MCP": ("rag_mcp", "paper"),
    "Baseline": ("full_catalog", "paper"),
    MINE: ("ehrr", DEFAULT_PRESET),
}


@dataclass(frozen=True)
class Routed:
    """The decisions of one router for all tasks, by task."""

    tasks: Sequence[Task]
    decisions: Mapping[str, Decision]

    @classmethod
    def of(
        cls, material: Material, tasks: Sequence[Task], router: str, preset: str = "paper", **settings: object
    ) -> Routed:
        """Route every task once."""
        return cls(tasks, {
            task.id: material.decide(task.subtask, SAMPLE, router, settings, hint=task.server_hint, preset=preset) for task in tasks
        })  # fmt: skip

    def played(self, material: Material, category: str = "") -> ExecutionRun:
        """Its tasks, or those of a category, played out."""
        chosen = [task for task in self.tasks if category in ("", task.category)]
        return execute(
            "", chosen, lambda task: self.decisions[task.id], material.context(SAMPLE), seeds=SEEDS, s_per_usd=S_PER_USD
        )

    def quality(self) -> dict[str, float]:
        """MRR over ten candidates and recall@3."""
        ranked = [[d.tools.ids[row] for row in d.candidates] for d in (self.decisions[task.id] for task in self.tasks)]
        measures = score_tasks(self.tasks, ranked)[1]
        return {"mrr": measures["mrr"], "recall": measures["recall@3"]}
