"""Labelled tasks written by rules and in a model's words: levels, chains, triage, provenance, and catalogs that give little."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from core.app import App
from core.domain.catalog import Catalog, Server, Tool
from core.domain.errors import PlannerError, WayfareError
from core.domain.tasks import Task
from core.importers import read_tasks, tasks_text
from core.lab.equal_sets import confused
from core.lab.levels import run_levels
from core.lab.task_chains import Chains
from core.lab.task_writing import WrittenTasks
from core.lab.tool_texts import DataFlow, returned_things
from core.relevance.requests import Given


def taking(*names: str) -> dict[str, object]:
    return {"properties": {name: {"type": "string"} for name in names}, "required": list(names)}


SHOP = (
    Tool("shop", "search_orders", "Finds the orders of last month."),
    Tool("shop", "cancel_order", "Cancels an order before it ships.", input_schema=taking("order_id")),
    Tool("shop", "fetch_invoice", "Fetches a bill. Returns its link.", input_schema=taking("order_id")),
)
READER = (Tool("reader", "scrape_page", "Fetches a bill as plain words.", input_schema=taking("url")),)


def written(app: App, *servers: Server, count: int = 9, seed: int = 0) -> WrittenTasks:
    app.catalogs.save(Catalog("mine", servers), "test")
    return app.task_writing.write("mine", count=count, seed=seed)


def of_level(result: WrittenTasks, level: str) -> list[Task]:
    return [task for task in result.tasks if task.level == level]


def test_definitions_alone_give_four_levels_and_say_how(app: App) -> None:
    result = written(app, Server("shop", tools=SHOP), Server("reader", tools=READER))
    assert all("shop" in task.subtask.lower() for task in of_level(result, "L1") if task.server_hint == "shop")
    assert not [task for task in of_level(result, "L2") if "shop" in task.subtask.lower() or task.server_hint]
    chains = {tuple(step.tool for step in task.plan): task for task in result.tasks if task.plan}
    cancel = chains["shop::search_orders", "shop::cancel_order"]
    assert (cancel.level, [step.needs for step in cancel.plan]) == ("L3", [(), (0,)])
    assert "shop::search_orders orders[]" in cancel.provenance["edge"]
    assert "Then cancel an order" in cancel.subtask
    assert chains["shop::fetch_invoice", "reader::scrape_page"].level == "L4"
    assert all(task.provenance["by"] == "rules" for task in result.tasks)
    assert [remark.partition(":")[0] for remark in result.remarks if "encoder" in remark] == ["L5"]
    assert read_tasks(tasks_text(result.tasks), source="x") == result.tasks
    repeated = app.task_writing.write("mine", count=9).tasks
    assert (repeated, app.task_writing.write("mine", count=9, seed=1).tasks != repeated) == (result.tasks, True)


class Words:
    """A planner whose words are made of the request."""

    name = "small"

    def __init__(self, say: Callable[[str], str]) -> None:
        self.say = say

    def reword(self, request: str, _tools: Sequence[str], _server: str = "") -> str:
        return self.say(request)


def in_words(app: App, say: Callable[[str], str]) -> WrittenTasks:
    app.catalogs.save(Catalog("mine", (Server("shop", tools=SHOP), Server("reader", tools=READER))), "test")
    return replace(app.task_writing, planners={"model": Words(say)}).write("mine", count=9, planner="model")


def test_a_models_words_take_the_place_of_the_rules(app: App) -> None:
    result = in_words(app, lambda request: f"Hello, {request} for me")
    by_rules = {task.id: task for task in app.task_writing.write("mine", count=9).tasks}
    assert {task.level for task in result.tasks} == {"L1", "L2", "L3", "L4"}
    for task in result.tasks:
        provenance = task.provenance
        assert (provenance["by"], task.subtask) == ("small", f"Hello, {provenance['was']} for me")
        assert provenance["was"] in {task.subtask for task in by_rules.values()}
    assert [task.plan for task in result.tasks if task.plan] == [task.plan for task in by_rules.values() if task.plan]


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (lambda _: "Fetch a bill and return its link", "another tool fits as well or better"),
        (lambda request: f"in my shop {request}", "the model named the server"),
    ],
)
def test_a_models_words_are_checked_as_those_of_rules(app: App, say: Callable[[str], str], why: str) -> None:
    result = in_words(app, say)
    assert result.dropped[why]
    assert not [task for task in of_level(result, "L2") if "shop::cancel_order" in task.relevant]


def test_a_model_that_cannot_answer_ends_the_work_with_its_sentence(app: App) -> None:
    answers = iter([False, False, True, False, False])

    def say(request: str) -> str:
        if next(answers, False):
            return request
        raise PlannerError("no answer")

    with pytest.raises(PlannerError, match="no answer"):
        in_words(app, say)
    assert not list(answers), "one answer that can be used, and it goes on"
    with pytest.raises(PlannerError, match="No model is set"):
        app.task_writing.write("mine", count=1, planner="model")


def test_chains_share_out_the_tools() -> None:
    verbs = ("cancel", "archive", "ship", "print", "refund")
    takers = [
        Tool("shop", f"{verb}_order", f"{verb.title()}s an order.", input_schema=taking("order_id")) for verb in verbs
    ]
    flow = DataFlow.of((SHOP[0], *takers))
    chains = Chains(flow, np.eye(len(takers) + 1, dtype=np.float32), random.Random(0))
    picks = [chains.chain(1, across=False) for _ in range(6)]
    assert sorted(chain[1].target for chain in picks[:4]) == [2, 3, 4, 5], "those that few chains have come first"
    assert picks[4:] == [[], []], "the tool that gives has had its share"


def test_an_example_request_is_the_question_and_its_tool_the_label(app: App) -> None:
    cancel = Tool("shop", "cancel_order", "Cancels an order.", requests=("please cancel an order of mine",))
    result = written(app, Server("shop", tools=(cancel, SHOP[0])))
    texts = {task.subtask: (task.relevant, task.provenance["rule"]) for task in of_level(result, "L2")}
    assert texts["please cancel an order of mine"] == (("shop::cancel_order",), "example request")


def test_what_does_the_same_widens_a_label_unless_somebody_said_that_it_differs(app: App) -> None:
    twins = [Server(name, tools=(Tool(name, "cancel_order", "Cancels an order."),)) for name in ("shop", "store")]
    far = Server("mail", tools=(Tool("mail", "send_letter", "Sends letters abroad."),))
    result = written(app, *twins, far)
    (alike,) = [task for task in of_level(result, "L2") if "order" in task.subtask]
    assert (set(alike.relevant), result.widened) == ({"shop::cancel_order", "store::cancel_order"}, 1)
    app.equal_sets.judge("mine", "shop::cancel_order", "store::cancel_order", "different")
    result = app.task_writing.write("mine", count=9)
    assert not [task for task in of_level(result, "L2") if "order" in task.subtask]
    assert result.dropped["another tool fits as well or better"] == 2


@pytest.mark.parametrize(
    "tools",
    [
        (Tool("odd", "x"),),
        (Tool("odd", "搜索", "使用必应搜索指定的关键词"), Tool("odd", "go", "…")),
        (Tool("odd", "get_it", "Gets it now.", input_schema={"required": "all", "properties": 7}),),
    ],
)
def test_a_catalog_that_gives_little_gets_little_and_a_sentence(app: App, tools: tuple[Tool, ...]) -> None:
    result = written(app, Server("odd", tools=tools))
    assert all(task.subtask.strip() for task in result.tasks)
    assert result.levels["L3"] == result.levels["L4"] == 0
    assert "L3: no tool's result fits another tool's arguments of its own server." in result.remarks
    with pytest.raises(WayfareError, match="lists no tool"):
        written(app, Server("odd"))


def test_kept_tasks_are_listed_as_generated_and_teach_nothing(app: App) -> None:
    result = written(app, Server("shop", tools=SHOP))
    key = app.task_writing.keep("mine", result.tasks)
    assert app.lab_runs.task_sets("mine") == {key: "generated"}
    assert app.lab_runs.stored_tasks(key, "x") == result.tasks
    person = [Task(task.id, task.subtask, relevant=task.relevant) for task in result.tasks]
    with pytest.raises(WayfareError) as of_people:
        app.calibrations.fit("mine", person)
    with pytest.raises(WayfareError) as of_rules:
        app.calibrations.fit("mine", result.tasks)
    assert str(of_people.value) != str(of_rules.value)


def test_tools_with_the_same_questions_are_proposed_once() -> None:
    near, far = np.eye(3, dtype=np.float32)[[0, 0, 0, 0]], np.eye(3, dtype=np.float32)[[1, 2]]
    clear = Given(["x"] * 6, np.concatenate([near, far]), np.array([0, 0, 1, 1, 2, 2]), np.ones(6, dtype=np.bool_))
    mixed = Given(clear.texts, clear.vectors[[0, 4, 1, 5, 2, 3]], clear.owners, clear.honest)
    assert [(pair.one, pair.other) for pair in confused(["b", "a", "c"], mixed)] == []
    pairs = np.array([[1, 0, 0], [0, 1, 0], [0.9, 0.43, 0], [0.43, 0.9, 0]], dtype=np.float32)
    alike = Given(["x"] * 4, pairs, np.array([0, 0, 1, 1]), np.ones(4, dtype=np.bool_))
    assert [(pair.one, pair.other, pair.both) for pair in confused(["b", "a"], alike)] == [("a", "b", 4)]
    assert confused(["b", "a"], alike, {("a", "b")}) == ()


def test_a_declared_result_is_read_to_its_records_and_what_was_asked_is_not_given() -> None:
    records = {
        "type": "array",
        "items": {"type": "object", "properties": {"id": {"type": "string"}, "repo": {"type": "string"}}},
    }
    schema = {"type": "object", "properties": {"builds": records, "total": {"type": "integer"}}}
    tool = Tool("ci", "list_builds", "Lists.", input_schema=taking("repo"), output_schema=schema)
    assert returned_things(tool) == {"build": ("builds[]", True)}
    taker = Tool("ci", "cancel_build", input_schema=taking("build_id"))
    flow = DataFlow.of([tool, taker, Tool("other", "cancel_build", input_schema=taking("build_id"))])
    assert [(link.source, link.target, link.argument) for link in flow.links(0, across=False)] == [(0, 1, "build_id")]
    assert flow.links(0, across=True) == [], "an id means something on its own server alone"


def test_complexity_decay_is_told_for_chains_alone(app: App) -> None:
    result = written(app, Server("shop", tools=SHOP), Server("reader", tools=READER))
    route = lambda text: app.routing.route(text, catalog="mine", record=False)  # noqa: E731
    runs = {run.level: run for run in run_levels("ehrr", result.tasks, route)}
    assert not runs["L1"].by_steps
    lengths = runs["L3"].by_steps
    assert sum(n for n, _ in lengths.values()) == runs["L3"].n
    mean = sum(n * scores["f1"] for n, scores in lengths.values()) / runs["L3"].n
    assert mean == pytest.approx(runs["L3"].scores["f1"])
    assert runs["L3"].to_json()["by_steps"].keys() == {str(length) for length in lengths}
