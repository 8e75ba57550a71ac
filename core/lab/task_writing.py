"""Labelled tasks written for any catalog by rules: ETOM's five levels (section 3.3, appendix B). A model may reword them.

    L1 direct          an example request of a tool, or its definition as a request, with the server named
    L2 context-aware   such a request without the server; every tool of the equal set is right
    L3, L4 chains      paths through the graph of results and arguments (`core.lab.tool_texts`), on one server or across 2 to 4
    L5 impossible      a question of a general kind of tool (`core/relevance/data`) that no definition of the catalog is near

A task is ambiguous if another tool fits about as well, by a relevance that has not seen the task's own example request. Its label is
widened if the other tool is equal by its words; otherwise the task is dropped. A tool that fits clearly better than the tool of an example
request stays wrong, because the request was written for its tool. A model's words get the same check. `provenance` says how a task was
made. Its label is never a person's.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from graphlib import TopologicalSorter
from typing import Any

import numpy as np

from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, words
from core.domain.english import leading_verb
from core.domain.errors import CatalogError, PlannerError
from core.domain.findings import Confused
from core.domain.people import actions
from core.domain.tasks import Step, Task, ordered
from core.lab.equal_sets import EqualSetsService, confused
from core.lab.lab_runs import keep_tasks, written_tasks
from core.lab.levels import LEVELS
from core.lab.task_chains import VALUES, Chains
from core.lab.tool_texts import ACTING, DataFlow, Link, joined, names_server, on_server, step_of
from core.planning.base import Planner
from core.planning.rules import RulesPlanner, chosen_planner
from core.relevance.fit_matcher import FitMatcher
from core.relevance.learnt import Learnt, LearntModels
from core.relevance.packaged_vectors import TEXTS, shipped_examples
from core.relevance.requests import Given, RequestIndex
from core.store import Store

REQUEST, DEFINITION = "example request", "definition"
SHOWN = 10  # pairs in a summary
ALIKE = 0.85  # cosine of the own texts of two equal tools, if their names begin with one verb
TRIES = 6  # candidates for one task
CLOSE = math.log(2)  # logits: the odds of fit of two tools differ by less than a factor of 2
ROUNDS = 4  # chains that may end in one tool
FAR = 0.4  # cosine of a general kind's definition with the nearest tool's, below which the kind is a gap
TYPICAL = 4  # questions of a kind that are nearest to its mean; the longest of them has most context
MOST_UNUSABLE = 3  # answers of a model in a row
Progress = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class WrittenTasks:
    """The tasks, the number of dropped candidates by reason, the number of widened labels, pairs of tools that may be equal by their
    questions, and sentences about missing tasks."""

    tasks: tuple[Task, ...]
    dropped: Mapping[str, int]
    widened: int
    proposals: tuple[Confused, ...]
    remarks: tuple[str, ...]

    @property
    def levels(self) -> dict[str, int]:
        counts = Counter(task.level for task in self.tasks)
        return {level: counts[level] for level in LEVELS}

    def summary(self) -> list[str]:
        levels = ", ".join(f"{level} {count}" for level, count in self.levels.items())
        lines = [f"{len(self.tasks):,} tasks: {levels}. Nobody has checked their labels.", *self.remarks]
        lines += [f"Dropped because {reason}: {count:,}." for reason, count in self.dropped.items()]
        if self.widened:
            lines.append(f"Widened by tools that do the same by their words: {self.widened:,}.")
        if total := sum(
            "example request" in task.provenance["rule"] for task in self.tasks if "was" not in task.provenance
        ):
            lines.append(f"{total:,} tasks begin with an example request. Decisions know it: new questions are harder.")
        if pairs := self.proposals:
            lines.append(
                f"{len(pairs):,} pairs of tools may do the same by their questions; judge them on the Catalog page."
            )
            lines += [f"{pair.one} and {pair.other}: {pair.both} questions." for pair in pairs[:SHOWN]]
        return lines


@actions("tune", keep="keep written tasks")
@dataclass(eq=False)
class TaskWritingService:
    """Writes the tasks of a catalog, and keeps them for the Lab. Thread-safe."""

    store: Store
    catalogs: CatalogService
    learnt: LearntModels
    equal_sets: EqualSetsService
    planners: Mapping[str, Planner]

    def write(
        self,
        catalog: str,
        *,
        count: int,
        seed: int = 0,
        planner: str = RulesPlanner.name,
        progress: Progress = lambda _done, _of: None,
    ) -> WrittenTasks:
        """`count` tasks of each level at most, in the words of the planner. With rules, the same catalog, requests, equal sets and seed
        give the same tasks. `progress` gets the number of done tasks; its exceptions end the work. Raises CatalogError for a catalog without
        tools, and PlannerError if no model is set or its answers cannot be used."""
        opened = self.catalogs.catalog(catalog)
        if not opened.tools:
            raise CatalogError(f"Catalog {catalog!r} lists no tool, so no task can be written for it.")
        scorer = self.catalogs.scorer(catalog)
        judgments = self.store.equal_judgments.of_catalog(catalog)
        writer = _Writer(
            opened, FitMatcher.of(scorer.index, scorer.encoder), self.learnt.requests.given(opened), self.equal_sets.sets(catalog),
            frozenset(judgment.pair for judgment in judgments if judgment.says == "different"), random.Random(seed), count,  # noqa: S311
            chosen_planner(self.planners, planner),
        )  # fmt: skip
        tasks: list[Task] = []
        for done, (level, make) in enumerate(writer.makers.items()):
            batch = writer.take(make, lambda number, done=done: progress(done * count + number, len(LEVELS) * count))
            if len(batch) < count and not any(remark.startswith(level) for remark in writer.remarks):
                writer.remarks.append(f"{level}: {len(batch)} of {count} tasks; no further one passed.")
            tasks += [replace(task, id=f"{level.lower()}-{i:03d}", level=level) for i, task in enumerate(batch, 1)]
        pairs = {ordered(tool, other) for tools in writer.sets for tool in tools for other in tools} | writer.different
        proposals = () if writer.given is None else confused(opened.tool_ids, writer.given, pairs)
        progress(len(LEVELS) * count, len(LEVELS) * count)
        wide = sum(bool({task.subtask, *(step.subtask for step in task.plan)} & writer.widened) for task in tasks)
        return WrittenTasks(tuple(tasks), writer.dropped, wide, proposals, tuple(writer.remarks))

    def keep(self, catalog: str, tasks: Sequence[Task]) -> str:
        """Keep them as the written tasks of a catalog. Returns their fingerprint. Raises StoreError."""
        return keep_tasks(self.store, written_tasks(catalog), tasks)


@dataclass
class _Writer:
    """The state of one run, shared by all levels."""

    catalog: Catalog
    matcher: FitMatcher
    given: Given | None
    sets: tuple[tuple[str, ...], ...]
    different: frozenset[tuple[str, str]]
    rng: random.Random
    count: int
    planner: Planner
    unusable: int = 0
    dropped: Counter[str] = field(default_factory=Counter[str])
    widened: set[str] = field(default_factory=set[str])
    remarks: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.tools, self.own = self.catalog.tools, self.matcher.index.own
        self.set_of = {tool: tools for tools in self.sets for tool in tools}
        self.drawn = self._drawn()
        self.chains = Chains(DataFlow.of(self.tools), self.own, self.rng)
        self.makers: Mapping[str, Callable[[], Iterator[Task | None]]] = {
            "L1": lambda: self._single(named=True), "L2": lambda: self._single(named=False),
            "L3": lambda: self._chains(across=False), "L4": lambda: self._chains(across=True), "L5": self._impossible,
        }  # fmt: skip

    def take(self, make: Callable[[], Iterator[Task | None]], progress: Callable[[int], object]) -> list[Task]:
        """The first tasks that pass. None stands for a failed candidate."""
        tasks: dict[object, Task] = {}
        for number, task in enumerate(make()):
            progress(len(tasks))
            if task is not None:
                tasks.setdefault(frozenset(step.tool for step in task.plan) or task.subtask, task)
            if len(tasks) == self.count or number >= self.count * TRIES:
                break
        return list(tasks.values())

    def _drawn(self) -> Mapping[int, int]:
        """Draws the place of one request for each tool with requests. The relevance of this run has not seen the drawn requests."""
        requests = self.given
        if requests is None:
            return {}
        rows, starts, sizes = np.unique(requests.owners, return_index=True, return_counts=True)
        first = zip(rows.tolist(), starts.tolist(), sizes.tolist(), strict=True)
        places = {row: start + self.rng.randrange(size) for row, start, size in first}
        mask = np.ones(len(requests.owners), dtype=np.bool_)
        mask[list(places.values())] = False
        if mask.any():
            learnt = Learnt(requests=RequestIndex(requests.some(mask), self.matcher.index))
            self.matcher = FitMatcher.of(self.matcher.index, self.matcher.encoder, learnt)
        return places

    def _shuffled(self, rows: Sequence[int]) -> list[int]:
        """Tools in random order. Servers take turns until they have no tools left."""
        order, turn, keyed = list(rows), Counter[str](), list[tuple[int, int, int]]()
        self.rng.shuffle(order)
        for place, row in enumerate(order):
            turn[self.tools[row].server] += 1
            keyed.append((turn[self.tools[row].server], place, row))
        return [row for *_, row in sorted(keyed)]

    def _request(self, row: int) -> tuple[str, str]:
        """A request for a tool and its kind: `REQUEST` or `DEFINITION`."""
        if row in self.drawn and self.given is not None:
            return self.given.texts[self.drawn[row]], REQUEST
        return step_of(self.tools[row], self.rng), DEFINITION

    # Levels 1 and 2

    def _single(self, *, named: bool) -> Iterator[Task | None]:
        for row in self._shuffled(range(len(self.tools))):
            tool, (text, rule) = self.tools[row], self._request(row)
            if not text or (not named and names_server(text, tool.server)):
                yield self._drop("the request names the server" if text else "the definition says too little")
                continue
            question, hint = (on_server(text, tool.server), tool.server) if named else (text, "")
            right = self._right(question, hint, row, wide=not named, strict=rule == DEFINITION)
            wording = "" if right is None else self._reworded(question, [tool.description], hint)
            if not named and names_server(wording, tool.server):
                right = self._drop("the model named the server")
            elif wording and wording != question:
                right = self._right(wording, hint, row, wide=not named, strict=rule == DEFINITION)
            yield self._task(question, wording, right, hint, row, rule) if wording and right else None

    def _reworded(self, text: str, definitions: Sequence[str], server: str) -> str:
        """A request in the planner's words, "" for an unusable answer. Raises PlannerError after a few in a row."""
        try:
            answer = self.planner.reword(text, definitions, server)
            self.unusable = 0
        except PlannerError:
            self.unusable += 1
            if self.unusable == MOST_UNUSABLE:
                raise
            self._drop("the model gave no usable answer")
            return ""
        return on_server(answer, server) if server else answer

    def _task(
        self,
        text: str,
        wording: str,
        right: tuple[str, ...],
        hint: str,
        row: int,
        rule: str,
        edge: str = "",
        **more: Any,
    ) -> Task:
        tool = self.tools[row]
        origin = self._origin(text, wording, rule, tool.id) | ({"edge": edge} if edge else {})
        return Task(
            "", wording, hint, right, category=self.catalog.server(tool.server).category, provenance=origin, **more
        )

    def _origin(self, text: str, wording: str, rule: str, source: str) -> dict[str, str]:
        """The provenance of a task. `wording` is the planner's form of `text`."""
        return {"by": self.planner.name, "rule": rule, "source": source} | ({} if wording == text else {"was": text})

    def _drop(self, reason: str) -> None:
        self.dropped[reason] += 1

    def _right(self, text: str, hint: str, row: int, *, wide: bool, strict: bool) -> tuple[str, ...] | None:
        """The tools that count as right, the task's own first; None for an ambiguous task. Unless `wide`, only the server's
        own tools count. With `strict` no other tool may fit better."""
        tool = self.tools[row]
        equal = [other for other in self.set_of.get(tool.id, ()) if wide or other.startswith(f"{tool.server}::")]
        right = tuple(dict.fromkeys((tool.id, *equal)))
        relevance = self.matcher.fit(text, hint)[0].relevance
        rows = [self.catalog.tool_row[tool_id] for tool_id in right]
        behind = (relevance[rows].max() - relevance) * self.matcher.model.fit["behind"]
        near = (behind < CLOSE) & (behind > (-np.inf if strict else -CLOSE))
        rivals = [rival for rival in np.flatnonzero(near).tolist() if rival not in rows]
        rivals = [rival for rival in rivals if wide or self.tools[rival].server == tool.server]
        if not all(self._same(row, rival) for rival in rivals):
            return self._drop("another tool fits as well or better" if strict else "another tool fits about as well")
        self.widened |= {text} if rivals else set()
        return (*right, *(self.tools[rival].id for rival in rivals))

    def _same(self, row: int, other: int) -> bool:
        """Whether two tools are equal by their words and not judged different."""
        verbs = {leading_verb(words(self.tools[tool_row].name)) for tool_row in (row, other)}
        pair = ordered(self.tools[row].id, self.tools[other].id)
        return pair not in self.different and len(verbs) == 1 and float(self.own[row] @ self.own[other]) >= ALIKE

    # Levels 3 and 4

    def _chains(self, *, across: bool) -> Iterator[Task | None]:
        linked = False
        for row in self._shuffled(list(self.chains.flow.asked)) * ROUNDS:
            if chain := self.chains.chain(row, across=across):
                linked = True
                yield self._chained(chain, across)
        if not linked:
            place = "of another server" if across else "of its own server"
            self.remarks.append(f"{'L4' if across else 'L3'}: no tool's result fits another tool's arguments {place}.")

    def _chained(self, chain: Sequence[Link], across: bool) -> Task | None:
        into = {link.target: link for link in chain}
        order = list(TopologicalSorter({link.target: [link.source] for link in chain}).static_order())
        opening, rule = self._request(order[0])
        plan = list[Step]()
        for row in order:
            link, server = into.get(row), self.tools[row].server
            text = opening if link is None else step_of(self.tools[row], self.rng, link.argument, _thing(link))
            if not text:
                return self._drop("the definition says too little")
            strict = link is not None or rule == DEFINITION
            right = self._right(text, "" if across else server, row, wide=across, strict=strict)
            if right is None:
                return None
            plan.append(Step(right[0], () if link is None else (order.index(link.source),), right[1:], text))
        question, hint = joined([step.subtask for step in plan]), "" if across else self.tools[order[0]].server
        question = question if across else on_server(question, hint)
        relevant = tuple(dict.fromkeys(tool for step in plan for tool in (step.tool, *step.equal)))
        wording = self._reworded(question, [self.tools[row].description for row in order], hint)
        if not wording:
            return None
        edge = "; ".join(link.words(self.tools) for link in chain)
        return self._task(question, wording, relevant, hint, order[0], f"chain from {rule}", edge, plan=tuple(plan))

    # Level 5

    def _impossible(self) -> Iterator[Task | None]:
        examples = shipped_examples(self.matcher.encoder.model)
        if examples is None:
            self.remarks.append("L5: the encoder in use has no vectors of general kinds, so gaps cannot be found.")
            return
        kinds = [json.loads(line) for line in TEXTS.read_text("utf-8").splitlines()]
        near = np.concatenate([(block @ self.own[:].T).max(axis=1) for block in np.array_split(examples.tools, 16)])
        gaps = [index for index in np.flatnonzero(near < FAR).tolist() if _acts(kinds[index]["description"])]
        if not gaps:
            self.remarks.append("L5: the catalog has a tool near every general kind, so no gap is known.")
        self.rng.shuffle(gaps)
        for gap in gaps:
            likeness = examples.questions[gap].astype(np.float32) @ examples.centres[gap] / examples.lengths[gap]
            text = max((kinds[gap]["questions"][place] for place in np.argsort(-likeness)[:TYPICAL]), key=len)
            wording = self._reworded(text, [kinds[gap]["description"]], "") if self._no_tool_fits(text) else ""
            if not wording or (wording != text and not self._no_tool_fits(wording)):
                yield None
                continue
            origin = self._origin(text, wording, "gap of the catalog", f"general kind {kinds[gap]['tool']}")
            yield Task("", wording, gap=kinds[gap]["description"], provenance=origin | {"nearest": f"{near[gap]:.2f}"})

    def _no_tool_fits(self, text: str) -> bool:
        doubtful = self.matcher.fit(text, "")[0].doubtful
        if not doubtful:
            self._drop("some tool may do what should be impossible")
        return doubtful


def _thing(link: Link) -> str:
    """The name of the thing that a later step works on."""
    argument = words(link.argument).lower()
    return link.thing if link.thing in VALUES or len(argument) < 3 else argument


def _acts(description: str) -> bool:
    """Whether a general kind of tool acts. A search of the catalog may answer a question.

    >>> [_acts(text) for text in ("Cancel an order.", "Find an order.", "Orders of a customer.", "Build year, owner and flag.")]
    [True, False, False, False]
    """
    return description.split(" ", 1)[0].lower() in ACTING and not re.match(r"\w+ \w+,", description)
