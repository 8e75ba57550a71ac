"""Equal tools: proposed pairs, the judgment of a pair, and the sets that follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
import streamlit as st

from core.app import App
from core.domain import units
from core.domain.catalog import Catalog, Json, Tool
from core.domain.tasks import Proposal, Says
from core.domain.untrusted_text import one_line
from core.lab.equal_sets import LEAST_COSINE, EqualSets
from dashboard.pages.catalog import state
from dashboard.session import only
from dashboard.ui.long_work import AT_ONCE, show_preparing, work_first
from dashboard.ui.table import MOST_ROWS, MOST_SENT, listening_table, page_of, select_rows, selected_rows, table
from dashboard.ui.text import counted, escaped, file_name

LONGEST, MOST_PARAMETERS = 1_200, 12


def pair_cards(catalog: Catalog, pair: tuple[str, str]) -> None:
    columns = st.grid(2, min_column_width=360, gap="small")
    for place, name in zip(("one", "other"), pair, strict=True):
        with columns.cell(), st.container(border=True, key=f"equal:{place}", height="stretch"):
            _card(catalog, catalog.tools[catalog.tool_row[name]])


def _card(catalog: Catalog, tool: Tool) -> None:
    server = catalog.servers[catalog.server_row[tool.server]]
    st.markdown(f"**{escaped(tool.name, 120)}** :gray[of {escaped(tool.server, 80)}]")
    st.markdown(escaped(tool.description, LONGEST) or ":gray[The catalog has no description of this tool.]")
    lines = parameter_lines(tool.input_schema)
    if lines:
        more = f"\n- :gray[and {len(lines) - MOST_PARAMETERS} more]" if len(lines) > MOST_PARAMETERS else ""
        st.markdown("\n".join(f"- {line}" for line in lines[:MOST_PARAMETERS]) + more)
    else:
        st.caption("Takes no parameters.")
    price = "no price" if tool.price_usd is None else f"{units.price(tool.price_usd)} a call"
    about = escaped(server.description, 200) or "no description"
    st.caption(f"{escaped(price)} · its server: {about}")


def parameter_lines(schema: Json | None) -> list[str]:
    """Returns a line of Markdown for each parameter: name, type, required or not, description.

    >>> parameter_lines({"properties": {"path": {"type": "string", "description": "What to read."}}, "required": ["path"]})
    ['`path` string, required: What to read\\\\.']
    """
    properties = _mapping((schema or {}).get("properties"))
    needed = (schema or {}).get("required")
    required = cast("list[object]", needed) if isinstance(needed, list) else []
    lines: list[str] = []
    for name, raw in properties.items():
        parameter = _mapping(raw)
        kind = f" {escaped(str(parameter['type']), 30)}" if parameter.get("type") else ""
        about = f": {escaped(str(parameter['description']), 160)}" if parameter.get("description") else ""
        label = str(name).replace("`", "'")[:80]
        lines.append(f"`{label}`{kind}{', required' if name in required else ''}{about}")
    return lines


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


AT, LAST, TABLE, FILE = "catalog:equal.at", "catalog:equal.last", "catalog.equal.pairs", "catalog.equal.file"
WORDS: dict[str, str] = {"equal": "equal", "different": "not equal", "unsure": "unsure", "": "not judged"}
BUTTONS: tuple[tuple[Says, str, str, str], ...] = (
    ("equal", "Equal", "e", ":material/equal:"),
    ("different", "Not equal", "n", ":material/close:"),
    ("unsure", "Unsure", "u", ":material/question_mark:"),
)


def equal_sets_body(app: App, catalog: Catalog, query: str) -> None:
    st.caption(
        "Tools with the same function form an equal function set: if one is right, all are right. Proposed pairs are a tool and one of its ten "
        f"nearest whose names and descriptions have a cosine above {LEAST_COSINE}. Your judgments form the sets, which ETOM's measures of this catalog use "
        "(wayfare bench, levels L2 to L4)."
    )
    if len(catalog.tools) < 2:
        st.info("This catalog has fewer than two tools.", icon=":material/search_off:")
        return
    show_preparing(app, catalog.name)
    if len(catalog.tools) > AT_ONCE and not app.equal_sets.proposed(catalog.name):
        work_first(
            f"catalog:equal.{catalog.name}", lambda job: app.equal_sets.propose(catalog.name, job.report),
            title=f"Pairs of equal tools of {catalog.name}",
        )  # fmt: skip
        return
    equal_sets = app.equal_sets.of_catalog(catalog.name)
    _progress(equal_sets)
    pair = _chosen(equal_sets)
    if pair is not None:
        _pair(app, catalog, pair)
    _sets(equal_sets)
    _pairs(equal_sets, query)
    _file(app, catalog.name, equal_sets)


def _progress(equal_sets: EqualSets) -> None:
    total = len(equal_sets.proposals)
    if not total:
        st.info(
            f"No two tools of this catalog have a cosine above {LEAST_COSINE}, so there are no proposals.",
            icon=":material/search_off:",
        )
        return
    follows = sum(pair.follows for pair in equal_sets.proposals)
    more = f", {follows:,} of them follow from others" if follows else ""
    st.progress(
        equal_sets.judged / total,
        f"{equal_sets.judged:,} of {total:,} proposed pairs judged{more}; {counted(len(equal_sets.sets), 'set')}",
    )
    if equal_sets.left_out:
        st.caption(
            f"The {total:,} nearest pairs are proposed. {equal_sets.left_out:,} further ones have a cosine above {LEAST_COSINE}, too: more than anybody "
            "judges, so they are left out."
        )
    for tool, other in equal_sets.contradictions[:5]:
        st.warning(
            f"{escaped(tool, 100)} and {escaped(other, 100)} were judged not equal, but other pairs make them equal. Judge one of those pairs again.",
            icon=":material/warning:",
        )


def _chosen(equal_sets: EqualSets) -> Proposal | None:
    place: tuple[str, str] | None = st.session_state.get(AT)
    for pair in equal_sets.proposals:
        if (pair.one, pair.other) == place:
            return pair
    return next((pair for pair in equal_sets.proposals if pair.open), None)


def _pair(app: App, catalog: Catalog, pair: Proposal) -> None:
    st.markdown(f"**Do these two tools do the same?** :gray[cosine {pair.cosine:.3f}; so far: {WORDS[pair.says]}]")
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    for says, words, key, icon in BUTTONS:
        row.button(
            words, key=f"catalog.equal.{says}", **only("tune"), icon=icon, shortcut=key, type="primary" if says == "equal" else "secondary",
            on_click=_judge, args=(app, catalog.name, pair, says),
        )  # fmt: skip
    row.button(
        "Back", key="catalog.equal.back", icon=":material/undo:", shortcut="b", **only("tune", disabled=st.session_state.get(LAST) is None, help="Undo the last judgment."),
        on_click=_back, args=(app, catalog.name),
    )  # fmt: skip
    pair_cards(catalog, (pair.one, pair.other))


def _judge(app: App, catalog: str, pair: Proposal, says: Says) -> None:
    with state.errors_shown():
        app.equal_sets.judge(catalog, pair.one, pair.other, says)
        st.session_state[LAST] = (catalog, pair.one, pair.other)
        st.session_state.pop(AT, None)


def _back(app: App, catalog: str) -> None:
    judged_catalog, tool, other = st.session_state.pop(LAST)
    if judged_catalog == catalog:
        app.equal_sets.judge(catalog, tool, other, None)
        st.session_state[AT] = (tool, other)


def _sets(equal_sets: EqualSets) -> None:
    if not equal_sets.sets:
        return
    st.markdown("**Equal function sets**")
    frame = pd.DataFrame(
        [
            {"set": ", ".join(one_line(tool, 100) for tool in tools), "tools": len(tools)}
            for tools in equal_sets.sets[:MOST_SENT]
        ]
    )
    table(frame, key="catalog.equal.sets")


def _pairs(sets: EqualSets, query: str) -> None:
    pairs = [pair for pair in sets.proposals if query.lower() in f"{pair.one} {pair.other} {WORDS[pair.says]}".lower()]
    if not pairs:
        return
    st.markdown(f"**Proposed pairs** :gray[{len(pairs):,}; choose a row to judge it again]")
    shown = [pairs[row] for row in page_of(np.arange(len(pairs)), "catalog.equal").tolist()]
    frame = pd.DataFrame(
        {
            "one tool": [one_line(pair.one, 100) for pair in shown],
            "the other": [one_line(pair.other, 100) for pair in shown],
            "cosine": [f"{pair.cosine:.3f}" for pair in shown],
            "judged": ["equal, from other pairs" if pair.follows else WORDS[pair.says] for pair in shown],
        }
    )

    def choose() -> None:
        for pair in [shown[row] for row in selected_rows(TABLE) if row < len(shown)]:
            st.session_state[AT] = (pair.one, pair.other)

    # after a judgment, in other rows and in another catalog, no row but that of the asked pair is selected
    select_rows(TABLE, [row for row, pair in enumerate(shown) if (pair.one, pair.other) == st.session_state.get(AT)])
    listening_table(frame, (), key=TABLE, chosen=choose, about="Proposed pairs of equal tools", most=MOST_ROWS)


def _file(app: App, catalog: str, equal_sets: EqualSets) -> None:
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    row.download_button(
        "Export", app.equal_sets.export(catalog), file_name=file_name(f"{catalog}-equal-sets.json", "equal-sets.json"),
        mime="application/json", key="catalog.equal.export", icon=":material/download:", on_click="ignore",
        disabled=not (equal_sets.sets or equal_sets.judged or equal_sets.others),
        help="Sets and judged pairs as JSON. Needs a judgment.",
    )  # fmt: skip
    with row.popover("Import…", icon=":material/upload_file:"):
        st.file_uploader("Exported sets or pairs", type="json", key=FILE, **only("tune"), on_change=_import, args=(app, catalog))  # fmt: skip


def _import(app: App, catalog: str) -> None:
    file = st.session_state[FILE]
    if file is None:
        return
    with state.errors_shown():
        report = app.equal_sets.import_file(file.getvalue(), source=file.name, catalog=catalog)
        unknown = f" {report.unknown:,} have tools that are not in this catalog." if report.unknown else ""
        state.say(f"{report.taken:,} judged pairs were imported.{unknown}")
