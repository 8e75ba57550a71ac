"""Two tools side by side: what they are called, what they say they do, and what they take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import streamlit as st

from core.domain.catalog import Catalog, Json, Tool
from core.domain.tasks import Proposal
from core.shared import units
from dashboard.ui.text import escaped

LONGEST, MOST_PARAMETERS = 1_200, 12


def pair_cards(catalog: Catalog, pair: Proposal) -> None:
    """Both, in two columns that stand below each other where the screen is narrow."""
    columns = st.grid(2, min_column_width=360, gap="small")
    for name in (pair.one, pair.other):
        with columns.cell(), st.container(border=True, key=f"equal:{'one' if name == pair.one else 'other'}"):
            _card(catalog, catalog.tools[catalog.tool_row[name]])


def _card(catalog: Catalog, tool: Tool) -> None:
    server = catalog.servers[catalog.server_row[tool.server]]
    st.markdown(f"**{escaped(tool.name, 120)}** :gray[of {escaped(tool.server, 80)}]")
    st.markdown(escaped(tool.description, LONGEST) or ":gray[The catalog says nothing about this tool.]")
    lines = parameter_lines(tool.input_schema)
    if lines:
        more = f"\n- :gray[and {len(lines) - MOST_PARAMETERS} more]" if len(lines) > MOST_PARAMETERS else ""
        st.markdown("\n".join(f"- {line}" for line in lines[:MOST_PARAMETERS]) + more)
    else:
        st.caption("Takes no parameters.")
    price = "no price" if tool.price_usd is None else f"{units.price(tool.price_usd)} a call"
    about = escaped(server.description, 200) or "nothing is said of it"
    st.caption(f"{escaped(price)} · its server: {about}")


def parameter_lines(schema: Json | None) -> list[str]:
    """A line of Markdown for each parameter: its name, type, whether it is needed, and what it says.

    >>> parameter_lines({"properties": {"path": {"type": "string", "description": "What to read."}}, "required": ["path"]})
    ['`path` string, needed: What to read\\\\.']
    """
    properties = _mapping((schema or {}).get("properties"))
    needed = (schema or {}).get("required")
    required = cast("list[object]", needed) if isinstance(needed, list) else []
    lines: list[str] = []
    for name, raw in properties.items():
        one = _mapping(raw)
        kind = f" {escaped(str(one['type']), 30)}" if one.get("type") else ""
        about = f": {escaped(str(one['description']), 160)}" if one.get("description") else ""
        shown = str(name).replace("`", "'")[:80]
        lines.append(f"`{shown}`{kind}{', needed' if name in required else ''}{about}")
    return lines


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
