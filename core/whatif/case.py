"""One sub-task under EHRR, decided for many values of parameters at once: short-list, acceptance bits, candidates and margin.

The formulas are those of `core.routers.ehrr`, with parameters that broadcast over points; similarities are looked up once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.trace import Array
from core.economics import auction, utility
from core.economics.utility import LEAST_BEST
from core.relevance.catalog_index import CatalogIndex
from core.routers.context import Match, Matcher, RoutingContext
from core.routers.ehrr import EhrrParameters
from core.routers.estimates import Beliefs, estimate_servers, estimate_tools
from core.routers.matching import IndexMatcher
from core.routers.parameters import MatchingParameters

# ----------------------------------------------------------------------------------------------------------------------
# Similarity from weighted views for many weights at once: what each view says of a sub-task is looked up once.
#
# The formulas are those of `core.relevance.catalog_index` and `core.economics.utility.calibrated`, with weights that broadcast.

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


Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
NONE = -1


@dataclass(frozen=True, slots=True)
class Case:
    """A sub-task over a catalog: its similarities, the current parameters, and probabilities that exploration put in the place of
    the estimates. `refused` says why the sub-task is turned down; empty where it is not. `signals` are there where similarity is
    that of weighted views."""

    context: RoutingContext
    match: Match
    parameters: EhrrParameters
    beliefs: Beliefs | None = None
    refused: str = ""
    signals: ViewSignals | None = None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What is decided at P points: masks of servers (P, S); whether a tool can be paid on an accepted server (P, T); the utilities
    of tools in the race (P, T), minus infinity elsewhere; and the candidates (P, N), best first, -1 where there are no more."""

    listed: Mask
    accepted: Mask
    payable: Mask
    racing: Array
    candidates: Rows

    @property
    def winner(self) -> Rows:
        """(P,) rows, -1 where nobody wins."""
        return self.candidates[:, 0]

    def runners_up(self) -> tuple[Rows, Array]:
        """(P,) the best tool in the race but for the winner, -1 where there is none, and the winner's lead over it: infinite
        without one, 0 without a winner."""
        others, points = self.racing.copy(), np.arange(len(self.racing))
        others[points, self.winner] = -np.inf
        second = others.argmax(axis=1)
        found = np.isfinite(others[points, second])
        with np.errstate(invalid="ignore"):
            lead = self.racing[points, self.winner] - others[points, second]
        return np.where(found, second, NONE), np.where(self.winner == NONE, 0.0, lead)

    def signatures(self) -> list[int]:
        """A number for each point's decision, the same for the same decision."""
        parts = zip(self.listed, self.accepted, self.candidates, strict=True)
        return [hash((one.tobytes(), bits.tobytes(), rows.tobytes())) for one, bits, rows in parts]

    @property
    def changes(self) -> Mask:
        """(P - 1,) whether a point's decision differs from that of the point before."""
        return (
            (self.listed[1:] != self.listed[:-1]).any(axis=1)
            | (self.accepted[1:] != self.accepted[:-1]).any(axis=1)
            | (self.candidates[1:] != self.candidates[:-1]).any(axis=1)
        )


def decide(case: Case, points: Mapping[str, Array], match: Match | None = None) -> Outcomes:
    """The decisions at P points; `points` (P,) each are the values of parameters that differ, the others are the current ones.

    `match` has similarities of each point, (P, S) and (P, T), where those differ.
    """
    context, p = case.context, case.parameters
    similarity = case.match if match is None else match
    servers_sim, tools_sim = np.atleast_2d(similarity.servers), np.atleast_2d(similarity.tools)
    count = max(len(servers_sim), *(len(values) for values in points.values())) if points else len(servers_sim)

    def value(name: str) -> Array:
        own = getattr(p, name)
        given = points.get(name)
        return np.array([[np.inf if own is None else own]], dtype=np.float64) if given is None else given[:, None]

    weighed = 1.0 if p.execution_signals else 0.0
    known = estimate_servers(context, l_route_s=value("l_route_s"), eps=value("eps"), beliefs=case.beliefs)
    utilities = utility.utility(servers_sim, known.cost_s, alpha=value("alpha_s") * weighed)
    size = len(context.server_names)
    rank = _ranks(np.broadcast_to(utilities, (count, size)), servers_sim, context.server_order)
    listed = rank <= (value("k") if p.hierarchy else size)
    posted = auction.posted_price(
        servers_sim, known.cost_s, p_bs=value("p_bs"), p_ofs=value("p_ofs"), l0_s=value("l0_s"),
        budget_usd=value("budget_usd"),
    )  # fmt: skip
    accepted = listed & auction.accepts(context.statistics.servers.ask_usd, posted) if p.auction else listed
    tools = estimate_tools(
        context, known, kappa=value("kappa"), per_attempt=p.billing == "per_attempt", eps=value("eps"),
        beliefs=case.beliefs,
    )  # fmt: skip
    of_tools = utility.utility(tools_sim, tools.time_cost_s + tools.money_cost_s, alpha=value("alpha_t") * weighed)
    server = context.tool_server
    payable = accepted[:, server]
    if p.auction:
        payable &= auction.affordable(tools.price_usd, posted[:, server])
    racing = payable & (of_tools > 0) if p.worthwhile else payable
    kept = np.full(racing.shape, -np.inf) if case.refused else np.where(racing, of_tools, -np.inf)
    return Outcomes(listed, accepted, payable, kept, _best(kept, tools_sim, context.tool_order, value("n")[:, 0]))


def _ranks(utilities: Array, similarity: Array, order: Rows) -> Rows:
    """(P, N) places from 1; ties by similarity, then name."""
    places: Rows = _sorted(utilities, similarity, order)
    rank = np.empty(utilities.shape, dtype=np.int64)
    numbers: Rows = np.broadcast_to(np.arange(1, utilities.shape[1] + 1, dtype=np.int64), utilities.shape)
    np.put_along_axis(rank, places, numbers, axis=1)
    return rank


def _best(utilities: Array, similarity: Array, order: Rows, n: Array) -> Rows:
    """(P, max n) rows of the best; n (P,) or (1,) differs by point."""
    most = int(min(n.max(initial=1), utilities.shape[1]))
    columns = np.flatnonzero(np.isfinite(utilities).any(axis=0))
    few = utilities[:, columns]
    places: Rows = _sorted(few, similarity[:, columns], order[columns])[:, :most]
    found = np.full((len(utilities), int(n.max(initial=1))), NONE, dtype=np.int64)
    if len(columns):
        within: Mask = np.arange(places.shape[1], dtype=np.float64) < n[:, None]
        kept = np.isfinite(np.take_along_axis(few, places, axis=1)) & within
        found[:, : places.shape[1]] = np.where(kept, columns[places], NONE)
    return found


def _sorted(utilities: Array, similarity: Array, order: Rows) -> Rows:
    """(P, N) columns from best to worst: higher utility, then higher similarity, then name."""
    if len(similarity) == 1:  # one order of ties for all points
        ties: Rows = np.lexsort((order, -similarity[0]))
        return ties[np.argsort(-utilities[:, ties], axis=1, kind="stable")]
    shape = utilities.shape
    keys = np.broadcast_to(order, shape), -np.broadcast_to(similarity, shape), -utilities
    return np.lexsort(keys, axis=-1)
