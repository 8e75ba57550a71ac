"""Routing algorithms, one a file: a query and a routing context in, candidates with every number behind them out.

Imports everything below `core.lab`. A new router is a file with a class `X(Router[XParameters])` and one line in `ROUTERS`; the
console, the command line, the benchmark and the contract suite then have it too. Shared steps: `ranked_result.py` (rank by a score),
`two_stage.py` (NetMCP), `orchestrator.py` (ETOM), `retrieval.py` (PA-RAG).
"""

from core.routers.adaptive_rag import AdaptiveRag
from core.routers.agentic_rag import AgenticRag
from core.routers.base import AnyRouter
from core.routers.cli_lazy import CliLazy
from core.routers.ehrr import Ehrr
from core.routers.expected_value import ExpectedValue
from core.routers.full_catalog import FullCatalog
from core.routers.hybrid import Hybrid
from core.routers.mcp_zero import McpZero
from core.routers.naive_rag import NaiveRag
from core.routers.pa_rag import PaRag
from core.routers.prag import Prag
from core.routers.rag_bm25 import RagBm25
from core.routers.rag_mcp import RagMcp
from core.routers.react import React
from core.routers.rerank_rag import RerankRag
from core.routers.simple_retrieval import SimpleRetrieval
from core.routers.sonar import Sonar
from core.routers.static_pruning import StaticPruning
from core.routers.tool_attention import ToolAttention
from core.routers.toolshed import Toolshed

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
