"""Realistic catalogs of any size: servers varied from others, and servers made of the words of 98 fields of work.

The public world has both: many servers for one service, in other words and with fewer tools, some of them plain forks; and servers for
everything else. Server k is drawn from a generator of its own, so a smaller catalog is the beginning of a larger one. Servers are
yielded one by one: memory does not grow with their number.

    python -m tests.benchmarks.large_testbed 10000 catalog.json tasks.jsonl        # and the number of servers, if it matters
"""

from __future__ import annotations

import json
import math
import random
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from core.domain.catalog import Server, Tool, first_sentence, tool_id, words
from core.domain.english import base_form
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.importers.shipped_catalogs import SHIPPED_CATALOGS, shipped
from core.lab.lab import TASK_SETS
from core.lab.testbed import Source, fitting_tasks
from core.virtual.multiply import Recipe, copies
from tests.benchmarks.invented_servers import (
    Style,
    distinct,
    drawn_size,
    free_name,
    invented_server,
    other_words,
    server_name,
)

VARIED = 0.35  # share of the servers that are varied from a source's
FORKS = 0.08  # share with unchanged words: 2 to 3 % of public tools have another tool's description
EXACT = 0.01  # share of the tools with a question that names their server
SPREAD = 4.0  # of the declared figures
Same = Mapping[tuple[str, str], str]  # source and tool of an original -> `server::tool` here


_NEW: Same = {}


class LargeTestbed:
    """Servers with so many tools together: those of the sources first, then varied and new ones. Iterate once, then read `tasks`.
    With a number of `servers` each varied or new server keeps at most an equal share of the remaining tools.

    >>> source = Source("one", (Server("files", tools=(Tool("files", "read", "Read a file."),)),))
    >>> bed = LargeTestbed([source], 25)
    >>> sum(len(server.tools) for server in bed), bed.tools
    (25, 25)
    """

    def __init__(self, sources: Sequence[Source], tools: int, seed: int = 0, servers: int = 0) -> None:
        self.tools, self.servers = 0, 0
        self._sources, self._wanted, self._seed, self._servers = sources, tools, seed, servers
        self._same: dict[tuple[str, str], list[str]] = {}  # tool of a source -> its tools here
        self._exact: list[Task] = []

    def __iter__(self) -> Iterator[Server]:
        originals = [(source.name, server) for source in self._sources for server in source.servers if server.tools]
        used_names: set[str] = set()
        while self.tools < self._wanted:
            rng = random.Random(f"{self._seed}|{self.servers}")
            if self.servers < len(originals):
                server, new_ids = _as_it_is(*originals[self.servers], used_names)
            elif originals and rng.random() < VARIED:
                server, new_ids = _varied(*rng.choice(originals), rng, used_names)
            else:
                server, new_ids = invented_server(rng, used_names), _NEW
            servers_left = max(1, self._servers - self.servers) if self.servers >= len(originals) else 1
            most = math.ceil((self._wanted - self.tools) / servers_left)
            server = replace(server, tools=server.tools[:most])
            self._notice(server, new_ids, rng)
            used_names.add(server.name)
            yield server

    def tasks(self) -> tuple[Task, ...]:
        """The labelled tasks of the sources that can be done here. Every tool that replaces a right tool is right. One tool in a
        hundred also gets a question that names its server, so that no other tool is right.
        """
        labelled = fitting_tasks(self._sources, {key: tuple(tools) for key, tools in self._same.items()})
        return tuple({task.id: task for task in (*labelled, *self._exact) if task.relevant}.values())

    def _notice(self, server: Server, new_ids: Mapping[tuple[str, str], str], rng: random.Random) -> None:
        kept_ids = {tool.id for tool in server.tools}
        for original, new_id in new_ids.items():
            if new_id in kept_ids:
                self._same.setdefault(original, []).append(new_id)
        self._exact += _exact(server, rng)
        self.servers += 1
        self.tools += len(server.tools)


def write_catalog(file: Path, servers: Iterable[Server]) -> None:
    """Write a catalog as a file that `wayfare import` reads, a server a line."""
    with file.open("w", encoding="utf-8") as out:
        out.write('{"servers": [')
        for number, server in enumerate(servers):
            out.write(f"{',' if number else ''}\n{json.dumps(_document(server), ensure_ascii=False)}")
        out.write("\n]}\n")


def _document(server: Server) -> dict[str, Any]:
    figures = ("title", "category", "ask_usd", "conn_s", "call_s", "success", "post_accept_failure", "virtual")
    stated = {name: getattr(server, name) for name in figures if getattr(server, name) not in {None, "", False}}
    return {"name": server.name, "description": server.description, **stated, "tools": [_tool(t) for t in server.tools]}


def _tool(tool: Tool) -> dict[str, Any]:
    figures = {name: getattr(tool, name) for name in ("price_usd", "latency_s", "success")}
    return tool.definition() | {name: value for name, value in figures.items() if value is not None}


def _exact(server: Server, rng: random.Random) -> tuple[Task, ...]:
    """Questions that name the server, so that no other tool is right."""
    named_tools = [tool for tool in server.tools if tool.description.strip() and rng.random() < EXACT]
    return tuple(
        Task(f"exact {tool.id}", f"with {words(server.name)}, {_asked(tool)}", relevant=(tool.id,), level="exact")
        for tool in named_tools
    )


def _asked(tool: Tool) -> str:
    first_word, _, remainder = first_sentence(tool.description, 120).partition(" ")
    return f"{base_form(first_word.lower())} {remainder}".rstrip(" .")


# Servers of the sources, and varied servers


def _as_it_is(source: str, server: Server, used_names: set[str]) -> tuple[Server, Same]:
    renamed = replace(server, name=free_name(server.name, used_names), connection=None, virtual=True)
    tools = tuple(replace(tool, server=renamed.name) for tool in server.tools)
    return replace(renamed, tools=tools), _same(source, server.tools, tools)


def _varied(source: str, server: Server, rng: random.Random, used_names: set[str]) -> tuple[Server, Same]:
    """A varied server: a part of the tools, named in another style, in other words unless it is a fork."""
    seed = rng.randrange(1 << 30)
    (copy,) = copies(server, Recipe(1, seed, SPREAD))
    size = min(len(copy.tools), drawn_size(rng))
    rows = sorted(rng.sample(range(len(copy.tools)), size))
    name = free_name(server_name(rng, words(server.name).split()[0].lower()), used_names)
    style, fork = Style(rng, name), rng.random() < FORKS
    tools: list[Tool] = []
    for row in rows:
        original, reworded = server.tools[row], copy.tools[row]
        text = original.description if fork else style.description(reworded.description, reworded, [], rng)
        new_name = style.name(other_words(words(original.name), rng).split())
        tools.append(replace(reworded, server=name, name=new_name, description=text, requests=(), preconditions=()))
    kept_tools = distinct(tools)
    varied = replace(copy, name=name, tools=kept_tools, description=copy.description if rng.random() < 0.6 else "")
    by_name = {tool.name: row for row, tool in zip(rows, tools, strict=True)}
    return varied, _same(source, [server.tools[by_name[tool.name]] for tool in kept_tools], kept_tools)


def _same(source: str, originals: Iterable[Tool], tools: Iterable[Tool]) -> Same:
    return {(source, old.id): tool_id(new.server, new.name) for old, new in zip(originals, tools, strict=True)}


def main(tools: str, catalog: str, tasks: str, servers: str = "0") -> None:
    """Writes a catalog of so many tools, made from the shipped catalogs, and its labelled tasks."""
    sources = [Source(name, shipped(name).servers, _labelled(name)) for name in SHIPPED_CATALOGS]
    bed = LargeTestbed(sources, int(tools), servers=int(servers))
    write_catalog(Path(catalog), bed)
    Path(tasks).write_text(tasks_text(bed.tasks()), "utf-8")


def _labelled(catalog: str) -> tuple[Task, ...]:
    files = TASK_SETS.get(catalog, {}).values()
    return tuple(task for file in files for task in read_tasks(file.read_bytes(), source=file.name))


if __name__ == "__main__":
    main(*sys.argv[1:])
