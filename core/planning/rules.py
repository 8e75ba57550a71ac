"""The planner that needs no model: rules over words, deterministic, one file a concern. English; other languages stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from core.planning import acting, complexity, decomposition, selection
from core.planning import rewriting as wording
from core.planning.base import Card, Complexity, Selection, SubQuery, ToolRequest
from core.planning.turns import Action, Turn
from core.planning.usage import Usage


class RulesPlanner:
    """Understands questions by their wording."""

    name = "rules"
    usage = Usage()

    def predict_tool(self, question: str) -> str:
        """See `Planner.predict_tool`."""
        return wording.predict_tool(question)

    def complexity(self, question: str, servers: Sequence[str]) -> Complexity:
        """See `Planner.complexity`."""
        return complexity.complexity(question, servers)

    def decompose(self, question: str, limit: int = 8) -> tuple[SubQuery, ...]:
        """See `Planner.decompose`."""
        return decomposition.decompose(question, limit)

    def rewrite(self, question: str) -> str:
        """See `Planner.rewrite`."""
        return wording.rewrite(question)

    def expand(self, question: str, count: int = 3) -> tuple[str, ...]:
        """See `Planner.expand`."""
        return wording.expand(question, count)

    def request(self, question: str) -> ToolRequest:
        """See `Planner.request`."""
        return wording.request(question)

    def summarise(self, server: str) -> str:
        """See `Planner.summarise`."""
        return server

    def select(self, question: str, cards: Sequence[Card], count: int) -> Selection:
        """See `Planner.select`."""
        return selection.select(question, cards, count)

    def act(self, turn: Turn) -> Action:
        """See `Planner.act`."""
        return acting.act(turn)
