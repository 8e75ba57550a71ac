"""ToolShed's enriched documents of a catalog as a router asks for them (`core.index.enriched` writes them)."""

from __future__ import annotations

from core.domain.catalog import Catalog
from core.index.enriched import enriched
from core.routers.per_catalog import per_catalog


@per_catalog
def tool_documents(catalog: Catalog) -> tuple[str, ...]:
    """The enriched document of each tool, (T,)."""
    return tuple(enriched(tool) for tool in catalog.tools)
