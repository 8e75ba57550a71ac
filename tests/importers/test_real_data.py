"""Real data: catalogs of real servers, a real client configuration, sub-tasks that a model wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.importers import read_files, read_tasks

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"{DATA} is absent: the real data are not part of the project"
)


def test_real_catalogs_and_configurations_are_read() -> None:
    for name, expected in {
        "livemcpbench/tools.json": ("livemcpbench", 70, 527, 0),
        "livemcpbench/mcp_config.json": ("client_config", 70, 0, 70),
        "real_servers/catalog.json": ("plain", 69, 858, 0),
    }.items():
        imported = read_files([DATA / name])
        tools = sum(len(server.tools) for server in imported.servers)
        assert (imported.format, len(imported.servers), tools, len(imported.needs_discovery)) == expected
        assert imported.secrets == {}


def test_livemcpbench_labels_are_tools_of_its_catalog() -> None:
    path = DATA / "livemcpbench" / "subtasks.jsonl"
    tasks = read_tasks(path.read_bytes(), source=path.name)
    assert len(tasks) == 139
    catalog = read_files([DATA / "livemcpbench" / "tools.json"])
    tool_ids = {tool.id for server in catalog.servers for tool in server.tools}
    labels = {label for task in tasks for label in task.relevant}
    assert len(labels & tool_ids) > 0.9 * len(labels)
