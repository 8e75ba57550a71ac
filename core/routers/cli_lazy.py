"""CLI lazy discovery, the fourth baseline of Tool Attention: tools behind a command that a model looks them up with.

    prompt   = how to use the command, and one line for each server                 section 6.4, B4: the mcp2cli pattern
    search   = the lines of the tools with the most words in common (BM25)          names and one-line help
    describe = the usage of the tool that is to be called                           no JSON schema at any time

The prompt is the same at every turn, so it is counted as cached; what search and describe print is newly put before the
model. The paper counts 480 tokens a turn and does not say of what. mcp2cli's own figures, 67 tokens of prompt, 16 for each
line of a list and 80 to 200 for a usage, give as many for one server's list of 20 tools and one usage.

Ours: the model's part. It searches for the words of the sub-task, reads the lines, of which similarity stands in for its
judgement (no model is asked here), and has the best described. A tool that shares no word with the sub-task is not found,
which is the weakness that the paper reports.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from core.domain.catalog import Catalog, Server, Tool, first_sentence
from core.domain.decision import Exposure, Stage
from core.domain.params import Range, knob
from core.domain.trace import DROPS, KEPT, Drop
from core.routers.base import Router, RoutingResult
from core.routers.context import Query, RoutingContext
from core.routers.papers import TOOL_ATTENTION
from core.routers.parameters import SIMILARITY, CandidateParameters
from core.routers.per_catalog import per_catalog
from core.routers.ranked_result import cosine_layers, ranked_result, servers_of, top
from core.shared.tokens import count_tokens

USAGE = """Tools are reached through the command `tools`, on these servers:
tools search WORDS  # finds tools: name and one line each
tools describe SERVER::TOOL  # what a tool takes
tools call SERVER::TOOL '{"argument": "value"}'
"""
LINE_CHARACTERS = 100


@dataclass(frozen=True)
class CliLazyParameters(CandidateParameters):
    """How much a search prints."""

    lines: int = knob(10, Range(1, 50), group=SIMILARITY, label="Lines printed",
        help="Tools that a search prints, a line each.")  # fmt: skip


class CliLazy(Router[CliLazyParameters]):
    """Only servers are in the prompt; tools are found by words with a search command and described one by one."""

    id = "cli_lazy"
    title = "CLI lazy discovery"
    paper = f"The baseline B4 of: {TOOL_ATTENTION}"
    score = "cosine"

    def decide(self, query: Query, context: RoutingContext, parameters: CliLazyParameters) -> RoutingResult:
        """Search by words, read the lines, describe the best."""
        words, cosine = query.bm25("tools"), query.cosines("tools", "full")
        found = top(words, cosine, context.tool_order, parameters.lines) & (words > 0)
        result = ranked_result(
            context,
            *cosine_layers(context, cosine),
            n=parameters.n,
            shortlisted=servers_of(context, found),
            dropped=np.where(found, KEPT, DROPS.index(Drop.NOT_RETRIEVED)).astype(np.int8),
            score=self.score,
            no_candidate="No tool has a word in common with the sub-task; say it in other words.",
        )
        tools, servers, lines = context.catalog.tools, len(context.server_names), np.flatnonzero(found)
        printed = sum(count_tokens(f"{search_line(tools[row])}\n") for row in lines)
        described = count_tokens(usage(tools[result.candidates[0]])) if result.candidates else 0
        always = _prompt_tokens(context.catalog)
        stages = (
            Stage("prompt", "servers", servers, servers, f"{always:,} tokens, the same at every turn."),
            Stage("search", "tools", len(lines), len(tools), f"Most words in common (BM25); prints {printed:,} tokens."),
            Stage(
                "describe", "tools", len(result.candidates), len(lines),
                f"Highest cosine of those lines; the first one's usage has {described:,} tokens.",
            ),
        )  # fmt: skip
        return replace(result, stages=stages, exposure=Exposure(exposed=printed + described, cached=always))


def prompt(catalog: Catalog) -> str:
    """What is always in the prompt; nothing where there are no tools.

    >>> prompt(Catalog("c", (Server("files", "Local files. All of them.", tools=(Tool("files", "read"),)),))).splitlines()[-1]
    'files: Local files.'
    """
    lines = [f"{server.name}: {_about(server)}" for server in catalog.servers if server.tools]
    return USAGE + "\n".join(lines) + "\n" if lines else ""


def search_line(tool: Tool) -> str:
    """One line of what a search prints.

    >>> search_line(Tool("files", "read", "Reads a file. Slowly."))
    'files::read  Reads a file.'
    """
    about = " ".join(first_sentence(tool.description, LINE_CHARACTERS).split())
    return f"{tool.id}  {about}"


def usage(tool: Tool) -> str:
    """What `describe` prints: the description and each argument with its type.

    >>> print(usage(Tool("files", "read", "Reads a file.",
    ...     input_schema={"properties": {"path": {"type": "string", "description": "What to read"}}, "required": ["path"]})))
    files::read: Reads a file.
    path (string, required): What to read
    """
    return "\n".join((f"{tool.id}: {tool.description.strip()}", *_arguments(tool.input_schema or {})))


def _about(server: Server) -> str:
    return " ".join(first_sentence(server.description or server.tool_summary(), LINE_CHARACTERS).split())


def _arguments(schema: Mapping[str, Any]) -> Iterator[str]:
    declared, required = schema.get("properties"), schema.get("required")
    must = cast("list[Any]", required) if isinstance(required, list) else []
    for name, details in cast("Mapping[str, Any]", declared).items() if isinstance(declared, Mapping) else ():
        known: Mapping[str, Any] = cast("Mapping[str, Any]", details) if isinstance(details, Mapping) else {}
        kind = f"{known.get('type', 'any')}{', required' if name in must else ''}"
        yield f"{name} ({kind}): {known.get('description', '')}".removesuffix(": ")


@per_catalog
def _prompt_tokens(catalog: Catalog) -> int:
    return count_tokens(prompt(catalog))
