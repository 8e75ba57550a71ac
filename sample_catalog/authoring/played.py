"""The story of the empty Decision view: a sub-task whose winner changes with one knob, and what happens next, played once.

    python -m sample_catalog.authoring.played

writes `played.json`. The sub-task is chosen by computation among the labelled ones of ETOM's level 2: the winner at the defaults and
the one beyond the change are both right tools that the decision is sure of, the words of the question fill the form of the
second, and the change is near the default. Of those it is the one that saves the most time. The call is made on the virtual server, so
its answer is simulated.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from core.app import App, Settings, open_app
from core.decisions.routing import Asked
from core.domain.decision import Decision
from core.domain.outcome import CallMode, OutcomeKind, ToolCall
from core.domain.tasks import Task
from core.domain.trace import ToolRow
from core.importers import read_tasks
from core.importers.shipped_catalogs import SAMPLE
from core.planning.arguments import filled
from sample_catalog import PLAYED, TASKS_DIR
from sample_catalog.authoring.build import pretty

ROUTER, KNOB, TASKS = "ehrr", "alpha_t", "l2_context"
LONGEST = 90  # characters of a question
FARTHEST = 8  # times the knob's default
CALLS = 100
ABOUT = (
    "Written by python -m sample_catalog.authoring.played. The winners and the value at which they change are computed from the sample's "
    "declared figures, without any call. The call is one call of the virtual server, whose answer is simulated; it changes "
    "the simulated statistics by EHRR (8) with rates of 0.15, and no measured one. The saving is projected: the calls, times the difference of the two tools' expected time "
    "to success and price a call, as declared."
)
"""How the figures were computed. The file says it, too."""


def decided(app: App, question: str, **values: float) -> Decision:
    return app.routing.preview(Asked(question, app.routing.parameters(ROUTER, values), router=ROUTER))


def sure(app: App, question: str, beyond: float) -> bool:
    """Whether the decision is sure at the default, and where the knob is past the change."""
    at = decided(app, question), decided(app, question, **{KNOB: 1.25 * beyond})
    return all(one.fit is not None and one.fit.confidence == "sure" for one in at)


def rows(decision: Decision, *tools: str) -> list[ToolRow]:
    return [decision.tool_at(decision.tools.ids.index(tool)) for tool in tools]


def saving(decision: Decision, first: str, second: str) -> dict[str, float]:
    """Returns what `CALLS` calls of the second tool instead of the first save, in s and USD. A negative saving is a cost."""
    one, other = rows(decision, first, second)
    dearer = (one.price_usd or 0.0) - (other.price_usd or 0.0)
    return {
        "calls": CALLS,
        "time_s": round(CALLS * (one.time_cost_s - other.time_cost_s), 3),
        "usd": round(CALLS * dearer, 6),
    }


def changing(app: App, tasks: tuple[Task, ...]) -> Iterator[tuple[Task, float, str, str]]:
    """Yields each usable task with the value at which its winner changes, and both winners."""
    parameters = app.routing.parameters(ROUTER)
    now = float(getattr(parameters, KNOB))
    for task in tasks:
        if len(task.subtask) > LONGEST:
            continue
        bands = app.what_if.strips(Asked(task.subtask, parameters, SAMPLE, ROUTER))[KNOB].winners()
        higher = [band for band in bands if band.low > now]
        first = next(band.winner for band in reversed(bands) if band.low <= now)
        if first in task.relevant and higher and higher[0].winner in task.relevant and higher[0].low <= FARTHEST * now:
            yield task, higher[0].low, str(first), str(higher[0].winner)


def played(app: App) -> dict[str, Any]:
    """Returns the content of the file. Raises ValueError if no task has a change that can be played."""
    tasks = read_tasks((TASKS_DIR / f"{TASKS}.jsonl").read_text(encoding="utf-8"), source=TASKS)
    found = list[tuple[float, Task, float, str, str]]()
    for task, beyond, first, second in changing(app, tasks):
        schema = app.catalogs.catalog(SAMPLE).find(*second.split("::"))[1].input_schema
        _, missing = filled(schema, task.subtask)
        if not missing and sure(app, task.subtask, beyond):
            decision = decided(app, task.subtask)
            found.append((saving(decision, first, second)["time_s"], task, beyond, first, second))
    if not found:
        raise ValueError("The winner of no labelled task changes in a way that can be played.")
    _, task, beyond, first, second = max(found, key=lambda one: (one[0], one[1].id))
    decision = decided(app, task.subtask)
    return {
        "about": ABOUT, "catalog": SAMPLE, "router": ROUTER, "question": task.subtask, "knob": KNOB,
        "changes_at": round(beyond, 4), "winners": [first, second], "call": _call(app, task.subtask, second),
        "saving": saving(decision, first, second),
    }  # fmt: skip


def _call(app: App, question: str, tool: str) -> dict[str, Any]:
    """Returns the filled form, the answer and what was learnt from one call."""
    server, name = tool.split("::")
    arguments, _ = filled(app.catalogs.catalog(SAMPLE).find(server, name)[1].input_schema, question)
    handle = app.calls.start(ToolCall(server, name, arguments, catalog=SAMPLE), mode=CallMode.VIRTUAL, origin="played")
    report = handle.report(60)
    if report.outcome.kind is not OutcomeKind.OK or report.simulated is None:
        raise ValueError(f"The call of {tool} failed: {report.outcome.error}")
    before, after = report.simulated.tool_before, report.simulated.tool_after
    return {
        "tool": tool, "arguments": arguments, "answer": report.outcome.content[0].text, "took_s": round(report.outcome.latency_s, 3),
        "success": [round(before.success, 4), round(after.success, 4)], "call_s": [round(before.call_s, 3), round(after.call_s, 3)],
    }  # fmt: skip


def main() -> int:
    with (
        tempfile.TemporaryDirectory() as scratch,
        open_app(Settings(db=Path(scratch) / "played.duckdb", cache=Path(scratch), seed=0)) as app,
    ):
        app.readiness.make(SAMPLE)
        PLAYED.write_text(pretty(played(app)) + "\n", encoding="utf-8")
    print(json.loads(PLAYED.read_text(encoding="utf-8"))["question"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
