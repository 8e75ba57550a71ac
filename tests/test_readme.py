"""The README: its two commands, and its example of a router. Commands, links and files are checked in tests/docs."""

from __future__ import annotations

from core.domain.catalog import Server
from core.routers.base import Router
from dashboard.navigation import VIEWS
from tests.docs.markdown import blocks, commands, links
from tests.routers import worlds

PAGES = (
    "route", "whatif", "compare", "call", "agent", "map", "network", "lab", "papers", "catalog", "setup", "govern", "activity",
)  # fmt: skip


def test_two_commands_start_and_test_it():
    makes = [line.split()[1] for line in commands("README.md") if line.startswith("make ")]
    assert makes == ["run", "test"]


def test_every_page_has_a_picture():
    assert [link for link in links("README.md") if link.endswith(".png")] == [f"docs/images/{n}.png" for n in PAGES]
    assert {view.folder for views in VIEWS.values() for view in views} == set(PAGES)


def test_the_router_of_the_readme_routes():
    (source,) = (block for block in blocks("README.md", "python") if "class SimilarityOnly" in block)
    namespace: dict[str, object] = {}
    exec(compile(source, "README.md", "exec"), namespace)  # our own README
    router = next(
        v for v in namespace.values() if isinstance(v, type) and issubclass(v, Router) and v.id == "similarity_only"
    )
    server = Server("s", tools=(worlds.tool("fit", latency_s=50.0, price_usd=5.0), worlds.tool("fast", latency_s=0.1)))
    context = worlds.context(worlds.catalog(server), {"s": 0.5}, {"s::fit": 0.9, "s::fast": 0.2})
    assert router().route("anything", context).winner.tool == "s::fit"
