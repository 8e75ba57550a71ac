"""The winners over a knob and over two knobs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import streamlit as st

from core.app import App
from core.decisions.counterfactuals import Change, Counterfactual, Room, nearest_value
from core.decisions.layer import FIGURES, Supposed
from core.decisions.routing import Asked
from core.decisions.strips import Strip
from core.decisions.whatif import Contested
from core.domain import units
from core.domain.decision import Decision
from core.domain.params import Knob
from core.routers.expected_value import ExpectedValueParameters
from dashboard.pages.whatif.charts import plane_chart, strips_chart
from dashboard.ui.chart import chart
from dashboard.ui.charts.base import label
from dashboard.ui.knobs import knob_title
from dashboard.ui.labels import asked_like_line
from dashboard.ui.question import SHOWN, badge, suppose, winner_colours
from dashboard.ui.table import Column, pick, table
from dashboard.ui.text import escaped, no_tool
from dashboard.ui.url_state import UrlState

COMPARED, LISTED = 8, 50


def winners_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:
    """Draw the view. A click on a strip turns the knob to the nearest value of that segment."""
    decision, strips = app.what_if.decision(asked), app.what_if.strips(asked)
    winner = decision.winner.tool if decision.winner else None
    st.markdown(
        f":violet[★] **{escaped(winner, 90)}** wins.{badge(asked.catalog, winner)}"
        if winner
        else f"No tool wins: {escaped(decision.reason, 300)}"
    )
    if winner:
        asked_like_line(app, decision, winner)
    if not strips:
        st.info("Strips exist for EHRR and Expected value. Choose one of them.", icon=":material/alt_route:")
        return
    if (room := app.what_if.room(asked)) is not None:
        st.markdown(_room(room))
    knobs = {knob.name: knob for knob in asked.parameters.knobs()}
    rows = [strip for strip in strips.values() if len(strip.segments) > 1]
    idle = [knobs[name].symbol for name, strip in strips.items() if len(strip.segments) == 1]
    colours = winner_colours(asked).of([winner, *(segment.winner for strip in rows for segment in strip.segments)])
    values = asked.parameters.values()
    chart(
        strips_chart(rows, knobs, values, colours, in_usd=isinstance(asked.parameters, ExpectedValueParameters)),
        key="whatif:strips",
        choose=partial(turn, prefix=prefix, knobs=knobs, strips=strips, values=values),
    )  # fmt: skip
    legend(colours, winner)
    st.caption(
        "Rows have the scale of their knobs. Most are stretched towards low values (cube root). Hover for the winner and the reason; click to turn the knob there."
        + (f" {', '.join(idle)} {'does' if len(idle) == 1 else 'do'} not change the decision." if idle else "")
    )
    if decision.tools.ids:
        _make_win(app, state, asked, decision, prefix)


def turn(
    name: str, *, prefix: str, knobs: dict[str, Knob], strips: dict[str, Strip], values: Mapping[str, object]
) -> None:
    """Turn a knob into the clicked segment, `parameter|place`. Ignores other messages of the browser."""
    parameter, _, place = name.partition("|")
    if parameter not in strips or not place.isdigit() or int(place) >= len(strips[parameter].segments):
        return
    value, strip = values[parameter], strips[parameter]
    current = float(value) if isinstance(value, int | float) else math.inf
    if strip.segments[int(place)] is not strip.at(current):
        _set(prefix, knobs[parameter], nearest_value(knobs[parameter], strip, int(place), current))


def _set(prefix: str, knob: Knob, value: float) -> None:
    st.session_state[f"{prefix}.{knob.name}"] = None if math.isinf(value) else knob.kind(value)


def legend(colours: dict[str | None, str], winner: str | None) -> None:
    parts = [
        f'<span style="color:{colour}">{"★" if name == winner else "■"}</span> {"no winner" if name is None else label(name, 50)}'
        for name, colour in colours.items()
    ]
    st.html(f'<div style="font-size:0.85rem;line-height:1.6">{" &nbsp; ".join(parts)}</div>')


def _room(room: Room) -> str:
    limits = [
        "at any price" if room.price_usd is None else f"up to a price of **{units.price(room.price_usd)}**",
        "at any latency" if room.latency_s is None else f"up to a latency of **{units.seconds(room.latency_s)}**",
        "with any success" if not room.success else f"down to a success r of **{units.share(room.success)}**",
        "with any fit" if not room.fit else f"down to a fit of **{units.share(room.fit)}**",
    ]
    return f"It still wins {', '.join(limits)}, each with all other values unchanged.".replace("$", "\\$")


def _make_win(app: App, state: UrlState, asked: Asked, decision: Decision, prefix: str) -> None:
    """Draw the choice of a tool, and the changes that make it win, each with a button that tries it."""
    winner = decision.winner.tool if decision.winner else None
    likely = [tool for tool in _likely(decision) if tool != winner]
    names = app.catalogs.catalog(asked.catalog).tool_row.keys()
    if not likely:
        return
    key = state.key("tool")
    wanted = st.session_state.get(key)
    if wanted not in names or wanted == winner:
        st.session_state[key] = likely[0]
    st.markdown("##### What would make another tool win?")
    if wanted and wanted not in names:
        no_tool(asked.catalog, wanted)
    tool = pick(
        "Tool",
        names,
        key=key,
        first=likely[:LISTED],
        help="The best fitting tools come first. Type to search all tools.",
    )
    if tool is None:
        return
    asked_like_line(app, decision, tool)
    answer = app.what_if.counterfactual(asked, tool)
    st.info(_sentence(answer, asked), icon=":material/help:")
    _changes(answer, asked, prefix)
    _compared(app, asked, likely[:COMPARED])


def _likely(decision: Decision) -> list[str]:
    """Returns the evaluated tools, the best first: by fit, then by relevance, because many have an equally low fit."""
    fit, relevance = decision.tools.similarity, None if decision.fit is None else decision.fit.relevance
    order = np.argsort(-fit, kind="stable") if relevance is None else np.lexsort((-relevance, -fit))
    return [decision.tools.ids[row] for row in map(int, order)]


def _sentence(answer: Counterfactual, asked: Asked) -> str:
    if not answer.changes:
        return escaped(answer.proof, 500)
    return f"{escaped(answer.tool, 90)} wins with {words(answer.changes[0], asked)}: the smallest single change."


def words(change: Change, asked: Asked) -> str:
    """Returns `its price at 0.552 m$ instead of 2.12 m$`, or "hardly above" if both read the same."""
    show, subject, unit = _knob_number, f"its {change.name}", ""
    if change.of_knob:
        knob = next(knob for knob in asked.parameters.knobs() if knob.name == change.name)
        subject, unit = escaped(knob.symbol), f" {escaped(knob.unit)}" if knob.unit else ""
    else:
        show = SHOWN[change.name]
    new, current = show(change.then), show(change.now)
    if new == current:
        return f"{subject} hardly {'above' if change.then > change.now else 'below'} {escaped(current)}{unit}"
    return f"{subject} at **{escaped(new)}**{unit} instead of {escaped(current)}"


def _knob_number(value: float) -> str:
    return "off" if math.isinf(value) else f"{value:.4g}"


def _changes(answer: Counterfactual, asked: Asked, prefix: str) -> None:
    """Draw a line with a button for each change, and the blocked figures with their reason."""
    knobs = {knob.name: knob for knob in asked.parameters.knobs()}
    grid = st.grid(2, min_column_width=380, gap="xxsmall")
    for change in answer.changes:
        with grid.cell(), st.container(horizontal=True, vertical_alignment="center", gap="small"):
            arguments = (
                {"on_click": _set, "args": (prefix, knobs[change.name], change.then)}
                if change.of_knob
                else {"on_click": suppose, "args": (asked.catalog, Supposed(answer.tool, change.name, change.then))}
            )
            st.button("Try it", key=f"whatif:try:{change.name}", **arguments)
            st.markdown(f":small[{words(change, asked)}]")
    reasons = list(dict.fromkeys(answer.blocked.values()))
    for reason in reasons if answer.changes or len(reasons) > 1 else ():  # a single reason is in the sentence above
        *names, last = [name for name, cause in answer.blocked.items() if cause == reason]
        figures = f"{', '.join(names)} or {last}" if names else last
        st.markdown(f":small[:gray[No value of {figures} makes it win:] {escaped(reason, 300)}.]")


def _compared(app: App, asked: Asked, tools: list[str]) -> None:
    """Draw the best fitting losers with the smallest change of each kind."""
    rows = []
    knobs = {knob.name: knob for knob in asked.parameters.knobs()}
    for tool in tools:
        answer = app.what_if.counterfactual(asked, tool)
        of_knob = next((change for change in answer.changes if change.of_knob), None)
        figures = {change.name: SHOWN[change.name](change.then) for change in answer.changes if not change.of_knob}
        rows.append(
            {"tool": tool, "a knob": "none" if of_knob is None else f"{knobs[of_knob.name].symbol} {of_knob.then:.4g}"}
            | {name: figures.get(name, "–") for name in FIGURES}
            | {"blocked": "; ".join(dict.fromkeys(answer.blocked.values()))}
        )
    st.markdown(":small[:gray[The best fitting tools that do not win, with the single value that makes each win.]]")
    table(rows, (Column("tool", width="medium"), Column("blocked", width="large")))


AXES = ("alpha_t", "kappa", "alpha_s", "p_bs", "p_ofs", "l0_s", "l_route_s", "eps", "budget_usd", "k", "n")
WHOLE, CHOSEN_AXES = "whatif.whole", "whatif.axes"
AXES_OF_VALUE = ("worth_usd", "wrong_usd", "kappa", "unsafe_usd", "n")


def plane_view(app: App, state: UrlState, asked: Asked, prefix: str) -> None:
    """Draw the choice of two knobs, and the map of winners."""
    by_value = isinstance(asked.parameters, ExpectedValueParameters)
    axes = AXES_OF_VALUE if by_value else AXES
    infos = {knob.name: knob for knob in asked.parameters.knobs()}
    knobs = {name: infos[name] for name in axes if name in infos}
    if len(knobs) < len(axes):
        st.info("The map exists for EHRR and Expected value. Choose one of them above.", icon=":material/alt_route:")
        return
    _choose_axes(app, state, asked, axes)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        x, y = (_axis(state, name, knobs) for name in ("x", "y"))
        whole = st.toggle("Whole ranges", key=WHOLE, help="Off: up to five times the current values.")
    if x == y:
        st.info("Choose two different knobs.", icon=":material/tune:")
        return
    plane = app.what_if.plane(asked, x, y, near=not whole)
    if plane is None:
        return
    winners = [plane.tools[row] if row >= 0 else None for row in sorted(set(plane.winner.ravel().tolist()))]
    today = app.what_if.decision(asked).winner
    colours = winner_colours(asked).of([None if today is None else today.tool, *winners])
    if not plane.contested:
        _nothing_changes(app, state, asked, axes, next((name for name in winners if name is not None), None))
    current = (_number(asked, knobs[x]), _number(asked, knobs[y]))
    chart(
        plane_chart(plane, knobs[x], knobs[y], current, colours, in_usd=by_value), key=f"whatif:plane:{x}:{y}",
        choose=partial(set_both, prefix=prefix, x=knobs[x], y=knobs[y]),
    )  # fmt: skip
    legend({name: colours[name] for name in winners}, None if today is None else today.tool)
    lead = "1 m\\$" if by_value else "0.1 in utility"
    st.caption(
        f"Full colour: the winner leads by {lead} or more, paler: by less. The cross is the knobs' place. Drag it, or click, to "
        "set both."
    )


def _choose_axes(app: App, state: UrlState, asked: Asked, axes: Sequence[str]) -> None:
    """Choose two knobs that change the winner, for a visit without a choice and for each further question until the visitor chooses."""
    current = tuple(str(st.session_state.get(state.key(name), "")) for name in ("x", "y"))
    question = (asked.catalog, asked.router, asked.query, asked.hint, asked.supposed)
    chosen_for, chosen_pair = st.session_state.get(CHOSEN_AXES, (None, None))
    if not set(current) <= set(axes) or (current == chosen_pair and question != chosen_for):
        with st.spinner("Looking for two knobs that change the winner…"):
            pair = app.what_if.contested(asked, axes)
        pair = pair or Contested(axes[0], axes[1], near=True)
        _show_axes(state, pair)
        st.session_state[CHOSEN_AXES] = question, (pair.x, pair.y)


def _show_axes(state: UrlState, pair: Contested) -> None:
    st.session_state[state.key("x")], st.session_state[state.key("y")] = pair.x, pair.y
    st.session_state[WHOLE] = not pair.near


def _nothing_changes(app: App, state: UrlState, asked: Asked, axes: Sequence[str], winner: str | None) -> None:
    """Say that at most a single tool wins on the map. A button shows two knobs that change this, if there are any."""
    pair = app.what_if.contested(asked, axes)
    sentence = (
        "no tool wins on the map"
        if winner is None
        else f"**{escaped(winner, 90)}** wins wherever a tool wins on the map"
    )
    further = "" if pair else ", and no two of these knobs change that, over their whole ranges either"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.container(width="stretch").info(f"Nothing changes hands here: {sentence}{further}.", icon=":material/lock:")
        if pair:
            st.button("Show where it changes", key="whatif.contested", on_click=_show_axes, args=(state, pair))


def _axis(state: UrlState, name: str, knobs: dict[str, Knob]) -> str:
    return st.selectbox(
        "Across" if name == "x" else "Up", list(knobs), key=state.key(name), width=320,
        format_func=lambda knob: knob_title(knobs[knob]),
    )  # fmt: skip


def _number(asked: Asked, knob: Knob) -> float:
    value = getattr(asked.parameters, knob.name)
    return float(knob.high or 1.0) if value is None else float(value)


def set_both(name: str, *, prefix: str, x: Knob, y: Knob) -> None:
    """Turn both knobs to the clicked cell, `x|y`. Ignores other messages of the browser."""
    first, _, second = name.partition("|")
    try:
        values = float(first), float(second)
    except ValueError:
        return
    for knob, value in zip((x, y), values, strict=True):
        if math.isfinite(value) and knob.low is not None and knob.high is not None and knob.low <= value <= knob.high:
            st.session_state[f"{prefix}.{knob.name}"] = knob.kind(value)
