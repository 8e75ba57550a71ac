"""What an encoder is trained on: texts that ask for a tool, labelled or made by rules from the tool itself. Pure functions.

A document is one view of its tool, drawn at random, so that no view is relied upon; a text made from a tool is paired with
views that do not repeat it.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from core.domain.catalog import Tool, first_sentence, words
from core.domain.task import Task
from core.index.enriched import imperative
from core.index.text_views import description, full, names, parameters
from core.tuning.settings import TuningSettings

LEAST_CHARACTERS = 15  # of a description that says more than its tool's name does
VIEW_CHARACTERS = 400
REST_CHARACTERS = 300


@dataclass(frozen=True, slots=True)
class LabelledCatalog:
    """Tools, tasks labelled with them, and sets of tools (ids) that do the same."""

    name: str
    tools: tuple[Tool, ...]
    tasks: tuple[Task, ...] = ()
    equal: tuple[frozenset[str], ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """A text that asks, the tool that it asks for, and every tool that is right for it (`accepted`, ids).

    `catalog` is the position of its catalog, `views` are the texts under which the tool may be shown to it.
    """

    catalog: int
    query: str
    tool: str
    accepted: frozenset[str]
    views: tuple[str, ...]


def training_pairs(catalogs: Sequence[LabelledCatalog], settings: TuningSettings, epoch: int) -> list[Pair]:
    """The pairs of one epoch: labelled ones and those made from the tools' own texts. Deterministic in seed and epoch."""
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
    """Texts that people or models wrote, with the tools that are right: question, sub-task, and every step of a plan.

    The question of a plan of several steps is right for all its tools, each step for its own.
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
    """The texts under which a tool may be shown, likelier ones more than once."""
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
