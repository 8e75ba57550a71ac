"""`wayfare agent`: the loop of ROUTE, EXECUTE and STOP over a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from core.agents.agent import ROUNDS, AgentRun, AgentTask
from core.cli import apps, options, output
from core.cli.options import option
from core.domain import units
from core.domain.errors import PlannerError, WayfareError
from core.domain.untrusted_text import visible
from core.planning.base import MAY_WRITE
from core.planning.plans import AgentEvent, Executed, Routed, Stopped

SAID_CHARACTERS = 2_000
CANDIDATES_SHOWN = 3


@click.command()
@click.argument("question", metavar="TEXT")
@options.planner("Splits the question, chooses tools and fills arguments")
@options.router("The routing algorithm.")
@options.knobs
@option("--rounds", default=ROUNDS, type=click.IntRange(1, 100), help="Largest number of actions for a sub-task.")
@option(
    "--budget-usd", type=options.Finite(min=0),
    help="Limits the cost of all calls. Unpriced tools are not called.",
)  # fmt: skip
@option("--live/--simulate", default=False, help="Make real calls of read-only tools.")
@options.network
@option("--allow-writes", "may_write", is_flag=True, help="With --live: also call tools that may write.")
@options.of_catalog
def agent(
    planner: str,
    router: str,
    settings: dict[str, str],
    preset: str,
    live: bool,
    may_write: bool,
    network: str,
    at: float,
    catalog: str,
    **limits: Any,
) -> None:
    """Work on a question: split it, route each sub-task, call its candidates until one succeeds. Without --live no tool
    is called.

    Example: wayfare agent "search the web for news on MCP and tell me the current time"
    """
    if may_write and not live:
        raise WayfareError("--allow-writes lets --live call tools that may write; give --live with it.")
    with apps.opened_catalog(catalog) as (app, name):
        task = AgentTask(
            catalog=name,
            router=router,
            parameters=app.routing.parameters(router, settings, preset=preset),
            planner=planner,
            live=live,
            may_write=may_write,
            network=options.moment(network, at),
            **limits,
        )
        run = app.agent.start(task)
        events: list[AgentEvent] = []
        problem: PlannerError | None = None
        try:
            for event in run.events():
                events.append(event)
                if not output.wants_json():
                    click.echo(_line(event, run.planner))
        except PlannerError as error:
            problem = error
        if output.wants_json() and (events or problem is None):
            output.document(_document(task, run, events, problem))
        elif events:
            click.echo(_totals(run, events))
    if problem is not None:
        raise problem


def _document(
    task: AgentTask, run: AgentRun, events: Sequence[AgentEvent], problem: PlannerError | None
) -> dict[str, Any]:
    return {
        "question": task.question,
        "planner": run.planner,
        "catalog": task.catalog,
        "router": task.router,
        "live": task.live,
        **task.network.to_json(),
        "rounds": task.rounds,
        "budget_usd": task.budget_usd,
        "calls_usd": run.calls_usd,
        "unpriced_calls": run.unpriced,
        "model_usd": run.model_usd,
        "model_tokens": run.model_tokens,
        "events": [event.to_json() for event in events],
        "problem": None if problem is None else str(problem),
    }


def _line(event: AgentEvent, planner: str) -> str:
    """Returns one event for the terminal. Results of tools are indented and marked by >, and the planner's words begin with
    its name."""
    match event:
        case Routed():
            return _routed(event, planner)
        case Executed():
            return _executed(event, planner)
        case Stopped():
            return f"  STOP     {'done' if event.done else 'not done'}{_words(event.words, planner)}\n"


def _routed(event: Routed, planner: str) -> str:
    decision = event.decision
    tools = [output.printable(decision.tools.ids[row]) for row in decision.candidates]
    more = f", {len(tools) - CANDIDATES_SHOWN} more" if len(tools) > CANDIDATES_SHOWN else ""
    candidates = (
        f"{', '.join(tools[:CANDIDATES_SHOWN])}{more}" if tools else output.printable(decision.reason, SAID_CHARACTERS)
    )
    needs = f" (needs step {', '.join(str(need + 1) for need in event.needs)})" if event.needs else ""
    tokens = decision.tokens
    return (
        f"{event.step + 1}. {output.printable(decision.query, SAID_CHARACTERS)}{needs}{_words(event.words, planner)}\n"
        f"  ROUTE    {candidates}\n"
        f"           decision {decision.id}, {units.seconds(decision.timings_ms['total'] / 1e3)}, "
        f"{tokens['exposed']:,} tokens shown, {tokens['cached']:,} cached, of {tokens['baseline']:,}"
    )


def _executed(event: Executed, planner: str) -> str:
    outcome = event.outcome
    if outcome is None:
        way = "; --allow-writes lets it be called" if event.error == MAY_WRITE else ""
        result = f"not called: {event.error.replace('_', ' ')}{way}"
    else:
        mark = ", simulated" if outcome.simulated else ""
        result = f"{outcome.kind.replace('_', ' ')}{mark}, {units.price(outcome.price_usd)}, {units.seconds(outcome.latency_s)}"
    answer = visible(event.said)
    excerpt = answer if len(answer) <= SAID_CHARACTERS else f"{answer[:SAID_CHARACTERS]}… [{len(answer):,} characters]"
    quoted = "\n".join(f"           > {line}" for line in excerpt.splitlines())
    return f"  EXECUTE  {output.printable(event.tool)}: {result}{_words(event.words, planner)}\n{quoted}"


def _words(words: str, planner: str) -> str:
    return f"\n           {output.printable(planner)}: {output.printable(words, SAID_CHARACTERS)}" if words else ""


def _totals(run: AgentRun, events: Sequence[AgentEvent]) -> str:
    stops = [event for event in events if isinstance(event, Stopped)]
    calls = [event for event in events if isinstance(event, Executed) and event.outcome is not None]
    simulated = sum(event.outcome is not None and event.outcome.simulated for event in calls)
    unpriced = f", {run.unpriced} of them unpriced" if run.unpriced else ""
    model = f", model {units.price(run.model_usd)} for {run.model_tokens:,} tokens" if run.model_tokens else ""
    left = "" if run.left_usd is None else f", {units.price(max(0.0, run.left_usd))} of the budget left"
    return (
        f"{sum(event.done for event in stops)} of {len(stops)} sub-tasks done. Calls: {len(calls)} "
        f"({simulated} simulated{unpriced}) for {units.price(run.calls_usd)}{model}{left}."
    )
