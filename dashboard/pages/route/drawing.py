"""The parts of a decision's drawing, for the page and for the fast lane while a knob is turned."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import Any

import plotly.graph_objects as go
from starlette.exceptions import HTTPException

from core.app import App
from core.decisions.layer import Supposed
from core.decisions.routing import Asked
from core.decisions.strips import Segment, Strip
from core.domain import units
from core.domain.decision import DOUBTFUL_FROM, NOTHING_FROM, SURE_FROM, Decision, Fit, PlannedTry, TryPlan
from core.domain.params import AS_MEASURED, Knob, Value
from core.domain.untrusted_text import one_line
from core.routers.auction import SETTLEMENTS
from core.routers.estimates import ATTEMPT_SUCCESS, EXPECTED_TIME
from core.routers.expected_value import ExpectedValueParameters
from core.routers.parameters import PlanningParameters
from core.routers.presets import PRESETS
from core.routers.why import IF_ANYTHING, condition, fit_sentence, network_note, parts_note
from dashboard.lane import Answer, Values
from dashboard.pages.route.charts import auction, server_ranking, tool_breakdown, tool_scores
from dashboard.pages.route.why import SCORE
from dashboard.theme import WinnerColours
from dashboard.ui.chart import chart, flow, live, noted
from dashboard.ui.charts.base import figure_json
from dashboard.ui.question import KIND as NETWORK
from dashboard.ui.question import MARK
from dashboard.ui.text import as_html

Metric = tuple[str, str, str]  # label, value, help
SIGNALS = {
    "dense": "meaning", "profile": "its server", "words": "words met", "everyday": "everyday words",
    "names": "names met", "concept": "kind of task", "asked": "example requests", "asked_words": "their words",
}  # fmt: skip


WRITES = ' <span class="wayfare-badge" title="It changes something, and the question asks to know: look at the others first.">writes</span>'
CONFIDENCE = {
    "sure": (
        "sure",
        f"The tool fits with a probability of at least {units.share(SURE_FROM)}{IF_ANYTHING}, and P(nothing fits) is below {units.share(DOUBTFUL_FROM)}.",
    ),
    "unsure": (
        "unsure",
        f"The tool fits with a probability below {units.share(SURE_FROM)}{IF_ANYTHING}, or P(nothing fits) is {units.share(DOUBTFUL_FROM)} or more, or the tool writes and the "
        "question asks to know: look at the others, or say it in other words.",
    ),
    "nothing": (
        "",  # the sentence says it
        f"P(nothing fits) is at least {units.share(NOTHING_FROM)}, as it is for 6 % of the everyday questions that the sample can answer, and for 47 % of "
        "those that it cannot. The tool is the nearest one.",
    ),
}

BY_WORDS = (
    "by words alone",
    "The catalog has no vectors yet, so words that the sub-task has in common with the tools decide. P(nothing fits) is not known, and how "
    "well a tool fits is rough: of everyday questions one in seven finds a right tool first.",
)
SCORED = (
    "Of more than 20,000 tools, these are scored: the thousand nearest, and the best by words, example requests and labels. Among 100,000 tools the "
    "winner was that of scoring every tool in each of 334 questions."
)
PARTS = (
    "The question seems to ask for several things. A tool does one of them. Choose how to split it below the question."
)
FOREIGN = "The encoder knows English. Of 20 everyday questions it found a right tool first for 13 in English, and for 0 to 3 in other languages."


def _headline(decision: Decision, *, what_if: bool = False) -> str:
    """Returns HTML: the winner with its metrics, or the reason without a winner. `what_if` marks supposed figures."""
    winner, mark = decision.winner, (MARK if what_if else "") + _network(decision)
    if winner is None:
        return f'<div class="wayfare-notice" role="status">⊘{mark} {as_html(decision.reason, 600)}</div>'
    preset = f' <span class="wayfare-badge">{as_html(PRESETS[decision.preset].title)}</span>' if decision.preset else ""
    metrics = "".join(
        f'<div class="wayfare-metric"><dt>{noted(label, help_text)}</dt><dd>{as_html(value)}</dd></div>'
        for label, value, help_text in _metrics(decision)
    )
    # the badges say the rest of the reason
    reason = decision.reason.removesuffix(network_note(decision)).removesuffix(parts_note(decision))
    star, badge, tool = "★", "", f"<strong>{as_html(winner.tool, 90)}</strong>"
    if decision.fit is not None:
        word = decision.fit.confidence
        label, help_text = BY_WORDS if decision.by_words else CONFIDENCE[word]
        if word == "nothing":
            star = noted("?", help_text)
        if decision.fit.doubtful:
            tool = fit_sentence(decision.fit, decision.candidates[0], tool)
        if decision.parts > 1 and label:
            label, help_text = f"{label}: one of {decision.parts} things", PARTS
        if decision.fit.language:
            label, help_text = f"{label}{', ' if label else ''}asked in {decision.fit.language}", FOREIGN
        if label:
            badge = f' <span class="wayfare-badge">{noted(label, help_text)}</span>'
    return (
        f'<div class="wayfare-headline"><div class="wayfare-winner"><span class="wayfare-star">{star}</span> '
        f"{tool}{mark}{badge}{preset}<small>{as_html(reason, 300)}{_scored(decision)}</small></div>"
        f'<dl class="wayfare-metrics">{metrics}</dl></div>'
    )


def _network(decision: Decision) -> str:
    """Returns HTML: the badge of a simulated network, "" for the measured network."""
    if not decision.network.simulated:
        return ""
    name, note = as_html(str(decision.network), 60), network_note(decision).strip()
    return f' <span class="wayfare-badge">{noted(f"network {name}", note)}</span>'


def _scored(decision: Decision) -> str:
    """Returns the number of scored tools of a large catalog, "" for a small catalog, which scores every tool."""
    if decision.scored is None:
        return ""
    note = decision.scored_note
    return f' <span class="wayfare-faint">{noted(note[0].upper() + note[1:], SCORED)}.</span>'


def _metrics(decision: Decision) -> list[Metric]:
    winner, tokens, timings = decision.winner, decision.tokens, decision.timings_ms
    if winner is None:
        return []
    simulated, settlement = decision.network.simulated, decision.settlement
    payment = ("Payment a call", units.price(winner.payment_usd), SETTLEMENTS[settlement])
    return [
        *([] if decision.fit is None else [_fit_metric(decision.candidates[0], decision.fit)]),
        ("Price a call", units.price(winner.price_usd), "Declared or set price of one call."),
        *([] if settlement == "price" else [payment]),
        ("Time, simulated" if simulated else "Expected time", units.seconds(winner.time_cost_s), EXPECTED_TIME),
        ("One attempt succeeds, simulated" if simulated else "One attempt succeeds", units.share(winner.success), ATTEMPT_SUCCESS),
        (
            "Tokens exposed", f"{tokens['exposed']:,}",
            f"cl100k_base tokens of the candidates' definitions; all definitions of the catalog have {tokens['baseline']:,}.",
        ),
        (
            "Decided in", units.seconds(timings["total"] / 1e3),
            f"Embedding {timings['embed']:.1f} ms, scoring {timings['score']:.1f} ms; {decision.scored_note}.",
        ),
    ]  # fmt: skip


def _fit_metric(row: int, fit: Fit) -> Metric:
    chance, whole = float(fit.tools[row]), ""
    if fit.nothing is not None:
        whole = f" With P(nothing fits) in it, where half of all sub-tasks are impossible, it is {units.share(chance * (1 - fit.nothing))}."
    parts = " + ".join(f"{SIGNALS[name]} {float(part[row]):.2f}" for name, part in fit.signals.items())
    if fit.learnt is not None:
        parts += f" + labels {float(fit.relevance[row] - sum(part[row] for part in fit.signals.values())):.2f}"
    return (
        f"Fits{condition(fit)}",
        units.share(chance),
        f"{'Calibrated' if fit.nothing is not None else 'Rough'} probability that this tool fits{IF_ANYTHING}, from its relevance {float(fit.relevance[row]):.2f} = {parts}, "
        f"and from its lead over tools with another function.{whole}",
    )


HELP = (
    "Each try succeeds with P = p_fit · (1 − pfail) · r and costs its price, its time in money, and (1 − P) · w. The order has "
    "the largest expected value, the sum of reached · (P · V − cost). All of it is for sub-tasks that some tool can do."
)


def _order_of_tries(plan: TryPlan) -> str:
    """Returns HTML: the tries in order, their expected result, and the value from which the next tool is worth a try."""
    tries = "".join(_try(number, attempt) for number, attempt in enumerate(plan.tries, 1))
    spent = units.spent(plan.usd, len(plan.tries), sum(attempt.price_usd is None for attempt in plan.tries))
    together = (
        f"<p><small>Together <b>{units.share(plan.success)}</b> solved, <b>{spent}</b> and "
        f"<b>{units.seconds(plan.time_s)}</b> expected; worth <b>{units.price(plan.value_usd)}</b> at "
        f"V = {units.price(plan.worth_usd)}.</small></p>"
    )
    following = (
        f'<p class="wayfare-faint"><small>{as_html(plan.next_tool, 60)} is worth a try from V = '
        f"{units.price(plan.next_worth_usd)}.</small></p>"
        if plan.next_tool is not None and plan.next_worth_usd is not None
        else ""
    )
    return f"<p><strong>{noted('2 · Order of tries', HELP)}</strong></p>{tries}{together}{following}"


def _try(number: int, attempt: PlannedTry) -> str:
    reached = "" if number == 1 else f" · reached {units.share(attempt.reached)}"
    figures = f"{units.share(attempt.chance)}{reached} · cost {units.price(attempt.cost_usd)}"
    return (
        f'<div class="wayfare-try">{number}. <b>{as_html(attempt.tool, 50)}</b> {figures}'
        f'<progress max="1" value="{min(1.0, attempt.chance):.4f}" aria-label="{as_html(attempt.tool, 50)}: {figures}"></progress></div>'
    )


NAME = 60
NO_WINNER = ""  # the page's colour of an empty track


def strips_json(
    strips: Mapping[str, Strip],
    knobs: Iterable[Knob],
    values: Mapping[str, Value],
    winner: str | None,
    colours: WinnerColours,
    *,
    in_usd: bool = False,
) -> dict[str, Any]:
    """Returns for each knob the `bands` of winners with their colours, `ticks` at changes of the decision, and a text for each segment.

    Leads are in utility, or `in_usd`.
    """
    infos = {info.name: info for info in knobs}
    winners = (segment.winner for strip in strips.values() for segment in strip.segments)
    colour_of = {**colours.of([winner, *winners]), None: NO_WINNER}
    return {
        name: {
            "bands": [[band.low, band.high, colour_of[band.winner]] for band in strip.winners()],
            "ticks": list(strip.breakpoints()),
            "segments": [
                [
                    segment.low,
                    segment.high,
                    _said(segment, infos[name], here=segment is _current(strip, values[name]), in_usd=in_usd),
                ]
                for segment in strip.segments
            ],
            "about": "; ".join(_band(band, infos[name]) for band in strip.winners()),
        }
        for name, strip in strips.items()
        if name in infos
    }


def _current(strip: Strip, value: Value) -> Segment | None:
    return strip.at(float(value)) if isinstance(value, int | float) else None


def _said(segment: Segment, info: Knob, *, here: bool, in_usd: bool) -> str:
    lead = f"{segment.winner} wins" if segment.winner else "no tool wins"
    if segment.winner:
        ahead = units.price(segment.margin) if in_usd else f"{segment.margin:.3f}"
        lead += " without a rival" if isinf(segment.margin) else f" by {ahead}"
    return f"{_span(segment, info)}{' (now)' if here else ''}: {one_line(lead, 90)}.\nDecided at: {segment.stage}. {one_line(segment.reason, 300)}."


def _band(segment: Segment, info: Knob) -> str:
    return f"{_span(segment, info)} {one_line(segment.winner, NAME) if segment.winner else 'no tool'} wins"


def _span(segment: Segment, info: Knob) -> str:
    return f"{info.symbol} {segment.low:.4g} to {segment.high:.4g} {info.unit}".strip()


HEADLINE, SERVERS, AUCTION, TRIES, TOOLS, FLOW = (
    f"route:{name}" for name in ("headline", "servers", "auction", "tries", "tools", "flow")
)


Parts = Mapping[str, str | go.Figure]


def drawing(decision: Decision, supposed: Sequence[Supposed] = ()) -> Parts:
    """Returns the parts of a decision by key, HTML or charts: the headline, the steps from left to right, a card and numbers for each
    candidate, and the flow through the stages. `supposed` figures are marked."""
    tools = {figure.tool for figure in supposed}
    if decision.tries is not None:
        middle: Parts = {TRIES: _order_of_tries(decision.tries)}
    else:
        middle = {AUCTION: auction(decision)} if decision.economic else {}
    of_tools = tool_breakdown if decision.economic else tool_scores
    return {
        HEADLINE: _headline(decision, what_if=bool(tools)),
        SERVERS: server_ranking(decision),
        **middle,
        TOOLS: of_tools(decision),
        **{card_key(place): _card(decision, row, tools) for place, row in enumerate(decision.candidates)},
        **{numbers_key(place): _numbers(decision, row) for place, row in enumerate(decision.candidates)},
        FLOW: flow(decision),
    }


def show(parts: Parts, key: str, *, lane: str = "", choose: Callable[[str], None] | None = None) -> None:
    """Draw a part on the page. `lane` is the token of the fast lane, `choose` is called with the name of a clicked bar."""
    part = parts[key]
    if isinstance(part, str):
        live(part, key=key, lane=lane)
    else:
        chart(part, key=key, choose=choose)


def card_key(place: int) -> str:
    return f"route:card:{place}"


def numbers_key(place: int) -> str:
    return f"route:card:{place}:numbers"


def _card(decision: Decision, row: int, supposed: Collection[str]) -> str:
    """Returns HTML: a candidate with its score, marked if one of its figures is `supposed`."""
    tool = decision.tool_at(row)
    server, name = tool.tool.split("::", 1)
    star = '<span class="wayfare-star">★</span> ' if tool.rank == 1 else ""
    score = "U" if decision.economic else as_html(decision.score)
    return (
        f'{star}<strong>{as_html(name, 40)}</strong> <small class="wayfare-faint">{as_html(server, 40)}</small>'
        f"{MARK if tool.tool in supposed else ''}{WRITES if row in decision.writing else ''}<br>"
        f"<small>{score} <strong>{units.plain(tool.utility)}</strong>{_fit(decision, row)}</small>"
    )


def _numbers(decision: Decision, row: int) -> str:
    """Returns HTML: payment, expected time, success and tokens of a candidate, and SONAR's expertise C and network score N."""
    tool, scores = decision.tool_at(row), decision.network_trace
    figures = [
        units.price(tool.payment_usd), units.seconds(tool.time_cost_s), units.share(tool.success), f"{tool.tokens:,} tokens",
    ]  # fmt: skip
    if scores is not None:
        network = float(scores.score[decision.tools.server_row[row]])
        figures += [f"C {units.plain(float(scores.expertise[row]))}", f"N {units.plain(network)}"]
    return f"<small>{' · '.join(as_html(figure) for figure in figures)}</small>"


def _fit(decision: Decision, row: int) -> str:
    if decision.fit is None:
        return ""
    return f" · fits {units.share(float(decision.fit.tools[row]))}{condition(decision.fit)}"


STILL = '<small class="wayfare-faint">Scored when the network stands still.</small>'


def lane_answers(app: App, asked: Asked, colours: WinnerColours) -> Mapping[str, Answer]:
    """Returns the fast-lane answers of this query. Its parameters have the values that are not in the panel."""

    def decision(values: Values) -> Mapping[str, object]:
        parameters = asked.parameters.replaced(values)
        if isinstance(parameters, PlanningParameters) and parameters.planner != "rules":
            raise HTTPException(409, "The model is asked when the knob is released.")
        return answer(replace(asked, parameters=parameters))

    def network(values: Values) -> Mapping[str, object]:
        response = answer(replace(asked, network=AS_MEASURED.replaced(values)))
        return {**response, "parts": {**response["parts"], SCORE: STILL}}

    def answer(asked: Asked) -> dict[str, Any]:
        decision = app.routing.preview(asked)
        parts = drawing(decision, asked.supposed)
        return {
            "parts": {key: part if isinstance(part, str) else figure_json(part) for key, part in parts.items()},
            "winner": decision.winner.tool if decision.winner else "",
        }

    def strips(values: Values) -> Mapping[str, object]:
        parameters = asked.parameters.replaced(values)
        request = replace(asked, parameters=parameters)
        winner_strips = app.what_if.strips(request)
        if not winner_strips:
            return {"question": None, "strips": {}}
        winner = app.routing.preview(request).winner
        document = strips_json(
            winner_strips, parameters.knobs(), parameters.values(), winner.tool if winner else None, colours,
            in_usd=isinstance(parameters, ExpectedValueParameters),
        )  # fmt: skip
        return {"question": json.dumps([asked.catalog, asked.query, asked.hint]), "strips": document}

    return {"decision": decision, "strips": strips, NETWORK: network}
