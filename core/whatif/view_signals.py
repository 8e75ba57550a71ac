"""Similarity from weighted views for many weights at once: what each view says of a sub-task is looked up once.

The formulas are those of `core.index.catalog_index` and `core.economics.utility.calibrated`, with weights that broadcast.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.domain.trace import Array
from core.economics.utility import LEAST_BEST
from core.index.catalog_index import CatalogIndex
from core.routers.context import Match, Matcher
from core.routers.matching import IndexMatcher
from core.routers.parameters import MatchingParameters

TOOL_WEIGHTS = ("w_names", "w_full", "w_description", "w_parameters", "w_lexical")
SERVER_WEIGHTS = ("w_server_profile", "w_server_summary", "w_server_best_tool", "w_server_lexical")
CONTRAST = ("sim_midpoint", "sim_steepness")
WEIGHTS = (*TOOL_WEIGHTS, *SERVER_WEIGHTS, "hint_weight", *CONTRAST)
TINY = 1e-300  # stands for 0 where logarithms are taken
VIEWS = ("names", "full", "description", "parameters")


@dataclass(frozen=True, slots=True)
class ViewSignals:
    """Cosines of tools (4, T) by view, names as far as they are trusted, and word overlap (T,); of servers (2, S) and (S,), each of the
    sub-task and of the hint, which is the sub-task where there is none."""

    index: CatalogIndex
    tools: Array
    tool_words: Array
    servers: tuple[Array, Array]
    server_words: tuple[Array, Array]
    hinted: bool

    @classmethod
    def of(cls, matcher: Matcher, text: str, hint: str, p: MatchingParameters) -> ViewSignals | None:
        """None for a matcher without an index."""
        if not isinstance(matcher, IndexMatcher):
            return None
        index, query = matcher.index, matcher.encoder.encode_query(text)
        wanted = matcher.encoder.encode_query(hint) if hint else query
        cosines = {name: np.vecdot(index.tools.views[name], query).astype(np.float64) for name in VIEWS}
        trust = index.tools.trust if p.doubt_names else None
        if trust is not None:
            share = trust.share.astype(np.float64)
            for name in trust.views:
                cosines[name] = share * cosines[name] + (1 - share) * cosines[trust.stand_in]
        of_servers = index.servers

        def views_of(vector: np.ndarray) -> Array:
            return np.stack(
                [np.vecdot(of_servers.views[name], vector) for name in ("profile", "summary")], dtype=np.float64
            )

        return cls(
            index,
            np.stack([cosines[name] for name in VIEWS]),
            index.tools.lexical.coverage(text).astype(np.float64),
            (views_of(query), views_of(wanted)),
            tuple(of_servers.lexical.coverage(one).astype(np.float64) for one in (text, hint or text)),  # type: ignore[arg-type]
            bool(hint),
        )

    def match(self, p: MatchingParameters, points: Mapping[str, Array]) -> Match:
        """Similarities (P, S) and (P, T) at P points; `points` (P,) each are the values of WEIGHTS that differ."""

        def column(name: str) -> Array:
            given = points.get(name)
            return np.array([[getattr(p, name)]], dtype=np.float64) if given is None else given[:, None]

        *of_views, lexical = _shares([column(name) for name in TOOL_WEIGHTS])
        tools = of_views[0] * self.tools[0]
        for share, cosines in zip(of_views[1:], self.tools[1:], strict=True):
            tools += share * cosines
        np.maximum(tools, 0.0, out=tools)
        tools += lexical * self.tool_words
        np.minimum(tools, 1.0, out=tools)
        profile, summary, best, words = _shares([column(name) for name in SERVER_WEIGHTS])
        hint = column("hint_weight") if self.hinted else np.zeros((1, 1))
        (own, hinted), (own_words, hint_words) = self.servers, self.server_words
        dense = profile * ((1 - hint) * own[0] + hint * hinted[0])
        dense = dense + summary * ((1 - hint) * own[1] + hint * hinted[1])
        servers = np.maximum(dense, 0.0) + words * ((1 - hint) * own_words + hint * hint_words)
        servers = np.minimum(servers + best * self.index.best_tool(tools.astype(np.float32)), 1.0)
        contrast = column("sim_midpoint"), column("sim_steepness")
        return Match(_calibrated(servers, *contrast), _calibrated(tools, *contrast))


def _shares(weights: list[Array]) -> list[Array]:
    total = np.maximum(np.sum(np.broadcast_arrays(*weights), axis=0), 1e-12)
    return [weight / total for weight in weights]


def _calibrated(similarity: Array, midpoint: Array, steepness: Array) -> Array:
    best = np.maximum(similarity.max(axis=1, keepdims=True, initial=0.0), LEAST_BEST)
    raised = np.maximum(similarity, TINY)
    np.log(raised, out=raised)
    with np.errstate(over="ignore"):  # 1 / (1 + inf) is the 0 that is meant
        below = np.exp(steepness * (np.log(np.maximum(midpoint * best, TINY)) - raised))
        below += 1
    return np.where(midpoint == 0, similarity, np.reciprocal(below, out=below))
