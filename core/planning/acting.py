"""The agent loop by rules: the candidates in their order, until one call ends well or none is left."""

from __future__ import annotations

from core.governance.refusals import APPROVAL_DENIED, APPROVAL_NEEDED
from core.planning.filling import filled
from core.planning.turns import MAY_WRITE, Action, Turn

A_PERSONS = {MAY_WRITE, APPROVAL_NEEDED, APPROVAL_DENIED}
"""Errors of calls that are for a person to decide: another candidate is no way around it."""


def act(turn: Turn) -> Action:
    """The next action; STOP where a call ended well, where nothing is left to try, and where a person has to say more.

    >>> act(Turn("q", "dance", offered=(), reason="Nothing fits.")).words
    'Nothing fits.'
    """
    newest = turn.attempts[-1] if turn.attempts else None
    if newest is not None and (not newest.error or newest.error in A_PERSONS):
        return Action("stop")
    tried = {attempt.tool for attempt in turn.attempts}
    tool = next((tool for tool in turn.offered if tool.id not in tried), None)
    if tool is None:
        return Action("stop", "No candidate is left." if turn.offered else turn.reason)
    arguments, missing = filled(tool.input_schema, turn.subtask)
    if missing:
        return Action(
            "stop",
            f"{tool.id} needs {', '.join(missing)}, and the sub-task does not say it: write it there (texts in quotes), "
            "or have a model decide (--planner llm).",
        )
    return Action("execute", tool=tool.id, arguments=arguments)
