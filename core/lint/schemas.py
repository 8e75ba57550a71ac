"""Rules about input schemas, the size of definitions, and missing prices and figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import numpy as np

from core.domain.catalog import Catalog, Json, Server, Tool
from core.domain.findings import Finding, Severity
from core.domain.json_schema import referenced, schema_fault
from core.domain.tools import mapping, properties
from core.lint.base import Context, Rule, ServerRule, ToolRule, listed

_TYPED = ("type", "anyOf", "oneOf", "allOf", "enum", "const", "$ref", "not", "properties", "items")
_DESCRIBED = ("description", "title", "enum", "const", "examples")


class MissingSchema(ToolRule):
    title = "No input schema"
    severity = Severity.WARNING
    why = "Without a schema a model guesses the arguments, and nothing is checked before a call."
    advice = 'Declare the arguments; a tool without any has {"type": "object", "properties": {}}.'

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return ("The tool declares no input schema.", "", "") if tool.input_schema is None else None


class BrokenSchema(ToolRule):
    title = "Broken input schema"
    severity = Severity.ERROR
    why = "Clients and model endpoints refuse a whole tool list because of one invalid schema."
    advice = "Repair the schema: it has to be a JSON Schema of type object."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        if tool.input_schema is None:
            return None
        if fault := schema_fault(tool.input_schema):
            return f"The input schema {fault}.", "input schema", ""
        kind = tool.input_schema.get("type", "object")
        if kind != "object":
            return f"The input schema is of type {kind}, not object.", "input schema", str(kind)
        return None


class OddListing(Rule):
    title = "Left out of the server's list"
    severity = Severity.WARNING
    why = "The part cannot be shown to a client that checks lists, so the tool is missing, or works without this part."
    advice = "Tell the server's author, and ask the server for its tools again after an update."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - the servers say all
        for server in catalog.servers:
            yield from (self.finding(sentence, server.name, where=sentence) for sentence in server.odd)


class UnknownRequired(ToolRule):
    title = "Required but not declared"
    severity = Severity.ERROR
    why = "A model does not know the parameter, so every call lacks it."
    advice = "Declare the parameter, or remove it from the list of required ones."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        required = (tool.input_schema or {}).get("required")
        if not isinstance(required, list | tuple) or _composed(tool.input_schema):
            return None
        parameters = properties(tool.input_schema)
        unknown = [name for name in cast("list[Any]", required) if isinstance(name, str) and name not in parameters]
        if not unknown:
            return None
        return f"Required but not declared: {listed(unknown)}.", "required of the input schema", unknown[0]


class UndescribedParameters(ToolRule):
    title = "Parameters without a description"
    severity = Severity.NOTE
    why = "A name does not tell the unit, format or choice, and wrong arguments fail the call."
    advice = "Describe each parameter in half a sentence with its unit or format."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return _lacking(tool, _described, "have no description")


class UntypedParameters(ToolRule):
    title = "Parameters without a type"
    severity = Severity.WARNING
    why = "Without a type nothing is checked before a call, and models send text for numbers."
    advice = "Give each parameter a type, an enum or a reference."

    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        return _lacking(tool, lambda details: any(keyword in details for keyword in _TYPED), "have no type")


def _lacking(tool: Tool, has: Callable[[Mapping[str, Any]], bool], lack: str) -> tuple[str, str, str] | None:
    parameters = properties(tool.input_schema)
    names = [name for name, details in parameters.items() if not any(map(has, _details(tool.input_schema, details)))]
    if not names:
        return None
    return (
        f"{len(names)} of {len(parameters)} parameters {lack}: {listed(names)}.",
        f"parameter {names[0]}",
        names[0],
    )


def _details(schema: Json | None, details: object) -> Iterator[Mapping[str, Any]]:
    """Returns the schemas of a parameter: its own, the referenced schema, and its alternatives."""
    if not isinstance(details, Mapping):
        yield {"type": "any"} if details is True else {}
        return
    fields = cast(Mapping[str, Any], details)
    yield fields
    yield mapping(referenced(schema or {}, fields.get("$ref")))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for option in cast("list[Any]", fields.get(keyword)) if isinstance(fields.get(keyword), list | tuple) else ():
            if isinstance(option, Mapping):
                yield cast(Mapping[str, Any], option)


def _described(details: Mapping[str, Any]) -> bool:
    return any(details.get(keyword) for keyword in _DESCRIBED if keyword != "title")


def _composed(schema: Json | None) -> bool:
    """Whether parameters may be declared outside `properties`."""
    return any(keyword in (schema or {}) for keyword in ("allOf", "anyOf", "oneOf", "$ref", "patternProperties"))


# Tokens of definitions, which every prompt contains

TOOL_TOKENS = 1000  # about seven usual tools: the median of two catalogs of real servers is 100 and 145, one in twenty has 500 to 800
SERVER_TOKENS = 10_000  # of one server: as much as a long document, before the first question
CATALOG_TOKENS = 32_000  # a quarter of a context of 128,000: more than what may be left for the work itself


class LargeTool(Rule):
    title = "Large definition"
    severity = Severity.WARNING
    why = f"A definition of more than {TOOL_TOKENS:,} tokens displaces about seven usual tools in every prompt."
    advice = "Shorten the description and the schema: fold rare parameters, drop examples, or split the tool."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for row in np.flatnonzero(context.tokens > TOOL_TOKENS).tolist():
            tool = catalog.tools[row]
            yield self.finding(f"The definition takes {context.tokens[row]:,} tokens.", tool.server, tool.name)


class LargeServer(ServerRule):
    title = "Large server"
    severity = Severity.NOTE
    why = f"A client that loads only this server spends more than {SERVER_TOKENS:,} tokens on every request."
    advice = "Route to it instead of loading all of it, or switch off the tools that you do not need."

    def look(self, server: Server, rows: slice, context: Context) -> str:
        total = int(context.tokens[rows].sum())
        return (
            f"The definitions of its {len(server.tools)} tools take {total:,} tokens." if total > SERVER_TOKENS else ""
        )


class LargeCatalog(Rule):
    title = "Large catalog"
    severity = Severity.NOTE
    why = f"More than {CATALOG_TOKENS:,} tokens of definitions are a quarter of a usual context, and models choose worse among so many."
    advice = "Do not load all of it: let the router select a few candidates for each sub-task."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        total = int(context.tokens.sum())
        if total > CATALOG_TOKENS:
            yield self.finding(f"The definitions of all {len(catalog.tools):,} tools take {total:,} tokens.")


# Undeclared prices, times and success rates: the router then decides on assumptions


class Unpriced(ServerRule):
    title = "No price"
    severity = Severity.NOTE
    why = "An unpriced tool is not free: its price is unknown, and the auction cannot compare it."
    advice = "Import prices, or set them on the Catalog page."

    def of_all(self, catalog: Catalog, context: Context) -> str:
        none = catalog.tools and not context.priced.any()
        return f"None of the {len(catalog.tools):,} tools has a price." if none else ""

    def look(self, server: Server, rows: slice, context: Context) -> str:
        missing = int((~context.priced[rows]).sum())
        return f"{missing} of its {len(server.tools)} tools have no price." if missing else ""


class MissingFigures(ServerRule):
    title = "No times and success rates"
    severity = Severity.NOTE
    why = "Without declared figures every server starts from the same assumption, and only real calls distinguish them."
    advice = "Declare conn_s, call_s and success in the catalog, or let real calls measure them."

    def of_all(self, catalog: Catalog, context: Context) -> str:  # noqa: ARG002 - the servers say all
        none = catalog.servers and not any(map(_declares, catalog.servers))
        return f"None of the {len(catalog.servers):,} servers declares times or success rates." if none else ""

    def look(self, server: Server, rows: slice, context: Context) -> str:  # noqa: ARG002 - the server says all
        return "" if _declares(server) else "The server declares no times and no success rate."


def _declares(server: Server) -> bool:
    figures = (server.conn_s, server.call_s, server.success)
    return any(number is not None for number in figures) or any(
        tool.latency_s is not None or tool.success is not None for tool in server.tools
    )
