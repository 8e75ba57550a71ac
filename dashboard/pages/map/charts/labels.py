"""Names of groups on the map: as many as find room without covering one another, the largest groups first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

WIDTH_PX, HEIGHT_PX = 760, 600  # of a narrow map: with more room there is less in each other's way
CHARACTER_PX, LINE_PX = 6.8, 17
SHIFTS = (0, 1, -1, 2, -2)  # lines up or down from the group's middle


class Label(NamedTuple):
    """A text and its middle in [0, 1]."""

    text: str
    x: float
    y: float


class Box(NamedTuple):
    """What a text covers, in px."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: Box) -> bool:
        """Whether the two cover a common place."""
        return self.left < other.right and other.left < self.right and self.low < other.high and other.low < self.high


def room_for(wanted: Iterable[Label]) -> list[Label]:
    """The labels that find room, each at its place or a line or two from it; earlier ones come first.

    >>> [(label.text, round(label.y, 2)) for label in room_for([Label("files", 0.5, 0.5), Label("mail", 0.5, 0.5)])]
    [('files', 0.5), ('mail', 0.53)]
    """
    found: list[Label] = []
    boxes: list[Box] = []
    for text, x, y in wanted:
        for shift in SHIFTS:
            label = _inside(Label(text, x, y + shift * LINE_PX / HEIGHT_PX))
            box = _box(label)
            if not any(box.meets(other) for other in boxes):
                found.append(label)
                boxes.append(box)
                break
    return found


def _inside(label: Label) -> Label:
    half = len(label.text) * CHARACTER_PX / 2 / WIDTH_PX
    return label._replace(x=min(max(label.x, half), 1 - half)) if half < 0.5 else label._replace(x=0.5)


def _box(label: Label) -> Box:
    half, x, y = len(label.text) * CHARACTER_PX / 2, label.x * WIDTH_PX, label.y * HEIGHT_PX
    return Box(x - half, x + half, y - LINE_PX / 2, y + LINE_PX / 2)
