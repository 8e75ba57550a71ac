"""How robust the decision is: the interval of a parameter in which the winner stays the same, in one sentence."""

from __future__ import annotations

from core.domain.params import Knob, Value
from core.whatif.strips import Strip
from dashboard.ui.text import escaped


def winning_interval(strip: Strip, knob: Knob, value: Value) -> str:
    """Markdown: the exact interval around the current value, and the winner beyond each end."""
    winners = strip.winners()
    now = strip.high if value is None else float(value)
    here = max(place for place, one in enumerate(winners) if place == 0 or one.low <= now)
    if winners[here].winner is None:
        return "No tool can win here."
    unit = f" {knob.unit}" if knob.unit else ""
    if len(winners) == 1:
        return f"The winner stays the same for every {knob.symbol} up to {strip.high:g}{unit}."
    beyond = [
        f"{word} it {'nobody' if winners[place].winner is None else escaped(winners[place].winner or '', 60)} wins"
        for word, place in (("below", here - 1), ("above", here + 1))
        if 0 <= place < len(winners)
    ]
    return (
        f"The winner stays the same for {knob.symbol} from {winners[here].low:.3g} to {winners[here].high:.3g}{unit}; "
        f"{', '.join(beyond)}."
    )
