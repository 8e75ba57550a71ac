"""Rules about tools whose descriptions mean the same: only price and speed distinguish them for a router."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from core.domain.catalog import Catalog, first_sentence
from core.domain.lint import Finding, Severity
from core.lint.base import Context, Rule

VIEW = "description"
# Looked at pair by pair on two catalogs of real servers (1,385 tools): across servers all 30 pairs from 0.90 on do the
# same, below come pairs such as creating and merging a pull request.
ACROSS_SERVERS = 0.90
# Within a server 0.90 is crowded by opposites with one word between them; from 0.95 on hardly a word differs.
WITHIN_SERVER = 0.95


class _Nearest(Rule):
    """Each tool with its nearest partner on other servers or on its own, from a threshold on; each pair once."""

    needs_vectors = True
    threshold: float
    across: bool

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if context.index is None or len(catalog.tools) < 2:
            return
        vectors = context.index.tools.views[VIEW]
        owner = np.array([catalog.server_row[tool.server] for tool in catalog.tools])
        seen: set[tuple[int, int]] = set()
        for row, tool in enumerate(catalog.tools):
            cosines = np.vecdot(vectors, vectors[row])
            cosines[(owner == owner[row]) == self.across] = -1
            cosines[row] = -1
            other = int(np.argmax(cosines))
            pair = (min(row, other), max(row, other))
            if cosines[other] < self.threshold or pair in seen:
                continue
            seen.add(pair)
            partner = catalog.tools[other]
            name = partner.id if self.across else partner.name
            yield self.finding(
                f"Cosine {min(1.0, float(cosines[other])):.2f} to the description of {name}.",
                server=tool.server, tool=tool.name, where="description", evidence=first_sentence(tool.description), other=partner.id,
            )  # fmt: skip


class NearDuplicates(_Nearest):
    """Tools of different servers that say the same."""

    id = "near_duplicates"
    title = "Near duplicates"
    severity = Severity.NOTE
    why = "Equal tools on several servers are what an auction needs; where one of them is a copy nobody uses, it costs tokens."
    advice = "Keep both if their prices or speeds differ, so that the router can choose; else remove one."
    threshold = ACROSS_SERVERS
    across = True


class SimilarSiblings(_Nearest):
    """Tools of one server that an encoder can hardly distinguish."""

    id = "similar_siblings"
    title = "Hardly told apart"
    severity = Severity.WARNING
    why = (
        "Tools of one server do different things; if their descriptions hardly differ, similarity picks one by chance."
    )
    advice = "Begin each description with what the other one does not do."
    threshold = WITHIN_SERVER
    across = False
