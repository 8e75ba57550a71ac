"""A turn of the agent loop, EHRR Algorithm 1: the context C_e that a planner reads, and its decision d_e."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from core.domain.catalog import Tool

MAY_WRITE = "may_write"
"""The error of a call that was held back because its tool may write."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that was tried in this sub-task and what came back, verbatim; `error` is its kind, "" where it ended well."""

    tool: str
    said: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """C_e: the question, the sub-task and its candidates, best first (`reason` says why there are none), what was tried so far, and
    what earlier sub-tasks brought, by their texts. `summaries` are phase 1 of Tool Attention, empty for other routers."""

    question: str
    subtask: str
    offered: tuple[Tool, ...]
    reason: str = ""
    attempts: tuple[Attempt, ...] = ()
    earlier: tuple[tuple[str, str], ...] = ()
    summaries: tuple[str, ...] = ()
    rounds_left: int = 1
    last: bool = True


@dataclass(frozen=True, slots=True)
class Action:
    """d_e: ROUTE other words (`subtask`), EXECUTE a tool with arguments (None: they cannot be read), or STOP.

    `words` are the planner's own, apart from what any tool said. `approved_by` is the origin of a person who acts in the planner's
    place and lets the call be made as it is.
    """

    kind: Literal["route", "execute", "stop"]
    words: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    subtask: str = ""
    approved_by: str = ""
