"""One colour per meaning, on every page and in every chart; mid-tones that read on light and on dark.

The hues stay apart for colour-blind eyes, and no meaning rests on colour alone: a sign or a word says it too.
"""

from __future__ import annotations

from collections.abc import Iterable

SIMILARITY = "#3B82C4"
TIME = "#DB9412"
MONEY = "#C2629C"
ACCEPTED = "#17976F"
REJECTED = "#D45B22"
CHOSEN = "#7A63F1"
LOOKED_AT = "#F5286E"
MUTED = "#8C92A6"
GRID = "rgba(140, 146, 166, 0.22)"

CHOSEN_SIGN, ACCEPTED_SIGN, REJECTED_SIGN, DROPPED_SIGN = "★", "✓", "✗", "·"

SERIES = (CHOSEN, SIMILARITY, TIME, MONEY, ACCEPTED, REJECTED, "#5AA9B8", "#9A7B4F")


class WinnerColours:
    """The colours of the winners of a question. A tool keeps its colour while knobs turn. The first winner has the
    colour of chosen items.

    >>> colours = WinnerColours()
    >>> colours.of(["a", "b", None]) == {"a": CHOSEN, "b": SIMILARITY, None: MUTED}
    True
    >>> colours.of(["b"])["b"] == SIMILARITY
    True
    """

    def __init__(self) -> None:
        self._known: dict[str | None, str] = {None: MUTED}

    def of(self, winners: Iterable[str | None]) -> dict[str | None, str]:
        """Returns a colour for each winner, in their order. No winner is grey."""
        for name in (names := list(dict.fromkeys(winners))):
            self._known.setdefault(name, SERIES[(len(self._known) - 1) % len(SERIES)])
        return {name: self._known[name] for name in names}


GROUPS = tuple(colour for colour in SERIES if colour != CHOSEN)  # categories and servers on the map
