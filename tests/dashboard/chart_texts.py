"""The texts of a chart, and a name that tries to be markup."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

HOSTILE = "<img src=x onerror=alert(1)> %{y} <b>&amp;</b> $a$\n\x00"


def texts(node: Any, *, skipped: Container[str] = ("customdata",)) -> Iterator[str]:
    """Every text that Plotly may draw; customdata comes back with a click and is not drawn."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            if key not in skipped:
                yield from texts(value, skipped=skipped)
    elif isinstance(node, list | tuple):
        for value in node:
            yield from texts(value, skipped=skipped)
