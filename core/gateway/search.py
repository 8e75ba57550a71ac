"""`search_tools` gives the few tools that are worth trying for a sub-task, each with its cost and the reason why it is listed. A client
sees only tools in its scope that are neither held back nor hidden by the policy.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import mcp_types
import numpy as np

from core.app import App
from core.catalogs.background_jobs import Job
from core.catalogs.decision_log import AGENT
from core.domain.catalog import Catalog, Json, Tool, first_sentence
from core.domain.decision import Decision
from core.domain.json_schema import referenced
from core.domain.leaks import masked
from core.domain.tools import count_tokens
from core.domain.trace import DROPS, Drop
from core.domain.untrusted_text import one_line
from core.gateway.base import AgentTool, Request, Services, compact, definition, in_thread, or_null
from core.routers.why import fit_sentence, why_tool, writes_note

MOST_ARGUMENTS = 12
MOST_VALUES = 6
DEEPEST = 2
"""How deep nested alternatives are followed."""
NAME_CHARS, VALUE_CHARS, TYPE_CHARS, SENTENCE_CHARS = 40, 24, 160, 140


def signature(tool: Tool) -> str:
    """Returns the name, the arguments with their types (`?` marks an optional one) and the purpose of a tool.

    >>> schema = {"type": "object", "required": ["path"], "properties": {
    ...     "path": {"type": "string"}, "mode": {"enum": ["text", "lines"]}, "tags": {"type": "array", "items": {"type": "string"}}}}
    >>> signature(Tool("files", "read", "Reads a file. Returns its text.", input_schema=schema))
    'read(path: string, mode?: "text"|"lines", tags?: string[]) -- Reads a file.'
    """
    schema = tool.input_schema or {}
    properties = _mapping(schema.get("properties"))
    required = schema.get("required")
    needed = (
        [name for name in cast("list[object]", required) if isinstance(name, str)] if isinstance(required, list) else []
    )
    names = sorted(properties, key=lambda name: name not in needed)
    parts = [
        f"{one_line(name, NAME_CHARS)}{'' if name in needed else '?'}: {_type(schema, properties[name])}"
        for name in names[:MOST_ARGUMENTS]
    ]
    more = [f"… {len(names) - MOST_ARGUMENTS} more"] if len(names) > MOST_ARGUMENTS else []
    about = one_line(first_sentence(tool.description), SENTENCE_CHARS)
    return f"{one_line(tool.name, 2 * NAME_CHARS)}({', '.join([*parts, *more])}){f' -- {about}' if about else ''}"


def _type(root: Json, schema: object, depth: int = 0) -> str:
    node = _mapping(schema)
    if "$ref" in node:
        node = _mapping(referenced(root, node["$ref"]))
    if "const" in node:
        return _value(node["const"])
    if isinstance(node.get("enum"), list):
        values = cast("list[object]", node["enum"])
        words = [_value(value) for value in values[:MOST_VALUES]]
        return "|".join([*words, *(["…"] if len(values) > MOST_VALUES else [])]) or "any"
    for key in ("anyOf", "oneOf"):
        if isinstance(node.get(key), list):
            alternatives = cast("list[object]", node[key])[:MOST_VALUES]
            kinds = [_type({}, branch, depth + 1) if depth < DEEPEST else "any" for branch in alternatives]
            return one_line("|".join(dict.fromkeys(kinds)), TYPE_CHARS) or "any"
    kind: object = node.get("type", "any")
    if isinstance(kind, list):
        return "|".join(one_line(str(entry), VALUE_CHARS) for entry in cast("list[object]", kind)[:MOST_VALUES])
    if kind == "array":
        inner = _mapping(node.get("items")).get("type", "any")
        return f"{one_line(str(inner), VALUE_CHARS)}[]"
    return one_line(str(kind), VALUE_CHARS)


def _value(value: object) -> str:
    return one_line(json.dumps(value, ensure_ascii=False, default=str), VALUE_CHARS)


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


NOT_ALLOWED = "this client may not use them, or they wait for the operator because of their definition"
OUTSIDE = "it is outside the client's scope"
"""Clients never see this reason or its count."""
MARKED = "Lint finds an error in their definition, which the operator sees on the page Catalog"
FITS_FROM = 0.3
PAUSED = "their servers are paused for now"


@dataclass(frozen=True, slots=True)
class Shown:
    """The rows of the candidates that a search shows, candidates with a caution last, and a sentence about each kind of
    hidden candidate. `nameless` means that the client may not know the names of some hidden candidates."""

    rows: tuple[int, ...]
    notes: tuple[str, ...]
    nameless: bool


@dataclass(frozen=True, slots=True)
class Offering:
    """The tools for one request. `marked` maps tools with a Lint error to that error, `paused` maps paused servers to
    the reason, `down` maps servers that seem to be down to words about that. `unreachable` are the down servers that a background
    check watches; they come last. After time-outs only a call can tell, so the router decides when to try again."""

    app: App
    client: str
    catalog: str
    marked: Mapping[str, str]
    paused: Mapping[str, str]
    down: Mapping[str, str]
    unreachable: frozenset[str]

    @classmethod
    def of(cls, app: App, request: Request) -> Self:
        catalog = request.options.catalog
        now, states = app.settings.now(), app.health.down(catalog)
        marked, paused = app.lint_reports.errors(catalog), app.governance.paused(catalog)
        down = {server: state.words(now) for server, state in states.items()}
        unreachable = frozenset(server for server, state in states.items() if state.next_check is not None)
        return cls(app, request.client, catalog, marked, paused, down, unreachable)

    @property
    def is_whole(self) -> bool:
        """Whether the client may see every tool that a decision in its scope has."""
        policy = self.app.governance.policy
        held = policy.lint_errors == "hidden" or policy.new_with_lint_errors
        return not ((self.marked and held) or (self.paused and policy.paused_servers == "hidden"))

    def names(self, tool: Tool) -> bool:
        """Whether a text for this client may name a tool."""
        return self.hidden(tool) in {"", PAUSED}

    def shown(self, candidates: Mapping[int, Tool], most: int) -> Shown:
        why = {row: self.hidden(tool) for row, tool in candidates.items()}
        rows = [row for row in candidates if not why[row]][:most]
        rows.sort(key=lambda row: self.is_last(candidates[row]))
        counts = Counter(reason for reason in why.values() if reason)
        reasons = {reason: count for reason, count in counts.items() if reason != OUTSIDE}
        notes = [f"Candidates not shown: {count}, because {reason}." for reason, count in reasons.items()]
        servers = dict.fromkeys(tool.server for row, tool in candidates.items() if why[row] in {"", PAUSED})
        if servers and servers.keys() <= self.paused.keys():
            notes.append("Every tool that fits is on a server that is paused for now.")
            notes += [self.paused[server] for server in servers]
        return Shown(tuple(rows), tuple(notes), nameless=bool(counts.keys() - {PAUSED}))

    def is_last(self, tool: Tool) -> bool:
        return bool(self._error(tool)) or tool.server in self.unreachable or tool.server in self.paused

    def caution(self, tool: Tool) -> str:
        """Returns what an agent should know before it calls a tool, or ""."""
        error, paused = self._error(tool), self.paused.get(tool.server, "")
        cautions = [f"Lint finds an error in its definition ({error})."] if error else []
        cautions += [f"Its server is {self.down[tool.server]}."] if tool.server in self.down else []
        return " ".join([*cautions, *([f"Its server is paused. {paused}"] if paused else [])])

    def hidden(self, tool: Tool) -> str:
        policy, admission = self.app.governance.policy, self.app.governance.admission
        if admission.outside(self.client, self.catalog, tool):
            return OUTSIDE
        if not admission.allows(self.client, self.catalog, tool):
            return NOT_ALLOWED
        if policy.lint_errors == "hidden" and self._error(tool):
            return MARKED
        return PAUSED if policy.paused_servers == "hidden" and tool.server in self.paused else ""

    def _error(self, tool: Tool) -> str:
        """Returns the tool's Lint error. Returns "" if it has none, or if an operator approved the definition."""
        error = self.marked.get(tool.id, "")
        return "" if error and self.app.governance.definitions.approved(self.catalog, tool) else error


MOST_TOKENS = 2_000
MOST_CANDIDATES = 20
MOST_DOWN = 3
LEFT_OUT_TOKENS = 200
WHY_CHARS = 240
NUMBER = or_null("number")
CANDIDATE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tool": {"type": "string", "description": "Its name for describe_tool and execute_tool."},
        "signature": {"type": "string", "description": "Arguments with types; ? marks an optional one."},
        "fit": {**NUMBER, "description": "Probability that this tool can do the task if any tool can."},
        "success": {**NUMBER, "description": "Probability that one call of it works."},
        "price_usd": {**NUMBER, "description": "What one call pays; null: unpriced, which is not free."},
        "expected_s": {**NUMBER, "description": "Expected seconds until a call succeeds."},
        "why": {"type": "string"},
    },
    "required": ["tool", "signature", "fit", "success", "price_usd", "expected_s", "why"],
}
NOTHING = "No tool was found among those that this client may see."
DROP_WORDS = {
    Drop.NOT_SHORTLISTED: "on servers that match less",
    Drop.REJECTED: "on servers that ask more than was offered",
    Drop.NOT_AFFORDABLE: "too dear",
    Drop.OUTRANKED: "ranked lower",
    Drop.PRUNED: "not in the curated list",
    Drop.BELOW_THRESHOLD: "below the threshold",
    Drop.GATED: "with unmet preconditions",
    Drop.NOT_RETRIEVED: "not retrieved",
    Drop.REFUSED: "refused, because no tool fits well enough",
    Drop.NOT_WORTH: "not worth a try",
}


def search_tools(services: Services, request: Request) -> dict[str, Any]:
    document = search(services.app, request)
    services.results.keep_shown(document["route_id"], tuple(row["tool"] for row in document["candidates"]))
    return document


def search(app: App, request: Request) -> dict[str, Any]:
    """Records one decision and returns the answer's content; blocks."""
    arguments, options, offering = request.arguments, request.options, Offering.of(app, request)
    usual = app.agent_knobs.of(options.router)
    n = int(arguments["n"]) if "n" in arguments else None  # 5.0 is a whole number of JSON, too
    job = app.readiness.soon(options.catalog)
    decision = app.routing.route(
        masked(arguments["task"]),
        catalog=options.catalog,
        router=options.router,
        parameters=options.parameters(n if offering.is_whole else MOST_CANDIDATES, usual=usual),
        server_hint=masked(arguments.get("server_hint", "")),
        origin=AGENT,
        visitor=request.client,
        seen=request.seen,
        anew=True,
        at_once=True,
        scope=lambda catalog: app.governance.admission.seen(request.client, catalog),
    )
    catalog = app.catalogs.catalog(decision.catalog)
    tools = _tools_now(decision, catalog, decision.candidates)
    shown = offering.shown(tools, n or getattr(options.parameters(usual=usual), "n", MOST_CANDIDATES))
    hits = [_candidate(decision, catalog, row, _why(decision, row, tools[row], offering, shown)) for row in shown.rows]
    hits += _down(decision, catalog, offering, shown.rows)
    selection = hits if n is not None else fitting(hits, MOST_TOKENS - LEFT_OUT_TOKENS)
    reason = decision.reason if offering.is_whole else NOTHING  # the reason may name a hidden tool
    notes = (*_by_words(app, decision, job), *shown.notes)
    return {
        "route_id": decision.id,
        "confidence": "unsure" if decision.fit is None else decision.fit.confidence,
        "candidates": selection,
        "left_out": _left_out(decision, shown.rows, len(hits), len(selection), notes, reason),
    }


def _tools_now(decision: Decision, catalog: Catalog, rows: Iterable[int]) -> dict[int, Tool]:
    """Returns the tools of these rows of a decision. The catalog may have lost some since."""
    rows_now = ((row, catalog.tool_row.get(decision.tools.ids[row])) for row in rows)
    return {row: catalog.tools[new_row] for row, new_row in rows_now if new_row is not None}


def _by_words(app: App, decision: Decision, job: Job | None) -> tuple[str, ...]:
    """Returns the progress of the vectors and its consequences, if words alone decided."""
    if not decision.by_words:
        return ()
    how_far = str(app.catalogs.embedding(decision.catalog))
    if job is not None and job.error is not None:
        how_far = "By words alone, because the vectors could not be made: tell the operator."
    return (
        f"{how_far} Fit is rough meanwhile, and it is not known whether no tool fits: use the tools' own words, or ask again later.",
    )


def _down(decision: Decision, catalog: Catalog, offering: Offering, listed: Sequence[int]) -> list[dict[str, Any]]:
    if decision.fit is None or not offering.down:
        return []
    fits = decision.fit.tools
    likely = [row for row, fit in enumerate(fits) if fit >= FITS_FROM and row not in listed]
    tools = _tools_now(decision, catalog, likely)
    down = [row for row, tool in tools.items() if tool.server in offering.down and not offering.hidden(tool)]
    return [
        _candidate(decision, catalog, row, f"Fits {fits[row]:.0%}, {offering.down[tools[row].server]}.")
        for row in sorted(down, key=lambda row: -fits[row])[:MOST_DOWN]
    ]


def _why(decision: Decision, row: int, tool: Tool, offering: Offering, shown: Shown) -> str:
    """Returns why a candidate is listed, its caution, and whether it comes last. Leaves out names of other tools if the client
    may not see some of them."""
    if shown.nameless:
        place = shown.rows.index(row) + 1
        why = f"Candidate {place} of {len(shown.rows)}: {decision.score} {decision.tool_at(row).utility:.3f}.{writes_note(decision, row)}"
    else:
        why = why_tool(decision, row)
    notes = ["It comes last."] if offering.is_last(tool) else []
    return " ".join([*notes, *filter(None, [one_line(offering.caution(tool), WHY_CHARS)]), one_line(why, WHY_CHARS)])


def _candidate(decision: Decision, catalog: Catalog, row: int, why: str) -> dict[str, Any]:
    tool = decision.tool_at(row)
    return {
        "tool": tool.tool,
        "signature": signature(catalog.tools[catalog.tool_row[tool.tool]]),
        "fit": None if decision.fit is None else _rounded(decision.fit.tools[row], 3),
        "success": _rounded(tool.success, 3),
        "price_usd": None if tool.payment_usd is None else float(f"{tool.payment_usd:.6g}"),
        "expected_s": _rounded(tool.time_cost_s, 2),
        "why": why,
    }


def fitting(found: Sequence[dict[str, Any]], limit_tokens: int) -> list[dict[str, Any]]:
    """Returns the first candidates that fit into the limit together."""
    if sum(len(compact(item).encode()) + 1 for item in found) <= limit_tokens:  # a token has at least one byte
        return list(found)
    selection: list[dict[str, Any]] = []
    for candidate in found:
        limit_tokens -= count_tokens(compact(candidate)) + 1
        if limit_tokens < 0:
            break
        selection.append(candidate)
    return selection


def _left_out(
    decision: Decision,
    rows: Sequence[int],
    total: int,
    count: int,
    notes: Sequence[str],
    reason: str,
) -> str:
    """Returns one line: how many tools there are, at which stage the others were dropped, how likely nothing fits beside the first of
    `rows`, and how to see more."""
    parts = [f"{count} of {len(decision.tools.ids)} tools{_dropped(decision)}.", *notes]
    if not total and reason:
        parts.append(one_line(_for_agents(reason), WHY_CHARS))
    if total > count:
        parts.append(f"{total - count} more candidates were too long for one answer: ask with n.")
    if decision.fit is not None:
        if decision.fit.language:
            parts.append(f"The task reads as {decision.fit.language}: say it in English.")
        if decision.fit.nothing is not None:
            row = next(iter(rows), None)
            name = "" if row is None else one_line(decision.tools.ids[row], WHY_CHARS)
            parts.append(fit_sentence(decision.fit, row, name))
    parts.append("Give n or server_hint, or say the task in other words, to see others.")
    return " ".join(parts)


def _dropped(decision: Decision) -> str:
    codes = [int(code) for code in np.unique(decision.tools.dropped) if code >= 0]
    numbers = {DROPS[code]: int(np.count_nonzero(decision.tools.dropped == code)) for code in codes}
    counts = [(number, DROP_WORDS[drop]) for drop, number in numbers.items()]
    phrases = ", ".join(f"{count} {words}" for count, words in sorted(counts, reverse=True))
    return f"; left out: {phrases}" if phrases else ""


def _for_agents(reason: str) -> str:
    """Returns a reason without advice on knobs, which only the operator can turn.

    >>> _for_agents("None of the 5 short-listed servers accepted the posted price; raise p_bs, p_ofs or the budget cap.")
    'None of the 5 short-listed servers accepted the posted price. Tell the operator.'
    """
    why, advice, _ = reason.partition("; raise ")
    return f"{why}. Tell the operator." if advice else reason


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if math.isfinite(value) else None


SEARCH = AgentTool(
    definition(
        "search_tools",
        "Search tools",
        "Find the tools for one step of your work among all connected MCP servers. Say in one sentence what has to be done, "
        "with the kind of input and output. The answer has the tools that are worth trying, best first, with their arguments, "
        "the probability that they fit and work, price and time, and a route_id to give to execute_tool and report_outcome.",
        {
            "task": {"type": "string", "minLength": 1, "maxLength": 4_000, "description": "What this one step has to do."},
            "server_hint": {"type": "string", "maxLength": 400, "description": "The kind of server, or its name, if known."},
            "n": {"type": "integer", "minimum": 1, "maximum": MOST_CANDIDATES, "description": "How many tools to show."},
        },
        ["task"],
        {
            "route_id": {"type": "string"},
            "confidence": {"enum": ["sure", "unsure", "nothing"], "description": "nothing: probably no tool fits."},
            "candidates": {"type": "array", "items": CANDIDATE},
            "left_out": {"type": "string", "description": "What was left out and why."},
        },
        mcp_types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False),
    ),
    in_thread(search_tools),
)  # fmt: skip
