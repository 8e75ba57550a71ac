"""Every command and code block of the README does what it says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from core.cli import main
from core.domain.catalog import Catalog, Server, Tool
from core.routers.base import Match, Router, Scene
from core.stats.book import StatisticsBook

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL)
LINES = [line for language, block in BLOCKS if language == "sh" for line in block.splitlines() if line]


def test_the_two_commands_are_targets_of_the_makefile():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {line.split()[1] for line in LINES if line.startswith("make ")}
    assert {"run", "test"} <= named <= targets


def test_every_other_line_is_a_command_that_is_tried_below_or_installs():
    rest = [line for line in LINES if not line.startswith(("make ", "wayfare "))]
    assert rest == [
        'python3 -m venv .venv && .venv/bin/pip install -e ".[dev]"',
        ".venv/bin/wayfare up",
    ]


def test_the_wayfare_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("WAYFARE_DB", str(tmp_path / "readme.duckdb"))
    unit_exchange = {"command": sys.executable, "args": ["-m", "sample_catalog.runnable.unit_exchange"]}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"units": unit_exchange}}))
    plain = {"servers": [{"name": "a", "description": "b", "tools": [{"name": "c", "description": "d"}]}]}
    (tmp_path / "catalog.json").write_text(json.dumps(plain))
    commands = [line for line in LINES if line.startswith("wayfare ")]
    assert len(commands) == 7
    for line in commands:
        words = re.findall(r'"[^"]*"|\S+', line.split("    #")[0])[1:]
        main([word.strip('"').replace("path/to", str(tmp_path)) for word in words])
        assert capsys.readouterr().out


def test_the_router_of_the_readme_routes():
    (source,) = [block for language, block in BLOCKS if language == "python"]
    namespace: dict[str, object] = {}
    exec(compile(source, "README.md", "exec"), namespace)  # our own README
    router = next(
        v for v in namespace.values() if isinstance(v, type) and issubclass(v, Router) and v.id == "similarity_only"
    )
    slow_but_fit = Tool("s", "fit", latency_s=50.0, price_usd=5.0)
    catalog = Catalog("c", (Server("s", tools=(slow_but_fit, Tool("s", "fast", latency_s=0.1))),))

    class Fake:
        def match(self, *_: object) -> Match:
            return Match(np.array([0.5]), np.array([0.9, 0.2]))

    import numpy as np

    scene = Scene.of(catalog, StatisticsBook(catalog).snapshot(), Fake(), np.array([1, 1]))
    assert router().route("anything", scene).winner.tool == "s::fit"
