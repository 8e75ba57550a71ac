"""Odd tools of a server for clients of the console: strict ones list the mirror, reports and pages name the tools, calls end at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click import Context
from mcp import Client

from core.app import App
from core.cli.catalogs import import_, print_report
from core.lint import lint
from dashboard.pages.catalog.connection_job import report_frame
from tests.gateway.conftest import talk
from tests.gateway.serving import served
from tests.servers.conftest import SERVERS
from tests.servers.odd_entries import LACKING, LEFT_OUT, LISTS, REPAIRED
from tests.world import open_test_app


def configuration(folder: Path) -> Path:
    """A client configuration with one odd server."""
    (folder / "lists.json").write_text(json.dumps(LISTS))
    words = ["-S", str(SERVERS / "odd.py"), "--lists", str(folder / "lists.json")]
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"odd": {"command": "${python}", "args": words}}}))
    return file


def odd_findings(app: App) -> set[str]:
    """The findings of the Catalog page's lint about the server's list."""
    return {finding.reason for finding in lint(app.catalogs.catalog("world")).findings if finding.rule == "odd_listing"}


def test_strict_clients_list_the_mirror_and_every_report_names_the_odd_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = configuration(tmp_path)
    with open_test_app(tmp_path / "wayfare.duckdb") as app:
        report = app.catalog_editor.discover_file(file, "world")
        (discovery,) = report.discoveries
        named = {*discovery.notes, *discovery.refused}
        with Context(import_) as command:
            command.meta["as_json"] = True
            print_report(report)
        printed = json.loads(capsys.readouterr().out)
        assert {entry["text"] for entry in printed["notes"]} | {entry["error"] for entry in printed["refused"]} == named
        with Context(import_) as command:
            command.meta["as_json"] = False
            print_report(report)
        text = capsys.readouterr().out
        assert all(f" {entry['name']} with " in text for entry in (*LACKING, *LEFT_OUT))
        assert odd_findings(app) == named
        assert all(sentence in report_frame([discovery])["error"][0] for sentence in named)
        (refreshed,) = app.servers.refresh("world", app.catalogs.catalog("world").servers)
        assert {*refreshed.notes, *refreshed.refused} == named

        async def script(client: Client) -> list[str]:
            listed = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert "anyOf" not in json.dumps(listed["in_multiplying"].input_schema)
            assert listed["out_multiplying"].output_schema is None
            for name in ("good", "in_empty", "in_multiplying", "out_multiplying"):
                result: Any = await client.call_tool(name, {"x": "text"}, read_timeout_seconds=10)
                assert not result.is_error, name
            return sorted(listed)

        with served(app, "world") as url:
            for mode in ("legacy", "auto"):
                tools = talk(f"{url}/mcp?mirror=*", script, mode=mode)
                assert {entry["name"] for entry in (*REPAIRED, *LACKING)} | {"good"} < set(tools)
    with open_test_app(tmp_path / "wayfare.duckdb") as app:
        assert odd_findings(app) == named
