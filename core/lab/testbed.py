"""Testbeds by keyword (NetMCP's platform): servers chosen by words, category and size, multiplied, and tasks that fit them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.domain.catalog import Catalog, Server, tool_id
from core.domain.tasks import Step, Task
from core.virtual.multiply import Recipe, copies


@dataclass(frozen=True, slots=True)
class Source:
    """Where servers come from: a catalog's or a registry file's name, its servers, and tasks that are labelled with their tools."""

    name: str
    servers: tuple[Server, ...]
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which servers: those that any of the `words` is said of (all where there are none), of these `categories` (any where there are
    none), with so many tools; the best `servers` of them, each with `copies` virtual ones. `tasks` are drawn with the seed."""

    words: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    least_tools: int = 1
    most_tools: int = 1_000
    servers: int = 15
    copies: int = 0
    spread: float = 2.0
    seed: int = 0
    tasks: int = 100


@dataclass(frozen=True, slots=True)
class ChosenServer:
    """A server that was chosen, by its name in the testbed: where from, which words were found, how often, and its copies."""

    server: Server
    source: str
    found: tuple[str, ...]
    mentions: int
    copies: tuple[Server, ...]


@dataclass(frozen=True, slots=True)
class Testbed:
    """What was chosen, and tasks whose tools are in it. `matching` is how many servers there were to choose from."""

    __test__ = False  # no class of tests

    chosen: tuple[ChosenServer, ...]
    matching: int
    tasks: tuple[Task, ...]

    def catalog(self, name: str) -> Catalog:
        """As a catalog: each server followed by its copies."""
        return Catalog(name, tuple(server for one in self.chosen for server in (one.server, *one.copies)))


def drawn_testbed(sources: Sequence[Source], selection: Selection) -> Testbed:
    """The same for the same sources and selection. Servers with more of the words come first, then those that say them more often,
    then in the order of their sources; of two with one name the second is given a number."""
    matching = sorted(_matching(sources, selection), key=lambda one: (-len(one[2]), -one[3]))
    taken: set[str] = set()
    chosen: list[ChosenServer] = []
    new: dict[tuple[str, str], tuple[str, ...]] = {}  # tool of a source -> what it is called here, with its copies
    for source, server, found, mentions in matching[: selection.servers]:
        named = _renamed(server, taken)
        recipe = Recipe(selection.copies, selection.seed, selection.spread) if selection.copies else None
        made = () if recipe is None else copies(named, recipe, taken=taken)
        taken |= {named.name, *(one.name for one in made)}
        chosen.append(ChosenServer(named, source.name, found, mentions, made))
        for tool in server.tools:
            new[source.name, tool.id] = tuple(tool_id(one.name, tool.name) for one in (named, *made))
    return Testbed(tuple(chosen), len(matching), _drawn(_fitting(sources, new), selection))


def _matching(sources: Sequence[Source], selection: Selection) -> Iterator[tuple[Source, Server, tuple[str, ...], int]]:
    """The servers to choose from, each with the words that were found and how often."""
    patterns = {word: re.compile(rf"\b{re.escape(word)}", re.IGNORECASE) for word in selection.words if word.strip()}
    for source in sources:
        for server in source.servers:
            if selection.categories and server.category not in selection.categories:
                continue
            if not selection.least_tools <= len(server.tools) <= selection.most_tools:
                continue
            text = _text(server)
            counts = {word: len(pattern.findall(text)) for word, pattern in patterns.items()}
            if not patterns or any(counts.values()):
                yield source, server, tuple(word for word, count in counts.items() if count), sum(counts.values())


def _text(server: Server) -> str:
    """What a server and its tools say of themselves; names are read as words."""
    names = [server.name, server.title, server.category, *(tool.name for tool in server.tools)]
    told = [server.description, *(tool.description for tool in server.tools)]
    return " ".join((*(re.sub(r"[_\-./]+", " ", name) for name in names), *told))


def _renamed(server: Server, taken: set[str]) -> Server:
    name, number = server.name, 2
    while name in taken:
        name, number = f"{server.name}-{number}", number + 1
    return replace(server, name=name, tools=tuple(replace(tool, server=name) for tool in server.tools))


def _fitting(sources: Sequence[Source], new: Mapping[tuple[str, str], tuple[str, ...]]) -> list[Task]:
    """Tasks whose tools are in the testbed, with their names there; copies do what their original does. A plan has to be whole. A
    task that nothing in its source can do stays impossible where there is no other source."""
    fitting: list[Task] = []
    for source in sources:
        for task in source.tasks:
            if not task.relevant:
                fitting += [task] if len(sources) == 1 else []
                continue
            relevant = [name for tool in task.relevant for name in new.get((source.name, tool), ())]
            plan = [_step(step, source.name, new) for step in task.plan]
            whole = [step for step in plan if step is not None]
            if not relevant or len(whole) < len(plan):
                continue
            grades = {name: grade for tool, grade in task.grades.items() for name in new.get((source.name, tool), ())}
            fitting.append(replace(task, relevant=tuple(relevant), plan=tuple(whole), grades=grades))
    return fitting


def _step(step: Step, source: str, new: Mapping[tuple[str, str], tuple[str, ...]]) -> Step | None:
    names = [name for tool in (step.tool, *step.equal) for name in new.get((source, tool), ())]
    return replace(step, tool=names[0], equal=tuple(names[1:])) if names else None


def _drawn(tasks: Sequence[Task], selection: Selection) -> tuple[Task, ...]:
    """So many of them in their order, under ids of which no two are the same."""
    count = min(selection.tasks, len(tasks))
    places = (
        sorted(np.random.default_rng(selection.seed).choice(len(tasks), size=count, replace=False)) if count else []
    )
    seen: dict[str, int] = {}
    found: list[Task] = []
    for place in places:
        task = tasks[int(place)]
        seen[task.id] = seen.get(task.id, 0) + 1
        found.append(task if seen[task.id] == 1 else replace(task, id=f"{task.id}-{seen[task.id]}"))
    return tuple(found)
