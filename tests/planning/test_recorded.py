"""Answers that small models gave to Wayfare's own questions (`make model`), replayed over HTTP: what they say is read, or refused in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from core.domain.catalog import Tool
from core.domain.errors import PlannerError
from core.planning.base import Card, Turn
from core.planning.model import ModelPlanner
from tests.benchmarks.asking import grade, needs_tools, next_action

RECORDED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("recorded.json").read_text(encoding="utf-8"))
ASK: Mapping[str, Callable[[ModelPlanner, dict[str, Any]], Any]] = {
    "actionreply": lambda planner, one: planner.act(Turn(one["question"], one["question"], tools(one))),
    "chosen": lambda planner, one: planner.select(
        one["question"], [Card(name, name, 0.5) for name in one["offered"]], 5
    ),
    "complexityreply": lambda planner, one: planner.complexity(one["question"], ["stocks", "news", "sheets"]),
    "description": lambda planner, one: planner.predict_tool(one["question"]),
    "grade": lambda planner, one: grade(planner, one["question"], one["answer"], one["truth"]),
    "needed": lambda planner, one: needs_tools(planner, one["question"]),
    "nextaction": lambda planner, one: next_action(planner, one["question"], one["done"]),
    "parts": lambda planner, one: planner.decompose(one["question"]),
    "question": lambda planner, one: planner.rewrite(one["question"]),
    "questions": lambda planner, one: planner.expand(one["question"]),
    "wanted": lambda planner, one: planner.request(one["question"]),
}

OF_BENCHMARKS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "grade": lambda words: words["score"] / 10,
    "needed": lambda words: words["kind"] == "TOOLS",
    "nextaction": lambda words: words["next_action"].strip() if words["status"] == "continue" else "",
}


def tools(one: dict[str, Any]) -> tuple[Tool, ...]:
    return tuple(Tool(*name.split("::")) for name in one["offered"])


@pytest.mark.parametrize("one", RECORDED, ids=lambda one: f"{one['kind']}: {one['question'][:40]}")
def test_what_a_small_model_said_is_understood(endpoint, planner, one):
    refuses = endpoint.fail(400, '{"error": {"message": "response_format is not supported"}}')
    answer = endpoint.answer(one["text"], tokens=one["tokens"])
    endpoint.reactions = [answer] if one["schema"] else [refuses, answer]
    if one.get("unreadable"):
        with pytest.raises(PlannerError, match="holds no JSON object that fits"):
            ASK[one["kind"]](planner, one)
        return
    understood = ASK[one["kind"]](planner, one)
    words = json.loads(one["text"].strip("`").removeprefix("json"))
    match one["kind"]:
        case "parts":
            assert [part.text for part in understood] == [part["text"] for part in words["parts"]][: len(understood)]
            assert all(need < at for at, part in enumerate(understood) for need in part.needs)
        case "chosen":
            assert understood.ids == tuple(name for name in words["tools"] if name in one["offered"])
        case "actionreply":
            assert understood.kind == words["action"]
        case "questions":
            assert len(understood) == len(set(understood) - {one["question"]})
        case "complexityreply":
            assert (understood.label == "complex") == words["complex"]
        case "grade" | "needed" | "nextaction" as kind:
            assert understood == OF_BENCHMARKS[kind](words)
        case "wanted":
            assert (understood.server, understood.tool) == (words["server"], words["tool"])
        case kind:
            assert understood == words[kind].strip()
    assert planner.usage.input_tokens == one["tokens"][0]
