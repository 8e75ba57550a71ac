"""Testbeds by keyword (NetMCP's platform): servers chosen by words, category and size, copies of them, tasks that fit, and prices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from core.catalogs.catalog_editor import CatalogEditor
from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Imported, Server, tool_id
from core.domain.errors import WayfareError
from core.domain.people import actions
from core.domain.tasks import Step, Task
from core.importers import read_tasks
from core.lab.lab import LabService
from core.lab.lab_runs import drawn_tasks, keep_tasks
from core.learning.feedback import FeedbackService
from core.store import Store
from core.virtual.multiply import Recipe, copies


@dataclass(frozen=True, slots=True)
class Source:
    """A source of servers: the name of a catalog or registry file, its servers, and tasks labelled with their tools."""

    name: str
    servers: tuple[Server, ...]
    tasks: tuple[Task, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """The choice of servers: they mention any of the `words` (all servers without words), are of these `categories` (any without
    categories), and have so many tools. The best `servers` are taken, each with `copies` virtual copies. `seed` draws the `tasks`.
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
    """A chosen server under its name in the testbed: its source, its words of the selection, the number of mentions, and its copies."""

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
        return Catalog(name, tuple(server for choice in self.chosen for server in (choice.server, *choice.copies)))


def drawn_testbed(sources: Sequence[Source], selection: Selection) -> Testbed:
    """Equal sources and selections give equal testbeds.

    Servers with more of the words come first, then servers with more mentions, then in the order of their sources. The second of two
    servers with one name gets a number.
    """
    matches = sorted(_matching(sources, selection), key=lambda match: (-len(match[2]), -match[3]))
    taken_names: set[str] = set()
    chosen: list[ChosenServer] = []
    names: dict[tuple[str, str], tuple[str, ...]] = {}  # tool of a source -> its names here, copies included
    for source, server, words, mentions in matches[: selection.servers]:
        new_server = _renamed(server, taken_names)
        recipe = Recipe(selection.copies, selection.seed, selection.spread) if selection.copies else None
        new_copies = () if recipe is None else copies(new_server, recipe, taken=taken_names)
        taken_names |= {new_server.name, *(copy.name for copy in new_copies)}
        chosen.append(ChosenServer(new_server, source.name, words, mentions, new_copies))
        for tool in server.tools:
            names[source.name, tool.id] = tuple(tool_id(owner.name, tool.name) for owner in (new_server, *new_copies))
    return Testbed(tuple(chosen), len(matches), _drawn(fitting_tasks(sources, names), selection))


def _matching(sources: Sequence[Source], selection: Selection) -> Iterator[tuple[Source, Server, tuple[str, ...], int]]:
    """The servers to choose from, each with its words of the selection and the number of mentions."""
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
    descriptions = [server.description, *(tool.description for tool in server.tools)]
    return " ".join((*(re.sub(r"[_\-./]+", " ", name) for name in names), *descriptions))


def _renamed(server: Server, taken_names: set[str]) -> Server:
    name, number = server.name, 2
    while name in taken_names:
        name, number = f"{server.name}-{number}", number + 1
    return replace(server, name=name, tools=tuple(replace(tool, server=name) for tool in server.tools))


def fitting_tasks(sources: Sequence[Source], new: Mapping[tuple[str, str], tuple[str, ...]]) -> list[Task]:
    """Tasks whose tools are in the testbed, with their names there; copies serve like their original. A plan has to be whole.
    Impossible tasks are left out if there are several sources.
    """
    result: list[Task] = []
    for source in sources:
        for task in source.tasks:
            if not task.relevant:
                result += [task] if len(sources) == 1 else []
                continue
            relevant = [name for tool in task.relevant for name in new.get((source.name, tool), ())]
            plan = [_step(step, source.name, new) for step in task.plan]
            whole = [step for step in plan if step is not None]
            if not relevant or len(whole) < len(plan):
                continue
            grades = {name: grade for tool, grade in task.grades.items() for name in new.get((source.name, tool), ())}
            result.append(replace(task, relevant=tuple(relevant), plan=tuple(whole), grades=grades))
    return result


def _step(step: Step, source: str, new_names: Mapping[tuple[str, str], tuple[str, ...]]) -> Step | None:
    names = [name for tool in (step.tool, *step.equal) for name in new_names.get((source, tool), ())]
    return replace(step, tool=names[0], equal=tuple(names[1:])) if names else None


def _drawn(tasks: Sequence[Task], selection: Selection) -> tuple[Task, ...]:
    """Random tasks in their order, with unique ids."""
    count = min(selection.tasks, len(tasks))
    places = (
        sorted(np.random.default_rng(selection.seed).choice(len(tasks), size=count, replace=False)) if count else []
    )
    counts: dict[str, int] = {}
    chosen_tasks: list[Task] = []
    for place in places:
        task = tasks[int(place)]
        counts[task.id] = counts.get(task.id, 0) + 1
        chosen_tasks.append(task if counts[task.id] == 1 else replace(task, id=f"{task.id}-{counts[task.id]}"))
    return tuple(chosen_tasks)


@dataclass(frozen=True, slots=True)
class Registry:
    """A registry file: its name, and its servers with their secrets."""

    name: str
    imported: Imported


@actions("administer", keep="keep a test bed")
@dataclass(eq=False)
class TestbedService:
    """Draws and keeps testbeds. Thread-safe."""

    __test__ = False  # not a class of tests

    store: Store
    catalogs: CatalogService
    editor: CatalogEditor
    lab: LabService
    feedback: FeedbackService

    def draw(
        self,
        catalogs: Sequence[str],
        selection: Selection,
        *,
        registries: Sequence[Registry] = (),
        tasks: Sequence[Task] | None = None,
    ) -> Testbed:
        """A testbed from stored catalogs and registry files. `tasks` are labelled with tools of the first catalog; None takes the
        shipped tasks and labels of each catalog. Raises WayfareError without a source.
        """
        sources = [
            Source(
                name,
                self.catalogs.catalog(name).servers,
                self._tasks(name) if tasks is None else tuple(tasks) if not number else (),
            )
            for number, name in enumerate(dict.fromkeys(catalogs))
        ]
        sources += [Source(registry.name, registry.imported.servers) for registry in registries]
        if not sources:
            raise WayfareError("There is nothing to choose servers from; give a catalog or a registry file.")
        return drawn_testbed(sources, selection)

    def keep(self, testbed: Testbed, name: str, *, registries: Sequence[Registry] = ()) -> None:
        """Keep a testbed as a catalog with its tasks, which the Lab lists. Raises WayfareError."""
        if not testbed.chosen:
            raise WayfareError("No server is chosen: use fewer or other words, or other sizes.")
        servers = testbed.catalog(name).servers
        sources = ", ".join(dict.fromkeys(choice.source for choice in testbed.chosen))
        self.editor.keep(Imported("testbed", servers), name, f"testbed from {sources}")
        for registry in registries:
            chosen_servers = [choice.server for choice in testbed.chosen if choice.source == registry.name]
            self.editor.keep_secrets(name, chosen_servers, registry.imported.secrets)
        if testbed.tasks:
            keep_tasks(self.store, drawn_tasks(name), testbed.tasks)

    def _tasks(self, catalog: str) -> tuple[Task, ...]:
        shipped_tasks = [task for path in self.lab.task_sets(catalog).values() for task in self.lab.read_tasks(path)]
        labels = self.feedback.export(catalog) if self.feedback.queries(catalog) else ""
        return (*shipped_tasks, *(read_tasks(labels.encode(), source=f"labels of {catalog}") if labels else ()))
