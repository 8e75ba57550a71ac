"""Routing algorithms, one a file: a query and a routing context in, candidates with every number behind them out.

Imports everything below `core.lab`. A new router is a file with a class `X(Router[XParameters])` and one line in `ROUTERS`; the
console, the command line, the benchmark and the contract suite then have it too. Shared steps: `ranked_result.py` (rank by a score),
`two_stage.py` (NetMCP), `orchestrator.py` (ETOM), `retrieval.py` (PA-RAG).
"""

from core.routers.base import AnyRouter
from core.routers.ehrr import Ehrr
from core.routers.etom import Hybrid, McpZero, React, Toolshed
from core.routers.expected_value import ExpectedValue
from core.routers.pa_rag import PaRag
from core.routers.rag_baselines import AdaptiveRag, AgenticRag, NaiveRag
from core.routers.rag_mcp import RagMcp
from core.routers.sonar import Prag, RagBm25, RerankRag, Sonar
from core.routers.tool_attention import ToolAttention
from core.routers.tool_attention_baselines import CliLazy, FullCatalog, SimpleRetrieval, StaticPruning

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
