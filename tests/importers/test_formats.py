"""Each format's own matters: spellings, prices, remarks, what is left out, what has to be asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest

from core.domain.catalog import Connection, ToolHints
from core.domain.errors import CatalogError
from core.importers import read_document
from core.importers.reading import BrokenDocumentError
from tests.cases import each
from tests.importers.documents import reached, read, remarks


def test_plain_reads_every_number() -> None:
    tool = {
        "name": "get",
        "title": "Get",
        "description": "Gets\x00 it.\r\n\tNow.",
        "input_schema": {"type": "object"},
        "outputSchema": {"type": "string"},
        "annotations": {"readOnlyHint": True, "openWorldHint": False, "idempotentHint": None},
        "price_usd": 0,
        "latency_s": 1,
        "success": 1,
        "tier": "low",
        "tier_reason": "a look-up",
    }
    numbers = {"ask_usd": 0.1, "conn_s": 0.2, "call_s": 0.3, "success": 0.9, "success_variance": 0.01}
    document = {"servers": [{"name": "w", "description": "W.", "category": "Nature", "tools": [tool], **numbers}]}
    imported = read(document)
    server = imported.servers[0]
    assert {name: getattr(server, name) for name in numbers} == numbers
    assert (server.post_accept_failure, server.category, server.connection) == (None, "Nature", None)
    parsed = server.tools[0]
    assert (parsed.id, parsed.title, parsed.description) == ("w::get", "Get", "Gets it.\n\tNow.")
    assert (parsed.input_schema, parsed.output_schema) == ({"type": "object"}, {"type": "string"})
    assert parsed.hints == ToolHints(read_only=True, open_world=False)
    assert (parsed.price_usd, parsed.latency_s, parsed.success, parsed.tier) == (0.0, 1.0, 1.0, "low")
    assert remarks(imported) == ["description: 1 control character removed"]
    assert imported.notes[0].where == 'a.json: servers[0] "w" → tools[0] "get"'


@each(("says", "virtual"), [({"virtual": True}, True), ({"virtual": False}, False), ({}, False)])
def test_plain_takes_the_mark_of_a_virtual_server(says: dict[str, Any], virtual: bool) -> None:
    assert read({"servers": [{"name": "w", "tools": [], **says}]}).servers[0].virtual is virtual


def test_plain_refuses_a_mark_that_is_none() -> None:
    with pytest.raises(CatalogError, match="virtual is text; give true or false"):
        read({"servers": [{"name": "w", "tools": [], "virtual": "yes"}]})


@each(
    ("says", "off"),
    [
        ({}, False),
        ({"switched_off": True}, True),
        ({"switched_off": False}, False),
        ({"connection": {"transport": "stdio", "command": "w", "quarantined": True}}, True),
    ],
)
def test_plain_takes_a_server_that_is_switched_off_or_held(says: dict[str, Any], off: bool) -> None:
    imported = read({"servers": [{"name": "w", "tools": [], **says}]})
    assert ([server.name for server in imported.off] == ["w"]) is off
    assert ("it is switched off there: it is switched off here, too" in remarks(imported)) is off


def test_plain_takes_one_server_alone() -> None:
    assert [tool.id for tool in read({"name": "s", "tools": [{"name": "t"}]}).servers[0].tools] == ["s::t"]
    with pytest.raises(CatalogError, match=r"^a\.json: tools\[0\]: name is empty; give a name\.$"):
        read({"name": "s", "tools": [{"name": ""}]})


def test_plain_says_what_is_missing() -> None:
    tools = [{"name": "a"}, {"name": "b", "description": None, "inputSchema": {"type": 7}, "price_usd": None}]
    imported = read({"servers": [{"name": "s", "description": None, "tools": tools}, {"name": "t", "tools": []}]})
    assert remarks(imported) == [
        "no description: its profile is made from its tools",
        "no description: it is found by its name alone",
        "no input schema: its arguments are not checked",
        "no description: it is found by its name alone",
        "inputSchema is not a valid JSON Schema: arguments are not checked against it",
        "no description: its profile is made from its tools",
        "no tools and no connection: nothing can be routed to it",
    ]
    assert imported.servers[0].tools[1].price_usd is None
    assert imported.needs_discovery == ()


@each(
    "schema",
    [
        {"type": 7},
        {"$schema": {}},
        {"$schema": 5},
        {"pattern": "a{99999999999999}"},
        {"pattern": "("},
        {"required": "x"},
    ],
)
def test_a_schema_that_is_none_is_a_remark(schema: Any) -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a", "inputSchema": schema}]}]})
    assert imported.servers[0].tools[0].input_schema == schema
    assert any("is not a valid JSON Schema" in text for text in remarks(imported))


def test_markup_in_names_is_text() -> None:
    imported = read({"servers": [{"name": "<script>", "tools": [{"name": "*b*"}]}]})
    assert imported.servers[0].tools[0].id == "<script>::*b*"


def test_plain_connection_and_discovery() -> None:
    imported = read({"servers": [{"name": "s", "connection": {"command": "run", "env": {"K": "v"}}}]})
    assert reached(imported) == Connection("stdio", command="run", env={"K": "${secret:s/K}"})
    assert imported.needs_discovery == ("s",)


COST = {"default_cost_per_query": 0.01, "tool_name_to_cost_per_query": {"a": 0, "z": 0.5}}


@each(
    ("server", "tool", "price"),
    [
        ({}, {}, None),
        ({"mcp_server_cost_info": COST}, {"name": "b"}, 0.01),
        ({"mcp_server_cost_info": COST}, {}, 0.0),
        ({"mcp_info": {"mcp_server_cost_info": COST}}, {"name": "b"}, 0.01),
        ({"_meta": {"mcp_server_cost_info": COST}}, {}, 0.0),
        ({"_meta": {"price_usd": 0.2}}, {}, 0.2),
        ({"_meta": {"org.x/price": {"priceUsd": 0.3}}}, {}, 0.3),
        ({"_meta": {"price_usd": 0.2}}, {"_meta": {"price_usd": 0}}, 0.0),
        ({"mcp_server_cost_info": COST}, {"price_usd": 0.7, "_meta": {"price_usd": 0.1}}, 0.7),
    ],
)
def test_prices(server: dict[str, Any], tool: dict[str, Any], price: float | None) -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a", **tool}], **server}]})
    assert imported.servers[0].tools[0].price_usd == price


def test_a_price_for_a_tool_that_is_not_there_is_remarked() -> None:
    imported = read({"servers": [{"name": "s", "tools": [{"name": "a"}], "mcp_server_cost_info": COST}]})
    assert 'a price is given for "z", which is none of its tools' in remarks(imported)


def preconditions_of(preconditions: object):
    tool = {"name": "send", "description": "Sends.", "inputSchema": {}, "preconditions": preconditions}
    document = {"servers": [{"name": "mail", "description": "Mail.", "tools": [tool]}]}
    return read_document(json.dumps(document), source="a.json").servers[0].tools[0].preconditions


def test_they_are_kept_in_their_one_form_once_each():
    preconditions = preconditions_of(
        ["is_authenticated('mail:write')", 'is_authenticated(scope="mail:write")', 'milestone_reached("ok")']
    )
    assert preconditions == ('is_authenticated(scope="mail:write")', 'milestone_reached(name="ok")')


@each(
    ("preconditions", "said"),
    [
        ("is_authenticated('a')", r"preconditions is text; give a list"),
        ([7], r"preconditions\[0\] is a number; give text"),
        (['is_authenticated("a")', "open('x')"], r"preconditions\[1\] is none of is_authenticated"),
        (['is_authenticated(name="a")'], r"preconditions\[0\] names its argument name; is_authenticated takes scope"),
    ],
)
def test_what_is_none_is_a_fault_with_its_place(preconditions, said):
    with pytest.raises(BrokenDocumentError, match=r'tools\[0\] "send": ' + said):
        preconditions_of(preconditions)
