"""What labels did to a tool's probability of fit, in words: by how much, and which labels those were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from core.services.learn.feedback import CALL, LABEL, MovedBy
from dashboard.ui.text import escaped

LISTED = 6
LABELS_HELP = (
    "What labels of like sub-tasks add to the logit of this tool's probability of fit. However many there are, it stays within "
    "a bound, and one visitor counts for at most one label."
)


def moved_words(moves: Sequence[MovedBy], logits: float) -> str:
    """The whole shift of one tool in logits, with the strongest reason; escaped. `moves`, the strongest first, add up to it."""
    if not moves:
        return ""
    return f"labels **{logits:+.1f}** ({_reason(moves[0], 60)}; {_counted(moves)})"


def moved_lines(moves: Sequence[MovedBy]) -> list[str]:
    """Each label that moved a tool, its part in logits and how near its sub-task is; escaped. The strongest few."""
    lines = [
        f"**{one.move.logits:+.2f}** {_reason(one, 120)}, similarity {min(one.move.cosine, 1.0):.2f}"
        f"{f', {escaped(one.label.origin, 20)}, {one.label.at:%Y-%m-%d}' if one.label else ''}"
        for one in moves[:LISTED]
    ]
    rest = sum(one.move.logits for one in moves[LISTED:])
    return [*lines, f"**{rest:+.2f}** {len(moves) - LISTED:,} more"] if len(moves) > LISTED else lines


def _reason(moved: MovedBy, limit: int) -> str:
    quoted = f"“{escaped(moved.subtask, limit)}”"
    if moved.label is not None:
        return f"{'right' if moved.label.right else 'wrong'} for {quoted}"
    return f"a call ended well for {quoted}" if moved.by == CALL else f"right for {quoted} in the calibration"


def _counted(moves: Sequence[MovedBy]) -> str:
    """How many of each kind."""
    kinds = Counter({LABEL: "label", CALL: "call"}.get(one.by, "of the calibration") for one in moves)
    return ", ".join(f"{count:,} {kind}{'s' if count > 1 and ' ' not in kind else ''}" for kind, count in kinds.items())
