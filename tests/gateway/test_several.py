"""Several catalogs behind one address: one search asks all, a call goes to the right one, each keeps its own rules."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from mcp import Client

from core.app import App
from core.domain.errors import CatalogError, ParameterError
from core.domain.events import ActivityFilter
from core.gateway.base import EndpointOptions
from core.governance.policy import Scope
from tests.gateway.conftest import ask, refused, served, talk
from tests.governance.conftest import policy
from tests.importing import import_text
from tests.world import RAW, document


@pytest.fixture
def both(app: App) -> App:
    """Two catalogs with a server of the same name, which answers, and a tool each that the other lacks."""
    raw = {"name": "raw", "description": "Echo words.", "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]}}  # fmt: skip
    for name, topic in (("home", "water"), ("work", "invoice")):
        figures = {"price_usd": 0.002, "latency_s": 0.5, "success": 0.8}
        tools = [{"name": "echo", "description": "Echo words back.", "annotations": {"readOnlyHint": True}, **figures}]
        plants = [{"name": topic, "description": f"Look after the {topic}.", **figures}]
        servers = [
            {**raw, "tools": tools},
            {"name": f"{topic}-desk", "description": f"All about {topic}.", "tools": plants},
        ]
        import_text(app.catalog_editor, json.dumps({"servers": servers}), name)
    return app


def both_served(app: App, **options: Any) -> Any:
    return served(app, catalog="home", further=("work",), **options)


def test_one_search_asks_all_and_a_call_under_it_is_learnt_in_its_own_catalog(both: App) -> None:
    async def job(client: Client) -> None:
        search = await ask(client, "search_tools", task="Look after the invoice.", n=3.0)
        names = [candidate["tool"] for candidate in search["candidates"]]
        assert names[0] == "work/invoice-desk::invoice"
        assert {name.partition("/")[0] for name in names} == {"home", "work"}
        assert len(names) == 3
        assert "Catalog home: " in search["left_out"]
        assert "Catalog work: " in search["left_out"]
        echo = await ask(client, "search_tools", task="Echo words back.")
        for catalog in ("work", "home"):
            tool, route = f"{catalog}/raw::echo", echo["route_id"]
            call = await ask(client, "execute_tool", tool=tool, arguments={"text": "hi"}, route_id=route)
            assert call["tool"] == tool
            report = await ask(client, "report_outcome", route_id=route, useful=True)
            assert report["tool"].partition("/")[2] == "raw::echo"
        tools = ["home/water-desk::water", "invoice-desk::invoice"]  # without a catalog: only one has it
        answer = await ask(client, "describe_tool", tools=tools)
        assert [row["tool"] for row in answer["tools"]] == ["home/water-desk::water", "work/invoice-desk::invoice"]
        either = await refused(client, "execute_tool", tool="raw::echo")
        assert either["why"] == "More than one catalog has 'raw::echo'."
        nowhere = await refused(client, "execute_tool", tool="work/raw::fly")
        assert nowhere["why"].startswith("Catalog 'work': There is no tool")

    talk(both_served(both, router="rag_mcp"), job)
    both.store.events.flush()
    for catalog in ("home", "work"):
        calls = both.store.activity.calls(ActivityFilter(catalog=catalog))
        assert list(calls["tool"]) == ["echo"]


def test_a_catalog_outside_the_scope_is_left_out_and_not_named_otherwise(both: App) -> None:
    both.governance.clients.make("ann", Scope(catalogs=("home",)), origin="test")

    async def job(client: Client) -> None:
        search = await ask(client, "search_tools", task="Look after the invoice.")
        assert {candidate["tool"].partition("/")[0] for candidate in search["candidates"]} == {"home"}
        assert "invoice-desk" not in json.dumps(search)
        assert (await refused(client, "describe_tool", tools=["invoice-desk::invoice"]))["error"] == "unknown_tool"
        assert (await refused(client, "describe_tool", tools=["work/invoice-desk::invoice"]))["error"] == "not_allowed"
        call = await ask(client, "execute_tool", tool="home/raw::echo", arguments={"text": "word " * 500})
        assert (await ask(client, "read_result", handle=call["result"]["handle"]))["text"].startswith('{"text": "word')

    talk(served(both, client="ann", catalog="work", further=("home",)), job)


def test_a_name_that_is_older_than_the_rule_of_its_signs_is_searched_and_kept(both: App) -> None:
    for name in ("a/b", "a+b"):
        with pytest.raises(CatalogError, match="cannot hold / or"):
            import_text(both.catalog_editor, document(), name)
    both.store.catalogs.save_catalog(replace(both.catalogs.catalog("work"), name="a/b"), "test")
    import_text(both.catalog_editor, document(), "a/b")

    async def job(client: Client) -> None:
        search = await ask(client, "search_tools", task="Echo words back.")
        assert {"a/b/raw::echo", "home/raw::echo"} <= {candidate["tool"] for candidate in search["candidates"]}
        assert "a/b/" in search["route_id"]

    talk(served(both, catalog="a/b", further=("home",)), job)
    both.catalogs.remove("a/b")


def test_a_request_to_several_catalogs_counts_once(both: App) -> None:
    import_text(both.catalog_editor, document(), "third")
    policy(both, per_minute=2)

    async def job(client: Client) -> None:
        search = await ask(client, "search_tools", task="Echo words.")
        assert "requests a minute" not in search["left_out"]
        tools = [f"{catalog}/raw::echo" for catalog in ("home", "work", "third")]
        assert len((await ask(client, "describe_tool", tools=tools))["tools"]) == 3
        assert (await refused(client, "search_tools", task="Echo words."))["error"] == "rate_limited"

    talk(served(both, catalog="home", further=("work", "third")), job)


def test_a_mirror_shows_one_catalog() -> None:
    with pytest.raises(ParameterError, match="Name one catalog"):
        EndpointOptions.of_pairs([("catalog", "home"), ("catalog", "work"), ("mirror", "raw")])
