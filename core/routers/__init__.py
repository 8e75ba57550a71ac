"""Routing algorithms, one a file. A new one is a new file and one line in `ROUTERS`."""

from core.routers.base import Router
from core.routers.cli_lazy import CliLazy
from core.routers.ehrr import Ehrr
from core.routers.full_catalog import FullCatalog
from core.routers.rag_mcp import RagMcp
from core.routers.simple_retrieval import SimpleRetrieval
from core.routers.static_pruning import StaticPruning
from core.routers.tool_attention import ToolAttention

ROUTERS: dict[str, type[Router]] = {
    router.id: router
    for router in (
        Ehrr,
        RagMcp,
        FullCatalog,
        ToolAttention,
        StaticPruning,
        SimpleRetrieval,
        CliLazy,
    )
}
