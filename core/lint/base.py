"""Base classes of lint rules, the context that they read, and their vocabulary."""

from __future__ import annotations

import re
import tomllib
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from core.domain.catalog import Catalog, Server, Tool, definition_text
from core.domain.findings import Findable, Finding, Severity
from core.domain.tools import count_many
from core.domain.untrusted_text import visible
from core.lint.texts import CatalogTexts, Folded, Passage, fold
from core.relevance.catalog_index import CatalogIndex

# Lists of words, from `vocabulary.toml`

_FILE = Path(__file__).with_name("vocabulary.toml")
VOCABULARY = {
    name: frozenset(words.split()) for name, words in tomllib.loads(_FILE.read_text(encoding="utf-8")).items()
}


# An index of the words of a catalog's texts

Words = frozenset[str]
FEW = 1024  # looking for a set of words takes about as long as searching one text in so many
_NO_ROWS = np.zeros(0, dtype=np.int32)


class Corpus:
    """Texts by their words. A text with several folded forms has one entry for each form."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._entries = [(text, folded) for text in dict.fromkeys(texts) for folded in fold(text)]
        rows: dict[str, list[int]] = {}
        for row, (_, folded) in enumerate(self._entries):
            for word in set(folded.text.split()):
                rows.setdefault(word, []).append(row)
        self._rows = [np.array(word_rows, dtype=np.int32) for word_rows in rows.values()]
        self._joined = "\n".join(rows)
        self._ends = np.cumsum([len(word) + 1 for word in rows]).tolist()
        self._known: dict[str, NDArray[np.int32]] = {}

    def containing(self, needed: Iterable[Words]) -> Iterator[tuple[str, Folded]]:
        """Returns the texts that contain one word of each set, alone or in a longer word, each with its folded form. If few texts are
        left, the other sets are skipped."""
        mask = np.ones(len(self._entries), dtype=bool)
        for words in sorted(needed, key=len):
            if np.count_nonzero(mask) <= len(mask) // FEW:
                break
            hits = np.zeros_like(mask)
            for word in words:
                hits[self._having(word)] = True
            mask &= hits
        return (self._entries[row] for row in np.flatnonzero(mask).tolist())

    def _having(self, word: str) -> NDArray[np.int32]:
        if word not in self._known:
            self._known[word] = np.concatenate([_NO_ROWS, *(self._rows[place] for place in self._search(word))])
        return self._known[word]

    def _search(self, word: str) -> Iterator[int]:
        place = self._joined.find(word)
        while place >= 0:
            row = bisect_right(self._ends, place)
            yield row
            place = self._joined.find(word, self._ends[row])


# Context and rules

EVIDENCE_CHARACTERS = 200
LISTED = 6  # names in a reason


@dataclass(eq=False)
class Context:
    """The inputs of rules beside the catalog. Costly parts are made on first use.

    `index` has the vectors; without it the rules that need them are skipped. `count_tokens` counts the tokens of each tool's definition, (T,).
    `has_price` (T,) marks the tools with a price. `findable` is an estimate from example requests, once it was made. `greedy` are the tools
    whose example requests do not count, with these requests. A long rule tells `working` how many of how many steps are done.
    """

    catalog: Catalog
    index: CatalogIndex | None = None
    count_tokens: Callable[[], NDArray[np.int64]] | None = None
    has_price: NDArray[np.bool_] | None = None
    findable: Findable | None = None
    greedy: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    working: Callable[[int, int], object] = lambda _done, _of: None

    @cached_property
    def priced(self) -> NDArray[np.bool_]:
        if self.has_price is not None:
            return self.has_price
        return np.array([tool.price_usd is not None for tool in self.catalog.tools], dtype=bool)

    @cached_property
    def tokens(self) -> NDArray[np.int64]:
        if self.count_tokens is not None:
            return self.count_tokens()
        return np.array(count_many([definition_text(tool) for tool in self.catalog.tools]), dtype=np.int64)

    @cached_property
    def texts(self) -> CatalogTexts:
        return CatalogTexts(self.catalog, self.working)

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus(text for text, _ in self.texts.different)


class Rule(ABC):
    """One rule. A subclass sets its texts and implements `check`, which is deterministic.

    Its `id` is the name of the class, as `seldom_found` of SeldomFound. `why` is one sentence for people, `advice` a sentence about the repair.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[Severity]
    why: ClassVar[str]
    advice: ClassVar[str]
    needs_vectors: ClassVar[bool] = False
    compares_servers: ClassVar[bool] = False
    """Whether a finding on one server depends on the names or texts of other servers."""
    weight: ClassVar[int] = 1
    """Its share of the work on a large catalog, relative to the other rules."""

    def __init_subclass__(cls) -> None:
        cls.id = re.sub(r"\B(?=[A-Z])", "_", cls.__name__).lower()

    @abstractmethod
    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        """Yields the findings of this rule, in the catalog's order."""

    def finding(
        self, reason: str, server: str = "", tool: str = "", *, where: str = "", evidence: str = "", other: str = ""
    ) -> Finding:
        """Returns a finding of this rule; `reason` is one sentence with the fact or number found."""
        excerpt = visible(evidence)
        if len(excerpt) > EVIDENCE_CHARACTERS:
            excerpt = f"{excerpt[: EVIDENCE_CHARACTERS - 1]}…"
        return Finding(self.id, self.severity, server, tool, excerpt, visible(reason), self.advice, where, other)


class ToolRule(Rule):
    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002
        for tool in catalog.tools:
            yield from self.about(tool)

    def about(self, tool: Tool) -> Iterator[Finding]:
        if match := self.look(tool):
            reason, where, evidence = match
            yield self.finding(reason, tool.server, tool.name, where=where, evidence=evidence)

    @abstractmethod
    def look(self, tool: Tool) -> tuple[str, str, str] | None:
        """Returns reason, place and evidence of a finding, or None."""


class PassageRule(Rule):
    """A rule that checks one text at a time, of a tool or of a server."""

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002
        texts = {text for text, encoding in context.texts.different if self.look(Passage("", "", "", text, encoding))}
        for passage in context.texts.passages(texts):
            if match := self.look(passage):
                reason, evidence = match
                yield self.finding(reason, passage.server, passage.tool, where=passage.where, evidence=evidence)

    @abstractmethod
    def look(self, passage: Passage) -> tuple[str, str] | None:
        """Returns reason and evidence of a finding, or None. Whether there is one depends on the text and its encoding alone."""


class ServerRule(Rule):
    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if reason := self.of_all(catalog, context):
            yield self.finding(reason)
            return
        start = 0
        for server in catalog.servers:
            rows = slice(start, start + len(server.tools))
            start = rows.stop
            if reason := self.look(server, rows, context):
                yield self.finding(reason, server.name)

    def of_all(self, catalog: Catalog, context: Context) -> str:  # noqa: ARG002
        """Returns the reason of a single finding about the catalog, in place of one for each server, or ""."""
        return ""

    @abstractmethod
    def look(self, server: Server, rows: slice, context: Context) -> str:
        """Returns the reason of a finding, or "". `rows` are the server's tools in the context's arrays."""


def listed(names: list[str]) -> str:
    """Returns the first names, and the number of the others.

    >>> listed(["a", "b"])
    'a, b'
    """
    head = ", ".join(names[:LISTED])
    return f"{head} and {len(names) - LISTED} more" if len(names) > LISTED else head
