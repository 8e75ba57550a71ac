"""The tokens of a decision: the meter and its table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain import units
from core.domain.decision import Decision
from core.domain.untrusted_text import one_line
from core.importers.token_meter import (
    BREAKING_POINT,
    Context,
    Course,
    TokenMeter,
    decision_meter,
    priced_models,
    utilisation_lines,
)
from dashboard.ui.chart import chart
from dashboard.ui.charts.shared import ALL_TOOLS, token_utilisation
from dashboard.ui.table import Column, table
from dashboard.ui.text import counted, errors_shown, escaped, not_used
from dashboard.ui.url_state import UrlState

COUNTED_HELP = "Counted with cl100k_base on the texts that would be sent, for one turn."
PROJECTED_HELP = (
    "Computed from the counted tokens under assumptions: all turns are equal, the prefix is written once, the "
    "task's tokens stay, and the model has the price of the table of genai-prices."
)
COLUMNS = (  # by place, because the heading has two rows
    Column(1, "definitions of", pinned=True),
    Column(2, "exposed", 72, "New tokens of a turn: the tools tax of one turn.", "localized"),
    Column(3, "cached", 66, "Tokens of the stable prefix, such as the summaries of Tool Attention.", "localized"),
    Column(4, "spared", help="The share of all definitions that a turn does not contain.", format="%.1f", unit="%"),
    Column(5, "tokens", help="The prefix once, and the exposed tokens of each turn.", format="localized"),
    Column(6, "ρ", help="Effective context utilisation, Tool Attention (3): the share of the task's tokens. Reasoning breaks below 0.3.", format="%.2f"),
    Column(7, "above 0.3 for", help=f"Turns until utilisation falls below {BREAKING_POINT}."),
    Column(8, "price", help=r"The price of these input tokens. 1 m\$ is a thousandth of a US dollar."),
)  # fmt: skip


def meter_table(names: Sequence[str], meters: Sequence[TokenMeter], turns: int, *, key: str) -> None:
    """Draws a row for each decision, and a row for every definition in every turn."""
    import pandas as pd

    groups = ["", *["counted, one turn"] * 3, *[f"projected, {counted(turns, 'turn')}"] * 4]
    rows = [
        (name, m.counted.exposed, m.counted.cached, m.counted.saved_percent, *_course(m.projected.decision))
        for name, m in zip(names, meters, strict=True)
    ]
    rows += [(ALL_TOOLS, m.counted.definitions, 0, 0.0, *_course(m.projected.all_tools)) for m in meters[:1]]
    frame = pd.DataFrame(rows, columns=pd.MultiIndex.from_arrays([groups, [str(n) for n in range(len(groups))]]))
    table(frame, COLUMNS, key=key, height="content")


def notes_below(meter: TokenMeter) -> None:
    """Explains counted and projected figures, and adds two comparisons."""
    with st.container(horizontal=True, gap="small"):
        st.badge("counted", icon=":material/tag:", color="green", help=COUNTED_HELP)
        st.badge("projected", icon=":material/trending_up:", color="orange", help=PROJECTED_HELP)
    projection = meter.projected
    notes = []
    if projection.cached_catalog_usd is not None:
        notes.append(
            f"If the provider caches all definitions as a prefix, they cost {escaped(units.price(projection.cached_catalog_usd))}."
        )
    if projection.tools_to_breaking is not None:
        when = f"sent in each of {projection.turns:,} turns" if projection.turns > 1 else "sent once"
        tool_count = meter.counted.tools
        tools = (
            f"{projection.tools_to_breaking:,} of these {tool_count:,} tools"
            if projection.tools_to_breaking <= tool_count
            else f"{projection.tools_to_breaking:,} tools as long as these {tool_count:,}"
        )
        notes.append(f"The definitions of {tools}, {when}, leave utilisation at {BREAKING_POINT}.")
    st.caption(" ".join(notes))


def breaking(turns: int | None) -> str:
    """Returns the number of turns until reasoning breaks.

    >>> breaking(0), breaking(1), breaking(1_234), breaking(None)
    ('no turn', '1 turn', '1,234 turns', 'ever')
    """
    if turns is None:
        return "ever"
    return counted(turns, "turn") if turns else "no turn"


def _course(course: Course) -> tuple[int, float, str, str]:
    price = "–" if course.usd is None else units.price(course.usd)
    return course.tokens, course.utilisation, breaking(course.turns_to_breaking), price


TURNS, TASK, MODEL = "meter_turns", "meter_task", "meter_model"  # in the session and in the URL
LONGEST_TURNS, LARGEST_TOKENS = 1_000, 1_000_000
DRAWN = (*range(1, 10), *range(10, 100, 5), *range(100, LONGEST_TURNS + 1, 50))
NO_MODEL = "none"


@dataclass(frozen=True, slots=True)
class Assumed:
    """The assumptions of the projection: turns, tokens of the task, and the model with the price (None: no price)."""

    turns: int = 30
    task_tokens: int = 15_000
    model: str | None = "gpt-4o"

    def texts(self) -> dict[str, str]:
        """Returns the texts for the URL, "" for defaults."""
        plain = Assumed()
        return {
            TURNS: "" if self.turns == plain.turns else str(self.turns),
            TASK: "" if self.task_tokens == plain.task_tokens else str(self.task_tokens),
            MODEL: "" if self.model == plain.model else self.model or NO_MODEL,
        }


def start_meter(state: UrlState, linked: Mapping[str, str]) -> None:
    """Give fields without a value the values of a link. Warns about texts that cannot be used."""
    plain = Assumed()
    model = linked.get(MODEL, plain.model)
    if model in {NO_MODEL, plain.model} or model in priced_models():
        st.session_state.setdefault(state.key(MODEL), None if model == NO_MODEL else model)
    else:
        st.session_state.setdefault(state.key(MODEL), plain.model)
        not_used(f"there is no price for {one_line(str(model), 80)}.")
    for name, default, most in ((TURNS, plain.turns, LONGEST_TURNS), (TASK, plain.task_tokens, LARGEST_TOKENS)):
        text = linked.get(name, str(default))
        fits = text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= most
        st.session_state.setdefault(state.key(name), int(text) if fits else default)
        if not fits:
            not_used(f"{name} = {one_line(text, 40)} is not a whole number from 1 to {most:,}.")


def read_meter(state: UrlState) -> Assumed:
    session = st.session_state
    return Assumed(session[state.key(TURNS)], session[state.key(TASK)], session[state.key(MODEL)])


def token_meter(state: UrlState, assumed: Assumed, names: Sequence[str], decisions: Sequence[Decision]) -> None:
    """The fields, a row for each decision with all definitions below, and utilisation over turns."""
    with errors_shown():
        _fields(state)
        context = Context(task_tokens=assumed.task_tokens)
        meters = [
            decision_meter(decision, turns=assumed.turns, context=context, model=assumed.model or "")
            for decision in decisions
        ]
        grid = st.grid(3, min_column_width=300, gap="small")
        with grid.cell(column_span=2):
            meter_table(names, meters, assumed.turns, key=state.key("meter:table"))
            notes_below(meters[0])
        with grid.cell():
            lines = [utilisation_lines(meter.counted, DRAWN, context) for meter in meters]
            chart(token_utilisation(names, lines, turns=assumed.turns), key=state.key("meter:chart"))


def folded_meter(app: App, state: UrlState, assumed: Assumed, decision: Decision) -> None:
    """The meter of one decision in a fold. It is drawn only when it is open, so that knobs stay quick."""
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
            help="The number of equal turns in a session. Definitions are sent again in each turn.",
        )  # fmt: skip
        st.number_input(
            "Tokens of the task", 1, LARGEST_TOKENS, step=1_000, key=state.key(TASK), width=160, persist_state="session",
            help="Messages, thoughts and results of the task. The system prompt adds 500.",
        )  # fmt: skip
        st.selectbox(
            "Model", priced_models(), index=None, key=state.key(MODEL), width=260, placeholder="No model, no price",
            persist_state="session", help="The model with the price per input token, from the table of genai-prices.",
        )  # fmt: skip
