"""The editor of a network profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pyarrow as pa
import streamlit as st
from streamlit.column_config import MultiselectColumn, SelectboxColumn

from core.app import App
from core.domain.catalog import Server
from core.domain.errors import CatalogError, ParameterError
from core.domain.params import STEP_S, Knob, Value
from core.lab.scenarios.measures import Curve, curves
from core.lab.scenarios.simulation import LEAD_IN
from core.network.draft import Draft, DraftRule, Row, varied
from core.network.profiles import MOST_BYTES, Profile, read_profile, tidy_name
from core.network.traces import Traces
from dashboard.pages.network.charts.latency import latency_preview
from dashboard.session import current_app, only
from dashboard.ui.chart import chart
from dashboard.ui.table import ROW_PX, Column, configs, table_height
from dashboard.ui.text import error_kept, errors_shown, escaped, kept_error

OPEN, NEXT, NOTICE = "network:edit", "network:next", "network:notice"
USUAL = Profile("network")


@dataclass(slots=True)
class Editing:
    """The edited profile: its origin, the first draft of the widgets, and the name to save it under."""

    origin: str
    draft: Draft
    name: str
    about: str
    turn: int = 0

    def key(self, name: str) -> str:
        return f"{OPEN}.{self.turn}.{name}"

    def begin(self, draft: Draft, name: str, about: str) -> None:
        self.draft, self.name, self.about = draft, name, about
        self.turn += 1


def open_editor(profile: str) -> None:
    """Open the dialog for a profile in the next run. For `on_click`."""
    close_editor()
    networks = current_app().networks
    is_saved = profile in networks.saved()
    name = profile if is_saved else networks.free_name(profile)
    st.session_state[OPEN] = editing = Editing(profile, Draft.of(USUAL), name, "")
    with error_kept(editing.key("problem")):
        network = networks.load(profile)
        editing.draft = Draft.of(network)
        editing.about = network.about if is_saved else f"{profile.replace('_', ' ')}, edited."


def close_editor() -> None:
    for key in [key for key in st.session_state if str(key).startswith(OPEN)]:
        del st.session_state[key]


def leave_editor(profile: str, notice: str) -> None:
    """Close the dialog, choose a profile on the page, and show a notice."""
    close_editor()
    st.session_state[NEXT], st.session_state[NOTICE] = profile, notice
    st.rerun()


def after_editing(key: str) -> None:
    """Choose the profile that the dialog has left. Call it before the select with this key is drawn."""
    if (following := st.session_state.pop(NEXT, None)) is not None:
        st.session_state[key] = following
    if (notice := st.session_state.pop(NOTICE, None)) is not None:
        st.toast(escaped(notice), icon=":material/check:")


LONGEST_ABOUT = 300


def saving_row(editing: Editing, draft: Draft | None, usual: str) -> None:
    for key, start in (("name", editing.name), ("about", " ".join(editing.about.split())[:LONGEST_ABOUT])):
        st.session_state.setdefault(editing.key(key), start)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        entry = st.text_input(
            "Save as", key=editing.key("name"), max_chars=60, width=220,
            help="Letters a to z, digits, - and _. The file is in the folder networks beside the store.",
        )  # fmt: skip
        about = st.text_input(
            "Description", key=editing.key("about"), max_chars=LONGEST_ABOUT, placeholder="One sentence."
        )
    name = tidy_name(entry)
    agreed = _agreed(editing, name)
    with st.container(horizontal=True, gap="small"):
        save = st.button("Save", type="primary", icon=":material/check:", key=editing.key("save"), **only("tune", disabled=draft is None or not agreed))  # fmt: skip
        st.download_button(
            "Export", "" if draft is None else draft.profile(name or "network", about).text(), f"{name or 'network'}.json",
            "application/json", key=editing.key("export"), icon=":material/download:", disabled=draft is None,
            on_click="ignore",
        )  # fmt: skip
        with st.popover("Import", icon=":material/upload_file:"):
            _import(editing)
        if editing.origin in current_app().networks.saved():
            with st.popover("Delete", icon=":material/delete:"):
                _delete(editing, usual)
    if save and draft is not None:
        with error_kept(editing.key("problem")):
            current_app().networks.save(draft.profile(name, about.strip()))
            leave_editor(name, f"Saved as {name}.")
    kept_error(editing.key("problem"))


def _agreed(editing: Editing, name: str) -> bool:
    """Tells whether a saved network of this name may be replaced. The edited network always may."""
    if name == editing.origin or name not in current_app().networks.saved():
        return True
    return st.checkbox(f"Replace the saved network {escaped(name)}", key=editing.key("replace"))


def _import(editing: Editing) -> None:
    st.caption("Start from a JSON file of a network.")
    file = st.file_uploader(
        "File", type="json", key=editing.key("file"), max_upload_size=1, label_visibility="collapsed"
    )
    if file is None:
        return
    with errors_shown():
        profile = read_profile(file.read(MOST_BYTES + 1), file.name)
        draft = Draft.of(profile)
        editing.begin(draft, tidy_name(profile.name)[:60], profile.about)
        st.rerun()


def _delete(editing: Editing, usual: str) -> None:
    st.caption(f"The file of {escaped(editing.origin)} is removed.")
    if not st.button("Delete permanently", key=editing.key("delete"), **only("tune"), icon=":material/delete:"):
        return
    with error_kept(editing.key("problem")):
        current_app().networks.remove(editing.origin)
        leave_editor(usual, f"{editing.origin} is deleted.")


NAMES = pd.ArrowDtype(pa.list_(pa.string()))  # the type also holds if all lists are empty
SERVERS_SHOWN = 8
LONGEST_LIST = 300
TOGETHER = "For two states that act together, enter both with a plus: High jitter + Ideal."


def parts(editing: Editing, categories: Sequence[str]) -> tuple[Draft, str, str]:
    """Draw all parts but the table. Returns the draft, the state to copy, and the problem."""
    others, rules, values = st.tabs(["All others", "Rules", "Values"])
    with values:
        copied_state, problem = _state_values(editing)
    with others:
        draft = _others(editing)
    with rules:
        draft = replace(draft, rules=_rules(editing, categories))
    changed_states = [f"{name} ({values_of})" for name in draft.states if (values_of := draft.changed_values(name))]
    if changed_states:
        st.caption(escaped(f"With changed values: {', '.join(changed_states)}.", LONGEST_LIST))
    return draft, copied_state, problem


def server_table(
    editing: Editing, draft: Draft, servers: Sequence[Server], seed: int, problem: str
) -> tuple[Draft, Sequence[Row], str]:
    """Draw the table. Returns the draft with its choices, its rows, and the problem."""
    key = editing.key("servers")
    edits: dict[int, dict[str, Any]] = st.session_state.get(key, {}).get("edited_rows", {})
    choices = {servers[row].name: tuple(edit["by_hand"] or ()) for row, edit in edits.items() if "by_hand" in edit}
    draft = replace(draft, servers={**draft.servers, **choices})
    try:
        rows = draft.rows(servers, seed)
    except CatalogError as error:
        rows, problem = editing.draft.rows(servers, seed), problem or str(error)
    st.data_editor(
        server_frame(rows, editing.draft.servers),
        key=key,
        hide_index=True,
        height=table_height(len(rows), SERVERS_SHOWN),
        row_height=ROW_PX,
        disabled=["server", "applies", "because"],
        placeholder="",
        alt="Servers and their states",
        column_config={
            **configs(
                (
                    Column("server", width=130, pinned=True), Column("applies", width=150),
                    Column("because", "given", width=80),
                )
            ),
            "by_hand": MultiselectColumn(
                "by hand", options=list(draft.states), width=170,
                help="One state, or several that act together. Empty: the rules decide.",
            ),
        },
    )  # fmt: skip
    return draft, rows, problem


def server_frame(rows: Sequence[Row], by_hand: Mapping[str, Sequence[str]]) -> pd.DataFrame:
    """Returns a row for each server: its first states by hand, the state that applies, and the reason.

    An editor drops a change that is already in its data, so later changes are not in them.

    >>> server_frame([Row("a", "Ideal", "by hand")], {"a": ["High jitter"]}).iloc[0].tolist()
    ['a', ['High jitter'], 'Ideal', 'by hand']
    """
    return pd.DataFrame(
        {
            "server": [row.server for row in rows],
            "by_hand": pd.Series([list(by_hand.get(row.server, ())) for row in rows], dtype=NAMES),
            "applies": [row.applies for row in rows],
            "because": [row.because for row in rows],
        }
    )


def _others(editing: Editing) -> Draft:
    base = editing.draft
    for name, start in (("random", base.random), ("default", base.default)):
        st.session_state.setdefault(editing.key(name), list(start))
    random = st.multiselect(
        "Drawn at random", base.choices(), key=editing.key("random"), accept_new_options=True,
        placeholder="None", help=f"Each server draws one of these with the seed and its name. {TOGETHER}",
    )  # fmt: skip
    default = st.multiselect(
        "State of all others", list(base.states), key=editing.key("default"),
        help="For servers without a state by hand, by rule or at random. Several states act together.",
    )  # fmt: skip
    if random:
        st.caption("With random states, no server has the state of all others.")
    return replace(base, random=tuple(random), default=tuple(default))


def _rules(editing: Editing, categories: Sequence[str]) -> tuple[DraftRule, ...]:
    frame = st.data_editor(
        rule_frame(editing.draft.rules),
        key=editing.key("rules"),
        num_rows="dynamic",
        hide_index=True,
        row_height=ROW_PX,
        height=table_height(4),
        placeholder="",
        alt="Rules",
        column_config={
            "category": SelectboxColumn(
                "category", width=90, help="Empty: any.",
                options=sorted({*categories, *(rule.category for rule in editing.draft.rules)} - {""}),
            ),
            **configs((Column("name", width=80, help="A pattern: * is any text, ? any character. Empty: any."),)),
            "cycle": MultiselectColumn(
                "states in turn", options=editing.draft.choices(), accept_new_options=True, width=230,
                help=f"Servers that match the rule take these in turn, in order of their names. {TOGETHER}",
            ),
        },
    )  # fmt: skip
    st.caption("The first matching rule counts. A rule without states has no effect and is not saved.")
    return rules_of(frame)


def rule_frame(rules: Sequence[DraftRule]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "category": pd.Series([rule.category or None for rule in rules], dtype="string"),
            "name": pd.Series([rule.name for rule in rules], dtype="string"),
            "cycle": pd.Series([list(rule.cycle) for rule in rules], dtype=NAMES),
        }
    )


def rules_of(frame: pd.DataFrame) -> tuple[DraftRule, ...]:
    """Returns the rules of a table, including incomplete ones.

    >>> rules_of(rule_frame([DraftRule(("Ideal",), "mail"), DraftRule(())]))
    (DraftRule(cycle=('Ideal',), category='mail', name='*'), DraftRule(cycle=(), category='', name='*'))
    """
    filled = frame.astype(object).where(frame.notna(), None)
    return tuple(
        DraftRule(tuple(cycle) if cycle is not None else (), category or "", name or "*")
        for category, name, cycle in filled.itertuples(index=False)
    )


def _state_values(editing: Editing) -> tuple[str, str]:
    """Draw the values of one state, and store them in the draft. Returns the state to copy, and the problem."""
    name = st.selectbox("State", list(editing.draft.states), key=editing.key("state"))
    state = editing.draft.states[name]
    st.caption(escaped(state.summary))
    values: dict[str, Value] = {}
    with st.container(horizontal=True, gap="small"):
        for info in state.knobs():
            key = editing.key(f"{name}.{info.name}")
            st.session_state.setdefault(key, getattr(state, info.name))
            values[info.name] = _field(info, key)
    problem = ""
    try:
        editing.draft = replace(editing.draft, states={**editing.draft.states, name: state.replaced(values)})
    except ParameterError as error:
        problem = str(error)
    more = st.button(
        f"Copy {state.title}", icon=":material/add:", key=editing.key("more"),
        help="A copy with its own values. States without a server are not saved.",
    )  # fmt: skip
    return (name if more else ""), problem


def _field(info: Knob, key: str) -> Value:
    number = int if info.kind is int else float
    title = info.name.removesuffix("_ms").removesuffix("_s").replace("_", " ").capitalize()
    low, high, step = (number(value or 0) for value in (info.low, info.high, info.step))
    return st.number_input(
        f"{title} ({info.unit})" if info.unit else title, low, high, step=step, key=key, help=info.help,
        format="%d" if number is int else "%g", placeholder="off", width=130, value="min" if info.default is not None else None,
    )  # fmt: skip


STEPS_SHOWN = 300


def editor(app: App, catalog: str, seed: int, usual: str) -> None:
    """Draw the dialog if it is open. `usual` is the profile to show after the edited profile is deleted."""
    if OPEN in st.session_state:
        _dialog(app, catalog, seed, usual)


@st.dialog("Edit the network", width="large", icon=":material/tune:", on_dismiss=close_editor)
def _dialog(app: App, catalog: str, seed: int, usual: str) -> None:
    editing: Editing | None = st.session_state.get(OPEN)
    if editing is None:
        st.rerun()
    servers = app.catalogs.catalog(app.catalogs.open(catalog).name).servers
    st.caption(
        f"The state of every server of {escaped(catalog)}: by hand, else of the first matching rule, "
        "else drawn at random, else that of all others. Several states of a server act together."
    )
    grid = st.grid(2, min_column_width=400, gap="medium")
    left, right = grid.cell(), grid.cell()
    with right:
        draft, copied_state, problem = parts(editing, sorted({server.category for server in servers} - {""}))
    with left:
        draft, rows, problem = server_table(editing, draft, servers, seed, problem)
        elsewhere = len(
            {name for name, states in draft.servers.items() if states} - {server.name for server in servers}
        )
        if elsewhere:
            st.caption(f"{elsewhere:,} states by hand are for servers of other catalogs. They are kept.")
    if problem:
        st.error(escaped(problem), icon=":material/error:")
    else:
        chart(latency_preview(preview_curves(draft, rows, servers, seed), STEP_S), key="network:chart:preview")
    saving_row(editing, None if problem else draft, usual)
    if copied_state and not problem:
        more, name = draft.another(copied_state)
        editing.begin(more, st.session_state[editing.key("name")], st.session_state[editing.key("about")])
        st.session_state[editing.key("state")] = name
        st.rerun()


def preview_curves(draft: Draft, rows: Sequence[Row], servers: Sequence[Server], seed: int) -> tuple[Curve, ...]:
    """Returns the curves of a few servers in a simulation with this seed, from its first query on."""
    assigned = draft.profile("preview").assign(servers, seed)
    states = {name: assigned[name] for name in varied(rows)}
    traces = Traces.of(states, LEAD_IN + STEPS_SHOWN, seed=seed)
    labels = {row.server: row.applies for row in rows}
    server_curves = curves(replace(traces, latency_s=traces.latency_s[:, LEAD_IN:]), states)
    return tuple(replace(curve, states=(labels[curve.server],)) for curve in server_curves)
