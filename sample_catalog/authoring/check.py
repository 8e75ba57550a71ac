"""Checks the labelled tasks against the servers, and reports how much of a description their wording repeats.

    python -m sample_catalog.authoring.check

prints each problem (and exits with 1 if there is one) and, for each level, the mean ROUGE-L between a task's question
and sub-task and the descriptions of its relevant tools, as in Table 5 of ETOM (published: L1 0.337, L2 0.152).
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean
from typing import Any

from core.domain.catalog import Catalog
from core.domain.tasks import Task
from core.importers import read_tasks
from core.importers.shipped_catalogs import sample
from sample_catalog import DISTINCT_PAIRS, EQUAL_SETS, TASKS_DIR

LONGEST_COPY_WORDS = 6
WANTED = {
    "l1_direct": 120,
    "l2_context": 120,
    "l3_within_server": 60,
    "l4_across_servers": 40,
    "l5_out_of_scope": 50,
    "ehrr_categories": 95,
    "pa_rag_simple": 40,
    "pa_rag_complex": 40,
    "subtasks": 189,
}
TABLE_IV = {"Office": 31, "Lifestyle": 15, "Leisure": 14, "Finance": 14, "Travel": 12, "Shopping": 9}
SERVERS_OF_A_PLAN = {"L3": (1, 1), "L4": (2, 4)}
GAPS = {"physical world", "senses", "near miss"}


@dataclass(frozen=True)
class EqualSets:
    """Equal function sets: tools of several servers that do the same job. A tool belongs to one set at most."""

    sets: tuple[tuple[str, ...], ...]
    distinct: tuple[tuple[str, ...], ...]

    @classmethod
    def load(cls) -> "EqualSets":
        """Returns the verified sets, and the pairs that look equal but are not."""
        sets, pairs = (json.loads(path.read_text(encoding="utf-8")) for path in (EQUAL_SETS, DISTINCT_PAIRS))
        return cls(tuple(tuple(one["tools"]) for one in sets), tuple(tuple(pair["tools"]) for pair in pairs))

    def of(self, tool: str) -> frozenset[str]:
        """Returns the set of a tool, or the tool alone if it is in none."""
        return next((frozenset(one) for one in self.sets if tool in one), frozenset({tool}))

    def decided(self) -> set[frozenset[str]]:
        """Returns every judged pair, equal or distinct."""
        equal = {frozenset(pair) for one in self.sets for pair in combinations(one, 2)}
        return equal | {frozenset(pair) for pair in self.distinct}


def tasks_by_file() -> dict[str, tuple[Task, ...]]:
    """Returns every file's tasks. Raises for an invalid label or plan."""
    return {path.stem: read_tasks(path.read_bytes(), source=path.name) for path in sorted(TASKS_DIR.glob("*.jsonl"))}


def problems(catalog: Catalog, files: dict[str, tuple[Task, ...]], equal: EqualSets) -> Iterator[str]:
    yield from set_problems(catalog, equal)
    for name, wanted in WANTED.items():
        if len(files.get(name, ())) < wanted:
            yield f"{name} has {len(files.get(name, ()))} tasks of {wanted}"
    counted = Counter(task.category for task in files.get("ehrr_categories", ()))
    if counted != TABLE_IV:
        yield f"ehrr_categories has {dict(counted)}, Table IV {TABLE_IV}"
    everything = [task for tasks in files.values() for task in tasks]
    for label, texts in (("id", [t.id for t in everything]), ("sub-task", [t.subtask.casefold() for t in everything])):
        yield from (f"{label} {text!r} occurs {n} times" for text, n in Counter(texts).items() if n > 1)
    for task in everything:
        yield from (f"{task.id}: {fault}" for fault in task_problems(task, catalog, equal))


def set_problems(catalog: Catalog, equal: EqualSets) -> Iterator[str]:
    """Yields the faults of the equal function sets themselves."""
    seen: Counter[str] = Counter(tool for one in equal.sets for tool in one)
    yield from (f"{tool} is in {n} equal sets" for tool, n in seen.items() if n > 1)
    named = {*seen, *(tool for pair in equal.distinct for tool in pair)}
    yield from (f"{tool} of the equal sets is not a tool" for tool in sorted(named - catalog.tool_row.keys()))
    yield from (f"{one[0]} is equal only to tools of its own server" for one in equal.sets if len(servers(one)) < 2)
    for pair in equal.distinct:
        if set(pair) <= equal.of(pair[0]):
            yield f"{' and '.join(pair)} are marked both equal and distinct"


def task_problems(task: Task, catalog: Catalog, equal: EqualSets) -> Iterator[str]:
    """Yields the faults of one task, by the rules of its level."""
    steps = {tool for step in task.plan for tool in (step.tool, *step.equal)}
    unknown = {*task.relevant, *steps} - catalog.tool_row.keys()
    yield from (f"{tool} is not a tool" for tool in sorted(unknown))
    if unknown:
        return
    if task.plan and steps != set(task.relevant):
        yield "its relevant tools are not those of its plan"
    for step in task.plan:
        if not set(step.equal) <= equal.of(step.tool):
            yield f"{step.tool} is not in one equal set with all of {', '.join(step.equal)}"
        if not step.subtask:
            yield f"the step of {step.tool} has no sub-task"
    yield from _level_problems(task, catalog, equal)
    for text in (task.question, task.subtask):
        for tool in task.relevant:
            if copied := _copied(text, catalog.tools[catalog.tool_row[tool]].description):
                yield f"it copies {copied!r} from {tool}"


def _level_problems(task: Task, catalog: Catalog, equal: EqualSets) -> Iterator[str]:
    named = servers_named(f"{task.question} | {task.subtask} | {task.server_hint}", catalog)
    if task.level == "L1" and servers(task.relevant) - named:
        yield "the platform is not named"
    if task.level in {"L2", "L4", "simple", "complex"} and named:
        yield f"it names {', '.join(sorted(named))}"
    if task.level == "L2" and set(task.relevant) != equal.of(task.relevant[0]):
        yield "its relevant tools are not one whole equal set"
    if task.level in SERVERS_OF_A_PLAN:
        low, high = SERVERS_OF_A_PLAN[task.level]
        if not low <= len(servers(step.tool for step in task.plan)) <= high or len(task.plan) < 2:
            yield f"its plan has {len(task.plan)} steps on {len(servers(s.tool for s in task.plan))} servers"
        if not any(step.needs for step in task.plan):
            yield "no step needs another"
    if task.level == "L5" and (task.relevant or task.gap not in GAPS):
        yield f"out of scope needs no relevant tool and one of the gaps {', '.join(sorted(GAPS))}"


def servers(tools: Iterable[str]) -> set[str]:
    """Returns the servers of some tools.

    >>> servers(["files::read", "files::list"])
    {'files'}
    """
    return {tool.partition("::")[0] for tool in tools}


def servers_named(text: str, catalog: Catalog) -> set[str]:
    """Returns the servers whose name occurs in a text, in any letter case, with hyphens or as words.

    >>> from core.domain.catalog import Server
    >>> sorted(servers_named("Ask fathom, not the web search", Catalog("c", (Server("Fathom"), Server("web-search")))))
    ['Fathom', 'web-search']
    """
    words = f" {' '.join(_words(text))} "
    return {server.name for server in catalog.servers if f" {' '.join(_words(server.name))} " in words}


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L as F1 of the longest common subsequence of words, in [0, 1].

    >>> rouge_l("read the file", "read a file")
    0.6666666666666666
    """
    left, right = _words(candidate), _words(reference)
    row = [0] * (len(right) + 1)
    for word in left:
        diagonal = 0
        for place, other in enumerate(right, start=1):
            above = row[place]
            row[place] = diagonal + 1 if word == other else max(row[place], row[place - 1])
            diagonal = above
    return 2 * row[-1] / (len(left) + len(right)) if left and right else 0.0


def overlap(tasks: Iterable[Task], catalog: Catalog) -> dict[str, float]:
    """Returns the mean ROUGE-L of the questions and of the sub-tasks with the description of the closest relevant tool."""
    told = [(task, [catalog.tools[catalog.tool_row[t]].description for t in task.relevant]) for task in tasks]
    pairs = [(task, texts) for task, texts in told if texts]
    return {
        field: fmean(max(rouge_l(getattr(task, field), text) for text in texts) for task, texts in pairs)
        for field in ("question", "subtask")
        if pairs and getattr(pairs[0][0], field)
    }


def _copied(text: str, description: str) -> str:
    """Returns the first long run of words of a description that a text repeats, or ""."""
    said, words = f" {' '.join(_words(text))} ", _words(description)
    runs = (" ".join(words[i : i + LONGEST_COPY_WORDS]) for i in range(len(words) - LONGEST_COPY_WORDS + 1))
    return next((run for run in runs if f" {run} " in said), "")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9]+", text.casefold())


def main() -> int:
    catalog, files = sample(), tasks_by_file()
    found = list(problems(catalog, files, EqualSets.load()))
    for line in found:
        print(line, file=sys.stderr)
    print(f"{len(catalog.servers)} servers, {len(catalog.tools)} tools, {len(found)} problems")
    for name, tasks in files.items():
        shares: dict[str, Any] = overlap(tasks, catalog)
        told = ", ".join(f"{field} {share:.3f}" for field, share in shares.items())
        print(f"{name:18} {len(tasks):4} tasks   ROUGE-L with descriptions: {told or 'nothing relevant'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
