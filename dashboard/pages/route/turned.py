"""What of a decision is drawn in place while a knob is turned, by the fast lane: the same functions as the page's own.

A part's key is that of its element on the page; its value is HTML, or a figure as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import plotly.graph_objects as go

from core.app import App
from core.domain.decision import Decision
from core.routers.expected_value import ExpectedValueParameters
from core.routers.parameters import PlanningParameters
from core.services.decide.whatif import Asked
from core.whatif.layer import Supposed
from dashboard.lane import Answer, Refused, Values
from dashboard.pages.route.candidates import card, card_key, numbers, numbers_key
from dashboard.pages.route.charts.auction import auction
from dashboard.pages.route.charts.server_ranking import server_ranking
from dashboard.pages.route.charts.tool_breakdown import tool_breakdown
from dashboard.pages.route.charts.tool_scores import tool_scores
from dashboard.pages.route.headline import headline
from dashboard.pages.route.tries import order_of_tries
from dashboard.pages.route.winner_strips import strips_json
from dashboard.ui.charts.base import figure_json
from dashboard.ui.charts.stages import stages

COLUMN_PX = 472  # three candidates
HEADLINE, SERVERS, AUCTION, TRIES, STAGES, TOOLS = (
    f"route:{name}" for name in ("headline", "servers", "auction", "tries", "stages", "tools")
)


def figures(decision: Decision) -> dict[str, go.Figure]:
    """The charts of the three steps, left to right, by key; the order of tries is no chart."""
    middle = (
        {}
        if decision.tries is not None
        else {AUCTION: auction(decision, height=COLUMN_PX)}
        if decision.economic
        else {STAGES: stages(decision.stages)}
    )
    of_tools = tool_breakdown if decision.economic else tool_scores
    return {
        SERVERS: server_ranking(decision, height=COLUMN_PX),
        **middle,
        TOOLS: of_tools(decision, height=COLUMN_PX),
    }


def texts(decision: Decision, supposed: Sequence[Supposed] = ()) -> dict[str, str]:
    """HTML by key: the headline, the order of tries, and a card for each candidate; marked where figures are `supposed`."""
    tools = {one.tool for one in supposed}
    return {
        HEADLINE: headline(decision, what_if=bool(tools)),
        **({} if decision.tries is None else {TRIES: order_of_tries(decision.tries)}),
        **{card_key(place): card(decision, row, tools) for place, row in enumerate(decision.candidates)},
        **{numbers_key(place): numbers(decision.tool_at(row)) for place, row in enumerate(decision.candidates)},
    }


def lane_answers(app: App, asked: Asked) -> Mapping[str, Answer]:
    """What the page of this query may ask for; its parameters have the values of what is no knob of the panel."""

    def made(asked: Asked) -> Decision:
        return app.routing.preview(
            asked.subtask, catalog=asked.catalog, router=asked.router, parameters=asked.parameters, server_hint=asked.hint,
            supposed=asked.supposed,
        )  # fmt: skip

    def decision(values: Values) -> Mapping[str, object]:
        chosen = asked.parameters.replaced(values)
        if isinstance(chosen, PlanningParameters) and chosen.planner != "rules":
            raise Refused(409, "The model is asked when the knob is let go.")
        turned = made(replace(asked, parameters=chosen))
        drawn = {key: figure_json(figure) for key, figure in figures(turned).items()}
        return {
            "parts": {**texts(turned, asked.supposed), **drawn},
            "winner": turned.winner.tool if turned.winner else "",
        }

    def strips(values: Values) -> Mapping[str, object]:
        chosen = asked.parameters.replaced(values)
        turned = replace(asked, parameters=chosen)
        found = app.what_if.strips(turned)
        if not found:
            return {}
        winner = made(turned).winner
        return strips_json(
            found, chosen.knobs(), chosen.values(), winner.tool if winner else None,
            in_usd=isinstance(chosen, ExpectedValueParameters),
        )  # fmt: skip

    return {"decision": decision, "strips": strips}
