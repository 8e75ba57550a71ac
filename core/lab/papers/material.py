"""What the papers are recomputed over: catalogs, labelled tasks, decisions, networks, and a language model where one is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.task import Task
from core.lab.scenarios.simulation import World
from core.planning.base import Planner
from core.routers.context import RoutingContext
from core.routers.presets import DEFAULT_PRESET

SAMPLE, ATTENTION, SEARCH = "sample", "attention-120", "search-15"
NEEDS_MODEL = "Set WAYFARE_LLM_MODEL, then make papers."


class Decide(Protocol):
    """A decision that is not recorded."""

    def __call__(
        self,
        text: str,
        catalog: str,
        router: str,
        settings: Mapping[str, object] | None = None,
        *,
        hint: str = "",
        preset: str = DEFAULT_PRESET,
    ) -> Decision:
        """Of a text, by a router with these settings on top of a preset."""
        ...  # fmt: skip


@dataclass(frozen=True)
class Material:
    """`tasks` by the name of a file of the sample or of a testbed; `world` a network's profile, steps and seed, whether
    questions are asked as a person put them; its catalog is NetMCP's testbed. `add_catalog` has routers know one more, for this process. `model` is None where no model is set; each of its
    rows asks at most `model_tasks` questions a set. `poisoned` is a file of poisoned servers, JSON Lines; None: nobody gave one."""

    context: Callable[[str], RoutingContext]
    tasks: Callable[[str], tuple[Task, ...]]
    decide: Decide
    world: Callable[[str, int, int, bool], World]
    add_catalog: Callable[[Catalog], None]
    seed: int
    model: Planner | None
    model_tasks: int
    poisoned: Path | None
    say: Callable[[str], None]

    def asked_of_model(self, tasks: Sequence[Task]) -> list[Task]:
        """As many of the tasks as a model is asked about, spread over all of them."""
        step = max(1, -(-len(tasks) // max(1, self.model_tasks)))
        return list(tasks[::step])
