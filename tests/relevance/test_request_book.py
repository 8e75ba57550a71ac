"""Requests in force are read without a loss of the built index."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.relevance.encoder import CachedEncoder
from core.relevance.relevance_index import RelevanceIndex
from core.relevance.requests import RequestBook
from core.store import Store


def test_requests_of_a_catalog_with_all_servers_on_leave_the_built_index(encoder: CachedEncoder) -> None:
    choir = Server("choir", tools=(Tool("choir", "sing", "Sings a song.", requests=("sing me something",)),))
    catalog = Catalog("mine", (choir,))
    book = RequestBook(Store(None), encoder)
    built = book.checked(catalog, lambda: RelevanceIndex.build(catalog, encoder))
    everything = replace(catalog, servers=(choir, replace(choir, name="off", tools=())))
    assert [request.text for request in book.in_force(everything)["choir::sing"]] == ["sing me something"]
    assert built is not None
    assert book.checked(catalog, lambda: pytest.fail("the index is built again")) is built
