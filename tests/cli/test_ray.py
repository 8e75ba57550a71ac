"""`--ray` of bench and sweep where there is no cluster to spread over; the cluster itself: tests/lab/test_spread.py."""

from __future__ import annotations

import sys

import pytest

from tests.cli.conftest import Command
from tests.cli.test_wrong_use import refused

TASKS = [{"id": "a", "subtask": "convert 3 miles", "relevant": ["unit-exchange::convert_units"]}]


@pytest.mark.parametrize("command", [("bench",), ("sweep", "--axis", "alpha_t=0,1")], ids=lambda words: words[0])
def test_without_ray_the_sentence_says_how_to_get_it(
    wayfare: Command, write, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    refused(wayfare(*command, "--tasks", write("t.jsonl", TASKS), "--ray", "auto"), "pip install wayfare[ray]", "--ray")


def test_a_search_is_not_spread(wayfare: Command, write) -> None:
    line = ("sweep", "--axis", "alpha_t=0:1", "--optuna", "3", "--ray", "auto", "--tasks", write("t.jsonl", TASKS))
    refused(wayfare(*line), "--optuna", "--ray")
