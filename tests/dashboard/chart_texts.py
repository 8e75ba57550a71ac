"""The texts of a chart, and a name that tries to be markup."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import Any

import plotly.graph_objects as go

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


def plain(figure: go.Figure, *, tags: str = "<br>", longest: int = 500, skipped: Container[str] = ()) -> dict[str, Any]:
    """The document of a figure, which Plotly takes, in which strangers' names are text beside our own `tags`."""
    document = figure.to_dict()
    go.Figure(**document)
    for text in texts({"data": document["data"], "layout": document["layout"]}, skipped=skipped):
        assert "<" not in re.sub(tags, "", text), text
        assert text.isprintable()
        assert len(text) < longest
    for trace in document["data"]:
        assert not {"hovertemplate", "texttemplate"} & set(trace)  # there %{…} would be read
    return document
