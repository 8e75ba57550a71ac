"""What the charts of the Network page share: their time axis, and how routers, servers and the chosen step look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dashboard.pages.network.run_timeline import RunTimeline
from dashboard.theme import CHOSEN, GROUPS, LOOKED_AT, SIMILARITY

SMALL = {"size": 11}
FAINT = 0.25  # the opacity of what comes after the chosen step
FIXED = {"fixedrange": True}
LEFT_PX = 128  # of every chart as wide as the page: what lies below one another happens at the same step
ROUTER_LOOKS = (
    (CHOSEN, "circle", "solid"),
    (SIMILARITY, "diamond", "dash"),
)  # as the Compare page colours the first two
SERVER_COLOURS = tuple(colour for colour in GROUPS if colour != SIMILARITY)


def server_look(place: int) -> dict[str, Any]:
    """Colour and stroke of the n-th server that is shown.

    >>> server_look(0) == server_look(len(SERVER_COLOURS)), server_look(0)["dash"], server_look(len(SERVER_COLOURS))["dash"]
    (False, 'solid', 'dot')
    """
    turn, colour = divmod(place, len(SERVER_COLOURS))
    return {"color": SERVER_COLOURS[colour], "dash": ("solid", "dot", "dashdot")[turn % 3]}


def step_axis(timeline: RunTimeline) -> dict[str, Any]:
    """The one time axis of the page."""
    return {
        "title": {"text": f"step (one query each {timeline.step_s:g} s)", "font": SMALL, "standoff": 4},
        "range": [-0.01 * timeline.steps, 1.01 * timeline.steps],
        **FIXED,
    }


def step_marker(at: int) -> dict[str, Any]:
    """The vertical line at the chosen step."""
    return {
        "type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1,
        "line": {"color": LOOKED_AT, "dash": "dot", "width": 1.5},
    }  # fmt: skip


def boxes(
    spans: Sequence[tuple[float, float]], low: float, high: float
) -> tuple[list[float | None], list[float | None]]:
    """x and y of rectangles in one line with gaps: hundreds of them are one trace.

    >>> boxes([(1, 2)], 0, 9)
    ([1, 2, 2, 1, None], [0, 0, 9, 9, None])
    """
    xs: list[float | None] = []
    ys: list[float | None] = []
    for begin, end in spans:
        xs += [begin, end, end, begin, None]
        ys += [low, low, high, high, None]
    return xs, ys
