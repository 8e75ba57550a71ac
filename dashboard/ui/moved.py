"""What labels did to the tools' probabilities of fit, in words: by how much, and which labels those were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import numpy as np

from core.domain.decision import Decision
from core.domain.trace import Array
from core.services.learn.feedback import LABEL, MovedBy
from core.shared import units
from dashboard.ui.text import escaped

LISTED = 6
NAMED, NOTABLE = 3, 0.05  # tools beside the judged ones: how many are named, and from which change on
LABELS_HELP = (
    "What labels of like sub-tasks add to the logit of this tool's probability of fit, those of tools that do the same among them. "
    "However many there are, it stays within a bound; one visitor counts for at most one label, all agents together for half of one."
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


def changed_words(before: Decision, now: Decision, judged: Sequence[str], sharing: Collection[str]) -> str:
    """What a label changed, in one sentence that begins with a space: the judged tools, those that share its label because they
    do the same, and what else moved much; escaped. Empty where nothing is known of fit."""
    if before.fit is None or now.fit is None or before.tools.ids != now.tools.ids:
        return ""
    rows = {tool: row for row, tool in enumerate(now.tools.ids)}
    was, fits = before.fit.tools, now.fit.tools
    change, told = fits - was, [rows[tool] for tool in judged if tool in rows]

    def shares(row: int) -> tuple[str, str, str]:
        return escaped(now.tools.ids[row], 80), units.share(float(was[row])), units.share(float(fits[row]))

    found = ["{} fits {} → **{}**".format(*shares(row)) for row in told]
    way = np.sign(change[told[:1]])
    too = [
        rows[tool]
        for tool in sharing
        if tool in rows and rows[tool] not in told and way.any() and np.sign(change[rows[tool]]) == way
    ]
    if too:
        found.append(
            f"{_names(now, too, change)}, which {'do' if len(too) > 1 else 'does'} the same, {'went up' if way > 0 else 'fell'} too"
        )
    much = np.flatnonzero(np.abs(change) >= NOTABLE)
    others = sorted({*much.tolist()} - {*told, *too}, key=lambda row: -abs(change[row]))[:NAMED]
    found += [
        ("{} rose from {} to {}" if change[row] > 0 else "{} fell from {} to {}").format(*shares(row)) for row in others
    ]
    return f" {'; '.join(found)}." if found else ""


def _names(now: Decision, rows: Sequence[int], change: Array) -> str:
    """`a`, `a and b`, or `a, b and 3 more`: what changed most comes first."""
    ordered = sorted(rows, key=lambda row: -abs(change[row]))
    names = [escaped(now.tools.ids[row], 80) for row in ordered[:NAMED]]
    last = f"{len(rows) - NAMED:,} more" if len(rows) > NAMED else names.pop()
    return f"{', '.join(names)} and {last}" if names else last


def _reason(moved: MovedBy, limit: int) -> str:
    quoted = f"“{escaped(moved.subtask, limit)}”"
    if moved.label is None:
        return f"right for {quoted} in the calibration"
    said = f"{'right' if moved.label.right else 'wrong'} for {quoted}"
    return f"{said}, said of {escaped(moved.shared_from, 80)}, which does the same" if moved.shared_from else said


def _counted(moves: Sequence[MovedBy]) -> str:
    """How many of each kind."""
    kinds = Counter("label" if one.by == LABEL else "of the calibration" for one in moves)
    return ", ".join(f"{count:,} {kind}{'s' if count > 1 and ' ' not in kind else ''}" for kind, count in kinds.items())
