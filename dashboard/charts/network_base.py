"""What the charts of the Network page share: the story that they tell, and how routers, servers and the moment look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from core.lab.scenario_measures import ScenarioRun
from core.lab.scenario_standing import Standing
from core.lab.scenario_story import Change, Curve
from dashboard.theme import CHOSEN, GROUPS, LOOKED_AT, SIMILARITY

SMALL = {"size": 11}
FIXED = {"fixedrange": True}
LEFT_PX = 128  # of every chart as wide as the page: what lies below one another happens at the same step
ROUTER_LOOKS = (
    (CHOSEN, "circle", "solid"),
    (SIMILARITY, "diamond", "dash"),
)  # as the Compare page colours the first two
SERVER_COLOURS = tuple(colour for colour in GROUPS if colour != SIMILARITY)


@dataclass(frozen=True)
class Story:
    """Two routers through the same network, simulated or `live`: then what their runs say is measured. Steps count from the first query; each lasts `step_s`.

    `right` are the rows of the servers that can do a task; `curves` are those of the servers that matter, and begin
    `lead_in` steps before the first query.
    """

    titles: tuple[str, ...]
    runs: tuple[ScenarioRun, ...]
    standings: tuple[Standing, ...]
    changes: tuple[tuple[Change, ...], ...]
    curves: tuple[Curve, ...]
    subtasks: tuple[str, ...]
    right: tuple[frozenset[int], ...]
    servers: tuple[str, ...]
    tools: tuple[str, ...]
    steps: int
    lead_in: int
    step_s: float
    live: bool = False
    unkept: str = ""

    @property
    def source(self) -> str:
        """Where the figures come from, for titles."""
        return "measured live" if self.live else "simulated"

    def step_of(self, time_s: float) -> float:
        """The step of a time on a curve; below 0 before the first query."""
        return time_s / self.step_s - self.lead_in

    def outages(self, curve: Curve) -> list[tuple[float, float]]:
        """Steps at which a server goes down and is up again, from the first query on."""
        found = [(self.step_of(begin), self.step_of(end)) for begin, end in curve.outages]
        return [(max(begin, 0.0), end) for begin, end in found if end > 0]


def server_look(place: int) -> dict[str, Any]:
    """Colour and stroke of the n-th server that is shown.

    >>> server_look(0) == server_look(len(SERVER_COLOURS)), server_look(0)["dash"], server_look(len(SERVER_COLOURS))["dash"]
    (False, 'solid', 'dot')
    """
    turn, colour = divmod(place, len(SERVER_COLOURS))
    return {"color": SERVER_COLOURS[colour], "dash": ("solid", "dot", "dashdot")[turn % 3]}


def step_axis(story: Story) -> dict[str, Any]:
    """The one time axis of the page."""
    return {
        "title": {"text": f"step (one query each {story.step_s:g} s)", "font": SMALL, "standoff": 4},
        "range": [-0.01 * story.steps, 1.01 * story.steps],
        **FIXED,
    }


def moment(at: int) -> dict[str, Any]:
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
