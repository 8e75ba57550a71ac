"""`wayfare tasks write`: to a file for `wayfare bench`, to standard output, and as one document."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command

TOOLS = [
    {"name": "search_orders", "description": "Finds the orders of last month."},
    {"name": "cancel_order", "description": "Cancels an order before it ships.",
     "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}},
]  # fmt: skip


def test_written_tasks_measure_routers_and_are_named_generated(wayfare: Command, tmp_path: Path) -> None:
    catalog, tasks = tmp_path / "mine.json", tmp_path / "tasks.jsonl"
    catalog.write_text(json.dumps({"servers": [{"name": "shop", "description": "Orders.", "tools": TOOLS}]}))
    write = ("tasks", "write", "--catalog", str(catalog), "--count", "2")
    told = wayfare(*write, "--out", str(tasks))
    assert told.code == 0
    assert "Nobody has checked their labels" in told.out
    assert "L4: no tool's result fits" in told.out
    document = wayfare(*write, "--json").json()
    assert document["tasks"] == [json.loads(line) for line in tasks.read_text().splitlines()]
    assert wayfare(*write).out == tasks.read_text()
    bench = wayfare("bench", "--tasks", str(tasks), "--catalog", str(catalog), "--json").json()
    assert bench["generated"] == len(document["tasks"]) == sum(document["levels"].values())
    assert {one["level"]: one["n"] for one in bench["levels"]} == {k: n for k, n in document["levels"].items() if n}
    (chains,) = [one for one in bench["levels"] if one["level"] == "L3"]
    assert chains["by_steps"] == {"2": {"n": chains["n"], "em": chains["em"], "f1": chains["f1"]}}
