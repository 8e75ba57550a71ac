"""Lint of catalogs: whole reports, cached while their inputs stay the same, and the errors that searches heed, kept in the store."""

from __future__ import annotations

import hashlib
import json
import threading
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

import core.domain
import core.lint
from core.catalogs.catalogs import CatalogService
from core.domain.catalog import Catalog, Server, Tool
from core.domain.findings import Findable, Finding, LintReport, Severity
from core.domain.progress import made_once
from core.domain.text_column import Texts
from core.domain.tool_table import ToolRows, packed
from core.lint import RULES, Context, Rule, lint
from core.relevance.catalog_index import CatalogIndex
from core.store import Store
from core.store.connection import pa
from core.store.results import Vectors
from core.store.tables import encode


@dataclass(frozen=True, slots=True)
class _Inputs:
    catalog: Catalog
    index: CatalogIndex | None
    priced: tuple[bool, ...]
    findable: Findable | None
    greedy: Mapping[str, Sequence[str]]


@dataclass(eq=False)
class LintReports:
    """Lint reports by catalog. Thread-safe. `findable` returns the estimate of a catalog if it was made, `greedy` its tools whose
    example requests do not count."""

    catalogs: CatalogService
    store: Store
    findable: Callable[[str], Findable | None]
    greedy: Callable[[str], Mapping[str, Sequence[str]]]

    def __post_init__(self) -> None:
        self._cache: dict[str, tuple[_Inputs, LintReport]] = {}
        self._errors: dict[str, tuple[Catalog, int, Mapping[str, str]]] = {}
        self._making: dict[str, threading.Lock] = {}
        self._searching: dict[str, threading.Lock] = {}

    def report(
        self, name: str, *, vectors: bool = False, progress: Callable[[int, int], object] = lambda _, __: None
    ) -> LintReport:
        """All findings of a catalog. Rules that need vectors wait for the index, unless `vectors` has it built now. `progress` gets the
        steps that are done and their number, and may raise to stop. A second caller waits for the first."""
        inputs = self._inputs(name, vectors=vectors)
        with self._making.setdefault(name, threading.Lock()):
            report = self._kept(name, inputs)
            if report is None:
                context = Context(
                    inputs.catalog,
                    index=inputs.index,
                    count_tokens=lambda: self.catalogs.tokens(name),
                    has_price=np.array(inputs.priced, dtype=bool),
                    findable=inputs.findable,
                    greedy=inputs.greedy,
                )
                report = lint(inputs.catalog, context, progress=progress)
                self._cache[name] = inputs, report
            return report

    def known(self, name: str) -> LintReport | None:
        return self._kept(name, self._inputs(name, vectors=False))

    def _inputs(self, name: str, *, vectors: bool) -> _Inputs:
        ready = vectors or self.catalogs.is_prepared(name)
        index = self.catalogs.index(name) if ready else None
        return _Inputs(
            index.catalog if index is not None else self.catalogs.catalog(name),
            index,
            tuple((~np.isnan(self.catalogs.statistics(name).tools.price_usd)).tolist()),
            self.findable(name) if ready else None,
            self.greedy(name) if ready else {},
        )

    def _kept(self, name: str, inputs: _Inputs) -> LintReport | None:
        cached = self._cache.get(name)
        return cached[1] if cached is not None and cached[0] == inputs else None

    def errors(self, name: str) -> Mapping[str, str]:
        """The tools of a catalog that have an error themselves or in their server, each with the title of the rule. Cached until the catalog
        changes, because every search asks. Only searches of that catalog wait for it."""
        return self._searched(name)[1]

    def count_errors(self, name: str) -> int:
        return self._searched(name)[0]

    def _searched(self, name: str) -> tuple[int, Mapping[str, str]]:
        catalog = self.catalogs.catalog(name)
        with self._searching.setdefault(name, threading.Lock()):
            cached = self._errors.get(name)
            if cached is None or cached[0] is not catalog:
                errors = find_errors(catalog, self.store.vectors)
                cached = self._errors[name] = catalog, len(errors), titles_by_tool(catalog, errors)
            return cached[1:]


def findings_csv(findings: Sequence[Finding]) -> bytes:
    """Findings as CSV, with advice. Texts that a spreadsheet would run get an apostrophe."""
    names = ("severity", "rule", "server", "tool", "where", "reason", "evidence", "other", "advice")
    columns = {name: [str(getattr(finding, name)) for finding in findings] for name in names}
    return encode(pa.table({name: pa.array(column, pa.string()) for name, column in columns.items()}), "csv")


# Errors alone. The errors of a server are kept in the store, so that only changed servers are searched again.

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
    catalog = catalog if isinstance(catalog.tools, ToolRows) else packed(catalog)  # only rows have a key
    key = _digest(catalog.servers, catalog.tools)
    text = kept.load_lint_errors([key]).get(key)
    if text is None:
        errors = _found(catalog, [rule for rule in SEVERE if rule.compares_servers]) + _of_servers(catalog, kept)
        text = json.dumps(sorted(errors, key=lambda error: ORDER[error.rule]))
        kept.save_lint_errors({key: text})
    return [LintError(*row) for row in json.loads(text)]


def titles_by_tool(catalog: Catalog, errors: Iterable[LintError]) -> Mapping[str, str]:
    """The tools that have an error themselves or in their server, each with the title of the first rule. Titles name no other tool; reasons may."""
    titles = {(error.server, error.tool): RULES[error.rule].title for error in reversed(list(errors))}
    if not titles:
        return {}
    pairs = ((tool.id, titles.get((tool.server, tool.name)) or titles.get((tool.server, ""))) for tool in catalog.tools)
    return {id_: title for id_, title in pairs if title is not None}


def _of_servers(catalog: Catalog, store: Vectors) -> list[LintError]:
    keys = {_digest([server], server.tools): server for server in catalog.servers}
    stored = store.load_lint_errors(keys)
    missing = [key for key in keys if key not in stored]
    for start in range(0, len(missing), SERVERS_AT_ONCE):
        new_errors = _searched({key: keys[key] for key in missing[start : start + SERVERS_AT_ONCE]})
        store.save_lint_errors(new_errors)
        stored |= new_errors
    return [LintError(*row) for key in keys for row in json.loads(stored[key])]


def _searched(servers: Mapping[str, Server]) -> dict[str, str]:
    rules = [rule for rule in SEVERE if not rule.compares_servers]
    errors: dict[str, list[LintError]] = {server.name: [] for server in servers.values()}
    for error in _found(Catalog("", tuple(servers.values())), rules):
        errors[error.server].append(error)
    return {key: json.dumps(errors[server.name]) for key, server in servers.items()}


def _found(catalog: Catalog, rules: Iterable[type[Rule]]) -> list[LintError]:
    return [LintError(finding.server, finding.tool, finding.rule) for finding in lint(catalog, rules=rules).findings]


def _digest(servers: Sequence[Server], tools: Sequence[Tool]) -> str:
    digest = hashlib.sha256(_rules())
    digest.update(np.array([len(server.tools) for server in servers]).tobytes())
    Texts.of(text for server in servers for text in (server.name, server.title, server.description)).add_to(digest)
    if isinstance(tools, ToolRows) and tools:
        tools.add_to(digest)
    return digest.hexdigest()


@made_once
def _rules() -> bytes:
    """The digest of Lint's code and words, which changes with every rule."""
    digest = hashlib.sha256(unicodedata.unidata_version.encode())
    for folder in (*core.lint.__path__, *core.domain.__path__):
        for file in sorted(path for path in Path(folder).rglob("*") if path.suffix in {".py", ".toml"}):
            digest.update(file.read_bytes())
    return digest.digest()
