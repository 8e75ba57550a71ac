"""Refused requests on the Activity page: who, why, and what would allow it; strangers' names as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.errors import Refusal
from core.domain.outcome import ToolCall
from core.governance.refusals import Wanted
from tests.dashboard.harness import app_with, markdown_of, open_page, text_of

HOSTILE = "<script>alert(1)</script> **bold**"
MAIL = {
    "servers": [
        {"name": "mail", "description": "Post.", "tools": [{"name": "send"}], "connection": {"command": "none"}},
    ]
}
app = app_with({"post": MAIL})


def refuse(app: App, client: str = HOSTILE, **rules: Any) -> None:
    """Have a call refused."""
    app.governance.set_policy(replace(app.governance.policy, deny=("mail::*",)), origin="test")
    wanted = Wanted(client, ToolCall("mail", "send", {}, catalog="post"), app.catalogs.catalog("post").tools[0], 100)
    with pytest.raises(Refusal):
        app.governance.before(wanted)
    app.store.events.flush()


def visit(**query: str) -> AppTest:
    return open_page("activity", view="refused", **query)


def test_nothing_refused_says_what_would_be_here(app: App) -> None:
    app.routing.route("read a file")
    app.store.events.flush()
    assert "No refusals yet" in text_of(visit())


def test_each_is_listed_and_the_chosen_one_says_what_would_allow_it(app: App) -> None:
    before = app.store.activity.latest_sequence()
    refuse(app)
    newest = app.store.activity.latest_sequence()
    assert newest > before + 1  # what the page's beat looks at
    page = visit(row=str(newest))
    (row,) = page.dataframe[0].value.to_dict("records")
    assert (row["client"], row["tool"], row["refused"]) == (HOSTILE, "mail::send", "✗ not allowed")
    assert "mail::send may not be used: the operator denies it." in [text.value for text in page.text]
    assert "To allow it" in text_of(page)
    assert "<script>" not in markdown_of(page)
    assert page.button(key="activity.refused.govern").label == "Open Govern"


def test_the_filter_counts_and_finds_them(app: App) -> None:
    refuse(app)
    refuse(app, client="ann")
    page = visit(text="ann")
    assert [one["client"] for one in page.dataframe[0].value.to_dict("records")] == ["ann"]
    assert "Refused (1)" in str(page.segmented_control)
    assert "No refused request meets the filter" in text_of(visit(text="nobody at all"))
