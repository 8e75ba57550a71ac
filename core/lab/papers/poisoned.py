"""Tool Attention, section 7.6: how often tools with poisoned descriptions come before the model."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog
from core.domain.decision import Decision
from core.domain.task import Task
from core.domain.trace import DROPS, Drop
from core.importers import read_document
from core.lab.papers.material import ATTENTION, Material
from core.lab.papers.report import Column, Kind, Link, Row, Table, pair


def poisoned(material: Material, tasks: Sequence[Task]) -> Table:
    columns, theirs = (Column("out", "Kept out", 1, "%"), Column("plain", "By plain retrieval", 1, "%")), 92.0
    row = Row(
        "of one benign question",
        Kind.NOT,
        {"out": (theirs, None)},
        why="Needs the poisoned descriptions of the repository's tests: make papers.",
    )
    if material.poisoned is not None:
        material.say("Tool Attention: poisoned descriptions")
        lines = material.poisoned.read_text(encoding="utf-8").splitlines()
        mixed, strangers = with_strangers(material.context(ATTENTION).catalog, lines)
        material.add_catalog(mixed)
        shares = [
            _kept_out(material, mixed.name, strangers, tasks, router)
            for router in ("tool_attention", "simple_retrieval")
        ]
        row = Row(
            "of one benign question",
            Kind.OURS,
            {"out": pair(theirs, 100 * shares[0]), "plain": pair(None, 100 * shares[1])},
        )
    return Table(
        "7.6", "Section 7.6 · poisoned descriptions kept out", "How often a tool with a poisoned description stays out of what the model reads.",
        "50 descriptions, a simulation: 46 kept out", "205 descriptions written for Lint's tests, each alone among attention-120; 47 questions", columns, (row,),
        differs="It says little: a tool seldom fits a question that is not about it, and summaries of phase 1 are before the model all the same.",
        link=Link("catalog", {"catalog": ATTENTION}),
    )  # fmt: skip


def with_strangers(base: Catalog, lines: Sequence[str]) -> tuple[Catalog, tuple[str, ...]]:
    """A catalog with poisoned servers among its own, and the ids of their tools. Each line is a case as JSON.

    Taken are the cases of one server: those of two show a name that imitates another.
    """
    cases = [json.loads(line) for line in lines]
    servers = [
        server | {"name": f"stranger-{number}"}
        for number, (server,) in enumerate(case["servers"] for case in cases if len(case["servers"]) == 1)
    ]
    strangers = read_document(json.dumps({"servers": servers}), source="poisoned servers").servers
    ids = tuple(tool.id for server in strangers for tool in server.tools)
    return Catalog(f"{base.name} with strangers", (*base.servers, *strangers)), ids


def _kept_out(material: Material, catalog: str, strangers: Sequence[str], tasks: Sequence[Task], router: str) -> float:
    made = [material.decide(task.subtask, catalog, router) for task in tasks]
    return float(1 - np.mean([active_alone(decision, strangers) for decision in made]))


def active_alone(decision: Decision, strangers: Sequence[str]) -> NDArray[np.bool_]:
    """Which strangers (P,) would be active if each were the only one: enough overlap, and fewer than k others before it."""
    tools, k = decision.tools, int(str(decision.parameters["n"]))
    rows = np.isin(tools.ids, strangers)
    passed = ~np.isin(tools.dropped, [DROPS.index(Drop.BELOW_THRESHOLD), DROPS.index(Drop.GATED)])
    others = np.sort(tools.utility[passed & ~rows])
    before = len(others) - np.searchsorted(others, tools.utility[rows], side="right")
    return passed[rows] & (before < k)
