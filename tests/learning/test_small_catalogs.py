"""Example requests in a small catalog: what its tools can do is not called impossible, and most of the rest is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import sample_catalog
from core.app import Settings, open_app
from core.domain.catalog import Catalog

CATALOGS = (
    ("calendar-desk", "mail-room"), ("larder", "sheet-grid", "pdf-tools"), ("weather-now", "street-maps", "flight-search"),
)  # fmt: skip
REQUESTS = slice(4, 7)  # of each tool: three of those in people's words
EVERY = 80  # of the questions for other servers


def share(refused: Sequence[bool]) -> float:
    return sum(refused) / len(refused)


def test_requests_of_a_small_catalog_refuse_what_it_lacks_and_nothing_else(encoder_cache: Path) -> None:
    answerable, impossible = list[bool](), list[bool]()
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        sample = app.catalogs.catalog("sample")
        tasks = [
            task
            for name in ("everyday", "l2_context")
            for task in app.lab.read_tasks(sample_catalog.TASKS_DIR / f"{name}.jsonl")
        ]
        for number, names in enumerate(CATALOGS):
            servers = [
                replace(server, tools=tuple(replace(tool, requests=tool.requests[REQUESTS]) for tool in server.tools))
                for server in sample.servers
                if server.name in names
            ]
            app.catalogs.save(Catalog(f"own-{number}", tuple(servers)), "test")
            own = {tool.id for server in servers for tool in server.tools}
            for place, task in enumerate(tasks):
                right = own.intersection(task.relevant)
                if right or place % EVERY == 5 * number:
                    fit = app.routing.route(task.question or task.subtask, catalog=f"own-{number}", record=False).fit
                    assert fit is not None
                    (answerable if right else impossible).append(fit.confidence == "nothing")
    assert len(answerable) >= 40
    assert share(answerable) <= 0.08  # a fifth before small catalogs had an offset of their own
    assert share(impossible) >= 0.65
