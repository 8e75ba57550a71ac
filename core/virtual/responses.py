"""The result of a simulated call: a document that fits the tool's schema, name and description."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.domain.catalog import Tool
from core.shared.json_schema import argument_problems
from core.virtual.schema_inference import inferred_schema
from core.virtual.schema_values import NoValueError, value_for


@dataclass(frozen=True, slots=True)
class SimulatedResult:
    """What a call returns: a sentence that says that it is simulated and, where the call succeeded, a JSON value.

    `structured` says whether the tool promised the value by an output schema. `failed` marks a tool error.
    """

    sentence: str
    value: Any = None
    structured: bool = False
    failed: bool = False


def simulated_result(tool: Tool, arguments: Mapping[str, Any], *, seed: int) -> SimulatedResult:
    """The result of a call, the same for the same seed, tool and arguments.

    >>> search = Tool("shop", "find_books", "Finds books.", input_schema={"required": ["topic"]})
    >>> simulated_result(search, {"topic": "tides"}, seed=1).value["topic"]
    'tides'
    >>> simulated_result(search, {}, seed=1).sentence
    'Simulated error of shop::find_books: topic is required.'
    """
    if problems := argument_problems(tool.input_schema, arguments):
        said = "; ".join(f"{field or 'arguments'} {text}" for field, text in problems.items())
        return failure(tool, f"{said}.")
    promised = tool.output_schema is not None
    schema = tool.output_schema if tool.output_schema is not None else inferred_schema(tool, arguments)
    try:
        value = value_for(schema, _generator(tool, arguments, seed), arguments)
    except NoValueError as error:
        return failure(tool, f"its output schema cannot be met, {error}.")
    return SimulatedResult(
        f"Simulated result of {tool.id}: nothing was looked up and nothing was done.", value, promised
    )


def failure(tool: Tool, reason: str) -> SimulatedResult:
    """A tool error."""
    return SimulatedResult(f"Simulated error of {tool.id}: {reason}", failed=True)


def _generator(tool: Tool, arguments: Mapping[str, Any], seed: int) -> random.Random:
    text = json.dumps([seed, tool.id, dict(arguments)], sort_keys=True, default=str)
    return random.Random(text)  # noqa: S311 - a simulation, not a secret
