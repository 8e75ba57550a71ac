"""The Activity page: decisions and calls as they happen, what they cost, how they went, what was learnt from them."""

from __future__ import annotations

from datetime import UTC, datetime

import streamlit as st

from core.app import App
from core.shared.errors import WayfareError
from dashboard.pages.activity.body import CALLS, DECISIONS, REFUSED, nothing_yet, view_bar, view_body
from dashboard.pages.activity.extras import parameter_changes
from dashboard.pages.activity.filter import Listing, drop_foreign_query, filter_row, picked, where
from dashboard.pages.activity.live import heartbeat
from dashboard.pages.activity.table import PAGE, forget_place
from dashboard.pages.activity.totals import totals, totals_row
from dashboard.session import current_app
from dashboard.ui.event_words import visitor_zone
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

Texts = dict[str, str]
PICKED = "activity:picked"


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, url = current_app(), UrlState("activity")
    drop_foreign_query()
    linked = url.begin()
    try:
        url.end(_page(app, linked))
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")


def _page(app: App, linked: Texts) -> Texts:
    activity = app.store.activity
    seen = activity.latest_sequence()  # before anything is read: what comes later is drawn by the next beat
    if activity.call_count() + activity.decision_count() + activity.refused_count() == 0:
        nothing_yet()
        heartbeat(app, seen)
        return linked
    texts = filter_row(app, linked)
    linked = _at_the_start_of_others(texts, linked)
    zone = visitor_zone()
    admitted = where(texts, datetime.now(UTC), zone)
    decisions, refused, (real, simulated) = (
        activity.decision_count(admitted), activity.refused_count(admitted), totals(app, admitted),
    )  # fmt: skip
    totals_row(decisions, real, simulated)
    view, live = view_bar(app, linked.get("view", ""), linked.get("live", ""), refused)
    count = {DECISIONS: decisions, REFUSED: refused}.get(view, real.calls + simulated.calls)
    row = view_body(app, view, Listing(admitted, count, linked, zone))
    parameter_changes(app, zone)
    if live:
        heartbeat(app, seen)
    number = st.session_state.get(PAGE, 1)
    place = {"row": row, "page": str(number) if number > 1 else "", "view": "" if view == CALLS else view}
    return {**texts, **place, "live": "" if live else "off"}


def _at_the_start_of_others(texts: Texts, linked: Texts) -> Texts:
    """Where the filter was changed, the rows are others: back to the first of them, with none chosen."""
    before = st.session_state.setdefault(PICKED, picked(texts))
    st.session_state[PICKED] = picked(texts)
    if before == picked(texts) or picked(texts) == picked(linked):
        return linked
    forget_place()
    return {name: text for name, text in linked.items() if name not in {"row", "page"}}
