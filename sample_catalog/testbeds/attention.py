"""The 120-tool testbed of Tool Attention (section 6.2): six servers with the table's numbers and average sizes of tools.

A tool is written with more parameters than are needed. Tools drawn at random give up their last optional one until
those of the server have the table's average size in tokens, so that sizes differ among tools as they do in the world.
The table adds up to 48,600 tokens; the paper counted 47,312 on its own tools.
"""

from random import Random
from typing import Any

from core.domain.catalog import Tool, definition_tokens
from sample_catalog.profiles import Document, written
from sample_catalog.testbeds.sheet import (
    FIGURES,
    Parameters,
    Sheet,
    economics,
    hints,
    object_schema,
    parameters,
    read_sheet,
)

SHEETS = ("github", "filesystem", "database", "slack", "web", "jira")
SEED = 42  # the paper's
SMALLEST = 0.6  # of the average: no tool is made smaller than that


def attention_120() -> list[Document]:
    """The six servers as documents of a catalog."""
    return [written(_server(read_sheet(name))) for name in SHEETS]


def _server(sheet: Sheet) -> Document:
    if len(sheet["tools"]) != sheet["count"]:
        raise ValueError(f"{sheet['name']} has {len(sheet['tools'])} tools and should have {sheet['count']}")
    chances = Random(f"{SEED}/{sheet['name']}")  # noqa: S311 - repeatable on purpose
    schemas = _fit([_Draft(sheet, tool) for tool in sheet["tools"]], sheet["average_tokens"], chances)
    tools = [
        {"name": tool["name"], "description": tool["description"], "inputSchema": schema}
        | {"annotations": hints(tool["does"], open_world=sheet.get("open_world", True))}
        | economics(tool)
        for tool, schema in zip(sheet["tools"], schemas, strict=True)
    ]
    said = {key: sheet[key] for key in ("name", "title", "description", "category")}
    return said | {"virtual": True} | {key: sheet[key] for key in FIGURES} | {"tools": tools}


class _Draft:
    """A tool with its size in tokens, and with what it would `gain` by giving up its last optional parameter."""

    def __init__(self, sheet: Sheet, tool: Sheet) -> None:
        self._tool = tool
        self._take(parameters(tool, sheet["shared"]))

    def _take(self, chosen: Parameters) -> None:
        optional = [name for name in chosen if name not in self._tool["required"]]
        self._chosen = chosen
        self._shorter = {name: chosen[name] for name in chosen if name not in optional[-1:]}
        self.tokens = self._count(chosen)
        self.gain = self.tokens - self._count(self._shorter)

    def _count(self, properties: Parameters) -> int:
        schema = object_schema(properties, self._tool["required"])
        return definition_tokens(Tool("", self._tool["name"], self._tool["description"], input_schema=schema))

    def shorten(self) -> None:
        self._take(self._shorter)

    def schema(self) -> dict[str, Any]:
        return object_schema(self._chosen, self._tool["required"])


def _fit(drafts: list[_Draft], average_tokens: int, chances: Random) -> list[dict[str, Any]]:
    """Shorten drafts until their average is met, the last step by the one that comes nearest to it."""
    while (excess := sum(draft.tokens for draft in drafts) - average_tokens * len(drafts)) > 0:
        able = [draft for draft in drafts if draft.gain and draft.tokens - draft.gain >= SMALLEST * average_tokens]
        if not able:
            raise ValueError(f"the tools are {excess:,} tokens too large and have nothing left to give up")
        if excess > max(draft.gain for draft in able):
            chances.choice(able).shorten()
            continue
        nearest = min(able, key=lambda draft: abs(excess - draft.gain))
        if abs(excess - nearest.gain) >= excess:
            break
        nearest.shorten()
    return [draft.schema() for draft in drafts]
