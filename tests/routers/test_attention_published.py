"""Tool Attention beside its published figures, on the 120-tool testbed and among poisoned descriptions of our own.

`make bench` prints the same figures. Where ours differ from the paper's, docs/decisions says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from core.app import App, Settings, open_app
from core.domain.catalog import Catalog
from core.domain.tasks import Task
from core.papers.tool_attention import VARIANTS, Variant, active_alone
from sample_catalog.testbeds import ATTENTION_TASKS
from tests.benchmarks.attending import TESTBED, decisions, poisoned_catalog
from tests.cases import each

EVERY = 8  # poisoned cases are taken, so that embedding them stays quick; `make bench` takes all


@pytest.fixture(scope="module")
def app(encoder_cache: Path) -> Iterator[App]:
    with open_app(Settings(db=":memory:", cache=encoder_cache)) as app:
        yield app


@pytest.fixture(scope="module")
def tasks(app: App) -> list[Task]:
    return [task for task in app.lab.read_tasks(ATTENTION_TASKS) if task.relevant]


def counted(app: App, tasks: list[Task], row: Variant) -> tuple[float, float]:
    """Mean tokens a turn that are newly exposed, and all definitions."""
    made = decisions(app, tasks, TESTBED, row.router, **row.settings)
    return fmean(decision.exposure.exposed for decision in made), made[0].tokens["baseline"]


@each("row", VARIANTS[:4], ids=lambda row: row.router)
def test_the_baselines_take_the_published_tokens_within_a_tenth(app, tasks, row):
    assert counted(app, tasks, row)[0] == pytest.approx(row.published, rel=0.1)


def test_tool_attention_is_95_percent_under_full_schema(app, tasks):
    exposed, everything = counted(app, tasks, VARIANTS[4])
    assert exposed <= 0.05 * everything


def test_the_pool_of_phase_1_has_the_published_size(app, tasks):
    (decision,) = decisions(app, tasks[:1], TESTBED, "tool_attention")
    assert decision.exposure.cached == pytest.approx(4_820, rel=0.1)


def test_the_ablations_are_in_the_published_order(app, tasks):
    rows = {row.name: counted(app, tasks, row)[0] for row in VARIANTS[4:]}
    assert rows["theta = 0.15"] > rows["k = 20"] > rows["Tool Attention"] > rows["k = 5"] > rows["theta = 0.40"] > 0
    assert rows["without lazy loading"] == 0


def test_a_poisoned_tool_is_measured_alone(app, tasks):
    """The same share as if each were put into the catalog by itself, here for three of them."""
    base = app.catalogs.catalog(TESTBED)
    mixed, ids = poisoned_catalog(base, EVERY)
    asked = tasks[:12]
    app.catalogs.save(mixed, "all at once")
    together = np.array([active_alone(d, ids) for d in decisions(app, asked, mixed.name, "simple_retrieval")])
    often = sorted(range(len(ids)), key=lambda column: -together[:, column].sum())[:3]
    assert together[:, often].any()
    for column in often:
        server = next(server for server in mixed.servers if any(tool.id == ids[column] for tool in server.tools))
        alone = Catalog("with one stranger", (*base.servers, server))
        app.catalogs.save(alone, "one")
        made = decisions(app, asked, alone.name, "simple_retrieval")
        found = [ids[column] in {d.tools.ids[row] for row in d.candidates} for d in made]
        assert found == together[:, column].tolist()
