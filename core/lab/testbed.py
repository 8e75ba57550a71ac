"""Testbeds by keyword (NetMCP's platform): servers chosen by words, category and size, copies of them, tasks that fit, and prices."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.domain.catalog import Catalog, Server, Tool, tool_id
from core.domain.tasks import Step, Task
from core.virtual.multiply import Recipe, copies


@dataclass(frozen=True, slots=True)
class Source:
    """A source of servers: the name of a catalog or registry file, its servers, and tasks labelled with their tools."""

    name: str
    servers: tuple[Server, ...]
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which servers to choose: those that mention any of the `words` (all servers without words), of these `categories` (any without
    categories), with so many tools. The best `servers` are taken, each with `copies` virtual ones. `seed` draws the `tasks`.
    """

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
    """A chosen server under its name in the testbed: its source, the words found, how often, and its copies."""

    server: Server
    source: str
    found: tuple[str, ...]
    mentions: int
    copies: tuple[Server, ...]


@dataclass(frozen=True, slots=True)
class Testbed:
    """The chosen servers, and tasks for their tools. `matching` is the number of servers to choose from."""

    __test__ = False  # not a class of tests

    chosen: tuple[ChosenServer, ...]
    matching: int
    tasks: tuple[Task, ...]

    def catalog(self, name: str) -> Catalog:
        """As a catalog: each server followed by its copies."""
        return Catalog(name, tuple(server for one in self.chosen for server in (one.server, *one.copies)))


def drawn_testbed(sources: Sequence[Source], selection: Selection) -> Testbed:
    """The same sources and selection give the same testbed.

    Servers with more of the words come first, then those that mention them more often, then in the order of their sources. The
    second of two with one name gets a number.
    """
    matching = sorted(_matching(sources, selection), key=lambda one: (-len(one[2]), -one[3]))
    taken: set[str] = set()
    chosen: list[ChosenServer] = []
    new: dict[tuple[str, str], tuple[str, ...]] = {}  # tool of a source -> its names here, copies included
    for source, server, found, mentions in matching[: selection.servers]:
        named = _renamed(server, taken)
        recipe = Recipe(selection.copies, selection.seed, selection.spread) if selection.copies else None
        made = () if recipe is None else copies(named, recipe, taken=taken)
        taken |= {named.name, *(one.name for one in made)}
        chosen.append(ChosenServer(named, source.name, found, mentions, made))
        for tool in server.tools:
            new[source.name, tool.id] = tuple(tool_id(one.name, tool.name) for one in (named, *made))
    return Testbed(tuple(chosen), len(matching), _drawn(fitting_tasks(sources, new), selection))


def _matching(sources: Sequence[Source], selection: Selection) -> Iterator[tuple[Source, Server, tuple[str, ...], int]]:
    """The servers to choose from, each with the words found and how often."""
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
    """The texts of a server and its tools; names are read as words."""
    names = [server.name, server.title, server.category, *(tool.name for tool in server.tools)]
    told = [server.description, *(tool.description for tool in server.tools)]
    return " ".join((*(re.sub(r"[_\-./]+", " ", name) for name in names), *told))


def _renamed(server: Server, taken: set[str]) -> Server:
    name, number = server.name, 2
    while name in taken:
        name, number = f"{server.name}-{number}", number + 1
    return replace(server, name=name, tools=tuple(replace(tool, server=name) for tool in server.tools))


def fitting_tasks(sources: Sequence[Source], new: Mapping[tuple[str, str], tuple[str, ...]]) -> list[Task]:
    """Tasks whose tools are in the testbed, with their names there; copies do what their original does. A plan has to be whole.
    An impossible task stays impossible only if there is no other source.
    """
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
    """So many tasks in their order, with ids made unique."""
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


# Prices by EHRR's two tiers (section V): low U(0, 0.0025) USD, high N(0.0225, 0.005^2) USD, cut at 0

LOW_USD, HIGH_USD, HIGH_DEVIATION_USD = 0.0025, 0.0225, 0.005
HIGH_TIER = re.compile(
    r"\b(web|internet|online|browse\w*|crawl\w*|scrap\w+|google|bing|duckduckgo|tavily|news|"
    r"geocod\w*|geo\w*|map|maps|route\w*|directions?|navigation|places?|satellite|weather|"
    r"generat\w*|summar\w*|translat\w*|transcri\w*|synthes\w*|llm|gpt|model|models|ai|speech|image|images|video|embedding\w*)\b",
    re.IGNORECASE,
)


def is_high_tier(tool: Tool) -> bool:
    """Whether a tool belongs to the expensive tier: by its declared tier, else by words of its name and description.

    >>> is_high_tier(Tool("maps", "find_route", "Directions between two places."))
    True
    >>> is_high_tier(Tool("text", "count_words", "Counts words."))
    False
    """
    if tool.tier:
        return tool.tier == "high"
    return bool(HIGH_TIER.search(f"{tool.server} {tool.name} {tool.description}".replace("_", " ").replace("-", " ")))


def drawn_price_usd(tool: Tool, seed: int) -> float:
    """A price per call from the tool's tier, drawn by the tool's name and the seed. Other tools do not change it."""
    rng = np.random.default_rng([seed, zlib.crc32(tool.id.encode())])
    if is_high_tier(tool):
        return max(0.0, float(rng.normal(HIGH_USD, HIGH_DEVIATION_USD)))
    return float(rng.uniform(0.0, LOW_USD))


def priced_by_tiers(catalog: Catalog, *, name: str, seed: int = 0) -> Catalog:
    """A catalog with every tool priced by its tier. Servers ask the median of their tools' prices."""
    return Catalog(name, tuple(_priced(server, seed) for server in catalog.servers))


def _priced(server: Server, seed: int) -> Server:
    tools = tuple(replace(tool, price_usd=drawn_price_usd(tool, seed)) for tool in server.tools)
    return replace(server, tools=tools, ask_usd=None)
