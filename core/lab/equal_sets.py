"""Which pairs of a catalog's tools may be equal, and tasks that count what is equal as right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from core.domain.equal_sets import Proposal, Sets, ordered
from core.domain.task import Step, Task
from core.index.catalog_index import CatalogIndex

NEAREST, LEAST_COSINE = 10, 0.8


def proposed(index: CatalogIndex) -> tuple[Proposal, ...]:
    """Each tool with its ten nearest whose cosine is above 0.8 (ETOM, section 3), each pair once, the nearest first."""
    found: dict[tuple[str, str], float] = {}
    tools = index.catalog.tools
    for row, tool in enumerate(tools):
        rows, cosines = index.neighbours(row, NEAREST)
        for near, cosine in zip(rows, cosines, strict=True):
            if cosine > LEAST_COSINE:
                found[ordered(tool.id, tools[int(near)].id)] = min(1.0, float(cosine))
    best = sorted(found, key=lambda pair: (-found[pair], pair))
    return tuple(Proposal(*pair, cosine=found[pair]) for pair in best)


def widened(tasks: Sequence[Task], sets: Sets) -> tuple[Task, ...]:
    """The tasks with everything right that is equal to a right tool: more relevant tools, and more equal ones of a plan's steps.

    A task's own tools stay first: the first of them is the one that level 1 asks for.

    >>> (task,) = widened([Task("t", "x", relevant=("a::r",), plan=(Step("a::r"),))], ((("a::r", "b::r")),))
    >>> task.relevant, task.plan[0].equal
    (('a::r', 'b::r'), ('b::r',))
    """
    of = {tool: tools for tools in sets for tool in tools}
    return tuple(
        replace(task, relevant=_with_equal(task.relevant, of), plan=tuple(_step(step, of) for step in task.plan))
        for task in tasks
    )


def _step(step: Step, of: Mapping[str, Sequence[str]]) -> Step:
    return replace(step, equal=tuple(tool for tool in _with_equal((step.tool, *step.equal), of) if tool != step.tool))


def _with_equal(tools: Sequence[str], of: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*tools, *(equal for tool in tools for equal in of.get(tool, ())))))
