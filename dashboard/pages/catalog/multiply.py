"""The dialog that multiplies a server into virtual ones: how many, how different, what they will say, and the new catalog."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Server
from core.shared.errors import WayfareError
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES, Recipe, multiplied_name, server_of
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports.name import chosen_name, name_field
from dashboard.ui.catalog_frames import M_USD, PERCENT
from dashboard.ui.choice_table import ROW_PX, table_height
from dashboard.ui.text import escaped

COPIES, SEED, SPREAD, REPLACE, TOOL, PROBLEM = (
    f"catalog.multiply.{name}" for name in ("copies", "seed", "spread", "replace", "tool", "problem")
)
ROWS_SHOWN, LONGEST_TEXT = 5, 600
COLUMNS = {
    "server": st.column_config.TextColumn("server", width=150),
    "call_s": st.column_config.NumberColumn("call", format="%.3g s", help="Declared seconds of one call."),
    "success_percent": st.column_config.NumberColumn("success", format="%.4g %%", help="Declared share of good calls."),
    "price_musd": st.column_config.NumberColumn("price", format="%.4g m$", help="Median price of its tools' calls."),
}


@st.dialog("Multiply a server", width="large", icon=":material/content_copy:", on_dismiss=state.close_dialog)
def multiply_dialog(app: App) -> None:
    """Draw it; it closes itself once the catalog is stored."""
    if not state.dialog_open("multiply"):
        st.rerun()
    catalog, name = state.original()
    server = server_of(app.catalogs.catalog(catalog), name)
    st.caption(
        f"Virtual copies of {escaped(name)}: other names, other words, other prices, times and odds; tools and schemas stay. "
        "Each can be called over real MCP, with simulated results."
    )
    _fields()
    recipe = _recipe()
    _preview(server, app.catalog_editor.copies(catalog, name, recipe))
    _, agreed = name_field(app, multiplied_name(catalog, name, recipe.copies))
    st.button(
        "Make the catalog",
        type="primary",
        icon=":material/check:",
        key="catalog.multiply.go",
        disabled=not agreed,
        on_click=_make,
        args=(app, catalog, name),
    )
    if sentence := st.session_state.get(PROBLEM, ""):
        st.error(escaped(sentence), icon=":material/error:")


def _recipe() -> Recipe:
    """The four numbers and the choice, as they are set now: also after the page was drawn."""
    return Recipe(
        copies=int(st.session_state[COPIES]),
        seed=int(st.session_state[SEED]),
        spread=float(st.session_state[SPREAD]),
        keep_original=not st.session_state[REPLACE],
    )


def _fields() -> None:
    for key, value in ((COPIES, 3), (SEED, 0), (SPREAD, 2.0)):
        st.session_state.setdefault(key, value)
    copies, seed, spread, replace = st.columns([1, 1, 1, 1.6], vertical_alignment="bottom")
    spread_help = "Largest factor, up or down, on declared times, prices and odds; 1 keeps them."
    copies.number_input("Copies", 1, MOST_COPIES, key=COPIES)
    seed.number_input("Seed", 0, 2**31, key=SEED, help="Another seed, other words and numbers.")
    spread.number_input("Spread", 1.0, HIGHEST_SPREAD, key=SPREAD, step=0.5, help=spread_help)
    replace.checkbox("Leave the original out", key=REPLACE)


def _preview(server: Server, copies: Sequence[Server]) -> None:
    """What each declares, and how each describes one tool: all of it, for that is where they differ."""
    everyone = (server, *copies)
    st.dataframe(
        copies_frame(everyone),
        hide_index=True,
        row_height=ROW_PX,
        height=table_height(min(len(everyone), ROWS_SHOWN)),
        column_config=COLUMNS,
    )
    names = [tool.name for tool in server.tools]
    chosen = st.selectbox("How they describe the tool", names, key=TOOL, width=330)
    row = names.index(chosen) if chosen in names else 0
    with st.container(height=190, gap="xsmall"):
        for one in everyone:
            description = escaped(one.tools[row].description, LONGEST_TEXT) or ":gray[says nothing]"
            st.markdown(f":small[:gray[{escaped(one.name)}] {description}]")


def copies_frame(servers: Sequence[Server]) -> pd.DataFrame:
    """What each says of itself and declares: s, percent, m$; missing where nothing is declared.

    >>> copies_frame([Server("a", "Finds.", call_s=0.5, success=0.9)])["success_percent"].tolist()
    [90.0]
    """
    prices = [[tool.price_usd for tool in one.tools if tool.price_usd is not None] for one in servers]
    return pd.DataFrame(
        {
            "server": [one.name for one in servers],
            "call_s": pd.Series([one.call_s for one in servers], dtype=float),
            "success_percent": pd.Series([one.success for one in servers], dtype=float) * PERCENT,
            "price_musd": [float(np.median(known)) * M_USD if known else float("nan") for known in prices],
            "description": [one.description for one in servers],
        }
    )


def _make(app: App, catalog: str, server: str) -> None:
    recipe = _recipe()
    try:
        name = chosen_name(app, multiplied_name(catalog, server, recipe.copies))
        made = app.catalog_editor.multiply(catalog, server, recipe, name=name)
    except WayfareError as error:
        st.session_state[PROBLEM] = str(error)
        return
    state.close_dialog()
    state.go_to(name)
    state.say(f"{name} has {recipe.copies} virtual copies of {server}: {len(made.servers):,} servers in all.")
