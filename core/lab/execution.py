"""Playing routed tasks out: how many are solved, and at which cost. Algorithm 1 of EHRR without a model.

A task of several steps is split into sub-tasks by rules; each sub-task is routed once. Its candidates are tried in order, at most
`ROUNDS` with every router, however many it shows. The last sub-task has all steps that are left, each other sub-task one step. A tool
serves the first step that it is right for, if that step's inputs are there. A tool that serves no step is an invalid tool call, which takes
its time and its price and solves nothing. A right tool succeeds by its declared reliability, r_ij (1 - pfail_i), drawn for every
seed. A decision without a right tool among the tried tools is an invalid route call.

    solved = all steps are solved                          value = V * solved - price - time / kappa      per task, USD; kappa in s per USD
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from core.domain.decision import Decision
from core.domain.tasks import Task
from core.domain.trace import DROPS, KEPT
from core.planning.decomposition import decompose
from core.routers.context import RoutingContext

# A routed task

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Routed:
    """A decided task: candidates, best first; `dropped_by`; the decision's ms; its tokens before a model; the tools that the router would
    call, None if an earlier version of Wayfare stored the task; the USD of a call of each candidate, None for the listed prices.

    It is small, because an unfinished run stores one for each task.
    """

    candidates: tuple[str, ...]
    dropped_by: str
    latency_ms: float
    tokens: int
    called: tuple[str, ...] | None = None
    payments_usd: tuple[float | None, ...] | None = None

    @classmethod
    def of(cls, task: Task, decision: Decision) -> Self:
        names = tuple(decision.tools.ids[row] for row in decision.candidates)
        exposure = decision.exposure
        tokens = exposure.exposed + exposure.cached
        payments = None if decision.settlement == "price" else tuple(map(decision.agreed_usd, names))
        called = predicted_tools(decision)
        return cls(names, dropped_by(task, decision), decision.timings_ms["total"], tokens, called, payments)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        values = dict(document)
        for name in ("candidates", "called", "payments_usd"):
            if values.get(name) is not None:
                values[name] = tuple(values[name])
        return cls(**values)


def predicted_tools(decision: Decision) -> tuple[str, ...]:
    """The tools that a router would call: the first candidate of each step of a decomposed question, else the winner."""
    firsts = [step.candidates[:1] for step in decision.steps] or [decision.candidates[:1]]
    return tuple(dict.fromkeys(decision.tools.ids[row] for rows in firsts for row in rows))


def dropped_by(task: Task, decision: Decision) -> str:
    """The stage that dropped the most similar right tool, or `ABSENT`. "" if a right tool is a candidate."""
    right = [row for row, tool in enumerate(decision.tools.ids) if tool in task.relevant]
    if not task.relevant or set(right) & set(decision.candidates):
        return ""
    if not right:
        return ABSENT
    code = int(decision.tools.dropped[max(right, key=lambda row: float(decision.tools.similarity[row]))])
    return "" if code == KEPT else DROPS[code].value


# The sub-tasks that a task is routed by, and the steps that solve it


def sub_tasks(task: Task) -> tuple[Task, ...]:
    """Returns the parts of a task with several steps, split by rules, each with the whole task's right tools. Other tasks are whole.

    >>> from core.domain.tasks import Step
    >>> plan = (Step("a::x"), Step("b::y", needs=(0,)))
    >>> whole = Task("1", "find the report, then mail it to Bo", relevant=("a::x", "b::y"), plan=plan)
    >>> [(part.id, part.subtask) for part in sub_tasks(whole)]
    [('1#1', 'find the report'), ('1#2', 'mail it to Bo')]
    """
    parts = decompose(task.subtask) if task.relevant and len(task.plan) > 1 else ()
    if len(parts) < 2:
        return (task,)
    return tuple(replace(task, id=f"{task.id}#{number}", subtask=part.text) for number, part in enumerate(parts, 1))


def _steps(task: Task) -> list[tuple[frozenset[str], list[int]]]:
    """The right tools of each step of a task, and the steps that it needs. A task without a plan has one step."""
    if len(task.plan) < 2:
        return [(frozenset(task.relevant), [])]
    return [(frozenset((step.tool, *step.equal)), list(step.needs)) for step in task.plan]


# Playing

ROUNDS = 3
VALUE_USD = 0.10
S_PER_USD = 1000.0  # the kappa of the router expected_value: 3.60 dollars an hour
Floats = NDArray[np.float64]
LiveCall = Callable[[int], tuple[bool, float] | None]  # a tool's row -> went well, seconds


@dataclass(frozen=True, slots=True)
class Playing:
    """How tasks are played out: the options of `wayfare bench --execute`, stored with a run. `n` candidates are routed, on which
    tokens depend.

    With `split`, a task of several steps is routed by its sub-tasks, else as a whole.
    """

    n: int
    seeds: int = 20
    value_usd: float = VALUE_USD
    s_per_usd: float = S_PER_USD
    live: bool = False
    split: bool = True

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Self:
        return cls(**{"split": False, **document})

    def routed(self, tasks: Sequence[Task]) -> list[Task]:
        """Returns the routed parts of tasks, in order: their sub-tasks, or the tasks themselves."""
        return [part for task in tasks for part in (sub_tasks(task) if self.split else (task,))]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over seeds with the 95 % interval of that mean over seeds (normal)."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats) -> Interval:
        finite = values[np.isfinite(values)]
        if not len(finite):
            return cls(float("nan"), float("nan"), float("nan"))
        half = 1.96 * float(finite.std(ddof=1)) / np.sqrt(len(finite)) if len(finite) > 1 else 0.0
        return cls(float(finite.mean()), float(finite.mean() - half), float(finite.mean() + half))


@dataclass(frozen=True, slots=True)
class ExecutionRun:
    """One router over all possible tasks. Means per task over seeds, or per solved task as the name says.

    `success_rate` is the share of tasks with all steps solved, `step_success_rate` the share of solved steps.
    """

    router: str
    n: int
    success_rate: Interval
    step_success_rate: Interval
    usd_per_solved: Interval
    s_per_solved: Interval
    tokens_per_solved: Interval
    invalid_route_calls: Interval
    invalid_tool_calls: Interval
    invalid_calls: Interval
    value: Interval
    usd_per_task: Interval
    unpriced_tries: float

    def to_json(self) -> dict[str, object]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        intervals: dict[str, Interval] = {name: value for name, value in values.items() if isinstance(value, Interval)}
        finite = {name: interval for name, interval in intervals.items() if np.isfinite(interval.mean)}
        return {
            **{name: (interval.mean if name in finite else None) for name, interval in intervals.items()},
            "unpriced_tries": self.unpriced_tries,
            "intervals": {name: [interval.low, interval.high] for name, interval in finite.items()},
        }


Tries = Mapping[str, NDArray[Any]]
"""The result of one task's tries per seed, (seeds,): solved, solved steps, USD, s, tokens, invalid tool and route calls, unpriced tries."""


def play(
    router: str,
    tasks: Sequence[Task],
    routed: Sequence[Routed],
    context: RoutingContext,
    playing: Playing,
    *,
    live: LiveCall | None = None,
) -> ExecutionRun:
    """Play possible tasks with routed parts (`Playing.routed`), one `routed` for each part. Outcomes are drawn from the declared
    figures of `context`.

    The draws belong to a task and its tools, so two routers that try a tool have equal luck. `live` calls a tool (its row) and
    returns whether it succeeded and its seconds, or None for a tool that may not be called. Its outcome is then drawn.
    Raises ValueError without a task.
    """
    rest, tries = iter(routed), list[Tries]()
    for task in tasks:
        parts = [next(rest) for _ in playing.routed([task])]
        tries.append(_played(task, parts, context, playing.seeds, live))
    if not tries:
        raise ValueError("no task names a tool that can do it")

    def of(name: str) -> Floats:
        return np.stack([row[name] for row in tries]).astype(np.float64)  # (tasks, seeds)

    solved, usd, time_s = of("solved"), of("usd"), of("time_s")
    invalid_routes, invalid_tools = of("invalid_routes"), of("invalid_tools")
    count = solved.sum(axis=0)
    per_solved = np.divide(1.0, count, out=np.full(playing.seeds, np.nan), where=count > 0)
    return ExecutionRun(
        router=router,
        n=len(tries),
        success_rate=Interval.of(solved.mean(axis=0)),
        step_success_rate=Interval.of(of("steps").sum(axis=0) / sum(len(_steps(task)) for task in tasks)),
        usd_per_solved=Interval.of(usd.sum(axis=0) * per_solved),
        s_per_solved=Interval.of(time_s.sum(axis=0) * per_solved),
        tokens_per_solved=Interval.of(of("tokens").sum(axis=0) * per_solved),
        invalid_route_calls=Interval.of(invalid_routes.mean(axis=0)),
        invalid_tool_calls=Interval.of(invalid_tools.mean(axis=0)),
        invalid_calls=Interval.of((invalid_routes + invalid_tools).mean(axis=0)),
        value=Interval.of((playing.value_usd * solved - usd - time_s / playing.s_per_usd).mean(axis=0)),
        usd_per_task=Interval.of(usd.mean(axis=0)),
        unpriced_tries=float(of("unpriced").mean()),
    )


def _played(task: Task, parts: Sequence[Routed], context: RoutingContext, seeds: int, live: LiveCall | None) -> Tries:
    steps = _steps(task)
    done = np.zeros((len(steps), seeds), dtype=np.bool_)
    usd, time_s, tokens, invalid_tools, invalid_routes, unpriced = np.zeros((6, seeds))
    connected = np.zeros((len(context.statistics.servers.conn_s), seeds), dtype=np.bool_)
    for part, routed in enumerate(parts):
        active, last = ~done.all(axis=0), part == len(parts) - 1
        done_before = done.sum(axis=0)
        rows = [context.tool_ids.index(name) for name in routed.candidates[:ROUNDS]]
        tokens += active * routed.tokens
        invalid_routes += active & (not any(context.tool_ids[row] in right for row in rows for right, _ in steps))
        for row, usd_of_call in zip(rows, _payments(routed, rows, context), strict=True):
            going = ~done.all(axis=0) & (last | (done.sum(axis=0) == done_before))
            if not going.any():
                break
            server, latency_s, conn_s = _declared(context, row)
            unpriced += going & np.isnan(usd_of_call)
            usd += going * float(np.nan_to_num(usd_of_call))
            live_result = live(row) if live is not None else None
            time_s += going * (latency_s + conn_s * ~connected[server] if live_result is None else live_result[1])
            connected[server] |= going
            succeeds = (
                _luck(task, part, context.tool_ids[row], seeds) < chance(context, row)
                if live_result is None
                else np.full(seeds, live_result[0])
            )
            serves = np.zeros(seeds, dtype=np.bool_)
            for step, (right, needs) in enumerate(steps):
                if context.tool_ids[row] in right:
                    ready = going & ~serves & ~done[step] & done[needs].all(axis=0)
                    done[step] |= ready & succeeds
                    serves |= ready
            invalid_tools += going & ~serves
    return {
        "solved": np.logical_and.reduce(done), "steps": done.sum(axis=0), "usd": usd, "time_s": time_s, "tokens": tokens,
        "invalid_tools": invalid_tools, "invalid_routes": invalid_routes, "unpriced": unpriced,
    }  # fmt: skip


def _payments(routed: Routed, rows: Sequence[int], context: RoutingContext) -> Floats:
    if routed.payments_usd is None:
        return context.statistics.tools.price_usd[list(rows)]
    return np.array(routed.payments_usd[: len(rows)], dtype=np.float64)


def chance(context: RoutingContext, row: int) -> float:
    """Returns the declared chance that a call of a tool succeeds, r_ij (1 - pfail_i)."""
    failure = context.statistics.servers.post_accept_failure[int(context.tool_server[row])]
    return float(context.statistics.tools.success[row]) * (1.0 - float(failure))


def _declared(context: RoutingContext, row: int) -> tuple[int, float, float]:
    """The server of a tool, the seconds of a call, and the seconds to connect to the server."""
    server = int(context.tool_server[row])
    statistics = context.statistics
    return server, float(statistics.tools.latency_s[row]), float(statistics.servers.conn_s[server])


def _luck(task: Task, part: int, tool: str, seeds: int) -> Floats:
    """Uniform draws for a part of a task and a tool, one per seed, equal for all routers."""
    name = f"{task.id}/{task.subtask}/{tool}" + (f"/{part}" if part else "")
    return np.random.default_rng(zlib.crc32(name.encode())).random(seeds)


# Expected outcomes without draws, by the chance of each set of solved steps and connected servers

State = tuple[frozenset[int], frozenset[int]]


@dataclass(frozen=True, slots=True)
class ExpectedOutcome:
    """For one task: the chance to be solved, and the expected USD, seconds, calls of tools that serve no step, and calls without a known
    price, which add 0 USD."""

    solved: float
    usd: float
    s: float
    invalid_tools: float
    unpriced: float


def expected_outcome(
    task: Task, parts: Sequence[Sequence[int]], context: RoutingContext, payments: Sequence[Floats] | None = None
) -> ExpectedOutcome:
    """`parts` has the candidates of each sub-task, rows of tools, best first; `context` the figures of outcomes; `payments` the USD of a call
    of each candidate, None for the listed prices."""
    steps, prices = _steps(task), context.statistics.tools.price_usd
    states: dict[State, float] = {(frozenset(), frozenset()): 1.0}  # the chance of each, while a step is left
    solved, usd, seconds, invalid_tools, unpriced = 0.0, 0.0, 0.0, 0.0, 0.0
    servers = [int(context.tool_server[row]) for candidates in parts for row in candidates[:ROUNDS]]
    later = iter([frozenset(servers[place:]) for place in range(1, len(servers) + 1)])
    for part, candidates in enumerate(parts):
        ended = defaultdict[State, float](float)  # for a part that has solved its step
        call_prices = prices[list(candidates)] if payments is None else payments[part]
        for row, usd_of_call in zip(candidates[:ROUNDS], call_prices, strict=False):
            (server, latency_s, conn_s), succeeds = _declared(context, row), chance(context, row)
            may_serve = [step for step, (right, _) in enumerate(steps) if context.tool_ids[row] in right]
            counting = next(later)  # others are not called again, and would only multiply the states
            called = sum(states.values())
            usd += called * float(np.nan_to_num(usd_of_call))
            unpriced += called * bool(np.isnan(usd_of_call))
            next_states = defaultdict[State, float](float)
            for (done, connected), share in states.items():
                seconds += share * (latency_s + conn_s * (server not in connected))
                step = next((s for s in may_serve if s not in done and done.issuperset(steps[s][1])), None)
                gain = share * succeeds if step is not None else 0.0
                invalid_tools += share if step is None else 0.0
                now_connected = (connected | {server}) & counting
                next_states[done, now_connected] += share - gain
                if step is not None and len(done) == len(steps) - 1:
                    solved += gain
                elif step is not None:
                    target = next_states if part == len(parts) - 1 else ended
                    target[done | {step}, now_connected] += gain
            states = next_states
        for state, share in ended.items():
            states[state] = states.get(state, 0.0) + share
    return ExpectedOutcome(solved, usd, seconds, invalid_tools, unpriced)
