"""One server into several virtual ones: other names, other words, other prices and times; the same tools and schemas."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any, cast

from core.domain.catalog import Catalog, Server, Tool
from core.shared.errors import CatalogError, UnknownNameError
from core.virtual.paraphrase import wordings
from core.virtual.schema_inference import schema_part

MOST_COPIES = 50  # there are more wordings of any text, `wording.MOST_WORDINGS`
HIGHEST_SPREAD = 100.0


@dataclass(frozen=True, slots=True)
class Recipe:
    """How many copies, and how they differ. `spread` is the largest factor on a declared number, up or down; 1 changes none.
    Copies follow their original, or take its place where it is not kept.

    Raises CatalogError for numbers out of range.
    """

    copies: int
    seed: int = 0
    spread: float = 2.0
    keep_original: bool = True

    def __post_init__(self) -> None:
        if not 1 <= self.copies <= MOST_COPIES:
            raise CatalogError(f"{self.copies} copies cannot be made; give a number from 1 to {MOST_COPIES}.")
        if not 1 <= self.spread <= HIGHEST_SPREAD:
            raise CatalogError(f"A spread of {self.spread:g} is none; give a factor from 1 to {HIGHEST_SPREAD:g}.")


def multiplied(catalog: Catalog, server: str, recipe: Recipe, *, name: str) -> Catalog:
    """A new catalog in which the server is followed (or replaced) by its copies. Raises UnknownNameError, CatalogError.

    >>> world = Catalog("world", (Server("web", tools=(Tool("web", "find", "Find a page."),)), Server("mail")))
    >>> [s.name for s in multiplied(world, "web", Recipe(2), name="more").servers]
    ['web', 'web-1', 'web-2', 'mail']
    """
    original = server_of(catalog, server)
    row = catalog.server_row[server]
    made = copies(original, recipe, taken=catalog.server_row)
    kept = (original,) if recipe.keep_original else ()
    return Catalog(name, (*catalog.servers[:row], *kept, *made, *catalog.servers[row + 1 :]))


def multiplied_name(catalog: str, server: str, number: int) -> str:
    """The default name of the new catalog.

    >>> multiplied_name("sample", "web-search", 5)
    'sample-web-search-x5'
    """
    return f"{Path(catalog).stem}-{server}-x{number}"


def server_of(catalog: Catalog, name: str) -> Server:
    """A server by name. Raises UnknownNameError."""
    row = catalog.server_row.get(name)
    if row is None:
        raise UnknownNameError(f"There is no server {name!r} in catalog {catalog.name!r}; check the name.")
    return catalog.servers[row]


def copies(original: Server, recipe: Recipe, *, taken: Iterable[str] = ()) -> tuple[Server, ...]:
    """Virtual copies of a server, the same for the same recipe; names in `taken` are skipped.

    No two have the same description of themselves or of a tool, and none has the original's; what is blank stays blank.
    """
    used = {*taken, original.name}
    names = (name for number in count(1) if (name := f"{original.name}-{number}") not in used)
    about = _wordings(original.description, recipe, "")
    said = {tool.name: _wordings(tool.description, recipe, tool.name, tool) for tool in original.tools}
    made: list[Server] = []
    for number in range(recipe.copies):
        factors = _Factors(random.Random(f"{recipe.seed}|{original.name}|{number}"), recipe.spread)  # noqa: S311
        name = next(names)
        tools = tuple(factors.tool(replace(t, server=name, description=next(said[t.name]))) for t in original.tools)
        title = f"{original.title} {number + 1}" if original.title else ""
        copy = replace(
            original, name=name, title=title, description=next(about), tools=tools, connection=None, virtual=True
        )
        made.append(factors.server(copy))
    return tuple(made)


def _wordings(text: str, recipe: Recipe, name: str, tool: Tool | None = None) -> Iterator[str]:
    if not text.strip():
        return iter([text] * recipe.copies)
    kept = _names(tool.input_schema) if tool is not None and tool.input_schema is not None else set[str]()
    return wordings(text, random.Random(f"{recipe.seed}|{name}"), kept=kept)  # noqa: S311 - wording, not a secret


def _names(schema: Any) -> set[str]:
    """Names of parameters and their choices at every depth: a description may mention them."""
    if isinstance(schema, Mapping):
        part = cast("Mapping[str, Any]", schema)
        choices = part.get("enum")
        listed = cast("list[object]", choices) if isinstance(choices, list) else []
        own = {*schema_part(part, "properties"), *(value for value in listed if isinstance(value, str))}
        return own.union(*map(_names, part.values()))
    return set[str]().union(*map(_names, cast("list[Any]", schema))) if isinstance(schema, list) else set()


class _Factors:
    """How one copy's numbers differ: one factor each for its times, its prices, its success and its failures."""

    def __init__(self, rng: random.Random, spread: float) -> None:
        span = math.log(spread)
        self._conn, self._call, self._price, self._success, self._failure = (
            math.exp(rng.uniform(-span, span)) for _ in range(5)
        )

    def tool(self, tool: Tool) -> Tool:
        return replace(
            tool,
            latency_s=_scaled(tool.latency_s, self._call),
            price_usd=_scaled(tool.price_usd, self._price),
            success=_odds(tool.success, self._success),
        )

    def server(self, server: Server) -> Server:
        return replace(
            server,
            conn_s=_scaled(server.conn_s, self._conn),
            call_s=_scaled(server.call_s, self._call),
            ask_usd=_scaled(server.ask_usd, self._price),
            success=_odds(server.success, self._success),
            post_accept_failure=_odds(server.post_accept_failure, self._failure),
        )


def _scaled(value: float | None, factor: float) -> float | None:
    """Rounded to four significant digits: a declared number is not a measurement."""
    return None if value is None else float(f"{value * factor:.4g}")


def _odds(chance: float | None, factor: float) -> float | None:
    """The probability after its odds are multiplied by a factor: it stays in [0, 1]; 0 and 1 do not change.

    >>> _odds(0.5, 3.0), _odds(1.0, 0.5), _odds(None, 2.0)
    (0.75, 1.0, None)
    """
    if chance is None or chance in {0.0, 1.0}:
        return chance
    odds = factor * chance / (1 - chance)
    return float(f"{odds / (1 + odds):.4g}")
