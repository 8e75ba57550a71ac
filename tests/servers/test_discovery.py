"""Servers list their tools; a broken server harms only itself."""

from __future__ import annotations

from typing import Any

import mcp_types

from core.domain.catalog import Connection, Server, ServerId, Tool
from core.servers.discovery import described, discover
from tests.cases import each

from .conftest import Bench


def wire(*names: str) -> list[mcp_types.Tool]:
    """Listed tools of these names."""
    return [mcp_types.Tool(name=name, input_schema={"type": "object"}) for name in names]


def test_good_and_bad_servers_side_by_side(bench: Bench, raw: Any, sample: Connection) -> None:
    servers = [
        Server("sample", connection=sample),
        Server("dead", connection=raw("--exit")),
        Server("raw", description="Ours.", connection=raw("--tools", "5")),
        Server("double", connection=raw("--duplicate")),
        Server("control", connection=raw("--control")),
        Server("endless", connection=raw("--endless")),
        Server("unlisted", connection=raw("--unlisted")),
        Server("nowhere"),
        Server("secretive", connection=Connection("http", url="${secret:url}")),
    ]
    bench.pool.vault.put(ServerId("", "raw"), "API_KEY", "Does extra0.")
    discoveries = {discovery.name: discovery for discovery in discover(bench.pool, "", servers)}
    assert list(discoveries) == [server.name for server in servers]
    good = discoveries["sample"].server
    assert good is not None
    assert (good.title, good.description) == ("Sample", "A server for tests.")
    echo = next(tool for tool in good.tools if tool.name == "echo")
    assert (echo.description, echo.title, echo.hints.read_only) == ("Gives the text back.", "From annotations", True)
    assert echo.input_schema is not None
    assert echo.output_schema is not None
    assert discoveries["sample"].connect_s is not None
    paged = discoveries["raw"].server
    assert paged is not None
    assert (len(paged.tools), paged.description) == (15, "Ours.")
    assert [tool.description for tool in paged.tools[-5:-3]] == ["•••", "Does extra1."]
    errors = {name: discovery.error for name, discovery in discoveries.items() if discovery.server is None}
    assert set(errors) == {"dead", "nowhere"}
    assert "no licence for you" in errors["dead"]
    assert discoveries["double"].refused == ("Server double lists two tools named echo; the first one was taken.",)
    assert "unusable name: 'bad\\x07name'" in discoveries["control"].refused[0]
    endless = discoveries["endless"].server
    assert endless is not None
    assert [tool.name for tool in endless.tools] == ["echo", "pid"]
    assert (discoveries["unlisted"].error, discoveries["unlisted"].server.tools) == ("", ())
    assert "has no command or URL" in errors["nowhere"]
    assert "${secret:url}" in discoveries["secretive"].error  # it is kept, and waits for its value


def test_what_the_catalog_declares_stays() -> None:
    declared = Tool("s", "a", description="old", price_usd=0.01, success=0.9, tier="low", tier_reason="ours")
    server, refused = described(Server("s", title="T", tools=(declared,)), wire("a", "b"), None, "  How to use me. ")
    assert refused == ()
    assert [(tool.name, tool.price_usd, tool.tier) for tool in server.tools] == [("a", 0.01, "low"), ("b", None, "")]
    assert (server.tools[0].description, server.title, server.description) == ("", "T", "How to use me.")


def test_the_server_speaks_for_itself_only_where_the_catalog_is_silent() -> None:
    info = mcp_types.Implementation(name="s", version="1", title="Theirs", description="Their words.")
    assert described(Server("s", description="Ours."), [], info, "")[0].description == "Ours."
    assert described(Server("s"), [], info, "instructions")[0].description == "Their words."
    assert described(Server("s"), [], info, "")[0].title == "Theirs"


def test_a_tool_that_the_configuration_switches_off_is_left_out() -> None:
    off = Connection("stdio", command="x", without=("b",))
    server, refused = described(Server("s", connection=off), wire("a", "b"), None, "")
    assert ([tool.name for tool in server.tools], refused) == (["a"], ())


@each("name", ["", "a\nb", "a\u202eb"])
def test_unusable_names_are_refused(name: str) -> None:
    server, refused = described(Server("s"), wire("good", name), None, "")
    assert [tool.name for tool in server.tools] == ["good"]
    assert "unusable name" in refused[0]
