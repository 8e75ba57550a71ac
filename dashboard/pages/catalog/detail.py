"""The details of a server or tool, with its price."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import pandas as pd
import streamlit as st

from core.app import App
from core.catalogs.catalog_editor import LONGEST
from core.domain import units
from core.domain.catalog import Catalog, Json, Server, Tool
from core.domain.errors import WayfareError
from core.domain.outcome import CallMode
from core.domain.statistics import Source, Statistics
from core.governance.policy import Pin
from core.virtual import SENTENCE
from dashboard.pages.catalog.connection_job import connection_lines, own_values
from dashboard.pages.catalog.requests import requests_fold
from dashboard.pages.catalog.servers import server_controls, sign_in_panel
from dashboard.pages.catalog.state import open_dialog, show_tools
from dashboard.session import only, origin
from dashboard.ui.calling import MODES
from dashboard.ui.catalog_frames import hint_words, price_words, source_word
from dashboard.ui.table import table
from dashboard.ui.text import error_kept, escaped, kept_error
from dashboard.ui.url_state import open_page

LONGEST_SHOWN = 20_000
HELP = (
    "Decisions and clients get this text in place of the server's, which stays below. The server itself is not touched. "
    "If the server changes its words, they count until you look at both."
)


def description_panel(app: App, catalog: Catalog, one: Server | Tool, otherwise: str) -> None:
    """Draw the description that counts, the server's own if it differs, and a field for a new one. Without a description it shows
    `otherwise`."""
    _text(one.description, otherwise)
    place = one.id if isinstance(one, Tool) else one.name
    if one.original is not None:
        st.badge("your own description", icon=":material/edit:", color="violet")
        with st.expander("The server's own words", icon=":material/dns:"):
            _text(one.original, "The server says nothing.")
    key = f"catalog.wording.{catalog.name}.{place}"
    with (
        st.expander("Describe it in your own words", icon=":material/edit_note:", key=f"{key}.fold"),
        st.form(f"{key}.form", border=False),
    ):
        st.text_area("Your description", one.description, key=key, max_chars=LONGEST, height=120, help=HELP)
        with st.container(horizontal=True):
            st.form_submit_button("Save", icon=":material/check:", on_click=_put, args=(app, catalog.name, place, key), **only("tune"))  # fmt: skip
            try_clicked = "::" in place and st.form_submit_button(
                "Try", icon=":material/science:", help="Ask the example requests of this tool and of those nearest to it, without saving."
            )  # fmt: skip
            st.form_submit_button(
                "Take the server's words back", icon=":material/undo:", on_click=_remove, args=(app, catalog.name, place, key),
                **only("tune", disabled=one.original is None, help="There is no description of yours." if one.original is None else None),
            )  # fmt: skip
        if try_clicked:
            _tried(app, catalog.name, place, st.session_state[key])
    kept_error(f"{key}.problem")


def _tried(app: App, catalog: str, place: str, text: str) -> None:
    try:
        with st.spinner("Asking the example requests…"):
            preview = app.findable.preview(catalog, place, text)
    except WayfareError as error:
        st.info(escaped(str(error), 400), icon=":material/info:")
        return
    current, proposed = preview.now, preview.then
    st.markdown(
        f"First for **{current.first} → {proposed.first}** of its {current.of} requests, among three for **{current.found} → {proposed.found}**."
    )
    if preview.others:
        lines = [
            f"- {escaped(old.tool, 120)}: first {old.first} → {new.first}, among three {old.found} → {new.found} of {old.of}"
            for old, new in preview.others
        ]
        st.markdown("Tools nearby that it changes:\n" + "\n".join(lines))
    else:
        st.caption("No tool nearby is found more or less often.")


def _put(app: App, catalog: str, place: str, key: str) -> None:
    with error_kept(f"{key}.problem"):
        app.wordings.put(catalog, place, st.session_state[key])


def _remove(app: App, catalog: str, place: str, key: str) -> None:
    with error_kept(f"{key}.problem"):
        app.wordings.remove(catalog, place)
        st.session_state.pop(key, None)


def _text(text: str, otherwise: str) -> None:
    if not text.strip():
        st.caption(otherwise)
        return
    with st.container(height=220 if len(text) > 900 else "content", border=False):
        st.text(text[:LONGEST_SHOWN])
        if len(text) > LONGEST_SHOWN:
            st.caption(f"The first {LONGEST_SHOWN:,} of {len(text):,} characters.")


_NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?:e-?\d{1,3})?|[.,]\d+", re.IGNORECASE)


def parse_price(text: str) -> float:
    """Returns a price in USD per call from m$ (`2.5` or `2.5 m$`) or dollars (`$0.0025`).

    Raises ValueError if the text is not a price.

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
    app: App, catalog: str, server: str, tool: str, *, value_usd: float, source: Source, declared_usd: float | None
) -> None:
    """Draw the price of a tool or, with an empty tool, the ask of a server, with a field to set and reset it."""
    noun, (source_text,) = "Price" if tool else "Ask", price_words([value_usd], [source])
    key = f"catalog.price.{catalog}.{server}.{tool}"
    declared = "nothing" if declared_usd is None else units.price(declared_usd)
    declared = "" if source_text == "declared" else f" · declared: {escaped(declared)}"
    mark = ":violet[:material/edit: edited]" if source_text == "edited" else escaped(source_text)
    st.markdown(f"**{noun}: {escaped(units.price(value_usd))}** · {mark}{declared}")
    with st.form(f"{key}.form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
        st.text_input(
            f"{noun} per call, m\\$",
            key=key,
            placeholder="such as 2.5, or $0.0025" if math.isnan(value_usd) else f"{value_usd * 1e3:.6g}",
            help="In m\\$ (thousandths of a US dollar), or in dollars after a dollar sign. 0 is free.",
            width=230,
        )
        st.form_submit_button("Set", icon=":material/check:", on_click=_set, args=(app, catalog, server, tool, key), **only("administer"))  # fmt: skip
        st.form_submit_button(
            "Reset to declared", icon=":material/undo:", on_click=_set, args=(app, catalog, server, tool, key, True),
            **only("administer", disabled=source_text != "edited", help="Remove the value that was set by hand."),
        )  # fmt: skip
    kept_error(f"{key}.problem")


def _set(app: App, catalog: str, server: str, tool: str, key: str, reset: bool = False) -> None:
    with error_kept(f"{key}.problem"):
        value_usd = None if reset else parse_price(st.session_state[key])
        app.catalog_editor.set_figure(catalog, server, tool, value_usd)
        st.session_state[key] = ""


Statistic = tuple[str, str, str, str]


def _plain(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def server_detail(app: App, catalog: Catalog, statistics: Statistics, row: int) -> None:
    server, figures = catalog.servers[row], statistics.servers
    with st.container(border=True):
        left, right = st.columns([1.15, 1], gap="large")
        with left:
            _heading(server.name, server.title, server.category)
            if server.virtual:
                st.badge(SENTENCE, icon=MODES[CallMode.VIRTUAL].icon, color="violet")
            description_panel(app, catalog, server, "The catalog has no description of this server.")
            _server_buttons(catalog.name, server)
            server_controls(app, catalog.name, server)
            _connection(server)
            sign_in_panel(app, catalog.name, server.name)
            own_values(app, catalog.name, server)
        with right:
            price_panel(
                app, catalog.name, server.name, "", value_usd=float(figures.ask_usd[row]), source=figures.ask_source[row],
                declared_usd=server.ask_usd,
            )  # fmt: skip
            _statistics_table(statistics_rows(statistics, server, row))


def _server_buttons(catalog: str, server: Server) -> None:
    with st.container(horizontal=True):
        st.button(
            f"Show its {len(server.tools):,} tools" if len(server.tools) != 1 else "Show its tool",
            icon=":material/construction:", disabled=not server.tools, on_click=show_tools, args=(server.name,),
        )  # fmt: skip
        st.button(
            "Multiply…", key="catalog.multiply", icon=":material/content_copy:",
            **only("administer", help="A new catalog with virtual copies of this server with other names, texts and statistics.", disabled=not server.tools),
            on_click=open_dialog, args=("multiply", (catalog, server.name)),
        )  # fmt: skip


def tool_detail(app: App, catalog: Catalog, statistics: Statistics, row: int) -> None:
    tool, figures = catalog.tools[row], statistics.tools
    with st.container(border=True):
        left, right = st.columns([1.15, 1], gap="large")
        with left:
            _heading(tool.name, tool.title, tool.server)
            description_panel(
                app, catalog, tool, "The catalog has no description of this tool. Only its name can be found."
            )
            if hints := hint_words(tool.hints):
                st.caption(f"Hints of the server: {hints}.")
            requests_fold(app, catalog, tool)
            _schemas(tool)
        with right:
            if st.button("Call this tool", icon=":material/play_arrow:", type="primary"):
                open_page("call", catalog=catalog.name, tool=tool.id)
            price_panel(
                app, catalog.name, tool.server, tool.name, value_usd=float(figures.price_usd[row]), source=figures.price_source[row],
                declared_usd=tool.price_usd,
            )  # fmt: skip
            _pin(app, catalog.name, tool)
            if tool.tier or tool.tier_reason:
                st.caption(
                    f"Tier: {escaped(tool.tier or '–')}{f' ({escaped(tool.tier_reason)})' if tool.tier_reason else ''}."
                )
            _statistics_table(statistics_rows(statistics, tool, row))


def _pin(app: App, catalog: str, tool: Tool) -> None:
    pin = Pin(f"{catalog}/{tool.id}")
    key = f"catalog.pin.{pin.tool}"
    st.session_state[key] = pin in app.governance.policy.pinned
    st.toggle("List it directly to agents", key=key, on_change=lambda: app.governance.pin(pin, on=st.session_state[key], origin=origin()),
        **only("administer", help="Clients of /mcp have it in their lists beside search_tools. `wayfare pin` lists the pinned tools, and pins one for a single client."))  # fmt: skip
    if st.session_state[key] and (why := app.preflight.gone(pin.tool, pin.client)):
        st.caption(f"It is left out for now: {escaped(why, 300)}")


SERVER_FIGURES = (  # title, value, source, number of calls, decay, words
    ("Connection time", "conn_s", "conn_source", "connects", "conn_decayed", units.seconds),
    ("Call time", "call_s", "call_source", "calls", "decayed", units.seconds),
    ("Success r", "success", "success_source", "calls", "decayed", units.share),
    ("Variance of success", "success_variance", "success_source", "calls", "decayed", _plain),
    ("Post-accept failure", "post_accept_failure", "failure_source", "calls", "decayed", units.share),
)
TOOL_FIGURES = (
    ("Latency", "latency_s", "latency_source", "calls", "decayed", units.seconds),
    ("Success r", "success", "success_source", "calls", "decayed", units.share),
)


def statistics_rows(statistics: Statistics, one: Server | Tool, row: int) -> list[Statistic]:
    """Returns each statistic of a server or a tool with its source, and the declared value."""
    of_server = isinstance(one, Server)
    figures = statistics.servers if of_server else statistics.tools

    def figure(name: str) -> Any:
        return getattr(figures, name)[row]

    return [
        (
            title,
            show(figure(name)),
            source_word(figure(source), int(figure(calls)), figure(decay)),
            show(getattr(one, name)),
        )
        for title, name, source, calls, decay, show in (SERVER_FIGURES if of_server else TOOL_FIGURES)
    ]


def _statistics_table(rows: Iterable[Statistic]) -> None:
    table(pd.DataFrame(list(rows), columns=["statistic", "value", "from", "declared"]))


def _heading(name: str, title: str, place: str) -> None:
    other = " · ".join(escaped(text) for text in (title, place) if text and text != name)
    st.markdown(f"##### {escaped(name)}")
    if other:
        st.caption(other)


def _connection(server: Server) -> None:
    connection = server.connection
    if connection is not None:
        st.caption(f"Reached by {connection.transport}. Values are shown as references. Secrets are never stored.")
        st.code(connection_lines(connection), language=None, wrap_lines=True)
    elif server.virtual:
        st.caption("A call starts a process that plays this server and answers after the declared times.")
    else:
        st.caption("No command and no address. The server can be ranked, and a virtual server can replace it.")


def _schemas(tool: Tool) -> None:
    if tool.input_schema is None:
        st.caption("No input schema: arguments are not checked before a call.")
    else:
        _schema("Input schema", tool.input_schema)
    if tool.output_schema is not None:
        _schema("Output schema", tool.output_schema)


def _schema(label: str, schema: Json) -> None:
    with st.expander(label, expanded=len(str(schema)) < 1500 and label.startswith("Input")):
        st.json(dict(schema), expanded=2)
