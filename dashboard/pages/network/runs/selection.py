"""The table of stored runs and which of them are chosen. Owns the keys `network.runs`, `network.runs.table`, `.notice`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.domain.lab_runs import KeptRun
from dashboard.pages.network.runs.frame import COLUMNS, runs_frame, runs_styler
from dashboard.ui.event_words import visitor_zone

CHOSEN, TABLE, NOTICE = "network.runs", "network.runs.table", "network.runs.notice"
MOST = 6
TABLE_PX, MOST_ROWS = 388, 11


def chosen_runs(linked: Mapping[str, str]) -> str:
    """The ids of the chosen runs as the URL carries them; at first those of the link."""
    st.session_state.setdefault(CHOSEN, [id_ for id_ in linked.get("runs", "").split(",") if id_][:MOST])
    return ",".join(st.session_state[CHOSEN])


def runs_table(runs: Sequence[KeptRun], titles: Mapping[str, str], count: int) -> None:
    """The newest runs, of `count` in the store; rows are chosen in it."""
    ids = [run.id for run in runs]
    wanted = sorted(ids.index(id_) for id_ in st.session_state[CHOSEN] if id_ in ids)
    if wanted != sorted(_selected_rows()):
        st.session_state[TABLE] = {"selection": {"rows": wanted, "columns": [], "cells": []}}
    part = "" if count <= len(runs) else f" These are the newest {len(runs):,} of {count:,}."
    st.caption(
        "Finished runs, from here and from `wayfare scenario`, the newest first; the same run made again takes the earlier "
        f"one's place. Choose up to {MOST} to compare them.{part}"
    )
    st.dataframe(
        runs_styler(runs_frame(runs, titles, visitor_zone())),
        key=TABLE,
        column_config=COLUMNS,
        hide_index=True,
        height=TABLE_PX if len(runs) > MOST_ROWS else "content",
        placeholder="–",
        on_select=lambda: choose(ids),
        selection_mode="multi-row",
        alt="Stored scenario runs",
    )


def choose(ids: Sequence[str]) -> None:
    """Take over the table's selection, whose rows are the runs with these ids; for `on_select` and `on_click`."""
    selected = [ids[row] for row in _selected_rows() if row < len(ids)]
    st.session_state[CHOSEN], st.session_state[NOTICE] = chosen_after(st.session_state[CHOSEN], selected)


def chosen_after(before: Sequence[str], selected: Sequence[str]) -> tuple[list[str], str]:
    """The chosen runs and a notice, after the selection changed. The order of choosing stays: the first is what the
    others are compared with.

    >>> chosen_after(["b", "c"], ["a", "b"])
    (['b', 'a'], '')
    """
    chosen = [id_ for id_ in before if id_ in selected]
    chosen += [id_ for id_ in selected if id_ not in chosen]
    notice = f"At most {MOST} runs are compared at once; what was chosen beyond was not taken."
    return chosen[:MOST], notice if len(chosen) > MOST else ""


def chosen_from(runs: Sequence[KeptRun]) -> list[KeptRun]:
    """The chosen ones of these runs; those that are missing are counted on the page."""
    by_id = {run.id: run for run in runs}
    wanted: list[str] = st.session_state[CHOSEN]
    if missing := sum(id_ not in by_id for id_ in wanted):
        st.caption(
            f":orange[{missing} of the {len(wanted)} chosen runs {'is' if missing == 1 else 'are'} not in this list.]"
        )
    return [by_id[id_] for id_ in wanted if id_ in by_id]


def _selected_rows() -> list[int]:
    return list(st.session_state[TABLE]["selection"]["rows"]) if TABLE in st.session_state else []
