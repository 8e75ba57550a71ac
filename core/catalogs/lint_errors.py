"""Lint's errors of a catalog. What was found in the texts of a server is kept in the store: only changed ones are searched again."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import core.domain
import core.lint
from core.domain.catalog import Catalog, Server, Tool
from core.domain.findings import Severity
from core.domain.once import made_once
from core.domain.tool_table import Texts, ToolRows, packed
from core.lint import RULES, Rule, lint
from core.store.catalogs import Vectors

SERVERS_AT_ONCE = 500
"""Memory does not grow with the catalog, and a search that was killed goes on from there."""
SEVERE = tuple(rule for rule in RULES.values() if rule.severity is Severity.ERROR)  # none needs vectors or prices
ORDER = {rule: place for place, rule in enumerate(RULES)}


class LintError(NamedTuple):
    """An error in a tool, or with `tool` "" in a server's own texts, by the rule that found it."""

    server: str
    tool: str
    rule: str


def find_errors(catalog: Catalog, kept: Vectors) -> list[LintError]:
    """The errors of a catalog, in the order of the rules."""
    catalog = catalog if isinstance(catalog.tools, ToolRows) else packed(catalog)  # only rows have a key
    whole = _digest(catalog.servers, catalog.tools)
    found = kept.load_lint_errors([whole]).get(whole)
    if found is None:
        errors = _found(catalog, [rule for rule in SEVERE if rule.compares_servers]) + _of_servers(catalog, kept)
        found = json.dumps(sorted(errors, key=lambda one: ORDER[one.rule]))
        kept.save_lint_errors({whole: found})
    return [LintError(*one) for one in json.loads(found)]


def titles_by_tool(catalog: Catalog, errors: Iterable[LintError]) -> Mapping[str, str]:
    """The tools that have an error, or whose server has one, each with the title of the first rule. Titles name no other tool; reasons may."""
    found = {(one.server, one.tool): RULES[one.rule].title for one in reversed(list(errors))}
    if not found:
        return {}
    about = ((tool.id, found.get((tool.server, tool.name)) or found.get((tool.server, ""))) for tool in catalog.tools)
    return {id_: title for id_, title in about if title is not None}


def _of_servers(catalog: Catalog, kept: Vectors) -> list[LintError]:
    """The errors that do not depend on other servers."""
    keys = {_digest([server], server.tools): server for server in catalog.servers}
    known = kept.load_lint_errors(keys)
    left = [key for key in keys if key not in known]
    for at in range(0, len(left), SERVERS_AT_ONCE):
        fresh = _searched({key: keys[key] for key in left[at : at + SERVERS_AT_ONCE]})
        kept.save_lint_errors(fresh)
        known |= fresh
    return [LintError(*one) for key in keys for one in json.loads(known[key])]


def _searched(servers: Mapping[str, Server]) -> dict[str, str]:
    rules = [rule for rule in SEVERE if not rule.compares_servers]
    found: dict[str, list[LintError]] = {server.name: [] for server in servers.values()}
    for one in _found(Catalog("", tuple(servers.values())), rules):
        found[one.server].append(one)
    return {key: json.dumps(found[server.name]) for key, server in servers.items()}


def _found(catalog: Catalog, rules: Iterable[type[Rule]]) -> list[LintError]:
    return [LintError(one.server, one.tool, one.rule) for one in lint(catalog, rules=rules).findings]


def _digest(servers: Sequence[Server], tools: Sequence[Tool]) -> str:
    """The key of what is searched and of the rules."""
    digest = hashlib.sha256(_rules())
    digest.update(np.array([len(server.tools) for server in servers]).tobytes())
    Texts.of(text for server in servers for text in (server.name, server.title, server.description)).add_to(digest)
    if isinstance(tools, ToolRows) and tools:
        tools.add_to(digest)
    return digest.hexdigest()


@made_once
def _rules() -> bytes:
    """The digest of Lint's code and words: nobody has to remember to change a number when a rule changes."""
    digest = hashlib.sha256(unicodedata.unidata_version.encode())
    for folder in (*core.lint.__path__, *core.domain.__path__):
        for file in sorted(path for path in Path(folder).rglob("*") if path.suffix in {".py", ".toml"}):
            digest.update(file.read_bytes())
    return digest.digest()
