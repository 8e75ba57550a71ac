"""EHRR's ablations, Figures 14 and 15: without its parts, and with sub-tasks that a model writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from core.domain.task import Task
from core.lab.papers.ehrr_routed import DIFFERS, LAB, PLAYED, THEIRS, Routed
from core.lab.papers.material import NEEDS_MODEL, Material
from core.lab.papers.report import Column, Kind, Link, Row, Table, Value, pair
from core.routers.presets import DEFAULT_PRESET
from core.shared.errors import WayfareError

ABLATIONS: Mapping[str, tuple[Mapping[str, object], str, tuple[Value, Value, Value]]] = {
    "Full": ({}, "paper", (0.41, 0.52, 37.7)),
    "w/o Auction": ({"auction": False}, "paper", (0.34, None, 31.0)),
    "w/o Execution": ({"execution_signals": False}, "paper", (0.30, None, None)),
    "w/o Hierarchical": ({"hierarchy": False}, "paper", (0.2722, None, 24.1)),
    "Full, Wayfare's defaults": ({}, DEFAULT_PRESET, (None, None, None)),
}


def ablation(material: Material, tasks: Sequence[Task]) -> Table:
    def measured(preset: str, settings: Mapping[str, object], asked: Sequence[Task]) -> dict[str, float]:
        routed = Routed.of(material, asked, "ehrr", preset, **{"n": 10, **settings})
        return {**routed.quality(), "sr": 100 * routed.played(material).success_rate.mean}

    rows: list[Row] = []
    for name, (settings, preset, printed) in ABLATIONS.items():
        found = measured(preset, settings, tasks)
        published = dict(zip(("mrr", "recall", "sr"), printed, strict=True))
        said = {key: value for key, value in settings.items() if isinstance(value, bool)}
        link = Link("lab", LAB.query, router="ehrr", preset=preset, settings=said)
        rows.append(Row(name, Kind.OURS, {key: pair(published[key], found[key]) for key in published}, link=link))
    rows.append(_by_model(material, tasks, lambda asked: measured("paper", {}, asked)))
    columns = (Column("mrr", "MRR", 2), Column("recall", "Recall@3", 2), Column("sr", "Success rate", 1, "%"))
    return Table(
        "ablation", "Figures 14, 15 · ablations", "EHRR without its parts. Where the paper gives no figure in its text there is none here.",
        THEIRS, PLAYED + "; ranked to ten", columns, tuple(rows),
        differs="In the paper every part helps. " + DIFFERS,
        link=LAB,
    )  # fmt: skip


def _by_model(material: Material, tasks: Sequence[Task], measure: Callable[[Sequence[Task]], dict[str, float]]) -> Row:
    name, model = "Full, sub-tasks written by a model", material.model
    keys = ("mrr", "recall", "sr")
    if model is None:
        return Row(name, Kind.MODEL, dict.fromkeys(keys, (None, None)), why=NEEDS_MODEL)
    asked = material.asked_of_model(tasks)
    material.say(f"EHRR: {len(asked)} sub-tasks by {model.name}")
    try:
        found = measure([replace(task, subtask=model.rewrite(task.question or task.subtask)) for task in asked])
    except WayfareError as error:
        return Row(
            name,
            Kind.MODEL,
            dict.fromkeys(keys, (None, None)),
            why=f"The model did not answer: {error}",
            model=model.name,
        )
    return Row(
        name,
        Kind.MODEL,
        {key: pair(None, found[key]) for key in keys},
        why=f"{len(asked)} of {len(tasks)} tasks.",
        model=model.name,
    )
