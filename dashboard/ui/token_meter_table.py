"""The token meter as a table: counted and projected values under headings of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
import streamlit as st
from streamlit.column_config import NumberColumn, TextColumn

from core.lab.token_meter import BREAKING_POINT, Course, TokenMeter
from core.shared import units
from dashboard.ui.charts.token_utilisation import ALL_TOOLS
from dashboard.ui.text import escaped

COUNTED_HELP = "Counted with cl100k_base on the texts that would be sent, for one turn."
PROJECTED_HELP = (
    "Computed from the counted tokens under assumptions: each turn is like this one, the prefix is written once, the "
    "task's tokens stay, and the model charges what litellm's table says."
)
COLUMNS: tuple[Any, ...] = (
    TextColumn("what is shown", pinned=True),
    NumberColumn(
        "exposed",
        width=72,
        format="localized",
        help="Tokens that a turn newly puts before the model: the tools tax of one turn.",
    ),
    NumberColumn(
        "cached",
        width=66,
        format="localized",
        help="Tokens of the stable prefix, such as the summaries of Tool Attention.",
    ),
    NumberColumn("spared", format="%.1f %%", help="Of all definitions, the share that a turn does not contain."),
    NumberColumn("tokens", format="localized", help="The prefix once, and what is exposed in each turn."),
    NumberColumn(
        "ρ",
        format="%.2f",
        help="Effective context utilisation, Tool Attention (3): the task's tokens of all. Below 0.3 reasoning breaks.",
    ),
    TextColumn("above 0.3 for", help=f"Turns until utilisation falls below {BREAKING_POINT}."),
    TextColumn("price", help=r"Of these input tokens. 1 m\$ is a thousandth of a US dollar."),
)


def meter_table(names: Sequence[str], meters: Sequence[TokenMeter], turns: int, *, key: str) -> None:
    """A row for each decision, and one for every definition in every turn."""
    counted, projected = "counted, one turn", f"projected, {turns:,} turn{'s' * (turns > 1)}"
    groups = ["", *[counted] * 3, *[projected] * 4]
    rows = [
        (name, m.counted.exposed, m.counted.cached, m.counted.saved_percent, *_course(m.projected.decision))
        for name, m in zip(names, meters, strict=True)
    ]
    rows += [(ALL_TOOLS, m.counted.definitions, 0, 0.0, *_course(m.projected.all_tools)) for m in meters[:1]]
    frame = pd.DataFrame(rows, columns=pd.MultiIndex.from_arrays([groups, [str(n) for n in range(len(groups))]]))
    places: dict[Any, Any] = dict(enumerate(COLUMNS, start=1))  # by position: names are shown in two rows
    st.dataframe(frame, hide_index=True, height="content", key=key, column_config=places)


def notes_below(meter: TokenMeter) -> None:
    """What counted and projected mean, and two comparisons that do not fit into the table."""
    with st.container(horizontal=True, gap="small"):
        st.badge("counted", icon=":material/tag:", color="green", help=COUNTED_HELP)
        st.badge("projected", icon=":material/trending_up:", color="orange", help=PROJECTED_HELP)
    found = meter.projected
    notes = []
    if found.cached_catalog_usd is not None:
        notes.append(
            f"Where the provider caches all definitions as a prefix, they cost {escaped(units.price(found.cached_catalog_usd))}."
        )
    if found.tools_to_breaking is not None:
        sent = f"sent in each of {found.turns:,} turns" if found.turns > 1 else "sent once"
        notes.append(
            f"The definitions of {found.tools_to_breaking:,} of these {meter.counted.tools:,} tools, {sent}, "
            f"leave utilisation at {BREAKING_POINT}."
        )
    st.caption(" ".join(notes))


def breaking(turns: int | None) -> str:
    """After how many turns it breaks, in words.

    >>> breaking(0), breaking(1), breaking(1_234), breaking(None)
    ('no turn', '1 turn', '1,234 turns', 'ever')
    """
    if turns is None:
        return "ever"
    return "no turn" if turns == 0 else f"{turns:,} turn{'s' * (turns > 1)}"


def _course(of: Course) -> tuple[int, float, str, str]:
    price = "–" if of.usd is None else units.price(of.usd)
    return of.tokens, of.utilisation, breaking(of.turns_to_breaking), price
