"""Who changed which parameter when, and everything that was recorded as files. Owns the keys `activity.extra.*`."""

from __future__ import annotations

from functools import partial
from io import BytesIO

import pandas as pd
import streamlit as st
from streamlit.column_config import DatetimeColumn

from core.app import App
from core.shared.errors import WayfareError
from dashboard.ui.event_words import one_line

CHANGES_SHOWN = 500
EXPORTS = {
    "decisions": "Decisions",
    "outcomes": "Calls",
    "refused_requests": "Refused requests",
    "statistics": "Statistics",
    "parameters": "Parameter changes",
}
MIME = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}


def export_menu(app: App) -> None:
    """Each table as CSV and as Parquet; a file is made when its button is pressed."""
    with st.popover("Export", icon=":material/download:"):
        st.caption(
            "Everything that was recorded, whatever the filter shows, in order of commit. Times are UTC, money is USD, "
            "durations are seconds. In CSV a text that a spreadsheet would run as a formula gets an apostrophe; "
            "Parquet is exact."
        )
        for table, title in EXPORTS.items():
            name, *buttons = st.columns([1.6, 1, 1.2], vertical_alignment="center")
            name.text(title)
            for place, (format_, mime) in zip(buttons, MIME.items(), strict=True):
                place.download_button(
                    "CSV" if format_ == "csv" else "Parquet",
                    data=partial(app.store.activity.export, table, format_),  # pyright: ignore[reportArgumentType]
                    file_name=f"wayfare-{table}.{format_}",
                    mime=mime,
                    key=f"activity.extra.{table}.{format_}",
                    on_click="ignore",
                    width="stretch",
                )


def parameter_changes(app: App, zone: str) -> None:
    """The list of changed parameters; it is read when it is opened."""
    changes = st.expander("Parameter changes", key="activity.extra.changes", icon=":material/tune:", on_change="rerun")
    if not changes.open:
        return
    with changes:
        try:
            frame = changes_frame(pd.read_parquet(BytesIO(app.store.activity.export("parameters", "parquet"))), zone)
        except WayfareError as error:
            st.error(one_line(str(error)))
            return
        if frame.empty:
            st.caption("No parameter was changed yet: every decision was made with the defaults.")
            return
        st.caption(
            f"The newest {len(frame):,} changes, found when a decision was made with other values than the one before."
        )
        st.dataframe(
            frame, hide_index=True, key="activity.extra.table",
            column_config={"time": DatetimeColumn(format="YYYY-MM-DD HH:mm:ss", help=f"In your time zone, {zone}.")},
        )  # fmt: skip


def changes_frame(events: pd.DataFrame, zone: str) -> pd.DataFrame:
    """Parameter events as they are shown, newest first."""
    newest = events.sort_values("sequence", ascending=False).head(CHANGES_SHOWN)
    texts = {name: [one_line(text) for text in newest[name]] for name in ("router", "name", "old", "new", "origin")}
    return pd.DataFrame(
        {
            "time": newest["at"].dt.tz_convert(zone).tolist(),
            "router": texts["router"],
            "parameter": texts["name"],
            "from": texts["old"],
            "to": texts["new"],
            "changed by": texts["origin"],
        }
    )
