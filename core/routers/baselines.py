"""The baselines of EHRR (every definition, and similarity alone) and of Tool Attention (B2 to B4). They ask no model. Similarity stands in
for its choice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, zip_longest
from typing import Any, cast

import numpy as np

from core.domain.catalog import Catalog, Server, Tool, first_sentence
from core.domain.decision import Exposure, Stage
from core.domain.params import Range, knob
from core.domain.tools import count_tokens, mapping, properties
from core.domain.trace import DROPS, KEPT, Drop
from core.routers.base import EHRR, TOOL_ATTENTION, Router, RoutingResult
from core.routers.context import Query, RoutingContext, per_catalog
from core.routers.parameters import FIT, SIMILARITY, MatchingParameters, SimilarityParameters
from core.routers.ranked_result import Scored, cosine_layers, ranked_result, servers_of, top

# Without routing every definition is put before the model. EHRR's baseline pays for them at every step.


class FullCatalog(Router[MatchingParameters]):
    """No routing: every definition goes before the model; shown is what similarity alone would pick from all."""

    id = "full_catalog"
    title = "Full catalog"
    paper = f"The baseline of: {EHRR}"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: MatchingParameters) -> RoutingResult:
        match = query.match(parameters)
        servers, tools = len(context.server_names), len(context.tool_ids)
        return ranked_result(
            context,
            Scored(match.servers, match.servers),
            Scored(match.tools, match.tools),
            n=parameters.n,
            stages=(
                Stage("exposed", "servers", servers, servers, "Every definition is put before the model."),
                Stage("candidates", "tools", min(parameters.n, tools), tools, "Highest similarity."),
            ),
            exposure=Exposure(int(np.sum(context.tool_tokens))),
        )


# RAG-MCP as EHRR's benchmark has it: similarity alone, inside the hierarchy, on the raw text of the task.
#
#     top-k servers by Sim(q, f_i), then top-n of their tools by Sim(q, f_ij)                EHRR, section VI, "RAG-MCP [3]"
#
# The benchmark enhances the published RAG-MCP (flat retrieval over all tools) by the two layers; `k` = 100 and more is flat.


@dataclass(frozen=True)
class RagMcpParameters(MatchingParameters):
    k: int = knob(5, Range(1, 100), group=SIMILARITY, symbol="k", label="Servers on the short-list",
        help="Servers on the short-list.")  # fmt: skip


class RagMcp(Router[RagMcpParameters]):
    """Similarity alone: the most similar servers, then the most similar of their tools."""

    id = "rag_mcp"
    title = "RAG-MCP"
    paper = f"RAG-MCP, as the benchmark of: {EHRR}"
    score = "score"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: RagMcpParameters) -> RoutingResult:
        match = query.match(parameters)
        listed_servers = top(match.servers, match.servers, context.server_order, parameters.k)
        tool_count = int(listed_servers[context.tool_server].sum())
        measure, scores = "similarity", match.tools
        if parameters.similarity == FIT:
            measure, scores = "relevance", query.fit().relevance
        return ranked_result(
            context,
            Scored(match.servers, match.servers),
            Scored(match.tools, scores),
            n=parameters.n,
            shortlisted=listed_servers,
            stages=(
                Stage("short-list", "servers", int(listed_servers.sum()), len(listed_servers), "Highest similarity."),
                Stage("candidates", "tools", min(parameters.n, tool_count), tool_count, f"Highest {measure}."),
            ),
            no_candidate="The short-listed servers have no tools; raise k.",
        )


# Static pruning, the second baseline of Tool Attention: 30 tools were chosen once, and the model sees only them.
#
#     kept   = the curated tools                                                     section 6.4, B2; 30 of 120
#     prompt = the definitions of all of them, for every question
#
# A tool outside the list cannot be called, so the paper finds it worse than naive MCP. `keep` holds a curator's list.
# Without a list a stand-in replaces the curator (ours): the first tools of each server in turn, because servers list
# their main tools first.

STAND_IN = "auto"


@dataclass(frozen=True)
class StaticPruningParameters(SimilarityParameters):
    size: int = knob(30, Range(1, 200), group=SIMILARITY, label="Tools kept",
        help="Tools kept where no list is given, Tool Attention's B2.")  # fmt: skip
    keep: str = knob(STAND_IN, group=SIMILARITY, label="Tools to keep",
        help="The tools to keep as server::tool, with commas between; auto takes the first tools of each server in turn.")  # fmt: skip


class StaticPruning(Router[StaticPruningParameters]):
    """A fixed list of 30 tools, all of whose schemas are exposed; what is not in the list does not exist."""

    id = "static_pruning"
    title = "Static pruning"
    paper = f"The baseline B2 of: {TOOL_ATTENTION}"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: StaticPruningParameters) -> RoutingResult:
        cosine, measure = query.tool_similarity(parameters), parameters.measure("cosine")
        names = _names(context.catalog, parameters)
        rows = [row for name in names if (row := context.catalog.tool_row.get(name)) is not None]
        dropped = np.full(len(cosine), DROPS.index(Drop.PRUNED), dtype=np.int8)
        dropped[rows] = KEPT
        return ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            shortlisted=servers_of(context, rows),
            dropped=dropped,
            stages=(
                Stage("curated list", "tools", len(rows), len(cosine), _kept_note(len(names) - len(rows))),
                Stage("candidates", "tools", min(parameters.n, len(rows)), len(rows), f"Highest {measure}."),
            ),
            exposure=Exposure(int(context.tool_tokens[rows].sum())),
            no_candidate="No tool of the catalog is in the list; give `keep` the ids of some.",
        )


def curated(catalog: Catalog, size: int) -> tuple[str, ...]:
    """The stand-in for a curator: the first tool of each server, then each server's second, up to `size` tools.

    >>> from core.domain.catalog import Server, Tool
    >>> servers = [Server(s, tools=tuple(Tool(s, name) for name in names)) for s, names in (("a", "xyz"), ("b", "uv"))]
    >>> curated(Catalog("c", tuple(servers)), 3)
    ('a::x', 'b::u', 'a::y')
    """
    turns = zip_longest(*(server.tools for server in catalog.servers))
    return tuple(islice((tool.id for turn in turns for tool in turn if tool is not None), size))


def _names(catalog: Catalog, parameters: StaticPruningParameters) -> tuple[str, ...]:
    if parameters.keep == STAND_IN:
        return curated(catalog, parameters.size)
    return tuple(dict.fromkeys(name for name in re.split(r"\s*[,\n]\s*", parameters.keep) if name))


def _kept_note(unknown: int) -> str:
    note = "All of their schemas are exposed at every turn."
    return f"{note} {unknown} of the list's names are not in the catalog." if unknown else note


# Simple retrieval, the third baseline of Tool Attention: the most similar tools, each with its full schema.
#
#     active = top-k by cos(e(q), e(name and description of t))                      section 6.4, B3; k 10
#
# No threshold, no state, no summaries: k definitions are put before the model at every turn, however little they fit.


@dataclass(frozen=True)
class SimpleRetrievalParameters(SimilarityParameters):
    n: int = knob(10, Range(1, 50), group=SIMILARITY, symbol="k", label="Tools retrieved",
        help="Tools retrieved, each with its schema.")  # fmt: skip


class SimpleRetrieval(Router[SimpleRetrievalParameters]):
    """The ten tools whose texts are most similar, all of their schemas, no gate."""

    id = "simple_retrieval"
    title = "Simple retrieval"
    paper = f"The baseline B3 of: {TOOL_ATTENTION}"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: SimpleRetrievalParameters) -> RoutingResult:
        cosine, measure = query.tool_similarity(parameters), parameters.measure("cosine")
        count = min(parameters.n, len(cosine))
        return ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            stages=(Stage("retrieved", "tools", count, len(cosine), f"Highest {measure}; their schemas are exposed."),),
        )


# CLI lazy discovery, the fourth baseline of Tool Attention: tools behind a command that a model looks them up with.
#
#     prompt   = how to use the command, and one line for each server                 section 6.4, B4: the mcp2cli pattern
#     search   = the lines of the tools with the most words in common (BM25)          names and one-line help
#     describe = the usage of the tool that is to be called                           no JSON schema at any time
#
# The prompt never changes, so it is counted as cached. The output of search and describe is newly put before the model.
# The paper counts 480 tokens a turn and does not say of which texts. mcp2cli's own figures, 67 tokens of prompt, 16 for each
# line of a list and 80 to 200 for a usage, give as many for one server's list of 20 tools and one usage.
#
# Ours: the model's part. It searches for the words of the sub-task, reads the lines, of which similarity stands in for its
# judgement (no model is asked here), and has the best described. A tool that shares no word with the sub-task is not found,
# which is the weakness that the paper reports.

USAGE = """Tools are reached through the command `tools`, on these servers:
tools search WORDS  # finds tools: name and one line each
tools describe SERVER::TOOL  # what a tool takes
tools call SERVER::TOOL '{"argument": "value"}'
"""
LINE_CHARACTERS = 100


@dataclass(frozen=True)
class CliLazyParameters(SimilarityParameters):
    lines: int = knob(10, Range(1, 50), group=SIMILARITY, label="Lines printed",
        help="Tools that a search prints, a line each.")  # fmt: skip


class CliLazy(Router[CliLazyParameters]):
    """Only servers are in the prompt; tools are found by words with a search command and described one by one."""

    id = "cli_lazy"
    title = "CLI lazy discovery"
    paper = f"The baseline B4 of: {TOOL_ATTENTION}"
    fit_alone = True

    def decide(self, query: Query, context: RoutingContext, parameters: CliLazyParameters) -> RoutingResult:
        cosine = query.tool_similarity(parameters)
        words = cosine if parameters.similarity == FIT else query.bm25("tools")
        matches = top(words, cosine, context.tool_order, parameters.lines) & (words > 0)
        result = ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            shortlisted=servers_of(context, matches),
            dropped=np.where(matches, KEPT, DROPS.index(Drop.NOT_RETRIEVED)).astype(np.int8),
            no_candidate="The search prints no tool; say it in other words.",
        )
        tools, servers, lines = context.catalog.tools, len(context.server_names), np.flatnonzero(matches)
        search_size = sum(count_tokens(f"{search_line(tools[int(row)])}\n") for row in lines)
        usage_size = count_tokens(usage(tools[result.candidates[0]])) if result.candidates else 0
        prompt_size = _prompt_tokens(context.catalog)
        stages = (
            Stage("prompt", "servers", servers, servers, f"{prompt_size:,} tokens, the same at every turn."),
            Stage("search", "tools", len(lines), len(tools), f"Highest {parameters.measure('BM25 score')}; prints {search_size:,} tokens."),
            Stage(
                "describe", "tools", len(result.candidates), len(lines),
                f"Highest {parameters.measure('cosine')} of those lines; the first one's usage has {usage_size:,} tokens.",
            ),
        )  # fmt: skip
        return replace(result, stages=stages, exposure=Exposure(exposed=search_size + usage_size, cached=prompt_size))


def prompt(catalog: Catalog) -> str:
    """The constant part of the prompt, empty without tools.

    >>> prompt(Catalog("c", (Server("files", "Local files. All of them.", tools=(Tool("files", "read"),)),))).splitlines()[-1]
    'files: Local files.'
    """
    lines = [f"{server.name}: {_about(server)}" for server in catalog.servers if server.tools]
    return USAGE + "\n".join(lines) + "\n" if lines else ""


def search_line(tool: Tool) -> str:
    """The line that a search prints for a tool.

    >>> search_line(Tool("files", "read", "Reads a file. Slowly."))
    'files::read  Reads a file.'
    """
    about = " ".join(first_sentence(tool.description, LINE_CHARACTERS).split())
    return f"{tool.id}  {about}"


def usage(tool: Tool) -> str:
    """The output of `describe`: the description and each argument with its type.

    >>> print(usage(Tool("files", "read", "Reads a file.",
    ...     input_schema={"properties": {"path": {"type": "string", "description": "What to read"}}, "required": ["path"]})))
    files::read: Reads a file.
    path (string, required): What to read
    """
    return "\n".join((f"{tool.id}: {tool.description.strip()}", *_arguments(tool.input_schema or {})))


def _about(server: Server) -> str:
    return " ".join(first_sentence(server.description or server.tool_summary(), LINE_CHARACTERS).split())


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    required = schema.get("required")
    required_names = cast("list[Any]", required) if isinstance(required, list) else []
    for name, details in properties(schema).items():
        argument = mapping(details)
        kind = f"{argument.get('type', 'any')}{', required' if name in required_names else ''}"
        yield f"{name} ({kind}): {argument.get('description', '')}".removesuffix(": ")


@per_catalog
def _prompt_tokens(catalog: Catalog) -> int:
    return count_tokens(prompt(catalog))
