"""Tool Attention, section 5.2: the threshold that labelled tasks ask for."""

from __future__ import annotations

import numpy as np

from core.lab.papers.material import ATTENTION, SAMPLE, Material
from core.lab.papers.report import Chart, Column, Kind, Link, Row, Series, Table, Value, pair, rounded
from core.lab.threshold import THETAS, Calibration, calibrate

TASK_SETS = {
    "sample, sub-tasks": (SAMPLE, "subtasks"),
    "sample, ETOM level 2": (SAMPLE, "l2_context"),
    ATTENTION: (ATTENTION, ATTENTION),
}


def _fitted(material: Material, catalog: str, name: str) -> Calibration:
    tasks = material.tasks(name)
    made = [material.decide(task.subtask, catalog, "tool_attention", hint=task.server_hint) for task in tasks]
    right = np.array([[tool in task.relevant for tool in made[0].tools.ids] for task in tasks], dtype=np.bool_)
    return calibrate(np.array([d.tools.utility for d in made]), right, k=10)


def thresholds(material: Material, link: Link) -> Table:
    rows: list[Row] = []
    for name, (catalog, tasks) in TASK_SETS.items():
        material.say(f"Tool Attention: threshold on {name}")
        fit = _fitted(material, catalog, tasks)
        paper = next(point for point in fit.points if point.theta == 0.28)
        values: dict[str, tuple[Value, Value]] = {
            "theta": pair("0.22–0.32", fit.best.theta),
            "f": pair(None, fit.best.f1),
            "f28": pair(None, paper.f1),
        }
        rows.append(Row(name, Kind.OURS, values))
    return Table(
        "5.2", "Section 5.2 · the fitted threshold", "θ from 0.10 to 0.50 by 0.02, the best F1.", "100 to 200 labelled pairs of a deployment",
        "labelled tasks of the sample and of the testbed", (Column("theta", "θ", 2), Column("f", "F1", 2), Column("f28", "F1 at 0.28", 2)), tuple(rows),
        differs="Ours asks for more than the published range: one to three tools are right for a task, and up to ten may be active.", link=link,
    )  # fmt: skip


def sweep(material: Material, link: Link) -> Chart:
    fit = _fitted(material, ATTENTION, ATTENTION)
    lines = {
        "precision": [p.precision for p in fit.points],
        "recall": [p.recall for p in fit.points],
        "F1": [p.f1 for p in fit.points],
    }
    series = tuple(Series(name, THETAS, tuple(rounded(v) for v in values)) for name, values in lines.items())
    return Chart(
        "theta",
        "Section 5.2: the threshold's sweep",
        "Over the tasks of attention-120.",
        "θ",
        "share",
        "line",
        series,
        link=link,
    )
