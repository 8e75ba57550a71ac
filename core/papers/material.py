"""Material of the papers: catalogs, labelled tasks, decisions, networks, and a language model if one is set."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.tasks import Task
from core.lab.scenarios.simulation import World
from core.papers.report import Kind, Row, Value, pair
from core.planning.base import Planner
from core.routers.context import RoutingContext

SAMPLE, ATTENTION, SEARCH = "sample", "attention-120", "search-15"
NEEDS_MODEL = "Set WAYFARE_LLM_MODEL, then make papers."


@dataclass(frozen=True)
class Material:
    """The data of all papers.

    `tasks` reads a file of the sample or of a testbed by its name. `decide(text, catalog, router, settings=None, *, hint="",
    preset="")` decides without a record, by a router with these settings over a preset, or else with its published retrieval. `world` takes a network's profile,
    steps, seed, and whether questions keep the person's words; its catalog is NetMCP's testbed. `add_catalog` adds a catalog for
    this process. `model` is None if no model is set; each of its rows asks at most `model_tasks` questions a set. `poisoned` is a JSON
    Lines file of poisoned servers, or None.
    """

    context: Callable[[str], RoutingContext]
    tasks: Callable[[str], tuple[Task, ...]]
    decide: Callable[..., Decision]
    world: Callable[[str, int, int, bool], World]
    add_catalog: Callable[[Catalog], None]
    seed: int
    model: Planner | None
    model_tasks: int
    poisoned: Path | None
    say: Callable[[str], None]

    def by_model(
        self, name: str, keys: Sequence[str], why: str, about: str, measure: Callable[[Planner], Mapping[str, Value]]
    ) -> Row:
        """A row of the language model, without figures if no model is set or it does not answer. `about` is reported first."""
        nothing: dict[str, tuple[Value, Value]] = dict.fromkeys(keys, (None, None))
        if self.model is None:
            return Row(name, Kind.MODEL, nothing, why=NEEDS_MODEL)
        self.say(f"{about} by {self.model.name}")
        try:
            values = measure(self.model)
        except WayfareError as error:
            return Row(name, Kind.MODEL, nothing, why=f"The model did not answer: {error}", model=self.model.name)
        return Row(
            name, Kind.MODEL, {key: pair(None, value) for key, value in values.items()}, why=why, model=self.model.name
        )

    def asked_of_model(self, tasks: Sequence[Task]) -> list[Task]:
        """The tasks for a model, spread over all tasks."""
        step = max(1, -(-len(tasks) // max(1, self.model_tasks)))
        return list(tasks[::step])
