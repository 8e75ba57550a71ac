"""Tool Attention without its parts: words instead of meanings (TF-IDF), preconditions, and a cache's savings over a long session."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server
from core.domain.decision import Decision
from core.domain.tasks import Task
from core.importers.token_meter import Context
from core.papers.material import ATTENTION, Material
from core.papers.report import Column, Kind, Row, Table, ours, pair
from core.planning.words import content
from core.routers.attention import MAX_TOKENS, pool
from core.routers.ranked_result import top
from core.routers.side_effects import writes

# scikit-learn carries no types
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportArgumentType=false

THETA, K, TURNS = 0.28, 10, 30
Reach = Callable[[Sequence[Decision], Sequence[Task]], float]


def by_words(material: Material, tasks: Sequence[Task]) -> Row:
    """The gate over the cosine of TF-IDF vectors of stems instead of sentence embeddings."""
    context = material.context(ATTENTION)
    vectors = tf_idf([*pool(context.catalog.tools, MAX_TOKENS).texts, *(task.subtask for task in tasks)])
    cosine = vectors[len(context.tool_ids) :] @ vectors[: len(context.tool_ids)].T
    active = [top(row, row, context.tool_order, K) & (row >= THETA) for row in cosine]
    hits = [
        mask[context.catalog.tool_row[tool]] for mask, task in zip(active, tasks, strict=True) for tool in task.relevant
    ]
    tokens = fmean(float(context.tool_tokens[mask].sum()) for mask in active)
    values = {"t": tokens, "shown": 100 * fmean(hits)}
    return ours("TF-IDF", values, {"t": 2_410.0}, why="Cosines of TF-IDF over stems; the same θ and k.")


def tf_idf(texts: Sequence[str]) -> NDArray[np.float64]:
    """Unit vectors (N, words) of stems by tf * idf, with idf = 1 + ln((1 + N) / (1 + df)).

    >>> found = tf_idf(["red fox", "red hen", "blue sky"])
    >>> (found @ found.T).round(2)[0].tolist()
    [1.0, 0.37, 0.0]
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(analyzer=content).fit_transform(texts).toarray()


def preconditions(material: Material, tasks: Sequence[Task], reach: Reach) -> tuple[Row, Row]:
    """With and without preconditions. A tool that writes needs its server's scope. The agent holds the scopes that its task needs."""
    base = material.context(ATTENTION).catalog
    catalog = Catalog(f"{base.name} with scopes", tuple(map(_guarded, base.servers)))
    material.add_catalog(catalog)
    rows: list[Row] = []
    for name, theirs, checked in (
        ("with preconditions on writing tools", 2_368, True),
        ("w/o preconditions", 2_462, False),
    ):
        decisions = [
            material.decide(task.subtask, catalog.name, "tool_attention", {"preconditions": checked, "scopes": _scopes(task)}) for task in tasks
        ]  # fmt: skip
        values = {"t": fmean(d.exposure.exposed for d in decisions), "shown": 100 * reach(decisions, tasks)}
        why = "The paper does not say which it has. Ours: a tool that writes needs the scope of its server."
        rows.append(ours(name, values, {"t": theirs}, why=why if checked else ""))
    return rows[0], rows[1]


def _guarded(server: Server) -> Server:
    scope = f'is_authenticated(scope="{server.name}:write")'
    return replace(
        server, tools=tuple(replace(tool, preconditions=(scope,)) if writes(tool) else tool for tool in server.tools)
    )


def _scopes(task: Task) -> str:
    return ",".join(sorted({f"{tool.partition('::')[0]}:write" for tool in task.relevant}))


def session(exposed: float, cached: float, definitions: float, context: Context) -> Table:
    """The share of a session's input, over 30 turns, in a provider's prompt cache. Phase 1 and definitions are prefix, phase 2 is not."""
    tokens = {  # name: printed hits, prefix and phase 2 by their and by our tokens
        "Tool Attention": (84.0, (4_820, 2_368), (cached, exposed)),
        "full schema, the list never changes": (22.0, (47_312, 0), (definitions, 0.0)),
    }
    rows = [
        Row(name, Kind.OURS, {"hit": pair(published, 100 * hit_rate(context, *theirs)), "mine": pair(None, 100 * hit_rate(context, *ours))})
        for name, (published, theirs, ours) in tokens.items()
    ]  # fmt: skip
    share = 1 - 0.22 / hit_rate(context, 47_312, 0)
    rows.append(
        Row("full schema, turns with a changed list that 22 % means", Kind.OURS, {"changed": pair(None, 100 * share)})
    )
    columns = (
        Column("hit", "Hits, their tokens", 0, "%"),
        Column("mine", "Hits, our tokens", 0, "%"),
        Column("changed", "Changed lists", 0, "% of turns"),
    )
    return Table(
        "5.6", "Section 5.6 and long sessions · cache hits", "Tokens that a prompt cache has, over all input tokens of 30 turns. The prefix is system prompt, definitions or summaries, and earlier messages.",
        "“empirically” 84 and 22 %; the sessions are not printed", f"by the layout, with {context.task_tokens:,} tokens of messages in {TURNS} equal turns", columns, tuple(rows),
        differs="The layout gives the paper's 84 % nearly. 22 % for the full schema follows only if its tool list changes at most turns; without changes nearly all is cached.",
    )  # fmt: skip


def hit_rate(context: Context, prefix: float, anew: float, turns: int = TURNS) -> float:
    """The input tokens of an unchanged prefix, from the second turn on, as a share of all input tokens.

    >>> round(hit_rate(Context(300, 0), 100, 10, turns=3), 2)  # cached: 0, 200, 300; sent: 210, 310, 410
    0.54
    """
    message = context.task_tokens / turns
    prefix_sizes = [context.system_tokens + prefix + message * turn for turn in range(turns)]
    return sum(prefix_sizes[1:]) / sum(size + message + anew for size in prefix_sizes)
