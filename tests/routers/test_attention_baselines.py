"""The baselines of Tool Attention: a fixed list, plain retrieval, and looking tools up with a command."""

from __future__ import annotations

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.tools import count_tokens
from core.domain.trace import Drop
from core.routers.baselines import (
    USAGE,
    CliLazy,
    SimpleRetrieval,
    StaticPruning,
    curated,
    prompt,
    search_line,
    usage,
)
from tests.cases import each
from tests.routers import worlds

COSINES = {"mail::send": 0.9, "mail::find": 0.6, "files::read": 0.5, "files::list": 0.3, "files::burn": -0.2}


@pytest.fixture
def context():
    """Five tools; BM25 in this world is ten times the cosine."""
    mail = Server(
        "mail", "Letters. And more.", tools=(worlds.tool("send", description="Sends it."), worlds.tool("find"))
    )
    files = Server("files", "Local files.", tools=tuple(worlds.tool(name) for name in ("read", "list", "burn")))
    return worlds.context(worlds.catalog(mail, files, Server("empty")), {}, COSINES, tokens=[100, 200, 300, 400, 500])


def decide(kind, context, **values):
    return kind().route("x", context, kind.parameters().replaced(values))


def ids(decision):
    return [decision.tools.ids[row] for row in decision.candidates]


# Simple retrieval


def test_the_k_most_similar_come_with_their_schemas_however_little_they_fit(context):
    decision = decide(SimpleRetrieval, context)
    assert ids(decision) == ["mail::send", "mail::find", "files::read", "files::list", "files::burn"]
    assert decision.exposure.exposed == 1500
    assert decide(SimpleRetrieval, context, n=2).exposure.exposed == 300
    assert decision.exposure.cached == 0


# Static pruning


def test_all_kept_definitions_are_exposed_whatever_is_asked(context):
    decision = decide(StaticPruning, context, keep="files::list, files::burn", n=1)
    assert ids(decision) == ["files::list"]
    assert decision.exposure.exposed == 900
    assert {decision.tool_at(row).dropped_by for row in (0, 1, 2)} == {Drop.PRUNED}
    assert decision.tool_at(4).dropped_by is Drop.OUTRANKED
    assert decision.servers.shortlisted.tolist() == [False, True, False]


def test_names_that_the_catalog_does_not_have_are_counted(context):
    decision = decide(StaticPruning, context, keep="files::list, files::fly, moon::walk")
    assert decision.stages[0].note.endswith("2 of the list's names are not in the catalog.")
    nothing = decide(StaticPruning, context, keep="none")
    assert nothing.candidates == ()
    assert nothing.reason == "No tool of the catalog is in the list; give `keep` the ids of some."
    assert nothing.exposure.exposed == 0


def test_the_stand_in_for_a_curator_takes_from_each_server_in_turn():
    def server(name, count):
        return Server(name, tools=tuple(Tool(name, f"t{n}") for n in range(count)))

    catalog = Catalog("c", (server("a", 3), server("b", 0), server("c", 1), server("d", 2)))
    assert curated(catalog, 5) == ("a::t0", "c::t0", "d::t0", "a::t1", "d::t1")
    assert len(curated(catalog, 30)) == 6


# CLI lazy discovery


def test_only_servers_are_in_the_prompt(context):
    text = prompt(context.catalog)
    assert text == f"{USAGE}mail: Letters.\nfiles: Local files.\n"
    assert decide(CliLazy, context).exposure.cached == count_tokens(text)


def test_a_search_prints_lines_and_the_best_is_described(context):
    decision = decide(CliLazy, context, lines=2)
    tools = context.catalog.tools
    printed = sum(count_tokens(f"{search_line(tool)}\n") for tool in tools[:2])
    assert ids(decision) == ["mail::send", "mail::find"]
    assert decision.exposure.exposed == printed + count_tokens(usage(tools[0]))
    assert decision.tool_at(2).dropped_by is Drop.NOT_RETRIEVED


@each("schema", [None, {}, {"properties": 7}, {"properties": {"a": 7}, "required": "a"}, {"required": [{}]}])
def test_a_schema_of_any_kind_has_a_usage(schema):
    assert usage(Tool("s", "t", "Does it.", input_schema=schema)).startswith("s::t: Does it.")
