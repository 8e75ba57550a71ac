"""A question that asks for several things: its steps, each with a decision of its own, and what all of them take.

Steps that do not need each other may run at the same time: a step starts when the last one that it needs has finished.

    finish(s) = max(finish(d) for d in needs(s), or 0) + C_s          C_s: expected seconds until its winner succeeds
    elapsed   = max(finish)              work = sum(C_s)              price = sum of the winners' prices
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from core.domain.decision import Decision


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """One step: what it asks for, the positions of earlier steps whose results it uses, and where it goes.

    `start_s` and `finish_s` are expected seconds from the start of the plan; a step that no tool can do takes none.
    """

    text: str
    needs: tuple[int, ...]
    decision: Decision
    start_s: float
    finish_s: float


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a question in order; `planner` says who took it apart."""

    question: str
    planner: str
    steps: tuple[PlannedStep, ...]

    @classmethod
    def of(
        cls,
        question: str,
        planner: str,
        parts: Sequence[tuple[str, tuple[int, ...]]],
        decide: Callable[[str, Sequence[str]], Decision],
    ) -> Plan:
        """A plan of (text, needs) in order; `decide` is given a text and the winners of all steps that it builds on.

        Raises ValueError where a step needs itself or a later one, and what `decide` raises.
        """
        steps: list[PlannedStep] = []
        behind: list[set[int]] = []  # the steps that each builds on, also through others
        for text, needs in parts:
            if any(not 0 <= need < len(steps) for need in needs):
                raise ValueError(f"step {len(steps)} needs {needs}; it can need earlier ones only")
            behind.append(set(needs).union(*(behind[need] for need in needs)))
            winners = (steps[step].decision.winner for step in sorted(behind[-1]))
            decision = decide(text, [winner.tool for winner in winners if winner])
            start = max((steps[need].finish_s for need in needs), default=0.0)
            took = decision.winner.time_cost_s if decision.winner else 0.0
            steps.append(PlannedStep(text, needs, decision, start, start + took))
        return cls(question, planner, tuple(steps))

    @property
    def elapsed_s(self) -> float:
        """Expected seconds until all is done, where steps that can run at the same time do."""
        return max((step.finish_s for step in self.steps), default=0.0)

    @property
    def work_s(self) -> float:
        """Expected seconds of all steps one after another."""
        return sum(step.finish_s - step.start_s for step in self.steps)

    @property
    def price_usd(self) -> float:
        """USD of the winners that have a price; `unpriced` counts the others."""
        prices = (step.decision.winner.price_usd for step in self.steps if step.decision.winner)
        return sum(price for price in prices if price is not None)

    @property
    def unpriced(self) -> int:
        """Steps whose winner has no price."""
        return sum(step.decision.winner is not None and step.decision.winner.price_usd is None for step in self.steps)

    @property
    def unanswered(self) -> tuple[int, ...]:
        """Positions of steps that no tool can do."""
        return tuple(position for position, step in enumerate(self.steps) if step.decision.winner is None)

    @property
    def exposed_tokens(self) -> int:
        """Tokens that all steps newly put before a model."""
        return sum(step.decision.tokens["exposed"] for step in self.steps)

    @property
    def longest_path(self) -> tuple[int, ...]:
        """Positions of the steps that decide how long all takes, first to last."""
        if not self.steps:
            return ()
        at = max(range(len(self.steps)), key=lambda position: self.steps[position].finish_s)
        path = [at]
        while needs := self.steps[at].needs:
            at = max(needs, key=lambda position: self.steps[position].finish_s)
            path.append(at)
        return tuple(reversed(path))
