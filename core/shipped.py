"""The catalogs that come with Wayfare: their names are taken and they stay. Nothing slow is imported here."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import sample_catalog
from sample_catalog import testbeds

SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class Shipped:
    """A shipped catalog: what it is, and the files of its servers."""

    about: str
    files: Callable[[], list[Path]]


SHIPPED = {
    SAMPLE: Shipped("shipped with Wayfare", lambda: sorted(sample_catalog.SERVERS_DIR.glob("*.json"))),
    "attention-120": Shipped("shipped with Wayfare: the testbed of Tool Attention", testbeds.attention_files),
    "search-15": Shipped("shipped with Wayfare: the web-search testbed of NetMCP", testbeds.search_files),
}


@cache
def shipped_size(name: str) -> tuple[int, int]:
    """Servers and tools of a shipped catalog, without the time that it takes to read it in full.

    >>> shipped_size("attention-120")
    (6, 120)
    """
    documents = [json.loads(path.read_text(encoding="utf-8")) for path in SHIPPED[name].files()]
    return len(documents), sum(len(document["tools"]) for document in documents)
