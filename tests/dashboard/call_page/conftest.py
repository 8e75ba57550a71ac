"""What the tests of the Call page share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.dashboard.call_page.bench import CATALOG, Bench, Caller
from tests.dashboard.harness import opened


@pytest.fixture
def bench() -> Iterator[Bench]:
    """An app whose calls are made by a caller written by hand."""
    caller = Caller()
    with opened({"small": CATALOG}, caller=lambda: caller) as app:
        yield Bench(app, caller)
        caller.go.set()
