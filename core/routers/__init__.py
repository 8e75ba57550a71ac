"""Routing algorithms: a query and a routing context in, candidates with every number behind them out.

A new router is a file with a class `X(Router[XParameters])` and one line in `ROUTERS`; the console, the command line, the benchmark and
the contract suite then have it too. Shared steps: `ranked_result.py` (rank by a score), `orchestrator.py` (ETOM).
"""

from core.routers.base import AnyRouter
from core.routers.baselines import CliLazy, FullCatalog, RagMcp, SimpleRetrieval, StaticPruning
from core.routers.ehrr import Ehrr
from core.routers.etom import Hybrid, McpZero, React, Toolshed
from core.routers.expected_value import ExpectedValue
from core.routers.pa_rag import PaRag
from core.routers.rag_baselines import AdaptiveRag, AgenticRag, NaiveRag
from core.routers.sonar import Prag, RagBm25, RerankRag, Sonar
from core.routers.tool_attention import ToolAttention

ROUTERS: dict[str, type[AnyRouter]] = {
    router.id: router
    for router in (
        Ehrr,
        ExpectedValue,
        RagMcp,
        FullCatalog,
        ToolAttention,
        StaticPruning,
        SimpleRetrieval,
        CliLazy,
        RagBm25,
        RerankRag,
        Prag,
        Sonar,
        PaRag,
        NaiveRag,
        AgenticRag,
        AdaptiveRag,
        React,
        Toolshed,
        McpZero,
        Hybrid,
    )
}
