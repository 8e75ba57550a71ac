"""The testbeds' servers, made from the hand-written sheets in `sample_catalog/testbeds/sheets`.

A parameter without a type is a string. A parameter of several tools is `shared`, and the tools refer to it by name.
"""

import tomllib
from collections.abc import Mapping
from random import Random
from typing import Any

from core.domain.catalog import Tool, definition_tokens
from sample_catalog.authoring.profiles import Document, written
from sample_catalog.testbeds import ROOT

Sheet = dict[str, Any]
Parameters = dict[str, dict[str, Any]]

FIGURES = ("ask", "conn_s", "call_s", "success", "success_variance", "post_accept_failure")
HINTS: Mapping[str, tuple[bool, bool, bool]] = {  # read-only, destructive, idempotent
    "look": (True, False, True),
    "add": (False, False, False),
    "set": (False, False, True),
    "remove": (False, True, True),
}


def read_sheet(name: str) -> Sheet:
    return tomllib.loads((ROOT / "sheets" / f"{name}.toml").read_text(encoding="utf-8"))


def parameters(tool: Sheet, shared: Parameters) -> Parameters:
    """Returns all possible parameters of a tool, the important ones first: shared ones that it uses, its own, further
    shared ones.

    >>> parameters({"parameters": {"query": {"minLength": 1}}, "also": ["page"]}, {"page": {"type": "integer"}})
    {'query': {'type': 'string', 'minLength': 1}, 'page': {'type': 'integer'}}
    """
    used = {name: shared[name] for name in tool.get("use", ())}
    late = {name: shared[name] for name in tool.get("also", ())}
    return {name: {"type": "string", **schema} for name, schema in {**used, **tool["parameters"], **late}.items()}


def object_schema(properties: Parameters, required: list[str]) -> dict[str, Any]:
    """Returns the JSON Schema of an object with these properties.

    >>> object_schema({"url": {"type": "string"}}, ["url"])
    {'type': 'object', 'properties': {'url': {'type': 'string'}}, 'required': ['url']}
    """
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def hints(does: str, *, open_world: bool) -> dict[str, bool]:
    """Returns MCP's annotations of a tool that looks up, adds, sets or removes something."""
    read_only, destructive, idempotent = HINTS[does]
    return {
        "readOnlyHint": read_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }


def economics(tool: Sheet) -> dict[str, Any]:
    """Returns the price tier with its reason, and the tool's latency factor."""
    tier = {"tier": "high", "tier_reason": tool["high"]} if "high" in tool else {"tier": "low"}
    return tier | ({"latency_factor": tool["slow"]} if "slow" in tool else {})


# The 120-tool testbed of Tool Attention (section 6.2): six servers with the table's numbers and average sizes of tools.
# The sheets have more optional parameters than needed. Randomly chosen tools lose their last optional parameter until the
# server has the table's average size in tokens, so that sizes vary as in real catalogs. The table adds up to 48,600
# tokens; the paper counted 47,312 on its own tools.

SHEETS = ("github", "filesystem", "database", "slack", "web", "jira")
SEED = 42  # the paper's
SMALLEST = 0.6  # smallest size of a tool, as a share of the average


def attention_120() -> list[Document]:
    """Returns the six servers as documents of a catalog."""
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
    """A tool with its size in `tokens`, and the `gain` in tokens of dropping its last optional parameter."""

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
    """Shortens drafts until their average is met. The last step takes the draft that comes nearest to it."""
    while (excess := sum(draft.tokens for draft in drafts) - average_tokens * len(drafts)) > 0:
        able = [draft for draft in drafts if draft.gain and draft.tokens - draft.gain >= SMALLEST * average_tokens]
        if not able:
            raise ValueError(f"the tools are {excess:,} tokens too large and have no optional parameter left")
        if excess > max(draft.gain for draft in able):
            chances.choice(able).shorten()
            continue
        nearest = min(able, key=lambda draft: abs(excess - draft.gain))
        if abs(excess - nearest.gain) >= excess:
            break
        nearest.shorten()
    return [draft.schema() for draft in drafts]


# The five web-search servers of NetMCP's testbed (section V-A): one backend, five wordings. Functions, parameters, results,
# prices and times are equal, so that only the wording or the network can make a router prefer one of them.


def search_15() -> list[Document]:
    """Returns the five search servers as documents of a catalog. The other ten of the fifteen are servers of the
    sample."""
    sheet = read_sheet("search")
    functions = {name: _function(name, function) for name, function in sheet["functions"].items()}
    figures = {key: sheet[key] for key in FIGURES}
    backend = written({"name": "backend", **figures, "tools": list(functions.values())})
    return [_worded(server, sheet["category"], backend) for server in sheet["servers"]]


def _function(name: str, function: Sheet) -> dict[str, Any]:
    properties = {key: {"type": "string", **schema} for key, schema in function["results"].items()}
    results = {"type": "array", "items": object_schema(properties, [next(iter(properties))])}
    return {
        "name": name,
        "description": "",
        "inputSchema": object_schema(parameters(function, {}), function["required"]),
        "outputSchema": object_schema({"results": results}, ["results"]),
        "annotations": hints("look", open_world=True),
    } | economics(function)


def _worded(server: Sheet, category: str, backend: Document) -> Document:
    """Returns the backend with a server's name and wording."""
    said = {key: server[key] for key in ("name", "title", "description")}
    tools = [{**tool, **server["tools"][tool["name"]]} for tool in backend["tools"]]
    return {**said, "category": category, "virtual": True, **backend, "name": server["name"], "tools": tools}
