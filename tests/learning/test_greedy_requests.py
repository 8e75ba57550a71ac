"""A server whose requests reach for every question: no decision on other tools' questions changes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import sample_catalog
from core.app import App, Settings, open_app
from core.domain.catalog import Catalog, Server, Tool
from core.domain.feedback import By
from core.learning.requests import lines
from core.relevance.requests import GENERAL_KIND

TOOLS, EACH, QUESTIONS = 8, 24, 4
TASKS = [json.loads(line) for line in (sample_catalog.TASKS_DIR / "everyday.jsonl").read_text("utf-8").splitlines()]
SAID = [task["subtask"] for task in TASKS]
ASKED = SAID[:: len(SAID) // QUESTIONS][:QUESTIONS]
"""The requests are the questions themselves: no request is nearer."""
GREEDY = {
    f"helper::do_{number}": tuple(SAID[(number * EACH + index) % len(SAID)] for index in range(EACH))
    for number in range(TOOLS)
}
Requests = Mapping[str, Sequence[str]]


def save(app: App, *, shipped: Requests | None = None, offered: Requests | None = None) -> None:
    """A catalog with a server of tools that say nothing and want everything."""
    saved(app, *(
        Tool("helper", id_.partition("::")[2], "Does what you need.", requests=tuple((shipped or {}).get(id_, ())),
             offered=tuple((offered or {}).get(id_, ())))
        for id_ in GREEDY
    ))  # fmt: skip


def saved(app: App, *tools: Tool) -> None:
    """A catalog of the sample's servers, without requests, and the hostile one."""
    bare = [
        replace(server, tools=tuple(replace(tool, requests=()) for tool in server.tools))
        for server in app.catalogs.catalog("sample").servers
    ]
    app.catalogs.save(Catalog("mine", (*bare, Server("helper", "Helps.", tools=tools))), "test")


def winners(app: App) -> list[str]:
    decisions = (app.routing.route(question, catalog="mine") for question in ASKED)
    return [decision.winner.tool if decision.winner else "" for decision in decisions]


def test_greedy_requests_change_no_decision_however_they_come(encoder_cache: Path) -> None:
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        save(app)
        before = winners(app)
        save(app, offered=GREEDY)
        assert app.requests.of_catalog("mine") == {}  # requests that a server sends wait for the operator
        assert winners(app) == before
        save(app, shipped=GREEDY)
        assert winners(app) == before
        assert {*app.requests.greedy("mine")} == {*GREEDY}
        greedy = [finding for finding in app.lint_reports.report("mine").findings if finding.rule == "greedy_requests"]
        assert len(greedy) == TOOLS
        assert "Its 24 example requests do not count" in greedy[0].reason
        save(app)
        rows = ({"tool": tool, "requests": requests} for tool, requests in GREEDY.items())
        report = app.requests.import_file(
            lines(rows).encode(), source_file="greedy.jsonl", catalog="mine", source="client", by=By(origin="test")
        )
        assert report.requests > 0.9 * TOOLS * EACH  # a few read like orders
        assert winners(app) == before


def test_honest_requests_carry_no_greedy_ones_in(encoder_cache: Path) -> None:
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        copied = app.catalogs.catalog("sample").tools[::23][:TOOLS]

        def mixed(greedy: int) -> list[str]:
            pairs = zip(copied, GREEDY.values(), strict=True)
            saved(app, *(
                replace(tool, server="helper", name=f"{tool.name}_{index}", requests=(*tool.requests[:6], *greedy_requests[:greedy]))
                for index, (tool, greedy_requests) in enumerate(pairs)
            ))  # fmt: skip
            return winners(app)

        before = mixed(0)
        assert mixed(3) == before


def test_few_requests_that_fit_everything_are_named_too(encoder_cache: Path) -> None:
    anything = ("help me with this", "do what I need", "I need something done")
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        saved(app, Tool("helper", "any", "Does what you need.", requests=anything))
        assert app.requests.greedy("mine") == {"helper::any": anything}
        assert {*app.requests.uncounted("mine")["helper::any"].values()} == {GENERAL_KIND}
