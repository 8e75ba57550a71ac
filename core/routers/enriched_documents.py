"""ToolShed's enriched documents of a catalog as a router asks for them (`core.index.enriched` writes them)."""

from __future__ import annotations

from core.domain.catalog import Catalog
from core.index.enriched import enriched
from core.routers.per_catalog import PerCatalog


def _documents(catalog: Catalog, _: object) -> tuple[str, ...]:
    return tuple(enriched(tool) for tool in catalog.tools)


tool_documents: PerCatalog[tuple[str, ...]] = PerCatalog(_documents)
