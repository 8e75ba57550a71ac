"""The pool: the first tools of every run, unjudged first, in an order that says nothing of who proposed what."""

from __future__ import annotations

from core.domain.feedback import AskedQuery
from core.domain.tasks import Task
from core.lab.agreement import pooled

READ, FLY = Task("r", "read a file", "disk"), Task("f", "fly")
TASKS = [READ, FLY]
ONE = {"tasks": {"r": {"candidates": ["a::1", "a::2", "a::3"]}, "f": {"candidates": ["b::1"]}}}
OTHER = {"tasks": {"r": {"candidates": ["a::4", "a::1"]}}}  # it does not have the other task
ASKED = AskedQuery("read a file", "disk")


def test_the_pool_is_the_union_of_the_first_k() -> None:
    found = pooled(TASKS, [ONE, OTHER], 2, ())
    assert {(one.query, one.tool) for one in found} == {
        (ASKED, "a::1"), (ASKED, "a::2"), (ASKED, "a::4"), (AskedQuery("fly"), "b::1")
    }  # fmt: skip
    assert [one.query for one in found] == [ASKED] * 3 + [AskedQuery("fly")]
    assert {one.tool for one in pooled(TASKS, [ONE], 1, ())} == {"a::1", "b::1"}


def test_the_order_is_the_same_whoever_proposed_the_tools() -> None:
    names = [f"s::{number}" for number in range(12)]
    split = [{"tasks": {"f": {"candidates": part}}} for part in (names[:6], names[6:])]
    swapped = [{"tasks": {"f": {"candidates": part[::-1]}}} for part in (names[6:], names[:6])]
    order = [one.tool for one in pooled([FLY], split, 12, ())]
    assert order == [one.tool for one in pooled([FLY], swapped, 12, ())]
    assert order != names
    other = [one.tool for one in pooled([Task("g", "fly high")], [{"tasks": {"g": {"candidates": names}}}], 12, ())]
    assert sorted(other) == sorted(order)
    assert other != order


def test_what_is_judged_comes_last() -> None:
    everything = pooled(TASKS, [ONE, OTHER], 3, ())
    first = everything[0]
    found = pooled(TASKS, [ONE, OTHER], 3, {(first.query, first.tool)})
    assert [one.judged for one in found] == [False] * (len(found) - 1) + [True]
    assert found[-1].tool == first.tool
    assert [one.tool for one in found[:-1]] == [one.tool for one in everything[1:]]


def test_the_queries_on_which_the_runs_differ_most_come_first() -> None:
    tasks = [Task(name, f"do {name}") for name in ("same", "order", "first")]
    one = {
        "tasks": {
            "same": {"candidates": ["a", "b"]},
            "order": {"candidates": ["a", "b"]},
            "first": {"candidates": ["a", "b"]},
        }
    }
    other = {
        "tasks": {
            "same": {"candidates": ["a", "b"]},
            "order": {"candidates": ["a", "c"]},
            "first": {"candidates": ["b", "a"]},
        }
    }
    queries = [item.query.subtask for item in pooled(tasks, [one, other], 2, ())]
    assert list(dict.fromkeys(queries)) == ["do first", "do order", "do same"]
