"""Each rule on names, descriptions, schemas, sizes, hints, prices and duplicates: what it finds, and what it leaves."""

from __future__ import annotations

import numpy as np
import pytest

from core.domain.catalog import Catalog, Server, ToolHints
from core.lint.schemas import CATALOG_TOKENS, SERVER_TOKENS, TOOL_TOKENS
from core.lint.texts import lookalike
from tests.cases import each
from tests.lint.conftest import catalog, found, tool


@each(
    ("text", "rule"),
    [
        ("", "missing_description"),
        ("  \n", "missing_description"),
        ("Fetches.", "vague_description"),
        ("A useful tool that performs various operations on data", "vague_description"),
        ("TODO: description here please no", None),
        ("TODO description here", "vague_description"),
        ("Convert a length", "repeats_name"),
        ("Converts lengths with this tool", "repeats_name"),
        ("Converts a length between two units.", None),
        ("获取所有菜谱", None),
        ("菜谱", "vague_description"),
        ("x" * 2000 + " y z", "long_description"),
    ],
)
def test_descriptions(text, rule):
    subject = catalog(tool(description=text))
    rules = ("missing_description", "vague_description", "repeats_name", "long_description")
    assert [name for name in rules if found(name, subject)] == ([rule] if rule else [])


def test_a_server_without_a_description():
    assert [f.server for f in found("missing_server_description", catalog(tool(), descriptions={"units": " "}))] == [
        "units"
    ]


def schema(**properties):
    return {"type": "object", "properties": properties}


@each(
    ("given", "rule"),
    [
        (None, "missing_schema"),
        ({}, None),
        (schema(), None),
        ({"type": "array"}, "broken_schema"),
        ({"type": "object", "properties": {"a": {"type": "nothing", "description": "A."}}}, "broken_schema"),
        ({"type": "object", "properties": {"n": {"description": "n", "type": "integer", "exclusiveMinimum": True}}}, "broken_schema"),
        ({**schema(a={"type": "string", "description": "A."}), "required": ["b"]}, "unknown_required"),
        ({**schema(a={"type": "string", "description": "A."}), "required": ["a"]}, None),
        ({"required": ["b"], "anyOf": [{"properties": {"b": {}}}]}, None),
        (schema(a={"description": "A."}), "untyped_parameters"),
        (schema(a={"enum": ["x"], "description": "A."}), None),
        (schema(a={"anyOf": [{"type": "null"}, {"type": "string", "description": "A."}]}), None),
        (schema(a={"type": "string"}), "undescribed_parameters"),
        (schema(a={"type": "string", "title": "A"}), "undescribed_parameters"),
        ({**schema(a={"$ref": "#/$defs/A"}), "$defs": {"A": {"type": "string", "description": "A."}}}, None),
    ],
)  # fmt: skip
def test_schemas(given, rule):
    subject = catalog(tool(input_schema=given))
    rules = ("missing_schema", "broken_schema", "unknown_required", "untyped_parameters", "undescribed_parameters")
    assert [name for name in rules if found(name, subject)] == ([rule] if rule else [])


def test_what_parameters_lack_is_counted():
    parameters = schema(
        **{f"p{n}": {"type": "string"} for n in range(9)}, said={"type": "string", "description": "Yes."}
    )
    (finding,) = found("undescribed_parameters", catalog(tool(input_schema=parameters)))
    assert finding.reason == "9 of 10 parameters have no description: p0, p1, p2, p3, p4, p5 and 3 more."


def test_sizes_are_counted_in_tokens():
    tools = [tool("a"), tool("b"), tool("c", server="other")]
    subject = catalog(*tools)

    def sizes(*tokens):
        return [
            len(found(rule, subject, count_tokens=lambda: np.array(tokens)))
            for rule in ("large_tool", "large_server", "large_catalog")
        ]

    assert sizes(TOOL_TOKENS, 1, 1) == [0, 0, 0]
    assert sizes(TOOL_TOKENS + 1, 1, 1) == [1, 0, 0]
    assert sizes(SERVER_TOKENS, 0, SERVER_TOKENS) == [2, 0, 0]
    assert sizes(SERVER_TOKENS, 1, 0) == [1, 1, 0]
    assert sizes(CATALOG_TOKENS, 0, 1) == [1, 1, 1]


def test_without_counts_tokens_are_counted_here():
    subject = catalog(tool("a", "word " * 1100), tool("b"))
    assert [finding.tool for finding in found("large_tool", subject)] == ["a"]


HINTS = {  # name, read-only, destructive: which rules
    ("delete_note", None, None): ["unmarked_destruction", "missing_hints"],
    ("delete_note", None, True): [],
    ("delete_note", False, None): [],
    ("delete_note", False, False): ["doubtful_hints"],
    ("delete_note", True, None): ["contradictory_hints"],
    ("jira_delete_issue", True, False): ["contradictory_hints"],
    ("clearCache", None, None): ["unmarked_destruction", "missing_hints"],
    ("remove_background", True, None): ["doubtful_hints"],
    ("create_note", True, None): ["doubtful_hints"],
    ("list_deleted_notes", True, None): [],
    ("get_delete_status", None, None): ["missing_hints"],
    ("read_note", True, True): ["contradictory_hints"],
    ("read_note", True, False): [],
    ("undelete_note", None, None): ["missing_hints"],
}


@each(("case", "rules"), HINTS.items(), ids=map(str, HINTS))
def test_hints(case, rules):
    name, read_only, destructive = case
    subject = catalog(tool(name, hints=ToolHints(read_only, destructive)))
    hint_rules = ("contradictory_hints", "unmarked_destruction", "doubtful_hints", "missing_hints")
    assert [rule for rule in hint_rules if found(rule, subject)] == rules


def test_missing_hints_are_one_finding_a_server():
    reader = tool("read", hints=ToolHints(True))
    (units, other) = found("missing_hints", catalog(reader, tool("a"), tool("b"), tool("c", server="other")))
    assert (units.server, units.reason) == ("units", "2 of its 3 tools have no hint about side effects.")
    assert (other.server, other.reason) == ("other", "All of its tools have no hint about side effects.")


def test_prices_that_are_missing():
    free, unpriced, other = tool("a", price_usd=0.0), tool("b"), tool("c", server="other")
    assert [f.server for f in found("unpriced", catalog(free, unpriced))] == ["units"]
    assert [f.reason for f in found("unpriced", catalog(unpriced, other))] == ["None of the 2 tools has a price."]
    assert not found("unpriced", catalog(unpriced, other), has_price=np.array([True, True]))
    assert not found("unpriced", Catalog("empty"))


def test_missing_prices_and_times():
    measured = Server("known", tools=(tool(server="known", latency_s=0.1),))
    silent = Server("silent", tools=(tool(server="silent"),))
    assert [f.server for f in found("missing_figures", Catalog("c", (measured, silent)))] == ["silent"]
    assert [f.server for f in found("missing_figures", Catalog("c", (silent, Server("too"))))] == [""]
    assert not found("missing_figures", Catalog("c", (measured, Server("zero", success=0.0))))


def test_near_duplicates_name_their_nearest_partner_once(index):
    subject = catalog(
        tool("get_page", "Reads a page of the web.", server="one"),
        tool("fetch", "Reads a page of the web.", server="two"),
        tool("load", "Reads one page of the web.", server="three"),
        tool("send_mail", "Posts a letter to somebody.", server="three"),
    )
    findings = found("near_duplicates", subject, index=index(subject))
    first = findings[0]
    assert (first.server, first.tool, first.other) == ("one", "get_page", "two::fetch")
    assert "1.00" in first.reason
    assert all("send_mail" not in (f.tool + f.other) for f in findings)
    assert not found("similar_siblings", subject, index=index(subject))


def test_similar_siblings_are_of_one_server(index):
    subject = catalog(
        tool("lpush", "Pushes a value onto a list."),
        tool("rpush", "Pushes a value onto a list."),
        tool("pop", "Takes it."),
    )
    (finding,) = found("similar_siblings", subject, index=index(subject))
    assert (finding.tool, finding.other) == ("lpush", "units::rpush")
    assert not found("near_duplicates", subject, index=index(subject))


def test_tools_without_a_description_are_no_duplicates(index):
    subject = catalog(tool("a", ""), tool("b", ""), tool("c", "", server="other"))
    assert not found("near_duplicates", subject, index=index(subject))
    assert not found("similar_siblings", subject, index=index(subject))


EMPTY = "run do_it tool1 f x2 executeTool process Tool 3f2a9c1be4d7 f81d4fae-7dec-11d0-a765-00a0c91e6bf6 42 __"
SPEAKING = "ls hget start_process run_command search 查询天气 поиск feedback decade get x_ray"


def test_a_name_that_says_nothing():
    assert [name for name in f"{EMPTY} {SPEAKING}".split() if found("empty_name", catalog(tool(name)))] == EMPTY.split()


def test_one_name_on_several_servers():
    subject = catalog(
        *(tool("Get-Page", server=f"s{n}") for n in range(9)), tool("getPage", server="t"), tool("put", server="t")
    )
    (finding,) = found("shared_name", subject)
    assert (finding.server, finding.tool, finding.other) == ("s0", "Get-Page", "s1::Get-Page")
    assert finding.reason == "10 servers have a tool of this name: s0, s1, s2, s3, s4, s5 and 4 more."
    (pair,) = found("shared_name", catalog(tool("put"), tool("put", server="t")))
    assert pair.other == "t::put"


def test_one_name_twice_in_a_server():
    (finding,) = found("name_twice", catalog(tool("get_page"), tool("getPage"), tool("get_pages")))
    assert (finding.tool, finding.other) == ("getPage", "units::get_page")
    assert not found("name_twice", catalog(tool("get_page"), tool("getPage", server="other")))


def test_names_without_letters_do_not_collide():
    assert not found("name_twice", catalog(tool("__"), tool("--")))


IMITATIONS = {
    "rеad_file": "read_file",
    "read_fi1e": "read_file",
    "1ist": "list",
    "rnove": "move",
    "ema1l": "email",
    "g0": "go",
}


def test_a_name_that_imitates_another():
    for name, real in IMITATIONS.items():
        (finding,) = found("lookalike_name", catalog(tool(real, server="a"), tool(name, server="b")))
        assert (finding.server, finding.tool, finding.other) == ("b", name, f"a::{real}")


@pytest.mark.parametrize("name", ["rеad", "sеarch"])
def test_a_name_of_two_scripts(name):
    (finding,) = found("lookalike_name", catalog(tool(name)))
    assert "U+0435" in finding.reason


OTHERS = {"поиск": "search", "step_1": "step_l", "v10": "vio", "get_modern": "get_old", "Δx": "x", "café": "cafe"}


def test_names_that_imitate_nothing():
    for name, other in OTHERS.items():
        assert not found("lookalike_name", catalog(tool(name, server="a"), tool(other, server="b")))


@each(
    ("one", "other", "near"),
    [
        ("github", "githuub", True),
        ("github", "gthub", True),
        ("github", "gitbub", True),
        ("GitHub", "git-hub", True),
        ("search-1", "search-2", False),
        ("time", "lime", False),
        ("github", "gitlab", False),
        ("brave-search", "brave-search-legacy", False),
    ],
)
def test_server_names_that_nearly_agree(one, other, near):
    assert bool(found("similar_servers", catalog(tool(server=one), tool(server=other)))) is near


def test_a_letter_that_is_drawn_like_a_latin_one():
    latin_of = {"е": "e", "Е": "e", "І": "i", "к": "k", "К": "k", "м": "m", "т": "t", "ο": "o", "Ν": "n", "ս": "u"}
    assert {letter: lookalike(letter) for letter in latin_of} == latin_of
    assert [letter for letter in "aéßжΔμ漢اו०1 " if lookalike(letter)] == []
