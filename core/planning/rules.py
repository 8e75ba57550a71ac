"""The planner that needs no model: rules over words, deterministic."""

from __future__ import annotations

import re
from collections.abc import Sequence

from core.planning.base import Card, Complexity, Selection, SubQuery, ToolRequest

_JOINTS = re.compile(r"(?:[;.!?]\s+|,?\s+(?:and then|then|after that|afterwards)\s+)", re.IGNORECASE)


class RulesPlanner:
    """Understands questions by their wording."""

    name = "rules"

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        return question.strip()

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:  # noqa: ARG002
        """See `Planner.complexity`."""
        parts = len(self.decompose(question))
        return Complexity("complex" if parts > 1 else "simple", min(1.0, 0.4 * parts - 0.2), (f"{parts} parts",))

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """See `Planner.decompose`."""
        parts = [part.strip(" .,;") for part in _JOINTS.split(question) if part.strip(" .,;")]
        return tuple(SubQuery(part) for part in parts[:limit]) or (SubQuery(question),)

    def rewrite(self, question: str) -> str:
        """See `Planner.rewrite`."""
        return question.strip()

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:  # noqa: ARG002
        """See `Planner.expand`."""
        return ()

    def request(self, question: str) -> ToolRequest:
        """See `Planner.request`."""
        return ToolRequest(question, question)

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:  # noqa: ARG002
        """See `Planner.select`."""
        best = sorted(cards, key=lambda card: -card.score)[:count]
        return Selection(tuple(card.id for card in best), "The best scores.")
