"""How tests fill a catalog."""

from __future__ import annotations

from core.catalogs.catalog_editor import CatalogEditor, ImportReport


def import_text(editor: CatalogEditor, text: str | bytes, name: str, source: str = "pasted text") -> ImportReport:
    """Read a document and keep it as a catalog, as the Catalog page does with pasted text."""
    return editor.keep(editor.read(text, source), name, source)
