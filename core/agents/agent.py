"""The agent loop: plan, route, call, and tell the planner the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from core.calls.calls import CallHandle
from core.catalogs.catalogs import CatalogService
from core.catalogs.decision_log import AGENT
from core.decisions.routing import RoutingService
from core.domain import units
from core.domain.catalog import Server, Tool
from core.domain.decision import Decision
from core.domain.errors import CatalogError, Refusal, UnknownNameError
from core.domain.json_schema import argument_problems
from core.domain.outcome import Outcome, ToolCall
from core.domain.params import AS_MEASURED, NetworkMoment, Parameters
from core.domain.people import actions
from core.domain.tools import count_tokens, fits, piece
from core.governance.budgets import ROUNDING_USD
from core.governance.clients import AGENT_LOOP
from core.governance.governed_calls import GovernedCalls
from core.governance.refusals import Wanted
from core.planning.base import MAY_WRITE, Action, Attempt, Meter, Planner, SubQuery, Turn, Watch, also_counted, watched
from core.planning.plans import AgentEvent, Executed, Routed, Stopped
from core.planning.rules import chosen_planner
from core.routers.attention import LoadedSchema, SchemaLoader, StateView, refusal, state_view
from core.routers.tool_attention import ToolAttention, ToolAttentionParameters, summaries
from core.servers.lazy_pool import load_protocol
from core.virtual.launch import virtual_connection

if TYPE_CHECKING:
    from core.servers.pool import SessionPool


def said_of(outcome: Outcome) -> str:
    blocks = (block.text or f"[{' '.join(filter(None, (block.kind, block.mime_type)))}]" for block in outcome.content)
    if outcome.error and not outcome.kind.success:
        return outcome.error
    return "\n".join(filter(None, (*blocks, outcome.error))) or "The tool ended well and gave no result."


def said_tokens(outcome: Outcome, limit: int) -> int:
    """The tokens that count against a budget, at most `limit`."""
    text = said_of(outcome)
    return count_tokens(text) if fits(text, limit) else limit


def cut(said: str, limit: int) -> str:
    """The text of a tool, cut to a limit of tokens.

    >>> cut("one two three four", 2)
    'one t [cut: 5 of 18 characters]'
    """
    if fits(said, limit):
        return said
    head = piece(said, 0, limit)
    return f"{head} [cut: {len(head):,} of {len(said):,} characters]"


# The agent loop, EHRR Algorithm 1: a planner splits a question, then routes, executes and stops for each sub-task.

ROUNDS = 3
RESULT_TOKENS = 8_000
"""The most tokens of one result for the planner; budgets may leave fewer."""
UNAVAILABLE, INVALID, OVER_BUDGET = "tool_not_available", "invalid_arguments", "over_budget"


Review = Callable[[Turn, Action], Action]


def as_planned(_: Turn, action: Action) -> Action:
    return action


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A question and its limits: at most `rounds` actions for a routed sub-task, calls and model within `budget_usd`.

    Without `live`, outcomes are drawn and no tool is called. With it, read-only tools are called; with `may_write`, all tools are.
    Under a simulated `network` decisions are not recorded, and calls have its delays and outages.
    """

    question: str
    catalog: str
    router: str = "ehrr"
    parameters: Parameters | None = None
    planner: str = "rules"
    rounds: int = ROUNDS
    budget_usd: float | None = None
    live: bool = False
    may_write: bool = False
    network: NetworkMoment = AS_MEASURED


@actions("call", start="start an agent")
@dataclass(frozen=True, slots=True)
class AgentService:
    """Runs the loop over the services of pages and endpoint. Its decisions and calls are recorded, and statistics learn from them."""

    catalogs: CatalogService
    routing: RoutingService
    calls: GovernedCalls
    attention: AttentionService
    planners: Mapping[str, Planner]

    def start(self, task: AgentTask, review: Review = as_planned) -> AgentRun:
        """A run that has not begun; `review` may replace the planner's action. Raises PlannerError if there is no
        model."""
        return AgentRun(self, task, chosen_planner(self.planners, task.planner), review)


class AgentRun:
    """One question. Iterating over `events` runs the loop; leaving the iteration ends it. The totals grow during the loop."""

    def __init__(self, services: AgentService, task: AgentTask, planner: Planner, review: Review = as_planned) -> None:
        self.planner = planner.name
        self.calls_usd = 0.0
        self.unpriced = 0
        """Calls without a known price."""
        self.watch = Watch()
        """Watches the model's answers. Setting its `stop` ends the run."""
        self._services = services
        self._task = task
        self._planner = planner
        self._review = review
        self._call: CallHandle | None = None
        self._model = Meter(planner.usage.model)
        self._results: dict[int, tuple[str, str]] = {}  # sub-task and result of each done step
        self._seen: list[str] = []

    @property
    def model_usd(self) -> float | None:
        return self._model.usage.cost_usd

    @property
    def model_tokens(self) -> int:
        return self._model.usage.input_tokens + self._model.usage.output_tokens

    @property
    def left_usd(self) -> float | None:
        """The rest of the budget, by the known prices. Returns None without a budget."""
        if self._task.budget_usd is None:
            return None
        return round(self._task.budget_usd - self.calls_usd - (self.model_usd or 0.0), 9)

    def events(self) -> Iterator[AgentEvent]:
        """Runs the loop. Raises PlannerError if the model cannot answer; earlier calls stay done."""
        with also_counted(self._model), watched(self.watch):
            parts = self._planner.decompose(self._task.question)
        for step, part in enumerate(parts):
            yield from self._step(step, part, last=step == len(parts) - 1)

    def cancel_call(self) -> None:
        if self._call is not None and not self._call.done:
            self._call.cancel()

    def _step(self, step: int, part: SubQuery, *, last: bool) -> Iterator[AgentEvent]:
        decision = self._route(part.text)
        yield Routed(step, part.needs, decision)
        if missing := [str(need + 1) for need in part.needs if need not in self._results]:
            yield Stopped(step, False, f"It needs what step {' and '.join(missing)} should have brought.")
            return
        attempts: list[Attempt] = []
        action, tokens = Action("stop"), 0
        for rounds_left in range(self._task.rounds, -1, -1):
            tokens_before = self.model_tokens
            action = self._next(self._turn(decision, attempts, rounds_left, last=last))
            tokens = self.model_tokens - tokens_before
            if action.kind == "stop":
                break
            if not rounds_left:
                action = Action("stop", f"Not done within {self._task.rounds} rounds.")
            elif action.kind == "route":
                decision = self._route(action.query or part.text)
                yield Routed(step, part.needs, decision, action.words, tokens)
            else:
                executed = self._executed(decision, action)
                executed = replace(executed, step=step, words=action.words, model_tokens=tokens)
                yield executed
                attempts.append(Attempt(executed.tool, executed.said, executed.error))
                if not executed.error:
                    self._results[step] = (part.text, executed.said)
                    self._seen.append(executed.tool)
        yield Stopped(step, step in self._results, action.words, tokens)

    def _route(self, query: str) -> Decision:
        task = self._task
        with also_counted(self._model), watched(self.watch):  # a router may ask the model, too
            return self._services.routing.route(
                query, catalog=task.catalog, router=task.router, parameters=task.parameters,
                origin=AGENT, visitor=AGENT_LOOP, seen=tuple(self._seen), anew=True, network=task.network,
            )  # fmt: skip

    def _turn(self, decision: Decision, attempts: list[Attempt], rounds_left: int, *, last: bool) -> Turn:
        prompt = self._services.attention.before_model(decision)
        return Turn(
            self._task.question,
            decision.query,
            tuple(schema.tool for schema in prompt.schemas),
            decision.reason,
            tuple(attempts),
            tuple(self._results.values()),
            prompt.summaries,
            rounds_left,
            last,
        )

    def _next(self, turn: Turn) -> Action:
        if self._model.usage.model and self.left_usd is not None and self.left_usd <= 0:
            return Action("stop", "The budget is spent.")
        with also_counted(self._model), watched(self.watch):
            action = self._planner.act(turn)
        return self._review(turn, action)

    def _executed(self, decision: Decision, action: Action) -> Executed:
        """EXECUTE: a recorded call, or the error of a refused call."""
        arguments = action.arguments or {}
        if objection := self._named_wrong(decision, action) or self._not_allowed(decision, action.tool):
            error, text = objection
            return Executed(0, decision.id, action.tool, arguments, text, error)
        server, _, tool = action.tool.partition("::")
        network = self._task.network
        decision_id = None if network.simulated else decision.id
        call = ToolCall(
            server, tool, arguments, catalog=self._task.catalog, decision_id=decision_id, network=network,
            payment_usd=decision.agreed_usd(action.tool),
        )  # fmt: skip
        try:
            outcome, text = self._called(call, approved_by=action.approved_by)
        except Refusal as denial:
            text = json.dumps(denial.document, ensure_ascii=False)
            return Executed(0, decision.id, action.tool, arguments, text, denial.error)
        error = "" if outcome.kind.success else outcome.kind.value
        return Executed(0, decision.id, action.tool, arguments, text, error, outcome)

    def _named_wrong(self, decision: Decision, action: Action) -> tuple[str, str] | None:
        if unavailable := self._services.attention.after_model(decision, action.tool):
            return UNAVAILABLE, json.dumps(unavailable, ensure_ascii=False)
        try:
            _, tool = self._services.catalogs.catalog(self._task.catalog).find(*action.tool.partition("::")[::2])
        except UnknownNameError as error:
            return UNAVAILABLE, str(error)
        if action.arguments is None:
            return INVALID, "The arguments are not one JSON object."
        problems = argument_problems(tool.input_schema, action.arguments)
        faults = "; ".join(f"{name or 'arguments'} {text}" for name, text in problems.items())
        return (INVALID, faults) if faults else None

    def _not_allowed(self, decision: Decision, tool_id: str) -> tuple[str, str] | None:
        catalogs, name = self._services.catalogs, self._task.catalog
        with catalogs.unchanged():  # a replaced catalog has other rows
            server, tool = catalogs.catalog(name).find(*tool_id.partition("::")[::2])
            listed_usd = catalogs.projection(name).price_usd(catalogs.catalog(name).tool_row[tool_id])
        agreed_usd = decision.agreed_usd(tool_id)
        price = listed_usd if agreed_usd is None else agreed_usd
        if self._task.live and not (self._task.may_write or _only_reads(server, tool)):
            text = f"{tool_id} was not called: it does not say that it only reads, and this run calls no other tools."
            return MAY_WRITE, text
        budget = self.left_usd
        if budget is not None and not price <= budget + ROUNDING_USD:  # NaN is an unknown price, which may be any
            text = f"{tool_id} was not called: {units.price(price)}, of the budget {units.price(budget)} are left."
            return OVER_BUDGET, text
        return None

    def _called(self, call: ToolCall, *, approved_by: str) -> tuple[Outcome, str]:
        calls = self._services.calls
        if not self._task.live:
            self._call, limit = calls.drawn(call, origin=AGENT, client=AGENT_LOOP), RESULT_TOKENS
            outcome = self._call.report().outcome
        else:
            _, tool = self._services.catalogs.catalog(call.catalog).find(call.server, call.tool)
            request = Wanted(AGENT_LOOP, call, tool, RESULT_TOKENS, origin=AGENT, approved_by=approved_by)
            governed_call = calls.start(request, origin=AGENT, counted=said_tokens)
            self._call, limit = governed_call.handle, governed_call.permit.tokens
            if self.watch.stop.is_set():  # the end came before there was a call to cancel
                self._call.cancel()
            outcome = governed_call.handle.report().outcome
        self.calls_usd += outcome.price_usd or 0.0
        self.unpriced += outcome.price_usd is None
        return outcome, cut(said_of(outcome), limit)


def _only_reads(server: Server, tool: Tool) -> bool:
    """Whether a call changes nothing real: the tool only reads, or its server is virtual."""
    return tool.hints.read_only is True or (server.virtual and server.connection is None)


@dataclass(frozen=True, slots=True)
class ToolPrompt:
    """The tools of a turn in a model's prompt.

    `summaries` are phase 1, a line for each tool of the catalog, for the stable prefix; empty if the router has no such
    phase. `schemas` are phase 2, right before the user's message.
    """

    summaries: tuple[str, ...]
    schemas: tuple[LoadedSchema, ...]


@dataclass(eq=False)
class AttentionService:
    catalogs: CatalogService
    sessions: Callable[[], SessionPool]
    _: KW_ONLY
    virtual_folder: Path

    def __post_init__(self) -> None:
        self._loader = SchemaLoader(self._listed)

    def definitions(self, catalog: str, tools: Sequence[str], *, live: bool = False) -> tuple[LoadedSchema, ...]:
        """Full definitions of tools (`server::tool`), in their order; `live` asks the servers. Raises UnknownNameError."""
        return self._loader.load(self.catalogs.catalog(catalog), tools, live=live)

    def before_model(self, decision: Decision, *, live: bool = False) -> ToolPrompt:
        """Both phases of a decision; `live` asks the servers for their definitions.

        Raises UnknownNameError if the catalog was replaced and has lost a candidate.
        """
        ids = [decision.tools.ids[row] for row in decision.candidates]
        if decision.router != ToolAttention.id:
            return ToolPrompt((), self.definitions(decision.catalog, ids, live=live))
        p = ToolAttentionParameters().replaced(decision.parameters)
        full_ids = ids if p.lazy_loading else []
        catalog = self.catalogs.catalog(decision.catalog)
        return ToolPrompt(
            summaries(catalog, p.summary_tokens).lines, self.definitions(decision.catalog, full_ids, live=live)
        )

    def after_model(self, decision: Decision, tool: str) -> dict[str, Any] | None:
        """The error for a model that calls a tool it was not offered. None if the call is allowed."""
        if decision.parameters.get("hallucination_gate") is False:
            return None
        return refusal([decision.tools.ids[row] for row in decision.candidates], tool)

    def agent_state(self, decision: Decision) -> StateView | None:
        """The agent's state in a decision, for a form that edits it. None for a router without a state."""
        if decision.router != ToolAttention.id:
            return None
        return state_view(decision, self.catalogs.catalog(decision.catalog))

    def _listed(self, catalog: str, server: Server) -> tuple[Tool, ...]:
        """The tools that a server lists now. Starts a virtual server without a connection."""
        load_protocol()
        from core.servers.discovery import discover

        target = server
        if server.virtual and server.connection is None:
            target = replace(server, connection=virtual_connection(server, self.virtual_folder))
        (discovery,) = discover(self.sessions(), catalog, (target,))
        if discovery.server is None:
            raise CatalogError(discovery.error)
        return tuple(discovery.server.tools)
