"""What ETOM's orchestrators share: a question is taken apart, each part is looked up, a planner selects, the parts are put together.

    parts = decompose(q)            each part: found = find(part), chosen = select(part, cards of found)
    decision = the chosen tools of all parts; each part gets an equal share of n, and at least one

The paper's: decomposition, selection, and the rejection of what nothing can do, {server: "no", tool: "no"}, in each of them
(ETOM, appendix C). Ours: a tool that several parts want is ranked by its best score; a model names its choice first and
the order of retrieval fills up behind it, while rules leave that order and judge whether anything fits at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import DROPS, KEPT, Drop, Exposure, Stage, SubDecision
from core.domain.params import knob
from core.index.views import full
from core.planning.base import Card, SubQuery
from core.routers.base import Match, Question, Scene, Verdict
from core.routers.parameters import PLANNING, CandidateParameters, MatchingParameters, PlanningParameters
from core.routers.ranking import NO_TOOLS, Floats, Mask, Scored, ranked_verdict

PARTS = 8
REFUSED = "Nothing in the catalog can do it"


@dataclass(frozen=True)
class OrchestratorParameters(PlanningParameters, CandidateParameters):
    """How a question is taken apart and turned down."""

    decompose: bool = knob(
        True, group=PLANNING, help="Off: the question is looked up as one, however much it asks for."
    )
    refuse: bool = knob(
        False, group=PLANNING, help="On: the planner may answer that nothing in the catalog can do it (ETOM, level 5)."
    )


@dataclass(frozen=True, slots=True)
class Finding:
    """What looking up one part brought up: scores of servers (S,) and tools (T,) of at least 0, the servers that were
    looked into (S,), and the rows of the tools that came up (K,), best first."""

    servers: Floats
    tools: Floats
    listed: Mask
    rows: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Part:
    """One part with what was found and chosen for it: rows of tools, best first; none where it was refused."""

    query: SubQuery
    match: Match
    found: Finding
    chosen: tuple[int, ...]
    reason: str


Find = Callable[[str, Match], Finding]


def orchestrate(question: Question, scene: Scene, parameters: OrchestratorParameters, find: Find) -> tuple[Part, ...]:
    """Every part of the question, looked up and selected from."""
    queries = question.planner.decompose(question.text, PARTS) if parameters.decompose else ()
    if len(queries) < 2:
        queries = (SubQuery(question.text),)
    share = max(1, parameters.n // len(queries))
    return tuple(_part(question, scene, parameters, find, query, share) for query in queries)


def verdict(
    scene: Scene,
    parts: Sequence[Part],
    *,
    score: str,
    looked: tuple[str, str, str],
    by: str,
    exposure: Exposure | None = None,
    before: tuple[Stage, ...] = (),
    after: tuple[Stage, ...] = (),
    cut: Collection[int] = (),
) -> Verdict:
    """The parts as one decision. `looked` names the retrieval and says how it came to servers and to tools; `cut` are rows
    that the stages `after` the selection have taken out again."""
    servers, tools = _joined(parts, len(scene.server_names), len(scene.tool_ids))
    listed = np.any([part.found.listed for part in parts], axis=0)
    found = np.zeros(len(scene.tool_ids), dtype=np.bool_)
    chosen = np.zeros(len(scene.tool_ids), dtype=np.bool_)
    for part in parts:
        found[part.found.rows] = True
        chosen[list(part.chosen)] = True
    kept = chosen.copy()
    kept[list(cut)] = False
    retrieval, on_servers, on_tools = looked
    within = int(listed[scene.tool_server].sum())
    stages = (
        *before,
        Stage("decomposition", "sub-queries", len(parts), len(parts), _told(parts), by=by if len(parts) > 1 else ""),
        Stage("servers", "servers", int(listed.sum()), len(listed), on_servers),
        Stage(retrieval, "tools", int(found.sum()), within, on_tools),
        Stage(
            "selection", "tools", int(chosen.sum()), int(found.sum()), " ".join(part.reason for part in parts), by=by
        ),
        *after,
    )
    return ranked_verdict(
        scene,
        servers,
        tools,
        n=max(1, int(kept.sum())),
        shortlisted=listed,
        dropped=_dropped(scene, listed, found, kept, refused=not chosen.any()),
        stages=stages,
        steps=_steps(parts, cut),
        exposure=exposure,
        score=score,
        nothing=_why_none(scene, parts, found),
    )


def _part(
    question: Question, scene: Scene, parameters: OrchestratorParameters, find: Find, query: SubQuery, share: int
) -> Part:
    match = question.match(MatchingParameters(), query.text)
    found = find(query.text, match)
    if parameters.planner == "rules" and not parameters.refuse:
        return Part(query, match, found, tuple(map(int, found.rows[:share])), "The best by score.")
    fit = question.cosines("tools", "full", query.text)  # what a planner's limit on the fit is calibrated on
    tools = scene.catalog.tools
    cards = [Card(tools[row].id, full(tools[row]), float(np.clip(fit[row], 0, 1))) for row in map(int, found.rows)]
    selection = question.planner.select(query.text, cards, share)
    if not selection.ids and parameters.refuse:
        return Part(query, match, found, (), selection.reason)
    named = selection.ids if parameters.planner == "model" else ()
    rows = dict.fromkeys((*(scene.catalog.tool_row[name] for name in named), *map(int, found.rows)))
    return Part(query, match, found, tuple(rows)[:share], selection.reason)


def _joined(parts: Sequence[Part], servers: int, tools: int) -> tuple[Scored, Scored]:
    """The best of all parts, with the chosen tools of each in the order of the choice."""
    of_servers, of_tools = np.zeros((2, servers)), np.zeros((2, tools))
    for part in parts:
        of_servers = np.maximum(of_servers, [part.match.servers, part.found.servers])
        of_tools = np.maximum(of_tools, [part.match.tools, in_order(part.found.tools, part.chosen)])
    return Scored(*of_servers), Scored(*of_tools)


def in_order(scores: Floats, chosen: Sequence[int]) -> Floats:
    """Scores whose chosen rows fall in the order of the choice: they exchange their scores among themselves.

    >>> in_order(np.array([0.5, 0.1, 0.9]), [0, 2]).tolist()
    [0.9, 0.1, 0.5]
    """
    arranged = scores.copy()
    arranged[list(chosen)] = np.sort(scores[list(chosen)])[::-1]
    return arranged


def _dropped(scene: Scene, listed: Mask, found: Mask, chosen: Mask, *, refused: bool) -> NDArray[np.int8]:
    missed = DROPS.index(Drop.REFUSED if refused else Drop.OUTRANKED)
    on_list = listed[scene.tool_server]
    return np.select([chosen, found, on_list], [KEPT, missed, DROPS.index(Drop.NOT_RETRIEVED)], KEPT).astype(np.int8)


def _steps(parts: Sequence[Part], cut: Collection[int]) -> tuple[SubDecision, ...]:
    if len(parts) < 2:
        return ()
    return tuple(
        SubDecision(part.query.text, tuple(row for row in part.chosen if row not in cut), part.query.needs, part.reason)
        for part in parts
    )


def _told(parts: Sequence[Part]) -> str:
    return "One thing is asked for." if len(parts) == 1 else f"{len(parts)} things are asked for."


def _why_none(scene: Scene, parts: Sequence[Part], found: Mask) -> str:
    if not len(scene.tool_ids):
        return NO_TOOLS
    if not found.any():
        return "No tool came up; look into more servers."
    return f"{REFUSED}: {parts[0].reason}"
