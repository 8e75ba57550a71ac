"""Rules about tools that are taken for each other: by their names, by the meaning of their descriptions, and by their example requests."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from core.domain.catalog import Catalog, Tool, first_sentence
from core.domain.findings import Finding, Severity
from core.lint.base import Context, Rule, listed
from core.lint.texts import disguises, key, lookalike
from core.relevance.encoder import Vectors
from core.relevance.vectors import ROUNDING, Pairs, Rows, joined, nearest_above

_DISGUISED = re.compile(r"[01]|rn|vv|[^\x00-\x7f]", re.IGNORECASE)  # other names have no form of `disguises`
SHORTEST_SIMILAR = 5  # characters: below, one letter makes a different word


class SharedName(Rule):
    title = "Same name on several servers"
    severity = Severity.NOTE
    compares_servers = True
    why = "In clients that do not put the server before the name, one tool shadows the other."
    advice = "Call it as server::tool, or give the tools different names."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - names say all
        for tools in _groups(catalog.tools).values():
            servers = list(dict.fromkeys(tool.server for tool in tools))
            if len(servers) > 1:
                first, other = tools[0], next(tool for tool in tools if tool.server != tools[0].server)
                reason = f"{len(servers)} servers have a tool of this name: {listed(servers)}."
                yield self.finding(reason, first.server, first.name, where="name", evidence=first.name, other=other.id)


class NameTwice(Rule):
    title = "Same name in one server"
    severity = Severity.ERROR
    why = "People, models and some clients do not distinguish names that differ only in case or separators."
    advice = "Rename one of them so that the name shows the difference."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - names say all
        for server in catalog.servers:
            for tools in _groups(server.tools).values():
                for tool in tools[1:]:
                    reason = f"The names {tools[0].name} and {tool.name} differ only in case or separators."
                    yield self.finding(
                        reason, server.name, tool.name, where="name", evidence=tool.name, other=tools[0].id
                    )


class LookalikeName(Rule):
    title = "Look-alike name"
    severity = Severity.ERROR
    compares_servers = True
    why = "People mistake a name for another one that looks like it: read_fi1e is not read_file."
    advice = "Do not give this tool to a model before you know which of the two is the real one."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - names say all
        yield from self._found((tool.server, tool.name, tool.name, tool.id) for tool in catalog.tools)
        yield from self._found((server.name, "", server.name, server.name) for server in catalog.servers)

    def _found(self, names: Iterable[tuple[str, str, str, str]]) -> Iterator[Finding]:
        rows = list(names)
        suspects = [row for row in rows if _DISGUISED.search(row[2])]
        if not suspects:
            return
        real = {key(name): (name, full) for _, _, name, full in rows}
        for server, tool, name, _ in suspects:
            original = next((real[form] for form in sorted(disguises(name)) if form in real), None)
            if original is not None:
                reason, other = f"The name looks like {original[0]} but differs from it.", original[1]
            elif mixed := _mixed(name):
                reason, other = f"The name mixes Latin letters with look-alikes of other scripts ({mixed}).", ""
            else:
                continue
            yield self.finding(reason, server, tool, where="name", evidence=name, other=other)


class SimilarServers(Rule):
    title = "Nearly the same server name"
    severity = Severity.WARNING
    compares_servers = True
    why = "A server name that differs in one letter may be a typing error, or an imitation that waits for one."
    advice = "Check which one is right; rename or remove the other."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:  # noqa: ARG002 - names say all
        first: dict[str, str] = {}
        for server in catalog.servers:
            plain = key(server.name)
            forms = sorted(_forms(plain))
            for other in sorted({first[form] for form in forms if form in first}):
                if not _numbered(plain, key(other)):
                    difference = "case or separators only" if plain == key(other) else "one letter"
                    reason = f"The name {server.name} differs from {other} in {difference}."
                    yield self.finding(reason, server.name, where="name", evidence=server.name, other=other)
            for form in forms:
                first.setdefault(form, server.name)


def _groups(tools: Iterable[Tool]) -> Mapping[str, list[Tool]]:
    groups: dict[str, list[Tool]] = defaultdict(list)
    for tool in tools:
        groups[key(tool.name) or tool.name].append(tool)
    return groups


def _mixed(name: str) -> str:
    """Returns the look-alike letters of other scripts in a name that also has Latin letters."""
    if not any(c.isascii() and c.isalpha() for c in name):
        return ""
    return ", ".join(f"U+{ord(c):04X}" for c in dict.fromkeys(name) if lookalike(c))


def _forms(plain: str) -> set[str]:
    """Returns a name and its forms without one letter, with a gap or closed up. Names one letter apart share a form."""
    if len(plain) < SHORTEST_SIMILAR:
        return {plain}
    cuts = range(len(plain))
    open_ = {f"{plain[:index]}\0{plain[index + 1 :]}" for index in cuts}
    return {plain} | open_ | {plain[:index] + plain[index + 1 :] for index in cuts}


def _numbered(name: str, other: str) -> bool:
    """Whether two names differ only in a number, like search-1 and search-2."""
    return name != other and name.rstrip("0123456789") == other.rstrip("0123456789")


# Descriptions with the same meaning: a router can only choose by price and speed

VIEW = "description"
# Measured pair by pair on two catalogs of real servers (1,385 tools): across servers all 30 pairs from 0.90 on do the
# same; below are pairs such as creating and merging a pull request.
ACROSS_SERVERS = 0.90
# Within a server many pairs at 0.90 are opposites that differ in one word; from 0.95 on hardly a word differs.
WITHIN_SERVER = 0.95


class _Nearest(Rule):
    needs_vectors = True
    compares_servers = True

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        if context.index is None or len(catalog.tools) < 2:
            return
        vectors = context.index.tools.view(VIEW)
        owner = np.repeat(np.arange(len(catalog.servers)), [len(server.tools) for server in catalog.servers])
        seen_pairs: set[tuple[int, int]] = set()
        rows, others, cosines = self.nearest(vectors, owner, context)
        for row, other, cosine in zip(rows.tolist(), others.tolist(), cosines.tolist(), strict=True):
            pair = (min(row, other), max(row, other))
            if pair in seen_pairs:
                continue
            seen_pairs.add(pair)
            tool, partner = catalog.tools[int(row)], catalog.tools[int(other)]
            name = partner.id if partner.server != tool.server else partner.name
            reason = f"Cosine {min(1.0, cosine):.2f} to the description of {name}."
            evidence = first_sentence(tool.description)
            yield self.finding(reason, tool.server, tool.name, where="description", evidence=evidence, other=partner.id)

    @abstractmethod
    def nearest(self, vectors: Vectors, owner: Rows, context: Context) -> Pairs:
        """The rows that have a partner, ascending, with their nearest partner and its cosine. `owner` (T,) are ascending rows of servers."""


class NearDuplicates(_Nearest):
    title = "Near duplicates"
    severity = Severity.NOTE
    why = "An auction needs equal tools on several servers, but an unused copy only costs tokens."
    weight = 20
    advice = "Keep both if their prices or speeds differ, so that the router can choose; else remove one."

    def nearest(self, vectors: Vectors, owner: Rows, context: Context) -> Pairs:
        return nearest_above(
            vectors, 1, ACROSS_SERVERS, allowed=lambda row, other: owner[row] != owner[other], progress=context.working
        )


class SimilarSiblings(_Nearest):
    title = "Hard to distinguish"
    severity = Severity.WARNING
    why = (
        "Tools of one server do different things; if their descriptions hardly differ, similarity picks one by chance."
    )
    advice = "Begin each description with the difference from the other one."

    def nearest(self, vectors: Vectors, owner: Rows, context: Context) -> Pairs:  # noqa: ARG002 - it is quick
        """See `_Nearest`. Compares only tools of one server."""
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        blocks = zip(np.split(vectors, starts[1:]), starts, strict=True)
        pairs = [(nearest_above(block, 1, WITHIN_SERVER), start) for block, start in blocks if _any_near(block)]
        return joined([(row + start, other + start, cosine) for (row, other, cosine), start in pairs])


def _any_near(vectors: Vectors) -> bool:
    """Whether two rows may be as near as `WITHIN_SERVER`. One product rules this out for most servers."""
    return len(vectors) > 1 and bool((np.tril(vectors @ vectors.T, -1) >= WITHIN_SERVER - ROUNDING).any())


# What example requests tell. Two rules wait for an estimate (`core.lab.findable`), which the Catalog page and `wayfare findable` make.

LEAST_REQUESTS = 4
LEAST_TIMES = 3


class OfRequests(Rule):
    severity = Severity.WARNING

    def _about(
        self, catalog: Catalog, tool: str, reason: str, *, where: str = "description", evidence: str, other: str = ""
    ) -> Iterator[Finding]:
        """Yields a finding. Yields nothing if the tool is gone since."""
        row = catalog.tool_row.get(tool)
        if row is not None:
            item = catalog.tools[row]
            yield self.finding(reason, item.server, item.name, where=where, evidence=evidence, other=other)


class SeldomFound(OfRequests):
    title = "Seldom found"
    why = "Agents see the first tools of a search. A tool that its own requests do not find there is never called."
    advice = "Describe it in the words of those who need it, or set it apart from the tool that it is taken for."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for record in () if context.findable is None else context.findable.seldom:
            if record.of >= LEAST_REQUESTS:
                other, times = record.taken_for[0]
                reason = f"{record.found} of its {record.of} requests find it among three; {times} of them find {other} first."
                yield from self._about(catalog, record.tool, reason, evidence=record.missed[0].text, other=other)


class TakenForEachOther(OfRequests):
    title = "Taken for each other"
    why = "If both do the same, an auction may choose; if they are opposites, such as back and forward, the wrong one is called."
    advice = (
        "If they do the same, say so on the page Catalog under Equal. Else begin each description with the difference."
    )

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for pair in () if context.findable is None else context.findable.confused(LEAST_TIMES):
            if pair.kind != "one way":
                opposites = "They are opposites: " if pair.kind == "opposite" else ""
                reason = f"{opposites}{' '.join(pair.sentences)}"
                yield from self._about(catalog, pair.one, reason, evidence=pair.one, other=pair.other)


class GreedyRequests(OfRequests):
    title = "Greedy requests"
    why = "Such requests would draw every question to their tool, so none of them counts in a decision."
    advice = "Remove those that other tools answer better, and write what only this tool does."

    def check(self, catalog: Catalog, context: Context) -> Iterator[Finding]:
        for tool, requests in context.greedy.items():
            reason = f"Its {len(requests)} example requests do not count: they are near questions of every kind, or other tools are nearer to them."
            yield from self._about(catalog, tool, reason, where="requests", evidence=next(iter(requests), ""))
