"""ETOM's ReAct by a model: reasons, acts, observes, and goes on after a failed step; ReAct@N counts its best trajectory."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from core.domain.catalog import Catalog, Server, Tool
from core.domain.tasks import Step, Task
from tests.benchmarks.reacting import CYCLES, TOOL_ERROR, react

CATALOG = Catalog(
    "small",
    tuple(
        Server(name, tools=tuple(Tool(name, tool) for tool in tools))
        for name, tools in {"files": ("find",), "mail": ("send", "read")}.items()
    ),
)
TASK = Task("t", "q", level="L4", plan=(Step("files::find"), Step("mail::send", (0,))))


def script(endpoint: Any, plan: Callable[[str, list[dict[str, str]]], str], kind: str = "TOOLS") -> list[Any]:
    """The endpoint plans by the prompt and what is done; it chooses the server and the tool that an action names. Returns all data that it
    was asked with."""
    asked: list[Any] = []

    def react_to(handler: Any) -> None:
        task, _, data = endpoint.asked[-1].user.partition("<data>\n")
        told = json.loads(data.partition("\n</data>")[0])
        asked.append(told)
        if "done" in told:
            action = plan(task, told["done"])
            said = {"reasoning": "", "status": "continue" if action else "finish", "next_action": action}
        elif "tools" in told:
            ids = [one["id"] for one in told["tools"]]
            said = {"reason": "", "tools": [name for name in ids if name in told["question"]]}
        else:
            said = {"why": "", "kind": kind}
        endpoint.answer(said)(handler)

    endpoint.reactions = [react_to]
    return asked


def test_an_observation_is_read_in_the_next_cycle_and_a_failed_step_does_not_end_it(endpoint, planner) -> None:
    steps = ["use mail for nothing", "use files and files::find", "use mail and mail::send", ""]
    asked = script(endpoint, lambda _, done: steps[len(done)])
    made = react(CATALOG, planner, "q")
    assert made.called == ["files::find", "mail::send"]
    assert dict(made.errors) == {TOOL_ERROR: 1}
    assert made.score(TASK) == 1.0
    last = [told["done"] for told in asked if "done" in told][-1]
    assert [one["observed"].startswith(TOOL_ERROR) for one in last] == [True, False, False]
    assert '"inputSchema"' in last[1]["observed"]


def test_a_conversation_needs_no_tool_and_a_failed_process_is_no_rejection(endpoint, planner) -> None:
    impossible = Task("t", "q", level="L5")
    script(endpoint, lambda *_: "", kind="CONVERSATIONAL")
    assert react(CATALOG, planner, "q").score(impossible) == 1.0
    script(endpoint, lambda *_: "use nothing")
    failed = react(CATALOG, planner, "another")
    assert (failed.called, failed.errors.total(), failed.score(impossible)) == ([], CYCLES, 0.0)
