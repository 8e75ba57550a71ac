"""The fit of tools by words alone, for a catalog whose vectors are not there yet: no text is embedded, neither theirs nor the query.

    s       = .5 d(words) + .25 d(everyday) + .125 d(names)            d as in `core.relevance.relevance_index`
    cos_jk  = J_jk + .1                                                J: Jaccard of the stems of two tools' own texts
    p_fit_j = sigmoid(FIT . (min(lead_j, 0), max(lead_j, 0), 1))       with constants that were fitted to these scores

P(nothing fits) is made of a cosine, so it is not known, and no decision is sure. docs/decisions/0029-by-words.md says what words alone
find, and how the constants were fitted.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from functools import cached_property, lru_cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Fit
from core.domain.progress import made_once
from core.relevance.lexical import Everyday, LexicalIndex, stem, terms, words_and_stems
from core.relevance.relevance_index import (
    WORD_LENGTH_SHARE,
    RelevanceModel,
    asked_text,
    server_of_tools,
    words_of_tools,
)
from core.relevance.scoring import (
    ahead_of_rivals,
    best_of_servers,
    best_rows,
    contributions,
    probabilities,
    same_of,
    sum_of,
)
from core.relevance.text_views import names, own_text

LESS_THAN_COSINE = 0.1
"""Jaccard coefficients of own texts with this much added stand in for the vectors' cosines nearly as well: log loss .178 instead of .176, and
.195 without twins."""
STEMS_KEPT = 4096  # tools whose stems stay in memory


@made_once
def model_by_words() -> RelevanceModel:
    """The shipped model of a catalog without vectors: its signals are those of words.

    >>> sorted(model_by_words().weights)
    ['everyday', 'names', 'words']
    """
    own = tomllib.loads(files("core.relevance").joinpath("model.toml").read_text(encoding="utf-8"))["by_words"]
    shipped = RelevanceModel.shipped()
    prior = {
        **shipped.prior,
        **{name: (float(mean), float(deviation)) for name, (mean, deviation) in own["prior"].items()},
    }
    return replace(shipped, weights=own["weights"], prior=prior, fit=own["fit"], nothing={})


class WordsFit:
    """The fit of T tools by words. Immutable; safe for several threads. `lexical` is that of a relevance index of the same catalog."""

    def __init__(self, catalog: Catalog, lexical: LexicalIndex | None = None) -> None:
        self.lexical = words_of_tools(catalog) if lexical is None else lexical
        self._catalog = catalog
        self._server_of = server_of_tools(catalog)
        self._stems = lru_cache(maxsize=STEMS_KEPT)(self._stems_of)

    @cached_property
    def _names(self) -> LexicalIndex:
        texts = [names(tool) for tool in self._catalog.tools]
        return LexicalIndex(texts, words_of=words_and_stems, b=WORD_LENGTH_SHARE)

    def fit(self, text: str, hint: str) -> tuple[Fit, float]:
        """The fit of every tool, and 0 ms for embedding. A hint joins the text."""
        asked, model, servers = asked_text(text, hint), model_by_words(), len(self._catalog.servers)
        table, everyday = Everyday.shipped(), np.zeros(len(self._server_of), dtype=np.float32)
        self.lexical.add(table.words_of(table.met(asked)), everyday)
        signals = {
            "words": self.lexical.scores_of(words_and_stems(asked)),
            "everyday": everyday,
            "names": self._names.scores_of(words_and_stems(asked)),
        }
        parts = contributions(signals, model)
        scores = sum_of(parts)
        if not len(scores):
            return Fit(np.zeros(0), np.zeros(servers), None, scores, parts), 0.0
        top = best_rows(scores)
        tools = probabilities(ahead_of_rivals(scores, top, same_of(self.likeness(top))), model, (1.0, 0.0))
        return Fit(tools, best_of_servers(tools, self._server_of, servers), None, scores, parts), 0.0

    def likeness(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """(K, K) what stands in for cosines between tools, by what they say they do."""
        found = [self._stems(int(row)) for row in rows]
        shared = np.array([[_jaccard(one, other) for other in found] for one in found]).reshape(len(found), len(found))
        return np.minimum(shared + LESS_THAN_COSINE, 1.0)

    def _stems_of(self, row: int) -> frozenset[str]:
        return frozenset(map(stem, terms(own_text(self._catalog.tools[row]))))


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """
    >>> _jaccard(frozenset("ab"), frozenset("bc")), _jaccard(frozenset(), frozenset())
    (0.3333333333333333, 0.0)
    """
    either = len(one | other)
    return len(one & other) / either if either else 0.0
