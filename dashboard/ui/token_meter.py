"""What decisions cost in tokens: counted for one turn, and projected over several. Owns the keys `<page>.meter_*`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain.decision import Decision
from core.lab.token_meter import Context, decision_meter, priced_models, utilisation_lines
from core.shared.errors import WayfareError
from dashboard.ui.chart import chart
from dashboard.ui.charts.token_utilisation import token_utilisation
from dashboard.ui.text import escaped
from dashboard.ui.token_meter_table import meter_table, notes_below
from dashboard.ui.url_state import UrlState

TURNS, TASK, MODEL = "meter_turns", "meter_task", "meter_model"  # in the session and in the URL
LONGEST_TURNS, LARGEST_TOKENS = 1_000, 1_000_000
DRAWN = (*range(1, 10), *range(10, 100, 5), *range(100, LONGEST_TURNS + 1, 50))
NO_MODEL = "none"


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the projection assumes: turns, tokens of the task, and the model whose price counts (None: no price)."""

    turns: int = 30
    task_tokens: int = 15_000
    model: str | None = "gpt-4o"

    def texts(self) -> dict[str, str]:
        """What the URL carries; defaults say nothing."""
        plain = Assumed()
        return {
            TURNS: "" if self.turns == plain.turns else str(self.turns),
            TASK: "" if self.task_tokens == plain.task_tokens else str(self.task_tokens),
            MODEL: "" if self.model == plain.model else self.model or NO_MODEL,
        }


def start_meter(state: UrlState, linked: Mapping[str, str]) -> None:
    """Give the fields that have no value yet those of a link, and say what of it cannot be used."""
    plain = Assumed()
    model = linked.get(MODEL, plain.model)
    if model in {NO_MODEL, plain.model} or model in priced_models():
        st.session_state.setdefault(state.key(MODEL), None if model == NO_MODEL else model)
    else:
        st.session_state.setdefault(state.key(MODEL), plain.model)
        st.warning(
            f"The link was not taken whole: there is no price for {escaped(str(model), 80)}.",
            icon=":material/link_off:",
        )
    for name, default, most in ((TURNS, plain.turns, LONGEST_TURNS), (TASK, plain.task_tokens, LARGEST_TOKENS)):
        text = linked.get(name, str(default))
        fits = text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most
        st.session_state.setdefault(state.key(name), int(text) if fits else default)
        if not fits:
            st.warning(
                f"The link was not taken whole: {name} = {escaped(text, 40)} is not a whole number from 1 to {most:,}.",
                icon=":material/link_off:",
            )


def read_meter(state: UrlState) -> Assumed:
    """The assumptions as the fields are set."""
    session = st.session_state
    return Assumed(session[state.key(TURNS)], session[state.key(TASK)], session[state.key(MODEL)])


def token_meter(state: UrlState, assumed: Assumed, names: Sequence[str], decisions: Sequence[Decision]) -> None:
    """The fields, a row for each decision with all definitions below, and utilisation over turns."""
    try:
        _fields(state)
        context = Context(task_tokens=assumed.task_tokens)
        meters = [
            decision_meter(decision, turns=assumed.turns, context=context, model=assumed.model or "")
            for decision in decisions
        ]
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    grid = st.grid(3, min_column_width=300, gap="small")
    with grid.cell(column_span=2):
        meter_table(names, meters, assumed.turns, key=state.key("meter:table"))
        notes_below(meters[0])
    with grid.cell():
        lines = [utilisation_lines(meter.counted, DRAWN, context) for meter in meters]
        chart(token_utilisation(names, lines, turns=assumed.turns), key=state.key("meter:chart"))


def folded_meter(app: App, state: UrlState, assumed: Assumed, decision: Decision) -> None:
    """The meter of one decision behind its gist; drawn where it is open, so that knobs stay quick."""
    tokens = decision.tokens
    cached = f" and {tokens['cached']:,} cached" if tokens["cached"] else ""
    fold = st.expander(
        f"Token meter · {tokens['exposed']:,} exposed{cached}, of {tokens['baseline']:,} tokens of all definitions",
        key=state.key("meter:open"), expanded=any(assumed.texts().values()), on_change="rerun", icon=":material/toll:",
    )  # fmt: skip
    if fold.open:
        title = next(router.title for router in app.routing.routers() if router.id == decision.router)
        with fold:
            token_meter(state, assumed, [title], [decision])


def _fields(state: UrlState) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        st.number_input(
            "Turns", 1, LONGEST_TURNS, step=1, key=state.key(TURNS), width=120, persist_state="session",
            help="How many turns like this one a session has. Definitions are sent anew in each.",
        )  # fmt: skip
        st.number_input(
            "Tokens of the task", 1, LARGEST_TOKENS, step=1_000, key=state.key(TASK), width=160, persist_state="session",
            help="Messages, thoughts and results that the task itself needs. The system prompt has 500 more.",
        )  # fmt: skip
        st.selectbox(
            "Model", priced_models(), index=None, key=state.key(MODEL), width=260, placeholder="No model, no price",
            persist_state="session", help="Whose price per input token counts, from litellm's table.",
        )  # fmt: skip
