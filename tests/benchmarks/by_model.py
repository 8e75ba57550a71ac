"""The papers' experiments that need a language model, with the one that WAYFARE_LLM_MODEL names (`make model` serves one).

`python -m tests.benchmarks.by_model netmcp.rerank --tasks 6` makes one row and keeps it for the page Papers.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from statistics import fmean
from unittest import mock

import numpy as np
from pydantic import TypeAdapter

from core.app import Settings, open_app
from core.domain.catalog import Tool
from core.domain.errors import PlannerError
from core.domain.significance import interval
from core.domain.tasks import Task
from core.lab.levels import node_set_f1, node_set_precision, node_set_recall
from core.papers import RESULTS, netmcp
from core.papers.etom import FILES, ORCHESTRATORS, levels, scores
from core.papers.material import SAMPLE, SEARCH, Material
from core.papers.report import FILE, KEPT, Kind, Row, kept_rows, pair
from core.planning.base import Action, Attempt, Planner, Turn
from core.planning.model import ModelPlanner
from tests.benchmarks.asking import TRUTHS, grade, judge, next_action
from tests.benchmarks.measuring import report
from tests.benchmarks.model import served
from tests.benchmarks.reacting import CYCLES, SERVERS, WAYS, react

Z = 1.96  # of 95 %


def keep(paper: str, table: str, row: Row) -> None:
    """Puts a row into the file of the page Papers. It replaces a row with an equal name."""
    stored = kept_rows(RESULTS)
    rows = stored.setdefault(paper, {}).setdefault(table, [])
    rows[:] = [*(old for old in rows if old.name != row.name), row]
    text = json.dumps(TypeAdapter(KEPT).dump_python(stored, mode="json"), indent=1, ensure_ascii=False)
    (RESULTS / FILE).write_text(f"{text}\n", encoding="utf-8")


def few(values: Sequence[float], total: int, figure: str) -> str:
    """The number of tasks and the 95 % interval of a mean over them in percent, as a sentence.

    >>> few([1.0, 1.0, 0.0], 95, "solved")
    '3 of 95; solved, 95 %: 21 to 94.'
    """
    count, share = len(values), fmean(values)
    if set(values) <= {0.0, 1.0}:  # Wilson
        half = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
        low, high = ((share + Z * Z / (2 * count) + side * half) / (1 + Z * Z / count) for side in (-1, 1))
        low = max(low, 0.0)  # rounding
    else:
        low, high = interval(np.array(values))
    return f"{count} of {total}; {figure}, 95 %: {100 * low:.0f} to {100 * high:.0f}."


# NetMCP: the model describes the wanted tool, or reranks RAG's candidates


def asked(material: Material, model: Planner, name: str, router: str, **settings: object) -> Row:
    """A router on the ideal network, questions as they were asked: once by the model, once by its defaults."""
    world = material.world("ideal", min(material.model_tasks, netmcp.QUESTIONS), material.seed, True)
    setting = netmcp.SETTINGS[0]
    by_rules = netmcp.run(world, router, setting)
    run = netmcp.run(world, router, setting, planner="model", **settings)
    hits = [1.0] * round(run.ssr * len(world.order)) + [0.0] * round((1 - run.ssr) * len(world.order))
    why = f"Questions: {few(hits, netmcp.QUESTIONS, 'SSR')} By rules, on the same questions: {100 * by_rules.ssr:.0f}."
    values = {"ssr": pair(None, 100 * run.ssr), "sl": pair(None, run.sl_ms)}
    return Row(f"{name}, by a model", Kind.MODEL, values, why=why, model=model.name)


# NetMCP's step 5: the model answers with what the chosen tool returned, and judges the answer against the truth. The paper's scale
# and prompt are not printed: ours is 0 to 10. A right tool returns the truth, because the paper's servers are not public.


def answered(material: Material, model: ModelPlanner) -> Row:
    """Questions with a known answer, routed by SONAR: SSR, and the judge's grades of the answers and, as a check, of swapped answers."""
    all_tasks = [task for task in material.tasks(SEARCH) if task.id in TRUTHS]
    tasks = all_tasks[: material.model_tasks]
    hits, grades, swapped = list[float](), list[float](), list[float]()
    unreadable = 0
    for number, task in enumerate(tasks):
        winner = material.decide(task.subtask, SEARCH, "sonar").winner
        is_right = winner is not None and winner.tool in task.relevant
        hits.append(float(is_right))
        reply = TRUTHS[task.id] if is_right else "Nothing was found."
        tool = winner.tool if winner else ""
        other_truth = TRUTHS[all_tasks[(number + 1) % len(all_tasks)].id]
        try:
            answer = model.act(Turn(task.question, task.question, (), attempts=(Attempt(tool, reply),))).words
            pair_of = [grade(model, task.question, text, TRUTHS[task.id]) for text in (answer, other_truth)]
        except PlannerError:
            unreadable += 1
            continue
        grades.append(pair_of[0])
        swapped.append(pair_of[1])
    means = [f"{10 * fmean(values):.1f}" if values else "none" for values in (grades, swapped)]
    why = (
        f"Questions with a known answer: {few(hits, len(all_tasks), 'SSR')} A right tool returns the truth. The judge gives the answers {means[0]} of 10, "
        f"and answers to other questions {means[1]}. Unreadable: {unreadable}."
    )
    return Row(
        "SONAR, answers judged by a model",
        Kind.MODEL,
        {"ssr": pair(None, 100 * fmean(hits))},
        why=why,
        model=model.name,
    )


# PA-RAG: the model decomposes complex questions, the cascade finds the tools of each part, rules select


def decomposed(material: Material, model: ModelPlanner) -> Row:
    def found(text: str) -> Iterator[list[str]]:
        for query in model.decompose(text):
            yield _tools(material, query.text, "pa_rag", path="simple")

    return _complex(material, model, "PA-RAG, taken apart by a model", "pa_rag", found)


def reasoned(material: Material, model: ModelPlanner) -> Row:
    """B2 with free reasoning: the model names the next action after the tools that it saw, flat retrieval finds tools for it. It ends
    early if a thought brings no new tool (section 5.2)."""

    def found(text: str) -> Iterator[list[str]]:
        done, known_tools = list[tuple[str, str]](), set[str]()
        while len(done) < CYCLES and (thought := next_action(model, text, done)):
            tools = _tools(material, thought, "agentic_rag")
            if known_tools.issuperset(tools):
                return
            yield tools
            known_tools.update(tools)
            done.append((thought, ", ".join(tools)))

    return _complex(material, model, "Agentic RAG (B2), reasoned by a model", "agentic_rag", found)


def _tools(material: Material, text: str, router: str, **settings: object) -> list[str]:
    decision = material.decide(text, SAMPLE, router, settings)
    return [decision.tools.ids[row] for row in decision.candidates]


def _complex(
    material: Material, model: ModelPlanner, name: str, router: str, find: Callable[[str], Iterator[list[str]]]
) -> Row:
    """Precision, recall and F1 of the tools that a model finds for complex questions, until an answer cannot be read."""
    all_tasks = material.tasks("pa_rag_complex")
    tasks = material.asked_of_model(all_tasks)
    returned, by_rules, failed = list[list[str]](), list[float](), 0
    for task in tasks:
        text = task.question or task.subtask
        by_rules.append(node_set_recall(_tools(material, text, router), task))
        returned.append([])
        try:
            for tools in find(text):
                returned[-1] += [tool for tool in tools if tool not in returned[-1]]
        except PlannerError:
            failed += 1
    measures = {"p": node_set_precision, "r": node_set_recall, "f": node_set_f1}
    scores = {key: list(map(measure, returned, tasks)) for key, measure in measures.items()}
    why = f"Complex questions: {few(scores['r'], len(all_tasks), 'recall')} By rules, on the same questions: {100 * fmean(by_rules):.0f}. Without a readable answer: {failed}."
    values = {"c" + key: pair(None, 100 * fmean(shares)) for key, shares in scores.items()}
    return Row(name, Kind.MODEL, values, why=why, model=model.name)


# EHRR, Algorithm 1: the model writes the next sub-task after each observation, and judges the trace

ACTIONS = 4
"""The limit of actions for each step of a task."""


@dataclass(slots=True)
class Trace:
    """A model's run of one task: successful calls, calls of wrong tools, failures, and names that were not offered."""

    done: list[str] = field(default_factory=list[str])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    wrong: int = 0
    unreadable: int = 0
    ended: str = "stop"


def algorithm_1(material: Material, model: Planner, task: Task, rng: np.random.Generator) -> Trace:
    """Plays one task: the question is routed, then the model chooses ROUTE, EXECUTE or STOP. The tool's declared reliability decides a call's outcome."""
    trace = Trace()
    steps = max(1, len(task.plan))
    question = task.question or task.subtask
    query, offered = question, _routed(material, question)
    valid = {tool for step in task.plan for tool in (step.tool, *step.equal)} or set(task.relevant)
    for rounds in range(ACTIONS * steps, 0, -1):
        earlier = tuple((attempt.tool, attempt.said) for attempt in trace.attempts if not attempt.error)
        turn = Turn(
            question, query, offered, "Nothing was routed yet.", tuple(trace.attempts[-3:]), earlier, rounds_left=rounds
        )
        try:
            action = model.act(turn)
        except PlannerError:
            trace.unreadable += 1
            continue
        if action.kind == "stop":
            return trace
        if action.kind == "route":
            query = action.query or question
            offered = _routed(material, query)
        else:
            _execute(material, action, offered, valid, trace, rng)
    trace.ended = "rounds"
    return trace


def _routed(material: Material, query: str) -> tuple[Tool, ...]:
    catalog = material.context(SAMPLE).catalog
    decision = material.decide(query, SAMPLE, "ehrr", {"n": 3}, preset="paper")
    return tuple(catalog.tools[catalog.tool_row[decision.tools.ids[row]]] for row in decision.candidates)


def _execute(
    material: Material, action: Action, offered: Sequence[Tool], valid: set[str], trace: Trace, rng: np.random.Generator
) -> None:
    context = material.context(SAMPLE)
    trace.wrong += action.tool not in valid
    if action.tool not in {tool.id for tool in offered}:
        trace.attempts.append(Attempt(action.tool, "It was not offered; route first.", "tool_not_available"))
        return
    success = float(context.statistics.tools.success[context.catalog.tool_row[action.tool]])
    if rng.random() < success:
        trace.done.append(action.tool)
        arguments = json.dumps(action.arguments, ensure_ascii=False)
        trace.attempts.append(Attempt(action.tool, f"It did what it says, with {arguments}."))
    else:
        trace.attempts.append(Attempt(action.tool, "The server did not answer.", "timeout"))


def solved(task: Task, done: Sequence[str]) -> bool:
    """Whether all steps of a task were done, each by one of its tools and after those that it needs.

    >>> from core.domain.tasks import Step
    >>> task = Task("1", "", relevant=("a", "b"), plan=(Step("a"), Step("b", needs=(0,))))
    >>> solved(task, ["a", "b"]), solved(task, ["b", "a"]), solved(Task("2", "", relevant=("a", "b")), ["b"])
    (True, False, True)
    """
    if len(task.plan) < 2:
        return bool(set(done) & set(task.relevant))
    places: list[int] = []
    for step in task.plan:
        start = max((places[need] + 1 for need in step.needs), default=0)
        place = next((place for place in range(start, len(done)) if done[place] in (step.tool, *step.equal)), None)
        if place is None:
            return False
        places.append(place)
    return True


def played(material: Material, model: ModelPlanner) -> Row:
    """EHRR's row of Table VI by Algorithm 1 and a model: the share of solved tasks, and its judge's share."""
    all_tasks = material.tasks("ehrr_categories")
    tasks, rng = material.asked_of_model(all_tasks), np.random.default_rng(material.seed)
    usage, traces = model.usage, [algorithm_1(material, model, task, rng) for task in tasks]
    tokens = model.usage.input_tokens + model.usage.output_tokens - usage.input_tokens - usage.output_tokens
    wins = [float(solved(task, trace.done)) for task, trace in zip(tasks, traces, strict=True)]
    judged = [_judged(model, task, trace) for task, trace in zip(tasks, traces, strict=True)]
    wrong, unreadable = sum(trace.wrong for trace in traces), sum(trace.unreadable for trace in traces)
    endless = sum(trace.ended == "rounds" for trace in traces)
    why = (
        f"Tasks: {few(wins, len(all_tasks), 'solved')} By its own judgment {sum(judged)}. Calls of wrong tools: {wrong}; "
        f"unreadable answers: {unreadable}; runs without STOP: {endless}; {tokens:,} tokens."
    )
    return Row("Algorithm 1, by a model", Kind.MODEL, {"sr": pair(None, 100 * fmean(wins))}, why=why, model=model.name)


def _judged(model: ModelPlanner, task: Task, trace: Trace) -> bool:
    try:
        return judge(model, task.question or task.subtask, trace.attempts)
    except PlannerError:
        return False


# ETOM: ReAct without retrieval, its best of N trajectories; and orchestrators whose model rewrites, expands and reranks


def of_levels(material: Material) -> tuple[dict[str, list[Task]], int]:
    """A few tasks of each level, at least one, and the number of all tasks."""
    few_each = replace(material, model_tasks=max(1, material.model_tasks // len(FILES)))
    sets = {level: material.tasks(name) for level, name in FILES.items()}
    return {level: few_each.asked_of_model(tasks) for level, tasks in sets.items()}, sum(map(len, sets.values()))


def reacted(material: Material, model: ModelPlanner, attempts: int) -> Row:
    """ReAct's row of Table 3."""
    tasks, total = of_levels(material)
    catalog, task_scores, errors = material.context(SAMPLE).catalog, dict[str, list[float]](), Counter[str]()
    for level, level_tasks in tasks.items():
        for task in level_tasks:
            runs = [react(catalog, model, task.question or task.subtask, way) for way in WAYS[:attempts]]
            task_scores.setdefault(level, []).append(max(run.score(task) for run in runs))
            for run in runs:
                errors.update(run.errors)
    kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items()) or "none"
    why = f"At most {CYCLES} cycles, {SERVERS} servers each. Errors: {kinds}."
    return _by_level("ReAct" if attempts == 1 else f"ReAct@{attempts}", task_scores, total, why, model)


def orchestrated(material: Material, model: ModelPlanner, router: str) -> Row:
    """An orchestrator's row of Table 3 with the model's answers, beside the rules on the same tasks."""
    tasks, total = of_levels(material)
    task_scores, failed = dict[str, list[float]](), 0
    for level, level_tasks in tasks.items():
        for task in level_tasks:
            try:
                score = scores(levels(material, router, [task], {"planner": "model"}))[level] / 100
            except PlannerError:
                score, failed = 0.0, failed + 1
            task_scores.setdefault(level, []).append(score)
    by_rules = scores(levels(material, router, [task for level_tasks in tasks.values() for task in level_tasks], {}))
    rule_scores = ", ".join(f"{level} {score:.0f}" for level, score in by_rules.items())
    why = f"By rules, on the same tasks: {rule_scores}. Without a readable answer: {failed}."
    return _by_level(ORCHESTRATORS[router], task_scores, total, why, model)


def _by_level(name: str, task_scores: Mapping[str, list[float]], total: int, why: str, model: ModelPlanner) -> Row:
    all_scores = [score for scores in task_scores.values() for score in scores]
    values = {level: pair(None, 100 * fmean(scores)) for level, scores in task_scores.items()}
    why = f"Tasks: {few(all_scores, total, 'score')} {why}"
    return Row(f"{name}, by a model", Kind.MODEL, values, why=why, model=model.name)


# All experiments

Experiment = Callable[[Material, ModelPlanner], Row]
EXPERIMENTS: Mapping[str, Mapping[str, tuple[str, Experiment]]] = {
    "netmcp": {
        "prag": ("fig7", partial(asked, name="PRAG", router="prag")),
        "sonar": ("fig7", partial(asked, name="SONAR", router="sonar")),
        "judge": ("fig7", answered),
        "rerank": ("fig7", partial(asked, name="RerankRAG", router="rerank_rag", reranker="planner")),
    },
    "pa_rag": {"decompose": ("1", decomposed), "reason": ("1", reasoned)},
    "etom": {
        "react": ("3", partial(reacted, attempts=1)),
        "react3": ("3", partial(reacted, attempts=3)),
        "react5": ("3", partial(reacted, attempts=5)),
        "toolshed": ("3", partial(orchestrated, router="toolshed")),
        "mcp_zero": ("3", partial(orchestrated, router="mcp_zero")),
        "hybrid": ("3", partial(orchestrated, router="hybrid")),
    },
    "ehrr": {"play": ("ablation", played)},
}
"""By paper and name: the table of the row, and the function that makes it."""


TASKS = 3
ALL = [f"{paper}.{name}" for paper, experiments in EXPERIMENTS.items() for name in experiments]
LONG = ("etom.react3", "etom.react5")  # hours


def by_model() -> None:
    """Most experiments over a few tasks, without keeping the rows. Uses the set model, or else serves the model that `make model` has
    fetched."""
    with ExitStack() as stack:
        if not os.environ.get("WAYFARE_LLM_MODEL"):
            stack.enter_context(mock.patch.dict(os.environ, stack.enter_context(served())))
        made([name for name in ALL if name not in LONG], TASKS, kept=False)


def made(names: list[str], tasks: int, *, kept: bool) -> None:
    """Makes rows, one after another."""
    if not os.environ.get("WAYFARE_LLM_MODEL"):
        print("left out: WAYFARE_LLM_MODEL names no model and none is in .model (see make model)")
        return
    with open_app(replace(Settings.from_environment(db=":memory:"), encoder_difference="", reranker="")) as app:
        material = app.papers.material(model_tasks=tasks)
        assert isinstance(material.model, ModelPlanner)
        for name in names:
            paper, _, experiment = name.partition(".")
            table, make = EXPERIMENTS[paper][experiment]
            row = make(material, material.model)
            figures = {key: float(ours or 0.0) for key, (_, ours) in row.values.items()}
            report(f"{row.name} ({row.model})", figures, "", row.why)
            if kept:
                keep(paper, table, row)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *ALL], default=[], help="all if none is named")
    parser.add_argument("--tasks", type=int, default=TASKS, help=f"questions for each row (default {TASKS})")
    given = parser.parse_args()
    made(given.names or ALL, given.tasks, kept=True)
