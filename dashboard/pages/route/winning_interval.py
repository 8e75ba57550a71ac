"""How robust the decision is: the interval of a parameter in which the winner stays the winner, in one sentence."""

from __future__ import annotations

from core.lab.curves import UtilityLines
from dashboard.pages.route.charts.utility_lines import SYMBOLS
from dashboard.ui.text import escaped


def winning_interval(lines: UtilityLines) -> str:
    """Markdown: the exact interval, and who wins beyond each of its ends."""
    interval = lines.winner_interval
    if interval is None:
        return "No tool can win here."
    symbol = SYMBOLS[lines.axis]
    beyond = [
        f"{word} it {escaped(lines.tools[row], 60)} wins"
        for word, row in (("below", interval.below), ("above", interval.above))
        if row is not None
    ]
    if not beyond:
        return f"The winner stays the same for every {symbol} up to {lines.high:g} {lines.unit}."
    span = (
        f"The winner stays the same for {symbol} from {interval.low:.3g} to {interval.high:.3g} {escaped(lines.unit)}"
    )
    return f"{span}; {', '.join(beyond)}."
