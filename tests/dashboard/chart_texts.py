"""What a chart may write, and a name that tries to be markup."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any

HOSTILE = "<img src=x onerror=alert(1)> %{y} <b>&amp;</b> $a$\n\x00"


def texts(part: Any, *, skipped: Container[str] = ("customdata",)) -> Iterator[str]:
    """Every text that Plotly may draw; customdata comes back with a click and is not drawn."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for key, value in part.items():
            if key not in skipped:
                yield from texts(value, skipped=skipped)
    elif isinstance(part, list | tuple):
        for value in part:
            yield from texts(value, skipped=skipped)
