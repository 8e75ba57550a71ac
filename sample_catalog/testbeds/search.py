"""The five web-search servers of NetMCP's testbed (section V-A): one backend, five wordings.

Functions, parameters, results, prices and times are the same in each, so that a router that prefers one of them does so for
its wording or its network alone.
"""

from typing import Any

from sample_catalog.profiles import Document, written
from sample_catalog.testbeds.sheet import FIGURES, Sheet, economics, hints, object_schema, parameters, read_sheet


def search_15() -> list[Document]:
    """The five search servers as documents of a catalog. The other ten of the fifteen are servers of the sample."""
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
    """The backend under a server's name and in its words."""
    said = {key: server[key] for key in ("name", "title", "description")}
    tools = [{**tool, **server["tools"][tool["name"]]} for tool in backend["tools"]]
    return {**said, "category": category, "virtual": True, **backend, "name": server["name"], "tools": tools}
