"""Decisions of every kind, and every chart of a decision."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import plotly.graph_objects as go

from core.decisions.case import Case
from core.decisions.curves import Curve, posted, utilities
from core.decisions.ehrr_strips import strip
from core.domain.catalog import Server
from core.domain.decision import Decision
from core.importers.token_meter import Counted, utilisation_lines
from core.lab.stored_runs import agreement
from core.planning.plans import Plan
from core.routers.context import Match, RoutingContext
from core.routers.ehrr import Ehrr, EhrrParameters
from core.routers.presets import applied
from dashboard.pages.compare.charts import agreement_map
from dashboard.pages.route.charts import auction, plan_steps, server_ranking, tool_breakdown, tool_scores
from dashboard.ui.charts.shared import curve_chart, token_utilisation
from tests.cases import each
from tests.dashboard.chart_texts import HOSTILE
from tests.routers import worlds

PAPER = applied(EhrrParameters, "paper")  # the values of the paper's tables
MADE: dict[str, Case] = {}  # by decision
NO_CURVE = Curve("", "", "", (), None, None, "", "")
CHARTS: dict[str, Callable[[Decision], go.Figure]] = {
    "server_ranking": server_ranking,
    "auction": auction,
    "tool_breakdown": tool_breakdown,
    "curve_chart posted": lambda decision: _drawn(decision, posted),
    "curve_chart alpha_t": lambda decision: _drawn(decision, lambda case: utility_curve(case, "alpha_t")),
    "curve_chart kappa": lambda decision: _drawn(decision, lambda case: utility_curve(case, "kappa")),
    "tool_scores": tool_scores,
    "plan_steps": lambda decision: plan_steps(
        Plan.of("q", "rules", [(HOSTILE, ()), ("b", ()), ("c", (0, 1))], lambda *_: decision)
    ),
    "token_utilisation": lambda decision: token_utilisation(
        [decision.query, *decision.servers.names[:1]],
        [utilisation_lines(Counted.of(decision), (1, 10, 100))] * (1 + len(decision.servers.names[:1])),
        turns=30,
    ),
    "agreement_map": lambda decision: agreement_map(
        [decision.query, *decision.servers.names[:1]], agreement([decision] * (1 + len(decision.servers.names[:1])))
    ),
}


def decide(*servers: Server, likes: float = 0.7, **parameters: object) -> Decision:
    """A decision over these servers; the first tools fit best."""
    catalog = worlds.catalog(*servers)
    of_tools = {tool.id: likes - 0.04 * place for place, tool in enumerate(catalog.tools)}
    of_servers = {server.name: likes - 0.05 * place for place, server in enumerate(catalog.servers)}
    context = worlds.context(catalog, of_servers, of_tools)
    return decided(context, PAPER.replaced(parameters))


def decided(context: RoutingContext, parameters: EhrrParameters) -> Decision:
    decision = Ehrr().route("anything", context, parameters)
    match = Match(decision.servers.similarity, decision.tools.similarity)
    MADE[decision.id] = Case(context, match, parameters)
    return decision


def utility_curve(case: Case, name: str) -> Curve:
    knob = next(info for info in case.parameters.knobs() if info.name == name)
    return utilities(case, strip(case, knob))


def _drawn(decision: Decision, curve: Callable[[Case], Curve]) -> go.Figure:
    """A curve of What if; nothing for a catalog without tools."""
    return curve_chart(curve(MADE[decision.id]) if decision.tools.ids else NO_CURVE)


def server(name: str, *prices: float | None, ask_usd: float | None = 0.004, latency_s: float = 0.5) -> Server:
    tools = tuple(worlds.tool(f"t{n}", price_usd=price, latency_s=latency_s) for n, price in enumerate(prices))
    return Server(name, name, ask_usd=ask_usd, conn_s=0.2, call_s=0.8, success=0.9, tools=tools)


def market() -> tuple[Server, ...]:
    """Seven servers: one without an ask, one too dear, one with a tool that is too dear."""
    return (
        server("alpha", 0.001, 0.02, None),
        server("beta", 0.002, ask_usd=0.9),
        server("gamma", 0.003, 5.0),
        server("delta", None, ask_usd=None),
        *(server(f"more{n}", 0.001, 0.002) for n in range(3)),
    )


DECISIONS: dict[str, Callable[[], Decision]] = {
    "tables I and II": lambda: decided(worlds.tables_context(), PAPER),
    "typical": lambda: decide(*market()),
    "nothing accepted": lambda: decide(*market()[:2], budget_usd=0.0, p_bs=0.0),
    "nothing affordable": lambda: decide(server("dear", 5.0, 6.0, ask_usd=0.0)),
    "capped": lambda: decide(*market(), budget_usd=0.005, p_bs=0.05),
    "auction off": lambda: decide(*market(), auction=False),
    "no execution signals": lambda: decide(*market(), execution_signals=False),
    "no hierarchy": lambda: decide(*market(), hierarchy=False),
    "billed per attempt": lambda: decide(*market(), billing="per_attempt", kappa=150.0),
    "unpriced tools": lambda: decide(server("free", None, None, ask_usd=None), server("other", None)),
    "server without ask": lambda: decide(server("silent", None, ask_usd=None)),
    "server without tools": lambda: decide(server("empty"), server("full", 0.001)),
    "one server with one tool": lambda: decide(server("only", 0.001)),
    "empty catalog": decide,
    "negative utilities": lambda: decide(*(server(f"slow{n}", 0.01, latency_s=60.0) for n in range(3)), alpha_s=2.0),
    "no similarity at all": lambda: decide(*market(), likes=0.0),
    "50 servers, k = 50": lambda: decide(*(server(f"s{n:02}", 0.001, 0.002) for n in range(50)), k=50, n=50),
    "hostile names": lambda: decide(server(HOSTILE, 0.001, 0.002), server(f"{HOSTILE}2", None, ask_usd=None)),
    "endless names": lambda: decide(server("x" * 5000, 0.001), server("y " * 5000, 0.001)),
}

CASES = each("case", list(DECISIONS))


@cache
def decision(case: str) -> Decision:
    return DECISIONS[case]()


@cache
def chart(case: str, name: str) -> go.Figure:
    return CHARTS[name](decision(case))


def marks(case: str, name: str) -> list[Any]:
    """The traces that draw something, without those that only write names and figures."""
    return [trace for trace in chart(case, name).data if trace.to_plotly_json().get("mode") != "text"]


def written(case: str, name: str) -> list[str]:
    """The names and figures that stand in the chart."""
    figure = chart(case, name)
    notes = [note.text for note in figure.layout.annotations]
    return notes + [
        text for trace in figure.data if trace.to_plotly_json().get("mode") == "text" for text in trace.text
    ]


def numbers(values: Any) -> list[float]:
    return [float(value) for value in values if value is not None]
