"""What happens in the agent loop, EHRR Algorithm 1, in order: one event for each ROUTE, EXECUTE and STOP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.decision import Decision
from core.domain.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Routed:
    """ROUTE: a sub-task and the decision that it got; `words` are the planner's, where it asked for another one."""

    step: int
    needs: tuple[int, ...]
    decision: Decision
    words: str = ""

    def to_json(self) -> dict[str, Any]:
        """One entry of `events` in `wayfare agent --json`."""
        decision = self.decision
        return {
            "do": "route",
            "step": self.step,
            "needs": list(self.needs),
            "subtask": decision.subtask,
            "words": self.words,
            "decision": decision.id,
            "reason": decision.reason,
            "candidates": [decision.tools.ids[row] for row in decision.candidates],
            "tokens": decision.tokens,
            "total_ms": decision.timings_ms["total"],
        }


@dataclass(frozen=True, slots=True)
class Executed:
    """EXECUTE: a call, or why it was not made (`error`, without an outcome). `said` is what goes back to the planner, verbatim."""

    step: int
    decision_id: str
    tool: str
    arguments: Mapping[str, Any]
    said: str
    error: str = ""
    outcome: Outcome | None = None
    words: str = ""

    def to_json(self) -> dict[str, Any]:
        """One entry of `events` in `wayfare agent --json`."""
        outcome = self.outcome
        return {
            "do": "execute",
            "step": self.step,
            "words": self.words,
            "decision": self.decision_id,
            "tool": self.tool,
            "arguments": dict(self.arguments),
            "called": outcome is not None and not outcome.simulated,
            "simulated": outcome is not None and outcome.simulated,
            "outcome": None if outcome is None else outcome.kind.value,
            "error": self.error,
            "said": self.said,
            "price_usd": None if outcome is None else outcome.price_usd,
            "latency_s": None if outcome is None else outcome.latency_s,
        }


@dataclass(frozen=True, slots=True)
class Stopped:
    """STOP: a sub-task is over. `done`: its last call ended well. `words` are the planner's: an answer, or what is missing."""

    step: int
    done: bool
    words: str

    def to_json(self) -> dict[str, Any]:
        """One entry of `events` in `wayfare agent --json`."""
        return {"do": "stop", "step": self.step, "done": self.done, "words": self.words}


AgentEvent = Routed | Executed | Stopped
