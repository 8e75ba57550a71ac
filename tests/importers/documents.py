"""Reads a document in a test, and looks into the result."""

from __future__ import annotations

import json
from typing import Any

from core.domain.catalog import Connection, Imported
from core.importers import read_document


def read(document: Any, source: str = "a.json") -> Imported:
    """The import of a document, given as text or as a JSON value."""
    return read_document(document if isinstance(document, str) else json.dumps(document), source=source)


def reached(imported: Imported, row: int = 0) -> Connection:
    """The connection of a server that has one."""
    connection = imported.servers[row].connection
    assert connection is not None
    return connection


def remarks(imported: Imported) -> list[str]:
    """The texts of the notes."""
    return [note.text for note in imported.notes]
