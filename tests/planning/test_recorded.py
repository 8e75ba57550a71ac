"""Answers of small models to Wayfare's own questions (`make model`), replayed over HTTP: each is parsed, or refused in one sentence."""

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
    "actionreply": lambda planner, record: planner.act(Turn(record["question"], record["question"], tools(record))),
    "chosen": lambda planner, record: planner.select(
        record["question"], [Card(name, name, 0.5) for name in record["offered"]], 5
    ),
    "complexityreply": lambda planner, record: planner.complexity(record["question"], ["stocks", "news", "sheets"]),
    "description": lambda planner, record: planner.predict_tool(record["question"]),
    "grade": lambda planner, record: grade(planner, record["question"], record["answer"], record["truth"]),
    "needed": lambda planner, record: needs_tools(planner, record["question"]),
    "nextaction": lambda planner, record: next_action(planner, record["question"], record["done"]),
    "parts": lambda planner, record: planner.decompose(record["question"]),
    "question": lambda planner, record: planner.rewrite(record["question"]),
    "questions": lambda planner, record: planner.expand(record["question"]),
    "wanted": lambda planner, record: planner.request(record["question"]),
}

OF_BENCHMARKS: Mapping[str, Callable[[dict[str, Any]], Any]] = {
    "grade": lambda words: words["score"] / 10,
    "needed": lambda words: words["kind"] == "TOOLS",
    "nextaction": lambda words: words["next_action"].strip() if words["status"] == "continue" else "",
}


def tools(record: dict[str, Any]) -> tuple[Tool, ...]:
    return tuple(Tool(*name.split("::")) for name in record["offered"])


@pytest.mark.parametrize("one", RECORDED, ids=lambda record: f"{record['kind']}: {record['question'][:40]}")
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
            assert all(need < place for place, part in enumerate(understood) for need in part.needs)
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
