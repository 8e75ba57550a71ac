"""Training texts of an encoder: texts that ask for a tool, labelled or made by rules from the tool; and the training's settings.

A document is one view of its tool, drawn at random, so that no single view decides. A text made from a tool is paired with
views that do not repeat it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.domain.catalog import Tool, first_sentence, words
from core.domain.errors import ParameterError
from core.domain.tasks import Task
from core.relevance.text_views import description, full, imperative, names, parameters

# Settings; the defaults made the file that comes with Wayfare


@dataclass(frozen=True, slots=True)
class TuningSettings:
    """How to tune. Raises ParameterError for a number below its minimum.

    `rate` is AdamW's highest, reached after a tenth of the steps, then falling to 0. `share` of the change is kept, as factors of
    `rank`: weights between the frozen and the tuned ones do better on other catalogs than either.

    >>> TuningSettings(rank=0)
    Traceback (most recent call last):
    core.domain.errors.ParameterError: rank is 0; give 1 or more.
    """

    layers: int = 3  # from the top, that learn
    rate: float = 1e-4
    epochs: int = 1
    batch: int = 32
    temperature: float = 0.05
    share: float = 0.75
    positives: int = 1  # of a query's right tools, drawn for each epoch
    synthetic: int = 1  # texts made from each tool, for each epoch
    hard: int = 20  # negatives that the frozen encoder ranks highest, one drawn for every second pair; 0: none
    max_tokens: int = 64
    seed: int = 11
    threads: int = 2
    bfloat16: bool = True  # for the products; weights and optimiser stay in float32
    rank: int = 46
    steps: int = 0  # stop after so many, for a trial; 0: all of them

    def __post_init__(self) -> None:
        for name in ("layers", "epochs", "batch", "positives", "max_tokens", "threads", "rank"):
            if (value := getattr(self, name)) < 1:
                raise ParameterError(f"{name} is {value}; give 1 or more.")
        for name in ("synthetic", "hard", "steps", "seed"):
            if (value := getattr(self, name)) < 0:
                raise ParameterError(f"{name} is {value}; give 0 or more.")


# Pairs

LEAST_CHARACTERS = 15  # a shorter description says no more than the name
VIEW_CHARACTERS = 400
REST_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class LabelledCatalog:
    """Tools, tasks labelled with them, and sets of equal tools (ids)."""

    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...] = ()
    equal: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A text, the tool that it asks for, and every tool that is right for it (`accepted`, ids).

    `catalog` is the position of its catalog, `views` are the texts of the tool that it may be paired with.
    """

    catalog: int
    query: str
    tool: str
    accepted: frozenset[str]
    views: tuple[str, ...]


def training_pairs(catalogs: Sequence[LabelledCatalog], settings: TuningSettings, epoch: int) -> list[Pair]:
    """The pairs of one epoch: labelled ones, and ones made from the tools' texts. Deterministic in seed and epoch."""
    draw = random.Random(f"{settings.seed}/{epoch}")  # noqa: S311  repeatable, not secret
    pairs: list[Pair] = []
    for number, catalog in enumerate(catalogs):
        known = {tool.id: tool for tool in catalog.tools}
        equals = _equals(catalog)
        for query, relevant in labelled(catalog.tasks):
            right = [key for key in relevant if key in known]
            accepted = frozenset(right).union(*(equals[key] for key in right))
            for key in draw.sample(right, min(len(right), settings.positives)):
                pairs.append(Pair(number, query, key, accepted, views_of(known[key])))
        for tool in catalog.tools:
            made = synthetic(tool)
            for query, views in draw.sample(made, min(len(made), settings.synthetic)):
                pairs.append(Pair(number, query, tool.id, frozenset({tool.id}) | equals[tool.id], views))
    return pairs


def labelled(tasks: Iterable[Task]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Texts by people or models with their right tools: question, sub-task, and every step of a plan.

    All tools of a plan are right for its question; each step has its own.
    """
    for task in tasks:
        for text in dict.fromkeys((task.question, task.subtask)):
            if text.strip() and task.relevant:
                yield text, task.relevant
        for step in task.plan if len(task.plan) > 1 else ():
            if step.subtask.strip():
                yield step.subtask, (step.tool, *step.equal)


def synthetic(tool: Tool) -> list[tuple[str, tuple[str, ...]]]:
    """Texts made from a tool by rules, each with views that do not repeat it.

    >>> [query for query, _ in synthetic(Tool("hub", "list_issues", "Lists open issues."))]
    ['list issues', 'How do I list open issues?', 'list open issues']
    """
    sentence = first_sentence(tool.description, 120)
    does = imperative(sentence)
    rest = tool.description.strip()[len(sentence) :].strip()
    named = f"{names(tool)}; {parameters(tool)}".strip("; ")[:VIEW_CHARACTERS]
    made: list[tuple[str, tuple[str, ...]]] = []
    if len(tool.description.strip()) > LEAST_CHARACTERS:
        made.append((words(tool.name), (description(tool),)))
    if len(does) > 12:
        made += [(f"How do I {does}?", (names(tool), named)), (does, (names(tool), named))]
    if len(rest) > 30:
        made.append((rest[:REST_CHARACTERS], (f"{names(tool)}: {sentence}",)))
    return made


def views_of(tool: Tool) -> tuple[str, ...]:
    """The texts of a tool for pairs; likelier ones occur more than once."""
    short = f"{names(tool)}: {first_sentence(tool.description)}"
    unnamed = f"{words(tool.name)}: {tool.description.strip()}"[:1000]
    views = (full(tool), full(tool), full(tool), names(tool), names(tool), short, unnamed, description(tool))
    return tuple(view for view in views if view.strip())


def _equals(catalog: LabelledCatalog) -> defaultdict[str, frozenset[str]]:
    found: defaultdict[str, frozenset[str]] = defaultdict(frozenset)
    for group in catalog.equal:
        for key in group:
            found[key] |= group
    return found
