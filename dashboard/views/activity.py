"""The Activity page: decisions and calls as they happen, what they cost, how they went, what was learnt from them."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from core.console import Console
from core.errors import WayfareError
from dashboard.session import console
from dashboard.widgets.activity_body import CALLS, DECISIONS, nothing_yet, view_bar, view_body
from dashboard.widgets.activity_extras import parameter_changes
from dashboard.widgets.activity_filter import Listing, drop_foreign_query, filter_row, picked, where
from dashboard.widgets.activity_live import heartbeat
from dashboard.widgets.activity_table import PAGE, forget_place
from dashboard.widgets.activity_totals import totals, totals_row
from dashboard.widgets.activity_words import visitor_zone
from dashboard.widgets.text import escaped
from dashboard.widgets.url_state import UrlState

Texts = dict[str, str]
PICKED = "activity:picked"


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    opened, url = console(), UrlState("activity")
    drop_foreign_query()
    kept = url.begin()
    try:
        url.end(_page(opened, kept))
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _page(opened: Console, kept: Texts) -> Texts:
    activity = opened.store.activity
    seen = activity.latest_sequence()  # before anything is read: what comes later is drawn by the next beat
    if activity.call_count() + activity.decision_count() == 0:
        nothing_yet()
        heartbeat(activity, seen)
        return kept
    texts = filter_row(opened, kept)
    kept = _at_the_start_of_others(texts, kept)
    zone = visitor_zone()
    admitted = where(texts, datetime.now(UTC), zone)
    decisions, (real, simulated) = activity.decision_count(admitted), totals(activity, admitted)
    totals_row(decisions, real, simulated)
    view, live = view_bar(opened, kept.get("view", ""), kept.get("live", ""))
    count = decisions if view == DECISIONS else real.calls + simulated.calls
    row = view_body(opened, view, Listing(admitted, count, kept, zone))
    parameter_changes(activity, zone)
    if live:
        heartbeat(activity, seen)
    number = st.session_state.get(PAGE, 1)
    place = {"row": row, "page": str(number) if number > 1 else "", "view": "" if view == CALLS else view}
    return {**texts, **place, "live": "" if live else "off"}


def _at_the_start_of_others(texts: Texts, kept: Texts) -> Texts:
    """Where the filter was changed, the rows are others: back to the first of them, with none chosen."""
    before = st.session_state.setdefault(PICKED, picked(texts))
    st.session_state[PICKED] = picked(texts)
    if before == picked(texts) or picked(texts) == picked(kept):
        return kept
    forget_place()
    return {name: text for name, text in kept.items() if name not in {"row", "page"}}
