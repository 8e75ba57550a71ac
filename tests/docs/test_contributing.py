"""The examples of CONTRIBUTING.md do what it says, each through the table that it would be a line of."""

from __future__ import annotations

import re
import sys
from types import ModuleType
from typing import Any

import ir_measures
import numpy as np
import plotly.graph_objects as go
import pytest
from streamlit.testing.v1 import AppTest

from core.domain.catalog import Server
from core.importers.formats import Importer
from core.network.states import State, latencies_ms
from core.routers import ROUTERS
from core.routers.base import Router
from tests.cases import each
from tests.dashboard.harness import opened
from tests.docs.markdown import text_of
from tests.routers import worlds

SECTIONS = dict(
    re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text_of("CONTRIBUTING.md"), flags=re.DOTALL | re.MULTILINE)
)


def example(section: str) -> str:
    """The one code block of a section."""
    (source,) = re.findall(r"```python\n(.*?)```", SECTIONS[section], flags=re.DOTALL)
    return source


def ran(section: str) -> dict[str, Any]:
    """The names that the section's example defines."""
    module = ModuleType(f"contributing_{section.rsplit(maxsplit=1)[-1]}")
    sys.modules[module.__name__] = module  # dataclasses look here
    exec(compile(example(section), f"CONTRIBUTING.md, {section}", "exec"), vars(module))  # our own document
    return vars(module)


def made(section: str, base: type) -> type[Any]:
    """The one subclass of a base that the example defines."""
    names = ran(section)
    (subclass,) = [
        value for value in names.values()
        if isinstance(value, type) and issubclass(value, base) and value.__module__ == names["__name__"]
    ]  # fmt: skip
    return subclass


@pytest.fixture
def context():
    dear = Server("dear", tools=(worlds.tool("fits", price_usd=0.10),))
    cheap = Server("cheap", tools=(worlds.tool("nearly", price_usd=0.001),))
    similarity = {"dear::fits": 0.9, "cheap::nearly": 0.8}
    return worlds.context(worlds.catalog(dear, cheap), {"dear": 0.9, "cheap": 0.8}, similarity)


def test_the_router_weighs_price_alone(context) -> None:
    router = made("A router", Router)()
    assert router.id not in ROUTERS
    assert router.route("anything", context).winner.tool == "cheap::nearly"
    free = router.parameters().replaced({"beta": 0.0})
    assert router.route("anything", context, free).winner.tool == "dear::fits"


def test_the_chart_is_one_that_plotly_takes(context) -> None:
    decision = made("A router", Router)().route("anything", context)
    chart = ran("A chart")["candidate_prices"](decision)
    (bars,) = go.Figure(chart.to_dict()).data  # validates
    assert list(bars.y) == [0.001, 0.10]
    assert list(bars.customdata) == ["cheap::nearly", "dear::fits"]


def test_the_format_reads_its_example() -> None:
    import json

    importer: Importer = made("A catalog format", Importer)()
    document = json.loads(importer.example)
    assert importer.matches(document)
    (server,) = importer.read(document, source="boxes.json").servers
    assert [tool.id for tool in server.tools] == ["mail::send"]


def test_the_page_draws_its_table() -> None:
    with opened({"small": {"servers": [{"name": "s", "tools": [{"name": "t", "price_usd": 0.001}]}]}}):
        page = AppTest.from_string(example("A page") + "\n\npage()\n", default_timeout=60).run()
    assert not page.exception
    assert len(page.dataframe[0].value) > 0


def test_the_effect_adds_to_the_latency_once_a_day() -> None:
    state: State = made("A network effect", State)()
    latencies = latencies_ms([state], 8640, step_s=10.0, seed=np.random.SeedSequence(1))
    assert (latencies > 1).sum() == 360
    assert latencies.max() == 300.0


def test_the_measure_is_one_of_ir_measures() -> None:
    (name,) = ran("A measure")["added"].values()
    measure = ir_measures.parse_measure(name)
    scores = ir_measures.calc_aggregate([measure], {"t": {"a": 1, "c": 1}}, {"t": {"a": 3.0, "b": 2.0, "c": 1.0}})
    assert scores == {measure: pytest.approx(2 / 3)}


@each(
    ("section", "table", "where"),
    [
        ("A router", "ROUTERS", "core/routers/__init__.py"),
        ("A catalog format", "IMPORTERS", "core/importers/__init__.py"),
        ("A network effect", "STATES", "core/network/__init__.py"),
        ("A measure", "MEASURES", "core/lab/benchmark.py"),
    ],
)
def test_each_table_is_where_the_text_says(section: str, table: str, where: str) -> None:
    from tests.docs.markdown import defined_in

    assert table in defined_in(where)
    assert table in SECTIONS[section]
    assert where in SECTIONS[section]
