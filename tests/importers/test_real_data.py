"""Real data: catalogs of real servers, a real client configuration, sub-tasks that a model wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.domain.catalog import Imported
from core.importers import read_files, read_tasks

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(), reason=f"{DATA} is absent: the real data are not part of the project"
)


def counts(imported: Imported) -> tuple[str, int, int, int]:
    tools = sum(len(server.tools) for server in imported.servers)
    return imported.format, len(imported.servers), tools, len(imported.needs_discovery)


def test_livemcpbench_catalog() -> None:
    imported = read_files([DATA / "livemcpbench" / "tools.json"])
    assert counts(imported) == ("livemcpbench", 70, 527, 0)
    assert all(server.connection is not None and server.description for server in imported.servers)
    assert imported.secrets == {}  # its two variables are a number and a transport


def test_livemcpbench_labels_are_tools_of_its_catalog() -> None:
    path = DATA / "livemcpbench" / "subtasks.jsonl"
    tasks = read_tasks(path.read_bytes(), source=path.name)
    assert len(tasks) == 139
    catalog = read_files([DATA / "livemcpbench" / "tools.json"])
    known = {tool.id for server in catalog.servers for tool in server.tools}
    labels = {label for task in tasks for label in task.relevant}
    assert len(labels & known) > 0.9 * len(labels)


def test_livemcpbench_client_configuration() -> None:
    imported = read_files([DATA / "livemcpbench" / "mcp_config.json"])
    assert counts(imported) == ("client_config", 70, 0, 70)
    assert {server.connection.command for server in imported.servers if server.connection} == {"npx", "uvx", "uv"}


def test_real_servers() -> None:
    imported = read_files([DATA / "real_servers" / "catalog.json"])
    assert counts(imported) == ("plain", 69, 858, 0)
    assert not imported.secrets
