"""Large testbeds: a size, a seed, words that repeat no text too often, and tasks whose right tools are there."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

from core.domain.catalog import Server, Tool
from core.domain.tasks import Task
from core.importers import read_files
from core.importers.shipped_catalogs import SAMPLE, shipped
from core.lab.testbed import Source
from tests.benchmarks.large_testbed import LargeTestbed, write_catalog

MAIL = Server("mail", tools=(Tool("mail", "send", "Send a letter."), Tool("mail", "read", "Read a letter.")))
ONE = Source("one", (MAIL,), (Task("s", "post it", relevant=("mail::send",)), Task("x", "fly")))


@cache
def made(tools: int) -> tuple[Server, ...]:
    return tuple(LargeTestbed([Source(SAMPLE, shipped(SAMPLE).servers)], tools))


def test_a_smaller_one_is_the_beginning_of_a_larger_one() -> None:
    small, large = made(1_500), made(2_500)
    assert [sum(len(server.tools) for server in one) for one in (small, large)] == [1_500, 2_500]
    assert small[:-1] == large[: len(small) - 1], "the last one is cut to the size"
    assert [server.tools for server in small[:81]] == [server.tools for server in shipped(SAMPLE).servers]
    assert len({server.name for server in large}) == len(large)


def test_texts_repeat_as_seldom_as_in_public_catalogs() -> None:
    tools = [tool for server in made(2_500) for tool in server.tools]
    times = Counter(tool.description for tool in tools)
    assert 0.005 < sum(n for n in times.values() if n > 1) / len(tools) < 0.08, "public catalogs: 0.01 to 0.03"
    words = Counter(word for tool in tools for word in set(re.findall(r"[a-z]+", tool.description.lower())))
    assert 0.2 < sum(n == 1 for n in words.values()) / len(words) < 0.6, "public catalogs: 0.43 to 0.53"


def test_every_tool_that_stands_for_a_right_one_is_right() -> None:
    bed = LargeTestbed([ONE], 400)
    tools = {tool.id: tool for server in bed for tool in server.tools}
    (labelled,) = [task for task in bed.tasks() if task.level != "exact"]
    assert len(labelled.relevant) > 10
    assert all(re.search("send|post", name.split("::")[1], re.IGNORECASE) for name in labelled.relevant)
    exact = [task for task in bed.tasks() if task.level == "exact"]
    assert exact
    assert {name for task in (labelled, *exact) for name in task.relevant} <= tools.keys()


def test_the_file_is_a_catalog(tmp_path: Path) -> None:
    bed = LargeTestbed([ONE], 60)
    write_catalog(tmp_path / "c.json", bed)
    read = read_files([tmp_path / "c.json"]).servers
    assert [(s.name, [(t.name, t.description, t.price_usd) for t in s.tools]) for s in read] == [
        (s.name, [(t.name, t.description, t.price_usd) for t in s.tools]) for s in LargeTestbed([ONE], 60)
    ]
