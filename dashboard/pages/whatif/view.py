"""The What if page: one sub-task under other values of the parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from core.app import App
from core.decisions import curves
from core.decisions.curves import Curve, utilities
from core.decisions.over_tasks import Against, Bar, Compared, Tornado
from core.decisions.routing import Asked
from core.decisions.whatif import Offer, Payoff, auction_of
from core.domain import units
from core.domain.tasks import Task
from core.domain.untrusted_text import one_line
from core.routers.auction import SETTLEMENTS
from core.routers.ehrr import EhrrParameters
from core.routers.presets import PRESETS
from dashboard.pages.whatif.charts import payoff_chart, reports_chart, tornado_chart
from dashboard.pages.whatif.winners import plane_view, winners_view
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import MARKS, TRACKS, curve_chart
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Asks, QueryForm, Question, example_queries, strip_colours
from dashboard.ui.table import Column, table
from dashboard.ui.text import counted, errors_shown, escaped
from dashboard.ui.url_state import UrlState, segments, select

FRAGILE = 0.1
OWN = "own:"  # no shipped preset has such a name


def tasks_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Draw the effects of knobs on the tasks of the catalog. The sub-task of the page is not used."""
    sets = app.lab.task_sets(asked.catalog)
    if not sets:
        st.info("This catalog has no labelled tasks. The Lab page measures your own.", icon=":material/science:")
        return
    name = select(st.container(), state, {}, "tasks", "Tasks", list(sets), width=320)
    with st.spinner("Deciding every task with every turn of every knob."):
        tornado = app.what_if.tornado(asked, app.lab.read_tasks(sets[name]))
    money = _money(f"{1e3 * tornado.usd:.3g} m\\$", tornado)
    st.markdown(
        f"**{len(tornado.tasks):,}** answerable tasks. The winner is right for **{100 * tornado.success:.1f} %** of them and costs "
        f"**{money}** on average (declared prices, nothing is called)."
    )
    knobs = {knob.name: knob for knob in asked.parameters.knobs()}
    moving = {bar.name for bar in tornado.bars if bar.changed}
    if moving:
        chart(tornado_chart(tornado, knobs), key="whatif:tornado", choose=partial(_choose, state=state))
        st.caption("Left: a lower value of the knob, right: a higher one. Full colour: 10 %, paler: 25 % and 50 %.")
    idle = [knobs[name].symbol for name in dict.fromkeys(bar.name for bar in tornado.bars) if name not in moving]
    if idle:
        st.caption(f"Turned by up to 50 %, {', '.join(idle)} {'change' if len(idle) > 1 else 'changes'} no winner.")
    _presets(app, asked, app.lab.read_tasks(sets[name]))
    symbols = {name: knob.symbol for name, knob in knobs.items()}
    _effects(tornado, symbols)
    _tasks_of(tornado, st.session_state.get(state.key("bar"), ""), symbols)
    _fragile(tornado, symbols)


def _choose(name: str, *, state: UrlState) -> None:
    st.session_state[state.key("bar")] = name


def _presets(app: App, asked: Asked, tasks: Sequence[Task]) -> None:
    """Draw shipped and saved presets beside the current knobs. They are computed when the fold is opened."""
    fold = st.expander("Presets beside these knobs", icon=":material/compare:", key="whatif:presets", on_change="rerun")
    if not fold.open:
        return
    with fold:
        saved = {f"{OWN}{place}": preset for place, preset in enumerate(app.saved_presets.of(asked.router).values())}
        current, *others = app.what_if.presets(asked, tasks, {key: item.parameters for key, item in saved.items()})
        titles = {key: item.name for key, item in saved.items()} | {key: item.title for key, item in PRESETS.items()}
        notes = {key: item.note for key, item in saved.items()} | {key: item.sentence for key, item in PRESETS.items()}
        rows = [
            {
                "preset": one_line(titles[result.name], 60) if result.name else "these knobs",
                "success, %": _mean(100 * result.success, result.success_against, 100, result is current),
                "money, m$ per task": _money(
                    _mean(1e3 * result.usd, result.usd_against, 1e3, result is current), result
                ),
                "time, s per task": _mean(result.time_s, result.time_against, 1, result is current),
                "another winner": "–" if result is current else f"{len(result.changed)} tasks",
                "purpose": one_line(notes[result.name], 200) if result.name else "The knobs on the left.",
            }
            for result in (current, *others)
        ]
        table(rows)
        st.caption(
            "Saved presets are listed, too. In brackets: the difference from these knobs over the same tasks, with its 95 % interval (paired bootstrap). Time is the "
            "expected time until the winner succeeds, with the statistics of the catalog. Nothing is called."
        )


def _money(text: str, measured: Tornado | Compared) -> str:
    """The text of a mean payment, and the number of winners without a known price."""
    if math.isnan(measured.usd):
        return "unpriced"
    return f"{text} + {measured.unpriced:,} unpriced" if measured.unpriced else text


def _mean(value: float, against: Against, times: float, first: bool) -> str:
    """`61.2 (+1.5, −0.4 to +3.3)`."""
    if first:
        return f"{value:.3g}"
    mean, low, high = (
        f"{times * number:+.2g}".replace("-", "−") for number in (against.mean, against.low, against.high)
    )
    return f"{value:.3g} ({mean}, {low} to {high})"


def _effects(tornado: Tornado, symbols: dict[str, str]) -> None:
    rows = [
        {
            "knob": symbols[bar.name], "turned": f"{bar.turn:+.0%}", "from": bar.now, "to": bar.value,
            "another winner, %": 100 * bar.share, "success, points": 100 * bar.success, "money, m$ per task": 1e3 * bar.usd,
        }
        for bar in sorted(tornado.bars, key=lambda bar: -bar.share)
    ]  # fmt: skip
    with st.expander("All bars as numbers", icon=":material/table:"):
        table(
            rows,
            [
                Column(name, format="%.4g")
                for name in ("from", "to", "another winner, %", "success, points", "money, m$ per task")
            ],
        )


def _tasks_of(tornado: Tornado, name: str, symbols: dict[str, str]) -> None:
    knob, _, turn = name.partition("|")
    bar = next((bar for bar in tornado.bars if bar.name == knob and f"{bar.turn:g}" == turn), None)
    if bar is None:
        st.caption("Click a bar for its tasks.")
        return
    st.markdown(f"##### {counted(len(bar.changed), 'task')} with another winner at {_turn(bar, symbols)}")
    _table(tornado, [(place, "") for place in bar.changed])


def _fragile(tornado: Tornado, symbols: dict[str, str]) -> None:
    fragile = tornado.fragile(within=FRAGILE)
    st.markdown(f"##### {counted(len(fragile), 'fragile task')}: another winner at ±10 % of a single knob")
    if fragile:
        _table(tornado, [(place, ", ".join(_turn(bar, symbols) for bar in bars)) for place, bars in fragile])


def _turn(bar: Bar, symbols: dict[str, str]) -> str:
    return f"{symbols[bar.name]} {bar.turn:+.0%}"


def _table(tornado: Tornado, places: list[tuple[int, str]]) -> None:
    rows = [
        {"task": tornado.tasks[place].subtask, "winner today": tornado.winners[place] or "none",
         "right": "yes" if tornado.winners[place] in tornado.tasks[place].relevant else "no", **({"changes at": reason} if reason else {})}
        for place, reason in places
    ]  # fmt: skip
    table(rows)


SETTLED = {
    "price": (
        r"u_i = a_i\,(p_{ij} - c_i),\qquad u_{buyer} = V\,P - p_{ij}",
        "The ask does not move the payment, it decides only whether the server is in. Theorem 1 needs the payment τ: here a server whose "
        "tool is listed below its cost earns more if it rejects.",
    ),
    "posted": (
        r"u_i = a_i\,(\tau_i - c_i),\qquad u_{buyer} = V\,P - \tau_i",
        "Theorem 1: no report earns more than the true cost. The ask does not move τ or the utility, so that it decides only whether the "
        "server is in. A server with c ≤ τ loses all if it asks more than τ; a server with c > τ makes a loss if it asks less.",
    ),
    "ask": (
        r"u_i = a_i\,(\hat c_i - c_i),\qquad u_{buyer} = V\,P - \hat c_i",
        "Theorem 1 needs the payment τ: here the ask ĉ is the payment, and a server earns the most if it asks for just τ.",
    ),
}
"""By settlement: the surplus of server and buyer, and the effect of a false ask."""


def auction_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Draw the table of offers, then the pay-off of one server over its ask."""
    case = app.what_if.case(asked)
    if case is None:
        return
    if not case.parameters.auction:
        st.info("The auction is off, so no price is posted.", icon=":material/gavel:")
        return
    settlement = case.parameters.settlement
    worth = st.number_input(
        "Value of a solved sub-task for the buyer, V ($)", 0.0, 10.0, app.what_if.value_case(asked).parameters.worth_usd, 0.01,
        key="whatif.worth", width=320, help="V of the cost curves. The buyer's surplus is the chance P that one call solves the sub-task, times V, minus the payment.",
    )  # fmt: skip
    offers = auction_of(case, app.what_if.fit(asked).tools, worth)
    table([_row(offer) for offer in offers])
    surplus, truth = SETTLED[settlement]
    st.caption(
        f"{SETTLEMENTS[settlement]} *What a call pays* is a knob; without an ask, a call pays the listed price. The surplus of a server is "
        "payment − c, with its ask as the true cost c; both count if the best tool is called. The cost curves also charge time, and count later tries."
    )
    st.latex(rf"a_i = 1\ \text{{if}}\ c_i \le \tau_i,\qquad {surplus}")
    st.caption("How many labelled tasks the auction changes, for better or worse: [Papers](./papers?paper=ehrr).")
    st.markdown("##### Does a false ask pay?")
    chart(reports_chart([offer for offer in offers if offer.ask_usd], settlement), key="whatif:reports")
    st.caption(truth)
    st.markdown("##### What if a server stated another cost?")
    server = select(st.container(), state, {}, "server", "Server", [offer.server for offer in offers], width=320)
    offer = next(offer for offer in offers if offer.server == server)
    cost = st.slider(
        "True cost of a call (m$)", 0.0, round(3e3 * offer.posted_usd, 2) or 1.0, min(round(1e3 * (offer.ask_usd or 0.0), 2), round(3e3 * offer.posted_usd, 2)),
        key=f"whatif.cost.{server}", width=420,
    )  # fmt: skip
    if settlement == "price" and math.isnan(offer.price_usd):
        st.caption("Its best tool has no listed price, so that the payment is not known.")
        return
    payoff = Payoff(offer.posted_usd, cost / 1e3, offer.price_usd, settlement)
    chart(payoff_chart(payoff), key="whatif:payoff")
    st.markdown(
        f"The true cost earns **{escaped(units.price(payoff.truthful_usd))}** if its best tool is called, the best statement "
        f"**{escaped(units.price(payoff.best_usd))}**."
    )


def _row(offer: Offer) -> dict[str, object]:
    return {
        "server": offer.server, "answer": "accepts" if offer.accepts else "rejects",
        "ask c": "none" if offer.ask_usd is None else units.price(offer.ask_usd), "offer τ": units.price(offer.posted_usd),
        "payment": _gain(offer, offer.payment_usd), "surplus of the server": _gain(offer, offer.server_usd),
        "surplus of the buyer": _gain(offer, offer.buyer_usd),
        "needed ask": "no change" if offer.accepts else f"{units.price(offer.posted_usd)} or less", "best tool": offer.tool,
    }  # fmt: skip


def _gain(offer: Offer, usd: float | None) -> str:
    return "–" if not offer.accepts else "unknown" if usd is None else units.price(usd)


def curves_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:  # noqa: ARG001
    """Draw the curves, three in a row. Other routers than EHRR have only the curve of expected value."""
    grid = st.grid(3, min_column_width=330, gap="small")
    winner = app.what_if.decision(asked).winner
    of_tools = strip_colours(asked, winner.tool if winner else "", app.what_if.strips(asked))
    of_servers = {tool.split("::")[0]: colour for tool, colour in reversed(list(of_tools.items())) if tool}
    colours = {**of_servers, **of_tools}
    for number, curve in enumerate(_curves(app, asked)):
        several = any(line.name in colours and not line.marks for line in curve.lines)
        with grid.cell(), st.container(border=True, gap="xxsmall"):
            chart(curve_chart(curve, colours if several else None), key=f"whatif:curve:{number}")
            st.latex(curve.formula)
            if curve.filled:
                st.markdown(f":small[{escaped(curve.filled, 300)}]")
            if any(line.marks for line in curve.lines):
                st.caption(MARKS)
    st.caption(TRACKS)


def _curves(app: App, asked: Asked) -> list[Curve]:
    case, ehrr_curves = app.what_if.case(asked), list[Curve]()
    if case is not None:
        strips = app.what_if.strips(asked)
        ehrr_curves += [utilities(case, strips[name]) for name in ("alpha_t", "kappa", "alpha_s")]
        ehrr_curves += [curves.posted(case)] if case.parameters.auction else []
        ehrr_curves += [curves.time_against_success(case), curves.conservatism(case)]
        ehrr_curves += curves.money_against_cap(case, strips["budget_usd"], app.what_if.fit(asked).tools)
    return [*ehrr_curves, curves.value_against_worth(app.what_if.value_case(asked))]


View = Callable[[App, UrlState, Asked, str], None]
OF_EHRR = ("Auction", "Over tasks")
KEPT = ("x", "y", "tool", "server", "tasks", "bar")  # texts of views in the URL


ASKS = Asks("whatif", of_answer=("tool", "server"))


VIEWS: dict[str, View] = {
    "Winners": winners_view, "Two knobs": plane_view, "Cost curves": curves_view, "Auction": auction_view,
    "Over tasks": tasks_view,
}  # fmt: skip


def page(question: Question) -> None:
    app, state, query, parameters = question.app, question.state, question.form, question.parameters
    for name in KEPT:
        st.session_state.setdefault(state.key(name), question.linked.get(name, ""))
    view = segments(state, question.linked, "view", "View", list(VIEWS))
    choices = {name: st.session_state[state.key(name)] for name in KEPT}
    state.end({**question.texts, "view": "" if view == "Winners" else view, **choices}, question=question.texts)
    if not query.query:
        _empty_page(state, query)
        return
    with errors_shown():
        show_preparing(app, query.catalog, decides=True)
        if view in OF_EHRR and not isinstance(parameters, EhrrParameters):
            st.info("This view needs EHRR, the router with an auction. Choose it above.", icon=":material/alt_route:")
            return
        VIEWS[view](app, state, question.asked, question.prefix)


def _empty_page(state: UrlState, query: QueryForm) -> None:
    st.markdown("#### What would change the winner?")
    st.markdown(
        "Enter a sub-task. You see the winner at each value of each knob, the changes that make another tool win, "
        "and the winner over two knobs. All values are exact."
    )
    example_queries(state, query.catalog)
