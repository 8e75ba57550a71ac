"""PA-RAG's aggregation and verification: the choices of all sub-queries as one set that fits into a model's context window.

    Y = union over sub-queries of Y_k                          each tool once; its tokens are counted once
    kept: first choices of all sub-queries, then second choices and so on, as long as the budget of tokens lasts

The paper's: union, de-duplication, and a check that the set covers what was asked without exceeding the context (its section
4.5). Ours: the order in which the budget is spent, so that no sub-query's second choice drives out another's first; the check
names the sub-queries that are left without a tool, and those that wait for their results.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from core.domain.decision import Stage
from core.routers.context import RoutingContext
from core.routers.orchestrator import Part

QUOTED_CHARACTERS = 60


@dataclass(frozen=True, slots=True)
class Aggregate:
    """Rows of the final set, rows that the budget has taken out again, and both as stages."""

    kept: tuple[int, ...]
    cut: frozenset[int]
    stages: tuple[Stage, ...]


def aggregated(context: RoutingContext, parts: Sequence[Part], budget_tokens: int) -> Aggregate:
    """The choices of all parts as one set of definitions of at most `budget_tokens` tokens."""
    union = interleaved([part.chosen for part in parts])
    tokens = context.tool_tokens
    kept = within_budget(union, [int(tokens[row]) for row in union], budget_tokens)
    picked = sum(len(part.chosen) for part in parts)
    duplicates = picked - len(union)
    note = (
        f"{picked} choice{'s' * (picked != 1)}{f', {duplicates} of a tool that was chosen before' if duplicates else ''}; "
        f"{int(tokens[list(kept)].sum()):,} of {budget_tokens:,} tokens."
    )
    return Aggregate(
        kept,
        frozenset(union) - set(kept),
        (_verified(parts, kept), Stage("aggregation", "tools", len(kept), len(union), note)),
    )


def interleaved(choices: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """Every row once: all first choices in the order of the sub-queries, then all second ones.

    >>> interleaved([(4, 7), (5,), (4, 9)])
    (4, 5, 7, 9)
    """
    turns = zip_longest(*choices)
    return tuple(dict.fromkeys(row for turn in turns for row in turn if row is not None))


def within_budget(rows: Sequence[int], tokens: Sequence[int], budget: int) -> tuple[int, ...]:
    """The rows that fit, in their order; one that is too long is passed over, and the next may still fit.

    >>> within_budget([4, 5, 7], [60, 70, 30], 100)
    (4, 7)
    """
    kept: list[int] = []
    for row, size in zip(rows, tokens, strict=True):
        if size <= budget:
            kept.append(row)
            budget -= size
    return tuple(kept)


def _verified(parts: Sequence[Part], kept: Collection[int]) -> Stage:
    without = {at for at, part in enumerate(parts) if not set(part.chosen) & set(kept)}
    waiting = {at for at, part in enumerate(parts) if at not in without and without & set(part.sub_query.needs)}
    notes = [f"No tool for: {_quoted(parts, without)}."] if without else ["Every sub-query has a tool."]
    if waiting:
        notes.append(f"Waiting for the result of one of those: {_quoted(parts, waiting)}.")
    return Stage("verification", "sub-queries", len(parts) - len(without), len(parts), " ".join(notes))


def _quoted(parts: Sequence[Part], which: Collection[int]) -> str:
    return "; ".join(parts[at].sub_query.text[:QUOTED_CHARACTERS] for at in sorted(which))
