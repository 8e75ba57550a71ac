"""What is simulated: the network, the catalog, two routers, how much they keep, the luck and how long. One row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.console import Console
from core.domain.outcome import CallMode
from core.lab.scenario_measures import SETTINGS, Setting
from core.network.profiles import load_profile, shipped_profiles
from core.scenarios import TASKS, TESTBED
from dashboard.widgets.call_mode import MODES
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState

PROFILE = "hybrid_default"  # the one in which outages come and go
ROUTERS = ("sonar", "ehrr")
STEPS, MOST_STEPS, FEWEST_STEPS, MOST_SEED = 300, 2000, 10, 2**31 - 1


@dataclass(frozen=True, slots=True)
class Choice:
    """One simulation; equal choices have equal stories. `titles` are the routers' names."""

    profile: str
    catalog: str
    routers: tuple[str, str]
    titles: tuple[str, str]
    setting: Setting
    seed: int
    steps: int

    def texts(self) -> dict[str, str]:
        """What the URL carries."""
        return {
            "profile": self.profile,
            "catalog": self.catalog,
            "routers": ",".join(self.routers),
            "setting": self.setting.name,
            "seed": str(self.seed),
            "steps": str(self.steps),
        }


def choice(console: Console, state: UrlState, kept: Mapping[str, str]) -> Choice:
    """The row at the top of the page. A link that asks for what is not there is said, and begins with the usual."""
    titles = {router.id: router.title for router in console.routers()}
    wanted: dict[str, str] = dict(zip(("one", "other"), kept.get("routers", "").split(","), strict=False))
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    with row:
        profile = _select("Network", "profile", shipped_profiles(), PROFILE, state, kept, 170, _words)
        catalog = _select("Catalog", "catalog", tuple(TASKS), TESTBED, state, kept, 140)
        one = _select("Router", "one", tuple(titles), ROUTERS[0], state, wanted, 165, titles.__getitem__)
        other = _select("and router", "other", tuple(titles), ROUTERS[1], state, wanted, 165, titles.__getitem__)
        settings = {setting.name: setting for setting in SETTINGS}
        setting = _select(
            "Kept", "setting", tuple(settings), SETTINGS[0].name, state, kept, 95,
            note="How many servers (s) and tools (t) a router keeps: its own parameters s and t, or EHRR's k.",
        )  # fmt: skip
        seed = _number("Seed", "seed", 0, 0, MOST_SEED, 1, state, kept, "Of latencies, order of the queries, and luck.")
        steps = _number(
            "Steps", "steps", STEPS, FEWEST_STEPS, MOST_STEPS, 50, state, kept, "One query a step, each 10 s."
        )
    said = load_profile(profile).about
    with st.container(horizontal=True, vertical_alignment="center"):
        st.badge(
            "simulated", icon=MODES[CallMode.DRAWN].icon, color="violet",
            help="No tool is called: latencies are the network's, outcomes are drawn from the catalog's figures, by the seed.",
        )  # fmt: skip
        st.caption(f"**{escaped(_words(profile))}:** {escaped(said)}")
    return Choice(profile, catalog, (one, other), (titles[one], titles[other]), settings[setting], seed, steps)


def _words(profile: str) -> str:
    return profile.replace("_", " ")


def _select(
    label: str, name: str, options: Sequence[str], start: str, state: UrlState, kept: Mapping[str, str],
    width: int, words: Callable[[str], str] = str, *, note: str | None = None,
) -> str:  # fmt: skip
    key, wanted = state.key(name), kept.get(name) or start
    if st.session_state.get(key) not in options:
        st.session_state[key] = wanted if wanted in options else start
    if wanted not in options:
        st.warning(f"There is no {label.lower()} {escaped(wanted, 80)} here.", icon=":material/link_off:")
    return st.selectbox(label, options, key=key, format_func=words, width=width, help=note)


def _number(
    label: str, name: str, start: int, low: int, high: int, step: int, state: UrlState, kept: Mapping[str, str],
    note: str,
) -> int:  # fmt: skip
    key, wanted = state.key(name), kept.get(name, "")
    if key not in st.session_state:
        st.session_state[key] = whole_number(wanted, start, low, high)
    found = st.number_input(label, min_value=low, max_value=high, step=step, key=key, width=120, help=note)
    return start if found is None else int(found)


def whole_number(text: str, start: int, low: int, high: int) -> int:
    """The number that a link says, within its range; `start` where it says none.

    >>> whole_number("12", 5, 0, 10), whole_number("-1", 5, 0, 10), whole_number("", 5, 0, 10)
    (10, 5, 5)
    """
    return min(max(int(text), low), high) if text.isascii() and text.isdigit() and len(text) < 12 else start
