"""Chains of tools for tasks of several steps: paths through the graph of results and arguments (ETOM, levels 3 and 4)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.lab.tool_texts import ANYWHERE, DataFlow, Link
from core.relevance.encoder import Vectors
from core.relevance.scoring import SAME_HIGH

VALUES = frozenset(ANYWHERE.values())
STEPS = (2, 3, 4)  # lengths of chains
NEAREST_LINKS, LEAST_RELATED, MOST_CHAINS = 12, 0.25, 4  # cosine of two servers' tools; chains that one tool joins


@dataclass(eq=False)
class Chains:
    """Draws chains. Remembers its used tools, so that other tools come first. `own` (T, D) are the tools' own vectors."""

    flow: DataFlow
    own: Vectors
    rng: random.Random
    _used: Counter[tuple[int, bool]] = field(default_factory=Counter[tuple[int, bool]])
    _kept: dict[tuple[int, bool], list[Link]] = field(default_factory=dict[tuple[int, bool], list[Link]])

    def chain(self, row: int, *, across: bool) -> list[Link]:
        """Links that join a tool and others to one plan, as many as drawn or as the graph allows. Each tool, and with `across` each
        server, is in it once. Tools of few chains come first."""
        chain, steps, length = list[Link](), [row], self.rng.choice(STEPS) - 1
        while len(chain) < length:
            fresh = self._fresh(chain, steps, across)
            if not fresh:
                break
            sources = [link.source for link in chain]  # one result feeds two steps at most once, if no path is longer
            costs = [(sources.count(link.source), self._used[end, across]) for link, end in fresh]
            if min(costs)[0] and len(set(sources)) < len(sources):
                break
            link, end = self.rng.choice([pair for pair, cost in zip(fresh, costs, strict=True) if cost == min(costs)])
            chain.append(link)
            steps.append(end)
        self._used.update((step, across) for step in steps if chain)
        return chain

    def _fresh(self, chain: Sequence[Link], steps: Sequence[int], across: bool) -> list[tuple[Link, int]]:
        """Links that take a further tool into a plan, with the tool, which must not be like another tool of the plan. The first link
        leads to the first step."""
        place: Sequence[object] = self.flow.servers if across else range(len(self.flow.servers))
        used_places, fed_tools = {place[step] for step in steps}, {link.target for link in chain}
        ends = [(link, link.end(step)) for step in steps for link in self._related(step, across)]
        return [
            (link, end)
            for link, end in ends
            if (chain or link.source == end) and link.target not in fed_tools and place[end] not in used_places
            if self._used[end, across] < MOST_CHAINS
            if link.thing not in VALUES or float((self.own[list(steps)] @ self.own[end]).max()) < SAME_HIGH
        ]

    def _related(self, row: int, across: bool) -> list[Link]:
        """The links of a tool with the most related tools by their words."""
        if (row, across) not in self._kept:
            links = self.flow.links(row, across=across)
            near = self.own[np.array([link.end(row) for link in links], dtype=np.int64)] @ self.own[row]
            most = [SAME_HIGH if link.thing in VALUES else 1.0 for link in links]
            least = LEAST_RELATED if across else -1.0
            order = np.argsort(-near, kind="stable").tolist()
            self._kept[row, across] = [links[i] for i in order if least <= near[i] < most[i]][:NEAREST_LINKS]
        return self._kept[row, across]
