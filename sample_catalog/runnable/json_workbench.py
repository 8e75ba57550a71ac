"""JSON documents given as text: look into, compare, change, check and reshape them."""

import json
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel, Field

from sample_catalog.runnable import _json
from sample_catalog.runnable._common import READS, run_limited, serve

Document = Annotated[str, Field(description="JSON document as text", max_length=500_000)]
Pointer = Annotated[str, Field(description="JSON Pointer such as /items/0/name; empty for the whole document")]
Separator = Annotated[str, Field(description="What joins the keys of a path", min_length=1, max_length=3)]

server = MCPServer(
    "json-workbench",
    title="JSON workbench",
    description="Query, compare, patch, validate, flatten and format JSON documents.",
    instructions="Pass documents as JSON text. Paths are JSON Pointers or a small JSONPath dialect.",
    version="1.4.0",
    log_level="WARNING",
)


class Found(BaseModel):
    """One value that a path leads to."""

    pointer: str
    value: Any


class Change(BaseModel):
    """One step of a JSON Patch (RFC 6902)."""

    op: Literal["add", "remove", "replace"] = Field(description="What to do")
    path: str = Field(description="JSON Pointer to where")
    value: Any = Field(default=None, description="New value, for add and replace")


class Problem(BaseModel):
    """One place where a document breaks its schema."""

    path: str
    problem: str


class Validation(BaseModel):
    """The outcome of a check against a schema."""

    valid: bool
    problems: list[Problem]


def _parse(text: str, what: str = "the document") -> Any:
    def refuse(name: str) -> None:
        raise ValueError(f"{name} is not JSON")

    try:
        return json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{what} is not valid JSON: {error}") from error


@server.tool(title="Value at a pointer", annotations=READS)
def get_value(document: Document, pointer: Pointer) -> Found:
    """Get the value at one place of a JSON document, given by a JSON Pointer."""
    return Found(pointer=pointer, value=_json.resolve(_parse(document), pointer))


@server.tool(title="Query with a path", annotations=READS)
def query_path(
    document: Document,
    path: Annotated[str, Field(description="JSONPath: $.a.b, [0], [1:3], [*], ['key'], ..name")],
) -> list[Found]:
    """Find all values of a JSON document that a JSONPath expression leads to (at most 500)."""
    return [Found(pointer=pointer, value=value) for pointer, value in _json.query(_parse(document), path)[:500]]


@server.tool(title="Compare two documents", annotations=READS)
def diff_json(
    before: Annotated[str, Field(description="Old JSON document", max_length=500_000)],
    after: Annotated[str, Field(description="New JSON document", max_length=500_000)],
) -> list[Change]:
    """Compare two JSON documents and list the changes from one to the other as a JSON Patch."""
    return [Change(**change) for change in _json.diff(_parse(before, "before"), _parse(after, "after"))]


@server.tool(title="Apply a patch", annotations=READS)
def apply_patch(
    document: Document,
    changes: Annotated[list[Change], Field(description="Steps to apply in order", max_length=1_000)],
) -> str:
    """Apply JSON Patch steps (add, remove, replace) to a document and return the new document."""
    value = _parse(document)
    for change in changes:
        value = _json.change(value, change.op, change.path, change.value)
    return json.dumps(value, ensure_ascii=False)


@server.tool(title="Merge two documents", annotations=READS)
def merge_documents(
    base: Annotated[str, Field(description="JSON document to start from")],
    overlay: Annotated[str, Field(description="JSON document whose keys win; null removes a key")],
) -> str:
    """Merge one JSON document into another (JSON Merge Patch, RFC 7396)."""
    return json.dumps(_json.merge(_parse(base, "base"), _parse(overlay, "overlay")), ensure_ascii=False)


@server.tool(title="Flatten", annotations=READS)
def flatten_json(document: Document, separator: Separator = ".") -> dict[str, Any]:
    """Flatten nested JSON into one level of keys such as address.city."""
    return _json.flatten(_parse(document), separator)


@server.tool(title="Unflatten", annotations=READS)
def unflatten_json(document: Document, separator: Separator = ".") -> dict[str, Any]:
    """Rebuild nested JSON objects from keys such as address.city."""
    value = _parse(document)
    if not isinstance(value, dict):
        raise ToolError("only an object can be unflattened")
    return _json.unflatten(value, separator)


@server.tool(title="Validate against a schema", annotations=READS)
def validate_json(
    document: Document,
    json_schema: Annotated[str, Field(description="JSON Schema (2020-12) as text", max_length=100_000)],
) -> Validation:
    """Check a JSON document against a JSON Schema and list every violation."""
    problems = run_limited("validate", document=_parse(document), schema=_parse(json_schema, "the schema"))
    return Validation(valid=not problems, problems=[Problem(**problem) for problem in problems])


@server.tool(title="Infer a schema", annotations=READS)
def infer_schema(document: Document) -> dict[str, Any]:
    """Derive a JSON Schema from an example document."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_json.infer(_parse(document))}


@server.tool(title="Format JSON", annotations=READS)
def format_json(
    document: Document,
    indent: Annotated[int, Field(description="Spaces per level; 0 for one compact line", ge=0, le=8)] = 2,
    sort_keys: Annotated[bool, Field(description="Put keys in alphabetical order")] = False,
) -> str:
    """Pretty-print or minify a JSON document."""
    value = _parse(document)
    if indent == 0:
        return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, separators=(",", ":"))
    return json.dumps(value, ensure_ascii=False, sort_keys=sort_keys, indent=indent)


if __name__ == "__main__":
    serve(server)
