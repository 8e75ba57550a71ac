"""What a call says to the planner of the agent loop."""

from __future__ import annotations

from core.domain.outcome import Outcome
from core.shared.tokens import count_tokens, fits, piece


def said_of(outcome: Outcome) -> str:
    """What a call brought, in the tool's own words; other blocks by their kind."""
    blocks = (block.text or f"[{' '.join(filter(None, (block.kind, block.mime_type)))}]" for block in outcome.content)
    return outcome.error or "\n".join(blocks) or "The tool ended well and gave no result."


def said_tokens(outcome: Outcome, limit: int) -> int:
    """What counts of it against a budget: no more than is passed on."""
    said = said_of(outcome)
    return count_tokens(said) if fits(said, limit) else limit


def cut(said: str, limit: int) -> str:
    """What a tool said, or its beginning where it is longer than the budgets leave room for.

    >>> cut("one two three four", 2)
    'one t [cut: 5 of 18 characters]'
    """
    if fits(said, limit):
        return said
    part = piece(said, 0, limit)
    return f"{part} [cut: {len(part):,} of {len(said):,} characters]"
