"""Which of the tools that were found are taken: the best by score, as long as they come near the best one."""

from __future__ import annotations

from collections.abc import Sequence

from core.planning.base import Card, Selection
from core.planning.refusal import objection

NEAR = 0.8  # of the best score


def select(question: str, cards: Sequence[Card], count: int) -> Selection:
    """At most `count` cards, best first, ties in the order that they came; none where nothing offered fits.

    >>> cards = [Card("a::x", "send an e-mail", 0.5), Card("b::y", "send a letter", 0.45), Card("c::z", "list files", 0.2)]
    >>> select("send an e-mail to Bo", cards, 3).ids
    ('a::x', 'b::y')
    """
    ranked = sorted(cards, key=lambda card: -card.score)
    best = ranked[0].score if ranked else 0.0
    if reason := objection(question, best, [card.text for card in ranked]):
        return Selection((), reason)
    near = [card for card in ranked if card.score >= NEAR * best][: max(0, count)]
    others = f", {len(near) - 1} more near it" if len(near) > 1 else ""
    return Selection(tuple(card.id for card in near), f"Best score {best:.2f}{others}.")
