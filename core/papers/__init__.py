"""The five papers recomputed where possible: their tables and figures with ours beside them. `make papers` writes the files in `results`.

A paper has one to three files; a new table is a function there. `report.py` defines tables, `material.py` their data.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from core.papers import ehrr, ehrr_runs, etom, netmcp, pa_rag, tool_attention
from core.papers.material import ATTENTION, SAMPLE, SEARCH, Material
from core.papers.report import Chart, Table
from core.routers import base as titles

RESULTS = Path(__file__).parent / "results"
Results = tuple[tuple[Table, ...], tuple[Chart, ...]]


@dataclass(frozen=True)
class Paper:
    """A paper by its short name: its title, its subject in a sentence, the catalogs of our side, and the function that recomputes it."""

    name: str
    title: str
    about: str
    catalogs: tuple[str, ...]
    results: Callable[[Material], Results]


def _ehrr(material: Material) -> Results:
    tables, charts = ehrr_runs.experiments(material)
    return (*ehrr.tables(), *tables), (*ehrr.charts(), *charts)


PAPERS = {
    "ehrr": Paper(
        "EHRR", titles.EHRR, "Which tool is worth calling: how well it fits, against the time until it succeeds and what it costs.", (SAMPLE,), _ehrr
    ),
    "netmcp": Paper(
        "NetMCP and SONAR", titles.NETMCP, "A tool that fits is no good on a server that is down or slow: routing that looks at the network too.",
        (SEARCH,), netmcp.results,
    ),
    "pa_rag": Paper(
        "PA-RAG", titles.PA_RAG, "Finding all tools for a question of several steps: servers first, then their tools, a part at a time.",
        (SAMPLE,), pa_rag.results,
    ),
    "etom": Paper(
        "ETOM", titles.ETOM, "A benchmark of five levels, from a tool that is named to a request that nothing can do.", (SAMPLE,), etom.results
    ),
    "tool_attention": Paper(
        "Tool Attention", titles.TOOL_ATTENTION, "Showing a model only the tools that its next step is about, instead of paying for all of them each turn.",
        (ATTENTION, SAMPLE), tool_attention.results,
    ),
}  # fmt: skip
