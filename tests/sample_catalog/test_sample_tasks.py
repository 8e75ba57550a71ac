"""The labelled sub-tasks: enough of them, well formed, and pointing at tools that exist."""

import json
from collections import Counter
from typing import Any

from sample_catalog import SERVERS_DIR, TASKS_DIR

TASKS: list[dict[str, Any]] = [
    json.loads(line) for line in (TASKS_DIR / "subtasks.jsonl").read_text(encoding="utf-8").splitlines()
]
TOOLS = {
    f"{server['name']}::{tool['name']}": tool
    for server in map(json.loads, (path.read_text(encoding="utf-8") for path in SERVERS_DIR.iterdir()))
    for tool in server["tools"]
}


def test_ids_and_texts_are_unique() -> None:
    assert len({task["id"] for task in TASKS}) == len(TASKS)
    assert len({task["subtask"].casefold() for task in TASKS}) == len(TASKS)


def test_every_task_has_the_agreed_shape() -> None:
    for task in TASKS:
        assert {"id", "subtask", "relevant", "category"} <= set(task) <= {
            "id", "subtask", "relevant", "category", "server_hint"
        }, task["id"]  # fmt: skip
        assert task["subtask"].strip()


def test_every_label_names_a_tool_once() -> None:
    for task in TASKS:
        assert set(task["relevant"]) <= set(TOOLS), task["id"]
        assert len(set(task["relevant"])) == len(task["relevant"]), task["id"]


def test_there_are_enough_tasks_for_every_server_and_beyond() -> None:
    per_server = Counter(server for task in TASKS for server in {label.split("::")[0] for label in task["relevant"]})
    assert set(per_server) == {name.split("::")[0] for name in TOOLS}
    assert min(per_server.values()) >= 8
    assert sum(not task["relevant"] for task in TASKS) >= 12
    assert len(TASKS) >= 132


def test_some_tasks_can_be_done_by_several_servers() -> None:
    shared = [task for task in TASKS if len({label.split("::")[0] for label in task["relevant"]}) > 1]
    assert len(shared) >= 3


def test_no_task_is_a_copy_of_a_description() -> None:
    descriptions = {tool["description"].casefold().rstrip(".") for tool in TOOLS.values()}
    assert not [task["id"] for task in TASKS if task["subtask"].casefold().rstrip(".") in descriptions]
