"""The Network page: the choice of a profile, its routers with their knobs and its mode; the player, live runs and stored runs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from urllib.parse import parse_qsl

import plotly.graph_objects as go
import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.lab_runs import LIVE, SIMULATED
from core.domain.outcome import CallMode
from core.lab.scenario_runs import TASKS, TESTBED
from core.lab.scenarios.measures import SETTINGS, Setting, parameters_under
from dashboard.pages.network.charts.latency import RunTimeline, latency_curves
from dashboard.pages.network.charts.runs import TOTALS, event_strip, server_history, totals_so_far
from dashboard.pages.network.editor import after_editing, editor, open_editor
from dashboard.pages.network.job import LIVE_HELP, SIDES, Changed, Choice, finished_timeline, forget, other_live_run
from dashboard.pages.network.runs import chosen_runs, earlier_runs
from dashboard.pages.network.tables import SIGNS, events_table, measures_table, step_cards
from dashboard.session import current_app
from dashboard.ui.calling import MODES
from dashboard.ui.chart import chart
from dashboard.ui.frame import standing_question
from dashboard.ui.knobs import knob_panel, read_knobs, reset_knobs, start_knobs
from dashboard.ui.question import Question
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, select, unknown_choice


def router_knobs(app: App, place: int, router: str, title: str, setting: Setting, linked: Mapping[str, str]) -> Changed:
    """Draw the button with the knobs of the first or second router. Returns the changed knobs.

    The values of the setting (s and t, or k) and the planner are left out, because both routers share them.
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


SIMULATED_HELP = "No tool is called. Latencies come from the network, outcomes are drawn from the catalog's success rates with the seed."


def mode_badge(live: bool) -> None:
    if live:
        st.badge("live, network injected", icon=":material/network_ping:", color="gray", help=LIVE_HELP)
    else:
        st.badge("simulated", icon=MODES[CallMode.DRAWN].icon, color="violet", help=SIMULATED_HELP)


PROFILE = "hybrid_default"  # has intermittent outages
ROUTERS = ("sonar", "ehrr")
STEPS, MOST_STEPS, FEWEST_STEPS, MOST_SEED = 300, 2000, 10, 2**31 - 1
LIVE_STEPS, MOST_LIVE = 60, 300
TOOK = "network:took"  # the setting of the question that was taken over last
IGNORED = ("n", "s", "t", "k", "planner", "at_s")  # the page has its own values, shared by both routers


def choose_run(app: App, state: UrlState, linked: Mapping[str, str]) -> Choice:
    """Draw the row at the top of the page. Warns about unknown names in a link and uses the default."""
    titles = {router.id: router.title for router in app.routing.routers()}
    pair = dict(zip(SIDES, linked.get("routers", "").split(","), strict=False))
    names_linked = {name: text for name, text in {**linked, **dict.fromkeys(SIDES, ""), **pair}.items() if text}
    after_editing(state.key("profile"))
    notices = st.container()
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    choose = partial(select, row, state, names_linked)
    with row:
        profile = choose("profile", "Network", app.networks.names(), start=PROFILE, show=_spaced, width=170)
        st.button(
            "Edit", icon=":material/tune:", key="network:change", on_click=open_editor, args=(profile,),
            help="Edit the states of servers and their values, and save them under a name.",
        )  # fmt: skip
        names = [info.name for info in app.catalogs.infos()]
        catalog = choose("catalog", "Catalog", names, start=TESTBED, width=140)
        first = choose("one", "Router", list(titles), start=ROUTERS[0], show=titles.__getitem__, width=165)
        other = choose("other", "and router", list(titles), start=ROUTERS[1], show=titles.__getitem__, width=165)
        settings = {setting.name: setting for setting in SETTINGS}
        setting = choose(
            "setting", "Short-list", list(settings), start=SETTINGS[0].name, width=95,
            note="The number of servers (s) and tools (t) that a router keeps: its parameters s and t, or EHRR's k.",
        )  # fmt: skip
        seed = _number(
            "Seed", "seed", 0, 0, MOST_SEED, 1, state, linked,
            "The seed of latencies, of the order of queries, and of success.",
        )  # fmt: skip
        live = choose("mode", "Calls", (SIMULATED, LIVE), start=SIMULATED, width=125) == LIVE
        name, start, most, by = ("calls", LIVE_STEPS, MOST_LIVE, 10) if live else ("steps", STEPS, MOST_STEPS, 50)
        steps = _number("Steps", name, start, FEWEST_STEPS, most, by, state, linked, "One query in each step of 10 s.")
    for missing in ("profile", "catalog", "one", "other", "setting", "mode"):
        if sentence := unknown_choice(state, missing):
            notices.warning(escaped(sentence, 200), icon=":material/link_off:")
    editor(app, catalog, seed, PROFILE)
    network = app.networks.load(profile)
    with st.container(horizontal=True, vertical_alignment="center"):
        mode_badge(live)
        knobs = (
            router_knobs(app, 0, first, titles[first], settings[setting], linked),
            router_knobs(app, 1, other, titles[other], settings[setting], linked),
        )
    queries = (
        ""
        if catalog in TASKS
        else " The queries are the catalog's labelled tasks, else its example requests or its labels, whichever are more."
    )
    st.caption(f"**{escaped(_spaced(profile))}:** {escaped(network.about)}{queries}")
    labels = [
        f"{titles[router]}, changed" if changed else titles[router]
        for router, changed in zip((first, other), knobs, strict=True)
    ]
    return Choice(
        profile, network, catalog, (first, other), (labels[0], labels[1]), knobs, settings[setting], seed, steps, live, app.scenarios.inputs(catalog)
    )  # fmt: skip


def follow(state: UrlState, question: Question) -> None:
    """Let the second router be the question's router, with its knobs, catalog and network, once for each change."""
    setting, router = question.setting, question.form.router
    if setting == st.session_state.get(TOOK, {}):
        return
    st.session_state[TOOK] = setting
    st.session_state[state.key("other")] = router
    for name, value in question.parameters.values().items():
        st.session_state[f"network.knob.1.{router}.{name}"] = value
    if "catalog" in setting:
        st.session_state[state.key("catalog")] = question.form.catalog
    if (network := question.asked.network).has_profile:
        st.session_state[state.key("profile")] = network.network


def _spaced(profile: str) -> str:
    return profile.replace("_", " ")


def _number(
    label: str, name: str, start: int, low: int, high: int, step: int, state: UrlState, linked: Mapping[str, str],
    note: str,
) -> int:  # fmt: skip
    key, linked_text = state.key(name), linked.get(name, "")
    if key not in st.session_state:
        st.session_state[key] = whole_number(linked_text, start, low, high)
    value = st.number_input(label, min_value=low, max_value=high, step=step, key=key, width=120, help=note)
    return start if value is None else int(value)


def whole_number(text: str, start: int, low: int, high: int) -> int:
    """Returns the number in a link within its range, or `start`.

    >>> whole_number("12", 5, 0, 10), whole_number("-1", 5, 0, 10), whole_number("", 5, 0, 10)
    (10, 5, 5)
    """
    return min(max(int(text), low), high) if text.isascii() and text.isdigit() and len(text) < 12 else start


STEP, SCALE, PLAYING = "network.step", "network.scale", "network.playing"
TICK_S, TICKS = 1.0, 60  # a run plays in about a minute
SCALES = ("log", "linear")


def steps_per_tick(steps: int) -> int:
    """Returns the number of steps in one tick of Play.

    >>> steps_per_tick(20), steps_per_tick(300), steps_per_tick(2000)
    (1, 5, 33)
    """
    return max(1, steps // TICKS)


def player(state: UrlState, timeline: RunTimeline, texts: Mapping[str, str], linked: Mapping[str, str]) -> None:
    """Draw the run at the linked step, else at its first event. While it plays, the step advances."""
    start = whole_number(linked.get("step", ""), timeline.first_step, 0, timeline.steps - 1)
    st.session_state.setdefault(STEP, start)
    st.session_state[STEP] = min(st.session_state[STEP], timeline.steps - 1)
    st.session_state.setdefault(SCALE, SCALES[1] if linked.get("scale") == SCALES[1] else SCALES[0])
    interval = TICK_S if st.session_state.get(PLAYING, False) else None
    st.fragment(_at_step, run_every=interval, key="network:step")(state, timeline, dict(texts))


def _at_step(state: UrlState, timeline: RunTimeline, texts: dict[str, str]) -> None:
    playing, last = st.session_state.get(PLAYING, False), timeline.steps - 1
    if playing:
        st.session_state[STEP] = min(st.session_state[STEP] + steps_per_tick(timeline.steps), last)
        if st.session_state[STEP] == last:
            st.session_state[PLAYING] = False
            st.rerun()
    step = _controls(timeline, playing)
    if not playing:  # each write adds a page to the browser's history
        state.end({**texts, "step": str(step), "scale": "" if st.session_state[SCALE] == SCALES[0] else SCALES[1]})
    _chart(latency_curves(timeline, step, logarithmic=st.session_state[SCALE] == SCALES[0]), "curves")
    st.caption(
        "Shows the most called servers and those that can do the queries. Shaded: a server is down "
        "(1,000 ms or more, dashed). Dotted: the chosen step. Rings: the servers that the routers call there."
    )
    step_cards(timeline, step)
    _server_histories(timeline, step)
    _totals(timeline, step)
    _chart(event_strip(timeline, step), "events")
    st.caption(
        f"Calls have the colours of the curves, grey for other servers. A cross: no success. A change: the same "
        f"sub-task goes to another server than before. Each of the {len(timeline.subtasks):,} sub-tasks is asked once before any "
        "is repeated. Faint: later steps."
    )
    events_table(timeline.events(), step)


def _controls(timeline: RunTimeline, playing: bool) -> int:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.button(
            "Pause" if playing else "Play", key="network:play",
            icon=":material/pause:" if playing else ":material/play_arrow:", type="primary", on_click=_play_or_pause,
            args=(timeline.steps - 1,),
        )  # fmt: skip
        step = st.slider("Step", 0, timeline.steps - 1, key=STEP, width="stretch")
        st.segmented_control("Latency axis", SCALES, key=SCALE, required=True)
    return int(step)


def _play_or_pause(last: int) -> None:
    playing = not st.session_state.get(PLAYING, False)
    st.session_state[PLAYING] = playing
    if playing and st.session_state[STEP] >= last:
        st.session_state[STEP] = 0
    st.rerun()  # only a run of the whole page starts or stops the clock


def _server_histories(timeline: RunTimeline, step: int) -> None:
    """Draw each router's view of the servers, or a sentence for a router of texts alone."""
    for place, ranking in enumerate(timeline.rankings):
        if ranking.server_scores is not None:
            _chart(server_history(timeline, place, step), f"held:{place}")
        else:
            st.caption(
                f"{escaped(timeline.titles[place], 60)} compares only texts, so the network does not change its choice."
            )


def _totals(timeline: RunTimeline, step: int) -> None:
    names = "  ·  ".join(
        f"{sign} {escaped(title, 60)}{' (dashed)' if place else ''}"
        for place, (sign, title) in enumerate(zip(SIGNS, timeline.titles, strict=True))
    )
    st.markdown(f"**Up to this step**  {names}")
    grid = st.grid(len(TOTALS), min_column_width=225, gap="small")
    for name in TOTALS:
        with grid.cell():
            _chart(totals_so_far(timeline, name, step), name)
    measures_table(timeline)


def _chart(figure: go.Figure, name: str) -> None:
    chart(figure, key=f"network:chart:{name}")


def page() -> None:
    app, state = current_app(), UrlState("network")
    linked = state.begin()
    follow(state, standing_question(app, "network", IGNORED))
    try:
        choice = choose_run(app, state, linked)
        texts = {**choice.texts(), "runs": chosen_runs(linked)}
        other_live_run(app, choice)
        timeline = finished_timeline(app, choice)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        st.button("Try again", key="network:retry", icon=":material/replay:", on_click=forget, args=(app,))
        return
    if timeline is None:
        state.end({**texts, "step": linked.get("step", "")})
    else:
        player(state, timeline, texts, linked)
    earlier_runs(app, "" if timeline is None else timeline.not_stored)
