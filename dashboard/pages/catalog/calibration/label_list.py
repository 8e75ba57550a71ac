"""The labels of a catalog as a table to search, and to take back what was said. Owns the keys `catalog.calibration.labels*`."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.feedback import Label
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line
from dashboard.pages.catalog import state
from dashboard.pages.catalog.imports.documents import counted
from dashboard.ui.catalog_frames import matching
from dashboard.ui.choice_table import ROW_PX, table_height, table_key
from dashboard.ui.labels import labeller
from dashboard.ui.navigation import open_page

COLUMNS = {
    "says": st.column_config.TextColumn("says", width=80),
    "tool": st.column_config.TextColumn("tool", width=260),
    "sub-task": st.column_config.TextColumn("sub-task", width=420),
    "server hint": st.column_config.TextColumn("server hint", width=120),
    "by": st.column_config.TextColumn(
        "by", width=110, help="How it came in, and from which machine where that is another."
    ),
    "at": st.column_config.DatetimeColumn("at", width=150, format="YYYY-MM-DD HH:mm"),
}


def label_list(app: App, catalog: str, labels: Sequence[Label], query: str) -> None:
    """Newest first; chosen ones are taken back together."""
    st.markdown("##### Labels")
    if not labels:
        st.info(
            "Nothing is labelled yet: say “right” or “wrong” at a candidate on the Route page, or at the result of a call.",
            icon=":material/thumbs_up_down:",
        )
        if st.button("Open the Route page", key="catalog.calibration.labels.route", icon=":material/alt_route:"):
            open_page("route", catalog=catalog)
        return
    meant = matching((f"{one.tool} {one.subtask} {one.server_hint}" for one in labels), query)
    shown = [label for label, found in zip(labels, meant, strict=True) if found]
    if not shown:
        st.info(f"None of {counted(len(labels), 'label')} matches the search.", icon=":material/search_off:")
        return
    event = st.dataframe(
        label_frame(shown),
        key=table_key("labels", catalog, query, shown[0].id, str(len(shown))),
        column_config=COLUMNS,
        hide_index=True,
        height=table_height(len(shown)),
        row_height=ROW_PX,
        on_select="rerun",
        selection_mode="multi-row",
        alt=f"Labels of {catalog}",
    )
    chosen = [shown[row] for row in event["selection"]["rows"] if row < len(shown)]
    st.button(
        f"Delete {counted(len(chosen), 'label')}" if chosen else "Choose rows to delete",
        key="catalog.calibration.labels.delete",
        icon=":material/delete:",
        disabled=not chosen,
        on_click=_delete,
        args=(app, chosen),
        help="They do not count any more from the next decision on.",
    )


def label_frame(labels: Sequence[Label]) -> pd.DataFrame:
    """One row a label."""
    return pd.DataFrame(
        {
            "says": ["✓ right" if label.right else "✗ wrong" for label in labels],
            "tool": [one_line(label.tool, 200) for label in labels],
            "sub-task": [one_line(label.subtask, 400) for label in labels],
            "server hint": [one_line(label.server_hint, 200) for label in labels],
            "by": [one_line(f"{label.origin} {label.visitor}", 80) for label in labels],
            "at": pd.to_datetime([label.at for label in labels], utc=True),
        }
    )


def _delete(app: App, chosen: Sequence[Label]) -> None:
    try:
        for label in chosen:
            app.feedback.retract(label.id, by=labeller())
    except WayfareError as error:
        state.say(str(error), done=False)
        return
    state.say(f"{counted(len(chosen), 'label')} deleted.")
