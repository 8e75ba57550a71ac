"""One colour for each tool that wins somewhere, the same in every chart of a sub-task."""

from __future__ import annotations

from collections.abc import Iterable

from dashboard.theme import CHOSEN, MUTED, SERIES

NOBODY = MUTED


def winner_colours(today: str | None, others: Iterable[str | None]) -> dict[str | None, str]:
    """Today's winner in the colour of what is chosen, the others in their order, as in the knobs of Route; nobody is grey.

    >>> found = winner_colours("a", ["b", "a", None, "b"])
    >>> len(found), found["a"] == CHOSEN, found[None] == MUTED
    (3, True, True)
    """
    found: dict[str | None, str] = {None: NOBODY}
    if today is not None:
        found[today] = CHOSEN
    palette = [colour for colour in SERIES if colour != CHOSEN]
    for name in others:
        if name not in found:
            found[name] = palette[(len(found) - 1 - (today is not None)) % len(palette)]
    return found
