"""How many labelled tasks each mechanism of EHRR changes, for better or worse: a switch at a time, over ETOM's levels 1 and 2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from core.domain.tasks import Task
from core.papers.report import SAMPLE, Column, Link, Material, Row, Table, Value, ours
from core.routers.presets import DEFAULT_PRESET

SETS = ("l1_direct", "l2_context")
QUESTION = "find a recipe for soup"
BUDGET_USD = 0.0025  # the upper end of the low tier of prices (section V)
MECHANISMS: Mapping[str, tuple[Mapping[str, object], Mapping[str, object]]] = {  # settings without and with it
    "Posted price": ({"auction": False}, {}),
    f"Budget of ${BUDGET_USD:g} a call": ({}, {"budget_usd": BUDGET_USD}),
    "Short-list of k servers": ({"k": 100}, {}),
    "Hierarchy": ({"hierarchy": False}, {}),
}
KNOBS = {"our defaults": DEFAULT_PRESET, "the paper's knobs": "paper"}


def mechanisms(material: Material) -> Table:
    """For each mechanism and preset: tasks with another winner than without it, of which right now and wrong now, and the money."""
    tasks = [task for name in SETS for task in material.tasks(name)]
    rows: list[Row] = []
    for knobs, preset in KNOBS.items():
        whole = _winners(material, tasks, preset, {})
        for name, (without, with_it) in MECHANISMS.items():
            material.say(f"EHRR: {name}, {knobs}")
            before = _winners(material, tasks, preset, without) if without else whole
            after = _winners(material, tasks, preset, with_it) if with_it else whole
            rows.append(
                ours(f"{name}, {knobs}", _compared(tasks, before, after), link=_link(preset, without or with_it))
            )
    columns = (
        Column("changed", "Another winner", 0), Column("better", "Right only with it", 0), Column("worse", "Right only without it", 0),
        Column("usd", "Price of winners, change", 1, "%"),
    )  # fmt: skip
    return Table(
        "mechanisms", "What each mechanism changes (ours)", f"Of {len(tasks)} tasks, those whose winner is another one than without the mechanism.",
        "none: the paper has ablations of three mechanisms, not of single decisions", "ETOM's levels 1 and 2 on the sample; nothing is drawn, so that there is no seed", columns, tuple(rows),
        differs="On tasks that one tool solves the relevance decides nearly all; what the mechanisms save is money and time. A budget is off by default.",
        link=Link("whatif", {"view": "Over tasks", "q": QUESTION, "catalog": SAMPLE}, router="ehrr", says="See the effect of each knob on labelled tasks"),
    )  # fmt: skip


Winner = tuple[str, float]  # "" without a candidate; USD


def _winners(material: Material, tasks: Sequence[Task], preset: str, settings: Mapping[str, object]) -> list[Winner]:
    made = (
        material.decide(t.subtask, SAMPLE, "ehrr", settings, hint=t.server_hint, preset=preset).winner for t in tasks
    )
    return [("", 0.0) if one is None else (one.tool, one.price_usd or 0.0) for one in made]


def _compared(tasks: Sequence[Task], before: Sequence[Winner], after: Sequence[Winner]) -> dict[str, Value]:
    moved = [(t.relevant, b, a) for t, (b, _), (a, _) in zip(tasks, before, after, strict=True) if a != b]
    better = sum(a in right and b not in right for right, b, a in moved)
    worse = sum(b in right and a not in right for right, b, a in moved)
    usd = [sum(price for _, price in winners) for winners in (before, after)]
    return {"changed": len(moved), "better": better, "worse": worse, "usd": 100 * (usd[1] / usd[0] - 1)}


def _link(preset: str, settings: Mapping[str, object]) -> Link:
    said = {name: value for name, value in settings.items() if isinstance(value, bool | int | float)}
    return Link("route", {"q": QUESTION}, router="ehrr", preset=preset, settings=said)
