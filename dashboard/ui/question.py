"""A question: its text, catalog, router and knobs, shared by every view that asks, its conditions, and its decision."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core.app import App
from core.decisions.layer import FIT, LATENCY, PRICE, SUCCESS, Supposed
from core.decisions.routing import Asked
from core.decisions.strips import Strip
from core.domain import units
from core.domain.decision import Decision
from core.domain.params import AS_MEASURED, MEASURED, WITH_SIMULATED, NetworkMoment, Parameters
from core.importers.shipped_catalogs import starting_queries
from dashboard.page_host import DeltaGenerator, draws_whole_page
from dashboard.session import first_catalog, visitor
from dashboard.theme import WinnerColours
from dashboard.ui.knobs import LaneLink, read_knobs, start_knobs
from dashboard.ui.presets import DEFAULT_ROUTER
from dashboard.ui.text import escaped, link_warning, not_used
from dashboard.ui.url_state import OF_WORDS, SHARED, UrlState, without_empty

LONGEST = 20_000  # characters of a sub-task


@dataclass(frozen=True, slots=True)
class QueryForm:
    query: str
    hint: str
    catalog: str
    router: str

    def texts(self, first_catalog: str) -> dict[str, str]:
        return {
            "q": self.query,
            "hint": self.hint,
            "catalog": "" if self.catalog == first_catalog else self.catalog,
            "router": "" if self.router == DEFAULT_ROUTER else self.router,
        }


def query_row(
    app: App, state: UrlState, linked: Mapping[str, str], *, measures: bool
) -> tuple[QueryForm, DeltaGenerator]:
    """Draw the row. Returns its values and the place of its choices. A view that `measures` asks tasks, and keeps the text of the question."""
    query, server_hint = linked.get("q", ""), linked.get("hint", "")
    if measures:
        row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    else:
        grid = st.grid(2, min_column_width=400, gap="small", vertical_alignment="bottom")
        query = grid.text_input(
            "What is needed?", _text(state, linked, "q"), key=state.key("q"), placeholder="For example: convert 300 miles to kilometres",
            icon=":material/search:", max_chars=LONGEST, on_change=redraw_all,
        )  # fmt: skip
        row = grid.container(horizontal=True, vertical_alignment="bottom", gap="small")
        server_hint = row.text_input(
            "Server hint", _text(state, linked, "hint"), key=state.key("hint"), placeholder="optional",
            help="The kind of server. It is compared only with the texts of servers.", on_change=redraw_all,
        )  # fmt: skip
    catalogs = [info.name for info in app.catalogs.infos()]
    catalog = _choice(row, state, linked, "catalog", catalogs, first_catalog(), width=150)
    routers = {router.id: router.title for router in app.routing.routers()}
    show = routers.__getitem__
    router = _choice(row, state, linked, "router", list(routers), DEFAULT_ROUTER, format_func=show, width=140)
    return QueryForm(query.strip(), server_hint.strip(), catalog, router), row


def example_queries(state: UrlState, catalog: str, *, count: int = 6) -> None:
    """Buttons with example sub-tasks of a catalog. A click fills the field."""
    grid = st.grid(2, min_column_width=320, gap="xsmall")
    for number, query in enumerate(starting_queries(catalog, count)):
        grid.button(
            escaped(query, 120), key=f"{state.key('example')}:{number}", icon=":material/north_east:", on_click=fill,
            args=({state.key("q"): query},),
        )  # fmt: skip


def fill(values: Mapping[str, str]) -> None:
    """Set fields by their session keys. For `on_click`."""
    st.session_state.update(values)


def redraw_all() -> None:
    """Draw the whole page. The browser sends a change that comes at the moment of a press in a fragment as a change of that fragment."""
    if not draws_whole_page():
        st.rerun("app")


def _text(state: UrlState, linked: Mapping[str, str], name: str) -> str:
    """Returns the default of a text field. Gives a field without a text the linked text."""
    text = linked.get(name, "")
    if state.begins and len(text) <= LONGEST:  # the page host drops a longer default
        return text
    st.session_state.setdefault(state.key(name), text)
    return ""


def _choice(
    row: DeltaGenerator,
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    options: Sequence[str],
    default: str,
    **look: Any,
) -> str:
    """Draw a choice that starts with the linked option, else with `default`, else with the first, and warn if the linked one is missing."""
    link, key = linked.get(name, default), state.key(name)
    start = next((option for option in (link, default) if option in options), options[0])
    if not state.begins and st.session_state.get(key) not in options:
        st.session_state[key] = start
    place = options.index(start) if state.begins else 0
    chosen = row.selectbox(name.capitalize(), options, place, key=key, on_change=redraw_all, **look)
    if name in linked and link not in options:
        link_warning(f"There is no {name} {escaped(link, 80)}; this is {escaped(chosen, 80)}.")
    return chosen


LAYER = "layer:supposed"
MARK = ' <span class="wayfare-badge">what if</span>'
SHOWN = {PRICE: units.price, LATENCY: units.seconds, SUCCESS: units.share, FIT: units.share}
Layers = Mapping[str, tuple[Supposed, ...]]


def supposed(catalog: str) -> tuple[Supposed, ...]:
    """Returns the figures that the visitor supposes for tools of this catalog."""
    return _layers().get(catalog, ())


def suppose(catalog: str, one: Supposed) -> None:
    """Add a figure to the layer and replace an earlier value of it. For `on_click`."""
    others = [other for other in supposed(catalog) if (other.tool, other.figure) != (one.tool, one.figure)]
    st.session_state[LAYER] = {**_layers(), catalog: (*others, one)}


def badge(catalog: str, tool: str | None = None) -> str:
    """Returns the Markdown badge `what if` if a figure of the catalog, or of this tool, is supposed, else ""."""
    marked = any(tool in {None, figure.tool} for figure in supposed(catalog))
    return " :violet-badge[what if]" if marked else ""


def layer_banner() -> None:
    """Lists the supposed figures with a button that drops them. Draws nothing without supposed figures."""
    layers = [(catalog, figure) for catalog, figures in _layers().items() for figure in figures]
    if not layers:
        return
    words = [
        f"{row.figure} {escaped(SHOWN[row.figure](row.value))} of **{escaped(row.tool, 60)}**" for _, row in layers[:4]
    ]
    more = f" and {len(layers) - 4} more" if len(layers) > 4 else ""
    with st.container(horizontal=True, vertical_alignment="center", border=True, key="layer:banner"):
        st.container(width="stretch").markdown(
            f":violet-badge[what if] Supposed, not known: {', '.join(words)}{more}. Decision, Compare and What if decide with "
            "these figures and record nothing. Plans, measures over tasks, calls and all other pages use the real figures."
        )
        st.button(
            "Drop", icon=":material/layers_clear:", key="layer:drop", on_click=st.session_state.pop, args=(LAYER, None)
        )


def _layers() -> Layers:
    layers: Layers = st.session_state.get(LAYER, {})
    return layers


NETWORK = "ask.network.of"
KIND = "network"
"""The kind of its answers in the fast lane of a page."""


def chosen_network() -> NetworkMoment:
    moment = read_knobs(AS_MEASURED, NETWORK)
    return moment if isinstance(moment, NetworkMoment) and moment.simulated else AS_MEASURED


def start_network(app: App, linked: Mapping[str, str]) -> None:
    """Take the network of a link. Warns about an unknown network, and takes the measured network for it."""
    problems = start_knobs(AS_MEASURED, linked, NETWORK)
    name = chosen_network().network
    if name not in (MEASURED, WITH_SIMULATED, *app.networks.names()):
        st.session_state[f"{NETWORK}.network"] = MEASURED
        problems.append(f"there is no network {name}; it is as measured")
    for problem in problems:
        not_used(problem)


COLOURS = "ask:colours"


@dataclass(frozen=True, slots=True)
class Asks:
    """The additions of a view to the frame.

    `of_answer` are its texts in the URL that belong to the answer. A turned knob redraws the fragments `redraws`, or the whole view if
    there are none, and asks the `lane` of its knobs meanwhile. A view that `measures` asks tasks in place of the question, to the depth
    of its measures and without a simulated network.
    """

    view: str
    of_answer: tuple[str, ...] = ()
    redraws: tuple[str, ...] = ()
    lane: Callable[[str], LaneLink] | None = None
    measures: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """The question of a view, and the state of the view in its address. `prefix` is the prefix of the knobs in the session, `row` the place
    of the choices. `ignored` is the part of the setting that the view does not use."""

    app: App
    state: UrlState
    linked: dict[str, str]
    form: QueryForm
    defaults: Parameters
    prefix: str
    view: str
    row: DeltaGenerator
    ignored: tuple[str, ...] = ()

    @property
    def parameters(self) -> Parameters:
        """The present values of the knobs. In a fragment they may be newer than the frame."""
        return read_knobs(self.defaults, self.prefix)

    @property
    def asked(self) -> Asked:
        """The request to a router, with the figures that the visitor supposes."""
        query = self.form
        return Asked(
            query.query, self.parameters, query.catalog, query.router, query.hint, supposed(query.catalog), network=chosen_network(),
        )  # fmt: skip

    def decide(self, *, at_once: bool = False) -> Decision:
        """Returns the decision, which is recorded unless figures are supposed or simulated. `at_once`: words decide while vectors are made.
        Raises WayfareError if the router fails."""
        request = self.asked
        if request.hypothetical:
            return self.app.routing.preview(replace(request, at_once=at_once))
        return self.app.routing.route(
            request.query, visitor=visitor(), catalog=request.catalog, router=request.router, parameters=request.parameters,
            server_hint=request.hint, at_once=at_once,
        )  # fmt: skip

    @property
    def texts(self) -> dict[str, str]:
        knobs = {name: str(value) for name, value in self.parameters.changed().items()}
        moment = chosen_network()
        network = {"network": moment.network, "at_s": f"{moment.at_s:g}"} if moment.simulated else {}
        return without_empty({**self.form.texts(first_catalog()), **knobs, **network})

    @property
    def setting(self) -> dict[str, str]:
        """The settings of the question that differ from the defaults, as texts of a link."""
        return {name: text for name, text in self.texts.items() if name not in OF_WORDS}


def winner_colours(asked: Asked) -> WinnerColours:
    """Returns the colours of a question's winners, equal on every view while it is asked."""
    text = (asked.catalog, asked.query, asked.hint)
    previous, colours = st.session_state.get(COLOURS, (None, None))
    if colours is None or previous != text:
        colours = WinnerColours()
        st.session_state[COLOURS] = text, colours
    return colours


def strip_colours(asked: Asked, winner: str, strips: Mapping[str, Strip]) -> Mapping[str | None, str]:
    """Returns the colours of the winner and of all winners on the tracks of the knobs."""
    return winner_colours(asked).of(
        [winner or None, *(segment.winner for strip in strips.values() for segment in strip.segments)]
    )


def knob_prefix(router: str) -> str:
    """Returns the prefix of a router's knobs in the session, equal on all views."""
    return f"{SHARED}.knob.{router}"
