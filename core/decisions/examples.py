"""Example questions of a catalog for a newcomer, chosen by their decisions.

They come from the example requests of its tools, or from the definition of a tool without requests. Each is decided before it is
shown: the promised tool wins, and if a knob is named, its turn changes the winner.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, permutations, product
from typing import Literal

import numpy as np
from cachetools import LRUCache
from numpy.typing import NDArray

from core.catalogs.catalogs import CatalogService
from core.decisions.routing import Asked, RoutingService
from core.decisions.whatif import WhatIfService
from core.domain.catalog import Catalog, Tool
from core.domain.decision import Decision
from core.domain.params import Knob
from core.domain.untrusted_text import one_line
from core.relevance.learnt import LearntModels
from core.routers.parameters import LearningParameters

ROUTER = "ehrr"
TRIED, TURNED, PAIRS = 40, 12, 12
"""Tools with a decided question, decisions with turned knobs or that are joined, and joined pairs to decide."""
USUAL, LONGEST = 45, 110  # characters of a question
KNOBS = (("alpha_t", "kappa"), ("alpha_s", "p_bs", "n"))
"""The knobs to turn. The best known knobs are tried on every question before the other knobs."""
LEAST_FIT = 0.4  # two equal tools share the fit of a single tool
KEPT = 8


@dataclass(frozen=True, slots=True)
class ExampleQuestion:
    """A question of a `kind`: `one` tool stands out, the winner `changes` if the knob is `beyond` a value, or there are several
    `steps`. `winners` are the ids of the winning tools, in order."""

    kind: Literal["one", "changes", "steps"]
    question: str
    winners: tuple[str, ...]
    knob: Knob | None = None
    beyond: float = 0.0


@dataclass(eq=False)
class ExampleService:
    """Finds examples, once for each state of a catalog and its statistics. Thread-safe."""

    catalogs: CatalogService
    learnt: LearntModels
    routing: RoutingService
    what_if: WhatIfService
    _kept: LRUCache[str, tuple[object, tuple[ExampleQuestion, ...]]] = field(default_factory=lambda: LRUCache(KEPT))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, catalog: str) -> tuple[ExampleQuestion, ...]:
        """Returns at most one question of each kind. The first call takes about 20 ms for each of at most 40 tools. Raises CatalogError
        without such a catalog."""
        parameters = self.routing.parameters(ROUTER)
        context = self.catalogs.context(catalog, parameters if isinstance(parameters, LearningParameters) else None)
        with self._lock:
            stored = self._kept.get(catalog)
        if stored is not None and stored[0] is context:
            return stored[1]
        examples = self._found(self.catalogs.catalog(catalog), catalog)
        with self._lock:
            self._kept[catalog] = context, examples
        return examples

    def _found(self, opened: Catalog, catalog: str) -> tuple[ExampleQuestion, ...]:
        answers = [(tool, self._decision(text, catalog)) for tool, text in self._questions(opened)]
        right = [answer for tool, answer in answers if answer.winner is not None and answer.winner.tool == tool.id]
        right.sort(key=_lead, reverse=True)
        examples: list[ExampleQuestion] = []
        if right:
            examples.append(ExampleQuestion("one", right[0].query, (_winner(right[0]),)))
        changes = self._changes([hit for hit in reversed(right) if hit is not right[0]], catalog) if right else None
        if changes is not None:
            examples.append(changes)
        questions = {example.question for example in examples}
        steps = self._steps([hit for hit in right if hit.query not in questions], catalog)
        return (*examples, steps) if steps is not None else tuple(examples)

    def _questions(self, opened: Catalog) -> Iterator[tuple[Tool, str]]:
        requests = self.learnt.requests.of(opened)
        queues = [server.tools for server in opened.servers]
        turns = (
            queue[turn] for turn in range(max(map(len, queues), default=0)) for queue in queues if turn < len(queue)
        )
        count = 0
        for tool in turns:
            texts = [request.text for request in requests.get(tool.id, ())] or [
                _first_sentence(tool.description) or tool.name
            ]
            best = min(texts, key=lambda text: abs(len(text) - USUAL))
            if len(best) <= LONGEST:
                yield tool, best
                count += 1
                if count == TRIED:
                    return

    def _decision(self, text: str, catalog: str) -> Decision:
        return self.routing.preview(Asked(text, self.routing.parameters(ROUTER), catalog, ROUTER))

    def _changes(self, decisions: Sequence[Decision], catalog: str) -> ExampleQuestion | None:
        """The first decision that a knob changes to another fitting tool."""
        parameters = self.routing.parameters(ROUTER)
        knobs = {knob.name: knob for knob in parameters.knobs()}
        contested = [decision for decision in decisions if sum(_fits(decision) >= LEAST_FIT) > 1][:TURNED]
        for names, decision in product(KNOBS, contested):
            strips = self.what_if.strips(Asked(decision.query, parameters, catalog, ROUTER))
            fits = dict(zip(decision.tools.ids, _fits(decision), strict=True))
            for name in names:
                for segment in strips[name].winners():
                    other = segment.winner
                    higher = segment.low > float(getattr(parameters, name))
                    if higher and other not in {None, _winner(decision)} and fits.get(str(other), 0.0) >= LEAST_FIT:
                        winners = (_winner(decision), str(other))
                        return ExampleQuestion("changes", decision.query, winners, knobs[name], segment.low)
        return None

    def _steps(self, decisions: Sequence[Decision], catalog: str) -> ExampleQuestion | None:
        """Two joined questions that the planner separates, with the tools of both."""
        joined = (
            (first, second, f"{first.query.rstrip('.?! ')}, then {second.query[0].lower()}{second.query[1:]}")
            for first, second in permutations(decisions[:TURNED], 2)
            if _server(first) != _server(second)
        )
        apart = (pair for pair in joined if len(pair[2]) <= 2 * LONGEST and len(self.routing.parts(pair[2])) == 2)
        for first, second, text in islice(apart, PAIRS):
            winners = tuple(_winner(self._decision(part.text, catalog)) for part in self.routing.parts(text))
            if winners == (_winner(first), _winner(second)):
                return ExampleQuestion("steps", text, winners)
        return None


def _fits(decision: Decision) -> NDArray[np.float64]:
    return np.zeros(len(decision.tools.ids)) if decision.fit is None else decision.fit.tools


def _lead(decision: Decision) -> float:
    """The best tool's probability of fit minus the second best tool's."""
    *_, second, first = 0.0, *np.sort(_fits(decision)).tolist()
    return first - second


def _winner(decision: Decision) -> str:
    return "" if decision.winner is None else decision.winner.tool


def _server(decision: Decision) -> str:
    return "" if decision.winner is None else decision.winner.server


def _first_sentence(description: str) -> str:
    """
    >>> _first_sentence("Reads a file. The path is absolute.")
    'Reads a file'
    """
    return one_line(description, LONGEST * 3).split(". ")[0].rstrip(".")
