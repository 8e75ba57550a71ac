"""The runs of two routers over time: the plain data of the Network page's charts, cards and tables."""

from __future__ import annotations

from dataclasses import dataclass

from core.domain import units
from core.lab.scenarios.measures import RankingHistory, ScenarioRun
from core.lab.scenarios.records import Change, Curve


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a server or a router at a step. `subtask` is empty for servers."""

    step: int
    who: str
    what: str
    subtask: str = ""


@dataclass(frozen=True)
class RunTimeline:
    """Two routers through the same network, simulated or `live` (then latencies are measured).

    Steps count from the first query; each lasts `step_s`. `experts` are the rows of the servers that can do each task.
    `curves` are the latencies of the shown servers, from `lead_in` steps before the first query.
    `not_stored` is the reason if the runs could not be stored.
    """

    titles: tuple[str, ...]
    runs: tuple[ScenarioRun, ...]
    rankings: tuple[RankingHistory, ...]
    changes: tuple[tuple[Change, ...], ...]
    curves: tuple[Curve, ...]
    subtasks: tuple[str, ...]
    experts: tuple[frozenset[int], ...]
    servers: tuple[str, ...]
    tools: tuple[str, ...]
    steps: int
    lead_in: int
    step_s: float
    live: bool = False
    not_stored: str = ""

    @property
    def source(self) -> str:
        """The source of the numbers, for titles."""
        return "measured live" if self.live else "simulated"

    @property
    def first_step(self) -> int:
        """The first step to show: the first change of a router's server, else the first outage, else the middle."""
        changes = [change.step for of_router in self.changes for change in of_router]
        outages = [int(begin) for curve in self.curves for begin, _ in self.outages(curve)]
        return min(changes or outages, default=self.steps // 2)

    def step_of(self, time_s: float) -> float:
        """Returns the step of a time on a curve; negative before the first query."""
        return time_s / self.step_s - self.lead_in

    def outages(self, curve: Curve) -> list[tuple[float, float]]:
        """Returns the spans of steps in which a server is down, from the first query on."""
        spans = [(self.step_of(begin), self.step_of(end)) for begin, end in curve.outages]
        return [(max(begin, 0.0), end) for begin, end in spans if end > 0]

    def events(self) -> list[Event]:
        """Returns outages and changes of server in order of time."""
        found: list[Event] = []
        for curve in self.curves:
            for begin, end in self.outages(curve):
                found.append(Event(int(begin), curve.server, "goes down"))
                if end < self.steps:
                    lasted = units.seconds((end - begin) * self.step_s)
                    found.append(Event(int(end), curve.server, f"is up again, after {lasted}"))
        for title, of_router in zip(self.titles, self.changes, strict=True):
            found += [
                Event(c.step, title, f"leaves {c.left} for {c.chosen}: {c.why}", self.subtasks[c.task])
                for c in of_router
            ]
        return sorted(found, key=lambda event: event.step)
