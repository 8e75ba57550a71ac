"""The choice of a network profile, its knobs and its mode."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode

import streamlit as st

from core.app import App
from core.domain.lab_runs import LIVE, SIMULATED
from core.domain.outcome import CallMode
from core.domain.params import Value
from core.lab.scenarios.measures import SETTINGS, Setting, parameters_under
from core.network.profiles import Profile
from core.services.lab.scenarios import TASKS, TESTBED
from dashboard.pages.network.editor import editor
from dashboard.pages.network.editor_state import after_editing, open_editor
from dashboard.ui.calling import MODES
from dashboard.ui.knobs import knob_panel, read_knobs, reset_knobs, start_knobs
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

SIDES = ("one", "other")
Changed = tuple[tuple[str, Value], ...]  # in the order of the parameters


def router_knobs(app: App, place: int, router: str, title: str, setting: Setting, linked: Mapping[str, str]) -> Changed:
    """The button of the first or second router with its knobs; returns what differs from the defaults.

    What the setting gives (s and t, or k) and the planner are no knobs here: both routers have them in common.
    """
    defaults, prefix = app.routing.parameters(router), f"network.knob.{place}.{router}"
    names = [knob.name for knob in defaults.knobs()]
    shared = {*parameters_under(setting, names), "planner"}
    texts = dict(parse_qsl(linked.get(SIDES[place], "")))
    for problem in start_knobs(defaults, {name: texts[name] for name in texts if name not in shared}, prefix):
        st.warning(escaped(problem), icon=":material/link_off:")
    changed = {n: v for n, v in read_knobs(defaults, prefix).changed().items() if n not in shared}
    label = f"{escaped(title, 40)}{f' · :violet[{len(changed)} changed]' if changed else ''}"
    with st.popover(label, icon=":material/tune:", key=f"network:knobs:{place}"):
        st.button(
            "Reset", icon=":material/restart_alt:", key=f"network:knobs:reset:{place}", disabled=not changed,
            on_click=reset_knobs, args=(defaults, prefix), help=None if changed else "Every knob is at its default.",
        )  # fmt: skip
        knob_panel(defaults, prefix, (), elsewhere=shared)
    return tuple(changed.items())


def title_with_mark(title: str, changed: Changed) -> str:
    """A router's name, marked where a parameter differs from its default."""
    return f"{title}, changed" if changed else title


def link_text(changed: Changed) -> str:
    """What the URL carries of one router's knobs."""
    return urlencode(changed)


GO = "network:go"
LIVE_HELP = (
    "Every call is made over MCP. The network is injected below the protocol: delays, time-outs after 1 s, dropped connections. "
    "Latencies are measured. Virtual servers are called, whose results are simulated, and of real ones only tools that read."
)
SIMULATED_HELP = (
    "No tool is called: latencies are the network's, outcomes are drawn from the catalog's success rates, by the seed."
)


def mode_control(state: UrlState, linked: Mapping[str, str]) -> bool:
    """Whether the run is live."""
    key = state.key("mode")
    st.session_state.setdefault(key, LIVE if linked.get("mode") == LIVE else SIMULATED)
    return st.segmented_control("Calls", (SIMULATED, LIVE), key=key, required=True) == LIVE


def mode_badge(live: bool) -> None:
    """Whether the numbers on the page are simulated or measured."""
    if live:
        st.badge("live, network injected", icon=":material/network_ping:", color="gray", help=LIVE_HELP)
    else:
        st.badge("simulated", icon=MODES[CallMode.DRAWN].icon, color="violet", help=SIMULATED_HELP)


def calls_wanted(choice: object) -> bool:
    """Whether the visitor has just asked for these calls: opening a link calls nothing."""
    return st.session_state.get(GO) == choice and st.session_state.pop(GO) is not None


def calls_button(choice: object, calls: int, *, again: bool = False) -> None:
    """The button that makes so many calls of a choice, with what they are; `again` beside their result, where that is known."""
    if not again:
        st.info(f"Up to {calls:,} calls, a second each at most. {LIVE_HELP}", icon=":material/network_ping:")
    st.button(
        "Make the calls again" if again else "Make the calls", key="network:make", icon=":material/play_arrow:",
        type="tertiary" if again else "primary", on_click=st.session_state.__setitem__, args=(GO, choice),
    )  # fmt: skip


PROFILE = "hybrid_default"  # the one in which outages come and go
ROUTERS = ("sonar", "ehrr")
STEPS, MOST_STEPS, FEWEST_STEPS, MOST_SEED = 300, 2000, 10, 2**31 - 1
LIVE_STEPS, MOST_LIVE = 60, 300


@dataclass(frozen=True, slots=True)
class Choice:
    """One run; equal choices give equal results. `titles` are the routers' names."""

    profile: str
    network: Profile  # as it is defined now: a saved one may be changed
    catalog: str
    routers: tuple[str, str]
    titles: tuple[str, str]
    knobs: tuple[Changed, Changed]
    setting: Setting
    seed: int
    steps: int
    live: bool = False

    @property
    def calls(self) -> int:
        """Most calls of a live run."""
        return self.steps * len(self.routers)

    def texts(self) -> dict[str, str]:
        """What the URL carries."""
        return {
            "profile": self.profile,
            "catalog": self.catalog,
            "routers": ",".join(self.routers),
            **{side: link_text(changed) for side, changed in zip(SIDES, self.knobs, strict=True)},
            "setting": self.setting.name,
            "seed": str(self.seed),
            "calls" if self.live else "steps": str(self.steps),
            "mode": LIVE if self.live else "",
        }


def choose_run(app: App, state: UrlState, linked: Mapping[str, str]) -> Choice:
    """The row at the top of the page. Where a link names what is not there, the page says so and takes the default."""
    titles = {router.id: router.title for router in app.routing.routers()}
    wanted: dict[str, str] = dict(zip(("one", "other"), linked.get("routers", "").split(","), strict=False))
    after_editing(state.key("profile"))
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with row:
        profile = _select("Network", "profile", app.networks.names(), PROFILE, state, linked, 170, _spaced)
        st.button(
            "Edit", icon=":material/tune:", key="network:change", on_click=open_editor, args=(profile,),
            help="Which server is in which state, and what that is like; saved under a name of its own.",
        )  # fmt: skip
        catalog = _select("Catalog", "catalog", tuple(TASKS), TESTBED, state, linked, 140)
        one = _select("Router", "one", tuple(titles), ROUTERS[0], state, wanted, 165, titles.__getitem__)
        other = _select("and router", "other", tuple(titles), ROUTERS[1], state, wanted, 165, titles.__getitem__)
        settings = {setting.name: setting for setting in SETTINGS}
        setting = _select(
            "Short-list", "setting", tuple(settings), SETTINGS[0].name, state, linked, 95,
            note="How many servers (s) and tools (t) a router keeps: its own parameters s and t, or EHRR's k.",
        )  # fmt: skip
        seed = _number(
            "Seed",
            "seed",
            0,
            0,
            MOST_SEED,
            1,
            state,
            linked,
            "Of latencies, the order of the queries, and which calls succeed.",
        )
        live = mode_control(state, linked)
        name, start, most, by = ("calls", LIVE_STEPS, MOST_LIVE, 10) if live else ("steps", STEPS, MOST_STEPS, 50)
        steps = _number("Steps", name, start, FEWEST_STEPS, most, by, state, linked, "One query a step, each 10 s.")
    editor(app, catalog, seed, PROFILE)
    network = app.networks.load(profile)
    with st.container(horizontal=True, vertical_alignment="center"):
        mode_badge(live)
        knobs = (
            router_knobs(app, 0, one, titles[one], settings[setting], linked),
            router_knobs(app, 1, other, titles[other], settings[setting], linked),
        )
    st.caption(f"**{escaped(_spaced(profile))}:** {escaped(network.about)}")
    named = (title_with_mark(titles[one], knobs[0]), title_with_mark(titles[other], knobs[1]))
    return Choice(profile, network, catalog, (one, other), named, knobs, settings[setting], seed, steps, live)


def _spaced(profile: str) -> str:
    return profile.replace("_", " ")


def _select(
    label: str, name: str, options: Sequence[str], start: str, state: UrlState, linked: Mapping[str, str],
    width: int, show: Callable[[str], str] = str, *, note: str | None = None,
) -> str:  # fmt: skip
    key, wanted = state.key(name), linked.get(name) or start
    if st.session_state.get(key) in options:
        wanted = st.session_state[key]
    elif wanted in options:
        st.session_state[key] = wanted
    else:
        st.session_state[key] = start
        st.warning(f"There is no {label.lower()} {escaped(wanted, 80)} here.", icon=":material/link_off:")
    return st.selectbox(label, options, key=key, format_func=show, width=width, help=note)


def _number(
    label: str, name: str, start: int, low: int, high: int, step: int, state: UrlState, linked: Mapping[str, str],
    note: str,
) -> int:  # fmt: skip
    key, wanted = state.key(name), linked.get(name, "")
    if key not in st.session_state:
        st.session_state[key] = whole_number(wanted, start, low, high)
    found = st.number_input(label, min_value=low, max_value=high, step=step, key=key, width=120, help=note)
    return start if found is None else int(found)


def whole_number(text: str, start: int, low: int, high: int) -> int:
    """The number in a link, within its range; `start` where the link has none.

    >>> whole_number("12", 5, 0, 10), whole_number("-1", 5, 0, 10), whole_number("", 5, 0, 10)
    (10, 5, 5)
    """
    return min(max(int(text), low), high) if text.isascii() and text.isdigit() and len(text) < 12 else start
