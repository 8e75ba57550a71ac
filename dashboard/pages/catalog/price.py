"""Setting a price or an ask by hand: one field, a sentence where it is no price, a way back to what was declared."""

from __future__ import annotations

import math
import re

import streamlit as st

from core.app import App
from core.shared import units
from core.shared.errors import WayfareError
from dashboard.ui.text import escaped

PROBLEM = "catalog:price_problem"
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:e-?\d{1,3})?|[.,]\d+", re.IGNORECASE)


def parse_price(text: str) -> float:
    """A price in USD per call from m$ (`2.5` or `2.5 m$`) or dollars (`$0.0025`).

    Raises ValueError with a sentence where it is none.

    >>> parse_price("2.5"), parse_price("2,5 m$"), parse_price("$1.20"), parse_price("0")
    (0.0025, 0.0025, 1.2, 0.0)
    """
    plain = text.strip()
    dollars = plain.startswith("$")
    digits = plain.removeprefix("$").removesuffix("m$").strip()
    value = float(digits.replace(",", ".")) if _NUMBER.fullmatch(digits) else math.nan
    if not math.isfinite(value):
        problem = f"“{plain[:40]}” is not a price" if plain else "There is no price in the field"
        raise ValueError(f"{problem}; write a number of at least 0, such as 2.5 for 2.5 m$ or $0.0025.")
    return value if dollars else value / 1e3


def price_panel(
    app: App, catalog: str, server: str, tool: str, *, value_usd: float, source: str, declared_usd: float | None
) -> None:
    """The price of a tool or, with an empty tool, the ask of a server: what it is, a field to set it, a way back."""
    what = "Price" if tool else "Ask"
    key = f"catalog.price.{catalog}.{server}.{tool}"
    declared = "nothing" if declared_usd is None else units.price(declared_usd)
    declared = "" if source == "declared" else f" · declared: {escaped(declared)}"
    mark = ":violet[:material/edit: edited]" if source == "edited" else escaped(source)
    st.markdown(f"**{what}: {escaped(units.price(value_usd))}** · {mark}{declared}")
    with st.form(f"{key}.form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            f"{what} per call, m\\$",
            key=key,
            placeholder="such as 2.5, or $0.0025" if math.isnan(value_usd) else f"{value_usd * 1e3:.6g}",
            help="In m\\$, thousandths of a US dollar, or in dollars with a dollar sign before it. 0 is free.",
            width=230,
        )
        st.form_submit_button("Set", icon=":material/check:", on_click=_set, args=(app, catalog, server, tool, key))
        st.form_submit_button(
            "Reset to declared",
            icon=":material/undo:",
            on_click=_reset,
            args=(app, catalog, server, tool, key),
            disabled=source != "edited",
            help="Forget the value that was set by hand.",
        )
    place, sentence = st.session_state.get(PROBLEM, ("", ""))
    if place == key:
        st.error(escaped(sentence), icon=":material/error:")


def _set(app: App, catalog: str, server: str, tool: str, key: str) -> None:
    try:
        app.catalog_editor.set_figure(catalog, server, tool, parse_price(st.session_state[key]))
    except (ValueError, WayfareError) as error:
        st.session_state[PROBLEM] = (key, str(error))
        return
    _done(key)


def _reset(app: App, catalog: str, server: str, tool: str, key: str) -> None:
    try:
        app.catalog_editor.set_figure(catalog, server, tool, None)
    except WayfareError as error:
        st.session_state[PROBLEM] = (key, str(error))
        return
    _done(key)


def _done(key: str) -> None:
    st.session_state.pop(PROBLEM, None)
    st.session_state[key] = ""
