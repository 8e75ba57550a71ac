"""The dialogs that make catalogs: a testbed chosen by words, and multiplied servers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Server
from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line
from core.lab.testbed import Registry, Selection, Testbed
from core.virtual.multiply import HIGHEST_SPREAD, MOST_COPIES, Recipe, multiplied_name
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports import chosen_name, name_field
from dashboard.session import only
from dashboard.ui.catalog_frames import M_USD, PERCENT
from dashboard.ui.table import Column, frame_of, table
from dashboard.ui.text import counted, error_kept, errors_shown, escaped, kept_error

FROM, FILES, WORDS, CATEGORIES, SIZE, SERVERS, COPIES, SPREAD, SEED, TASKS, PROBLEM = (
    f"catalog.testbed.{name}"
    for name in (
        "from", "files", "words", "categories", "size", "servers", "copies", "spread", "seed", "tasks", "problem",
    )
)  # fmt: skip
NO_MATCH = "No server matches. Use fewer or other words, or other sizes."
ROWS_SHOWN, MOST_SERVERS, MOST_TASKS, MOST_SIZE = 6, 1_000, 5_000, 200


@state.dialog("testbed", "Draw a testbed", "playlist_add_check")
def testbed_dialog(app: App, catalog: str) -> None:
    st.caption(
        "A new catalog to measure routers on: servers chosen by words from catalogs and registry files, with optional copies and with the labelled "
        "tasks that their tools can do."
    )
    names = [info.name for info in app.catalogs.infos()]
    st.session_state.setdefault(FROM, [catalog] if catalog in names else names[:1])
    _fields(app, names)
    with errors_shown():
        testbed = _drawn(app)[0]
        _preview(testbed)
        _, agreed = name_field(app, _suggestion(testbed))
        st.button(
            "Keep the catalog", type="primary", icon=":material/check:", key="catalog.testbed.go", **only("administer", disabled=not agreed or not testbed.chosen),
            on_click=_keep, args=(app,),
        )  # fmt: skip
        kept_error(PROBLEM)


def _fields(app: App, names: Sequence[str]) -> None:
    catalogs = st.multiselect("From the catalogs", names, key=FROM)
    st.file_uploader(
        "and from registry files (server.json, or a list of them)", type="json", accept_multiple_files=True, key=FILES
    )
    for key, value in ((SERVERS, 15), (COPIES, 0), (SPREAD, 2.0), (SEED, 0), (TASKS, 100)):
        st.session_state.setdefault(key, value)
    categories = sorted(
        {server.category for name in catalogs for server in app.catalogs.catalog(name).servers if server.category}
    )
    left, right = st.columns([1.3, 1])
    left.text_input(
        "Words",
        key=WORDS,
        placeholder="search weather maps",
        help="Servers with any of these words, the best matches first. Empty: all servers.",
    )
    st.session_state[CATEGORIES] = [name for name in st.session_state.get(CATEGORIES, []) if name in categories]
    right.multiselect(
        "Categories", categories, key=CATEGORIES, disabled=not categories, format_func=lambda name: one_line(name, 60)
    )
    st.slider(
        "Tools a server", 0, MOST_SIZE, (1, MOST_SIZE), key=SIZE,
        help="0 includes servers that list their tools only when connected.",
    )  # fmt: skip
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.number_input("At most servers", 1, MOST_SERVERS, key=SERVERS, width=130)
    copies_help = "Virtual copies with other texts, prices and times."
    row.number_input("Copies of each", 0, MOST_COPIES, key=COPIES, width=125, help=copies_help)
    spread_help = "The spread of the copies' statistics."
    row.number_input("Spread", 1.0, HIGHEST_SPREAD, key=SPREAD, step=0.5, width=110, help=spread_help)
    row.number_input("Seed", 0, 2**31, key=SEED, width=110)
    row.number_input("At most tasks", 0, MOST_TASKS, key=TASKS, width=125)


def _drawn(app: App) -> tuple[Testbed, list[Registry]]:
    """Returns the testbed of the current fields, which may be newer than the drawn page. Raises WayfareError."""
    files = st.session_state[FILES] or ()
    registries = [Registry(file.name, app.catalog_editor.read(file.getvalue(), file.name)) for file in files]
    return app.testbeds.draw(st.session_state[FROM], _selection(), registries=registries), registries


def _selection() -> Selection:
    low, high = st.session_state[SIZE]
    return Selection(
        words=tuple(st.session_state[WORDS].split()), categories=tuple(st.session_state[CATEGORIES]), least_tools=low,
        most_tools=high if high < MOST_SIZE else 1_000_000, servers=int(st.session_state[SERVERS]),
        copies=int(st.session_state[COPIES]), spread=float(st.session_state[SPREAD]), seed=int(st.session_state[SEED]),
        tasks=int(st.session_state[TASKS]),
    )  # fmt: skip


def _suggestion(testbed: Testbed) -> str:
    words = "-".join(st.session_state[WORDS].split()[:2]) or "testbed"
    return f"{words}-{len(testbed.catalog('x').servers)}"


def _preview(testbed: Testbed) -> None:
    if not testbed.chosen:
        st.info(NO_MATCH, icon=":material/search_off:")
        return
    catalog = testbed.catalog("testbed")
    possible = sum(bool(task.relevant) for task in testbed.tasks)
    st.markdown(
        f"**{counted(len(catalog.servers), 'server')} with {counted(len(catalog.tools), 'tool')}** from {testbed.matching:,} that match; "
        f"{counted(len(testbed.tasks), 'task')}, {possible:,} of them answerable."
    )
    frame = pd.DataFrame(
        [
            {
                "server": one_line(choice.server.name, 80), "from": one_line(choice.source, 60),
                "tools": len(choice.server.tools), "copies": len(choice.copies), "found": ", ".join(choice.found) or "–",
                "category": one_line(choice.server.category, 40) or "–",
            }
            for choice in testbed.chosen
        ]
    )  # fmt: skip
    table(frame, most=ROWS_SHOWN)


def _keep(app: App) -> None:
    with error_kept(PROBLEM):
        testbed, registries = _drawn(app)
        if not testbed.chosen:
            raise WayfareError(NO_MATCH)
        name = chosen_name(app, _suggestion(testbed))
        app.testbeds.keep(testbed, name, registries=registries)
        new_catalog = testbed.catalog(name)
        state.close_dialog()
        state.go_to(name)
        state.say(
            f"{name} has {counted(len(new_catalog.servers), 'server')} with {counted(len(new_catalog.tools), 'tool')}. The Lab page offers "
            f"its {counted(len(testbed.tasks), 'task')}."
        )


MULTIPLY_COPIES, MULTIPLY_SEED, MULTIPLY_SPREAD, REPLACE, TOOL, MULTIPLY_PROBLEM = (
    f"catalog.multiply.{name}" for name in ("copies", "seed", "spread", "replace", "tool", "problem")
)
COPIES_SHOWN, LONGEST_TEXT = 5, 600


def _price_musd(server: Server) -> float:
    prices = [tool.price_usd for tool in server.tools if tool.price_usd is not None]
    return float(np.median(prices)) * M_USD if prices else math.nan


COLUMNS = (
    Column("server", width=150, cell=lambda server: server.name),
    Column("call_s", "call", help="Declared seconds of one call.", format="%.3g", unit="s"),
    Column(
        "success_percent", "success", help="Declared share of successful calls.", format="%.4g", unit="%",
        cell=lambda server: None if server.success is None else server.success * PERCENT,
    ),
    Column("price_musd", "price", help="Median price of a call of its tools.", format="%.4g", unit="m$", cell=_price_musd),
    Column("description"),
)  # fmt: skip


@state.dialog("multiply", "Multiply a server", "content_copy")
def multiply_dialog(app: App, _shown: str) -> None:
    catalog, name = st.session_state[state.ABOUT]
    server = app.catalogs.catalog(catalog).server(name)
    st.caption(
        f"Virtual copies of {escaped(name)}: other names, texts, prices, times and success rates; tools and schemas stay. "
        "Each copy can be called over real MCP, with simulated results."
    )
    _copy_fields()
    recipe = _recipe()
    _copy_preview(server, app.catalog_editor.copies(catalog, name, recipe))
    _, agreed = name_field(app, multiplied_name(catalog, name, recipe.copies))
    st.button(
        "Make the catalog", type="primary", icon=":material/check:", key="catalog.multiply.go", **only("administer", disabled=not agreed),
        on_click=_make, args=(app, catalog, name),
    )  # fmt: skip
    kept_error(MULTIPLY_PROBLEM)


def _recipe() -> Recipe:
    """Returns the recipe of the current fields, which may be newer than the drawn page."""
    return Recipe(
        copies=int(st.session_state[MULTIPLY_COPIES]),
        seed=int(st.session_state[MULTIPLY_SEED]),
        spread=float(st.session_state[MULTIPLY_SPREAD]),
        keep_original=not st.session_state[REPLACE],
    )


def _copy_fields() -> None:
    for key, value in ((MULTIPLY_COPIES, 3), (MULTIPLY_SEED, 0), (MULTIPLY_SPREAD, 2.0)):
        st.session_state.setdefault(key, value)
    copies, seed, spread, replace = st.columns([1, 1, 1, 1.6], vertical_alignment="bottom")
    spread_help = "The largest factor, up or down, on declared times, prices and success rates. 1 keeps them."
    copies.number_input("Copies", 1, MOST_COPIES, key=MULTIPLY_COPIES)
    seed.number_input("Seed", 0, 2**31, key=MULTIPLY_SEED, help="Another seed gives other texts and numbers.")
    spread.number_input("Spread", 1.0, HIGHEST_SPREAD, key=MULTIPLY_SPREAD, step=0.5, help=spread_help)
    replace.checkbox("Leave the original out", key=REPLACE)


def _copy_preview(server: Server, copies: Sequence[Server]) -> None:
    servers = (server, *copies)
    table(frame_of(servers, COLUMNS).astype({"call_s": float, "success_percent": float}), COLUMNS, most=COPIES_SHOWN)
    names = [tool.name for tool in server.tools]
    chosen = st.selectbox("Descriptions of the tool", names, key=TOOL, width=330)
    row = names.index(chosen) if chosen in names else 0
    with st.container(height=190, gap="xsmall"):
        for entry in servers:
            description = escaped(entry.tools[row].description, LONGEST_TEXT) or ":gray[no description]"
            st.markdown(f":small[:gray[{escaped(entry.name)}] {description}]")


def _make(app: App, catalog: str, server: str) -> None:
    recipe = _recipe()
    with error_kept(MULTIPLY_PROBLEM):
        name = chosen_name(app, multiplied_name(catalog, server, recipe.copies))
        result = app.catalog_editor.multiply(catalog, server, recipe, name=name)
        state.close_dialog()
        state.go_to(name)
        state.say(f"{name} has {recipe.copies} virtual copies of {server}: {len(result.servers):,} servers in total.")
