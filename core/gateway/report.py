"""Steps after a search: `report_outcome`, a label that moves later searches, and the fallback, which calls the next candidates if a
read-only tool cannot answer. The operator switches it on (`EndpointOptions.fallback`); each try is a normal call.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import anyio.to_thread
import mcp_types

from core.catalogs.decision_log import AGENT
from core.domain.catalog import Tool
from core.domain.decision import Decision
from core.domain.errors import Refusal
from core.domain.feedback import By
from core.domain.json_schema import argument_problems
from core.domain.leaks import masked
from core.domain.outcome import OutcomeKind
from core.domain.untrusted_text import one_line, visible
from core.gateway.base import AgentTool, Answer, Request, Services, definition, in_thread, string, text_block
from core.gateway.describe import find
from core.gateway.search import Offering
from core.learning.feedback import MOST_NOTE_CHARACTERS

# A search by its route id, from memory or from the store. Only the client that made it may refer to it.


@dataclass(frozen=True, slots=True)
class Route:
    """The sub-task and the candidates of a route id, as far as its client may see them now. `gated` means that only
    these candidates may be called under it; `agreed_usd` has the payment for a call of a tool, if it is not the listed price."""

    id: str
    query: str
    server_hint: str
    offered: tuple[str, ...]
    gated: bool
    agreed_usd: Mapping[str, float | None]


def route_of(services: Services, request: Request, route_id: str) -> Route:
    """Returns the client's decision of a route id; blocks. Raises Refusal."""
    app, name = services.app, request.options.catalog
    record = app.routing.decision(route_id)
    if record is None:
        app.store.events.flush()
        record = app.store.activity.decision(route_id)
    if record is None or record.catalog != name or not request.sent(record.client):
        raise Refusal(
            "unknown_route",
            f"There is no route {route_id!r} in catalog {name!r}.",
            "Take the route_id that search_tools gave, or leave it out.",
        )
    if isinstance(record, Decision):
        query, parameters = record.query, record.parameters
        prices = {id_: record.agreed_usd(id_) for id_ in (record.tools.ids[row] for row in record.candidates)}
    else:
        query, parameters = record.subtask, json.loads(record.parameters_json)
        auctioned = parameters.get("settlement", "price") != "price"
        candidates: list[dict[str, Any]] = json.loads(record.candidates_json)
        prices = {tool["tool"]: tool["payment_usd"] if auctioned else None for tool in candidates}
    catalog, offering = app.catalogs.catalog(name), Offering.of(app, request)
    rows = ((id_, catalog.tool_row.get(id_)) for id_ in prices)
    offered = tuple(id_ for id_, row in rows if row is not None and offering.names(catalog.tools[row]))
    gated = parameters.get("hallucination_gate") is not False
    return Route(route_id, query, record.server_hint, offered, gated, prices)


LONGEST_ROUTE = 1_000
"""Characters of a route id. The id of a search in several catalogs has one part for each catalog."""
REACHED = {OutcomeKind.OK.value, OutcomeKind.TOOL_ERROR.value}


def report_outcome(services: Services, request: Request) -> dict[str, Any]:
    arguments = request.arguments
    route = route_of(services, request, arguments["route_id"])
    tool = _judged(services, request, route)
    services.app.feedback.label(
        route.query,
        tool,
        right=arguments["useful"],
        catalog=request.options.catalog,
        server_hint=route.server_hint,
        decision_id=route.id,
        note=masked(arguments.get("note", "")),
        by=By(request.client, AGENT),
    )
    return {"route_id": route.id, "tool": tool, "useful": arguments["useful"]}


def _judged(services: Services, request: Request, route: Route) -> str:
    """Returns the tool of the report: the last tool that the client reached under this route, or the first candidate if
    it called none."""
    services.app.store.events.flush()
    rows = services.app.store.activity.decision_outcomes(route.id)
    calls = [call for call in rows if request.sent(call.client)]  # a person may have called another tool under it
    reached_tools = [f"{call.server}::{call.tool}" for call in calls if call.kind in REACHED]
    if reached_tools:
        return reached_tools[-1]
    if calls:
        raise Refusal(
            "nothing_to_report",
            "No call under this route reached its tool, so its fit is unknown.",
            "The failed calls are recorded already; try another candidate and report that one.",
        )
    if not route.offered:
        raise Refusal(
            "nothing_to_report", "That search offered no tool.", "Search again in other words, or with a server_hint."
        )
    return route.offered[0]


REPORT = AgentTool(
    definition(
        "report_outcome",
        "Report whether it was of use",
        "Say whether the tool that you executed under a route_id did what you needed (if you executed none: whether the first "
        "candidate fits). Later searches for similar tasks use this report.",
        {
            "route_id": {"type": "string", "maxLength": LONGEST_ROUTE},
            "useful": {"type": "boolean"},
            "note": string("Why, in a sentence.", maxLength=MOST_NOTE_CHARACTERS),
        },
        ["route_id", "useful"],
        {
            "route_id": {"type": "string"},
            "tool": string("The tool that the report is about."),
            "useful": {"type": "boolean"},
        },
        mcp_types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    ),
    in_thread(report_outcome),
)  # fmt: skip


MOST_TRIES = 3
"""Calls for one request, including the requested one."""
NO_ANSWER = frozenset({"server_down", "server_paused", "connection_lost", "timeout", "tool_error", "busy"})
"""Errors after which another tool may answer. The agent or a person has to solve the others."""
WHY_CHARS = 300
OR_TRY = ", or try "
Execute = Callable[[Request], Awaitable[Answer]]


async def answered_instead(services: Services, request: Request, error: Refusal, execute: Execute) -> Answer:
    """Returns the answer of the next candidate that gives one, with the tries before it. Raises Refusal if all fail,
    and `error` if there is no other candidate."""
    if not request.options.fallback or request.mirrored or error.error not in NO_ANSWER:
        raise error  # a mirrored result has to fit the schema of its own tool
    others = await anyio.to_thread.run_sync(_others, services, request)
    tries = [_try(request.arguments["tool"], error)]
    for tool in others[: MOST_TRIES - 1]:
        try:
            result = await execute(replace(request, arguments={**request.arguments, "tool": tool}))
        except Refusal as failure:
            if request.side is not None and request.side.questions:  # its person is asked before another tool is tried
                raise
            tries.append(_try(tool, failure))
        else:
            return _with_note(result, tool, tries)
    if len(tries) == 1:
        raise error
    advice = f"{error.advice.partition(OR_TRY)[0].rstrip('.')}."  # it names tools that have failed
    raise Refusal(error.error, f"{error.why} Tried in its place: {_words(tries[1:])}.", advice)


def _others(services: Services, request: Request) -> list[str]:
    """Returns the other read-only tools of the same search that accept these arguments, best first. Returns none if the
    first tool may write."""
    params = request.arguments
    if "route_id" not in params:
        return []
    catalog = services.app.catalogs.catalog(request.options.catalog)
    _, asked_tool = find(services, request, catalog, params["tool"])
    if asked_tool.hints.read_only is not True:
        return []
    offered = route_of(services, request, params["route_id"]).offered
    tools = [catalog.tools[catalog.tool_row[name]] for name in offered if name in catalog.tool_row]
    return [tool.id for tool in tools if tool.id != asked_tool.id and _takes(tool, params.get("arguments", {}))]


def _takes(tool: Tool, arguments: dict[str, object]) -> bool:
    """Whether a tool only reads and declares each of the arguments. A tool that ignores an argument would answer
    another question.

    >>> from core.domain.catalog import ToolHints
    >>> schema = {"properties": {"path": {"type": "string"}}, "required": ["path"]}
    >>> tool = Tool("files", "read", "", input_schema=schema, hints=ToolHints(read_only=True))
    >>> _takes(tool, {"path": "a"}), _takes(tool, {"path": "a", "line": 3}), _takes(tool, {})
    (True, False, False)
    """
    properties: Any = (tool.input_schema or {}).get("properties")
    names = set(cast("dict[str, Any]", properties)) if isinstance(properties, dict) else set[str]()
    return (
        tool.hints.read_only is True
        and arguments.keys() <= names
        and not argument_problems(tool.input_schema, arguments)
    )


def _try(tool: str, error: Refusal) -> dict[str, str]:
    return {"tool": tool, "error": error.error, "why": one_line(visible(error.why), WHY_CHARS)}


def _words(tries: Sequence[Mapping[str, str]]) -> str:
    return "; ".join(f"{failure['tool']} ({failure['error']}: {failure['why']})" for failure in tries)


def _with_note(result: Answer, tool: str, tries: list[dict[str, str]]) -> Answer:
    note = f"[{tool} answered, with the same arguments, because {_words(tries)} did not.]"
    document = {**dict[str, Any](result.structured_content or {}), "fallback": tries}
    return result.model_copy(update={"content": [text_block(note), *result.content], "structured_content": document})
