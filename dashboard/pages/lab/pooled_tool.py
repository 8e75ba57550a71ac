"""One tool of a pool as its judge sees it: the sub-task, what the tool says of itself, and nothing of who proposed it."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.feedback import Judgment
from core.lab.agreement import Pooled
from dashboard.ui.text import escaped

DESCRIBED, PARAMETERS = 1_200, 12


def pooled_tool(app: App, catalog: str, item: Pooled, known: Judgment | None) -> None:
    """A bordered card."""
    found = app.catalogs.catalog(catalog)
    tool = found.tools[found.tool_row[item.tool]]
    server = found.servers[found.server_row[tool.server]]
    hint = f"  \n:small[:gray[server hint] {escaped(item.query.server_hint, 200)}]" if item.query.server_hint else ""
    with st.container(border=True, gap="xsmall"):
        st.markdown(f":small[:gray[sub-task]] {escaped(item.query.subtask, 600)}{hint}")
        graded = "" if known is None else f" :blue-badge[grade {known.grade}]"
        st.markdown(f"**{escaped(tool.name, 120)}** :small[:gray[{escaped(server.name, 80)}]]{graded}")
        st.markdown(f":small[{escaped(tool.description or 'It has no description.', DESCRIBED)}]")
        names = list((tool.input_schema or {}).get("properties") or {})
        if names:
            more = f" and {len(names) - PARAMETERS} more" if len(names) > PARAMETERS else ""
            shown = ", ".join(escaped(name, 40) for name in names[:PARAMETERS])
            st.markdown(f":small[:gray[takes] {shown}{more}]")
        if server.description:
            st.markdown(f":small[:gray[server] {escaped(server.description, 240)}]")
