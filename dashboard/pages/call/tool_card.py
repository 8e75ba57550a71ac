"""The tool that is about to be called: its description, what it may do, what it costs and how often it succeeds."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.domain.catalog import ToolHints
from core.domain.decision import Decision
from core.domain.outcome import CallMode
from core.domain.statistics import Source
from core.shared import units
from core.shared.untrusted_text import visible
from core.virtual import SENTENCE
from dashboard.pages.call.target import Target
from dashboard.ui.call_mode import MODES
from dashboard.ui.text import Colour, escaped

SHORT_CHARS = 420
BADGES: tuple[tuple[str, str, Colour, str], ...] = (
    ("read-only", ":material/visibility:", "green", "It says that it changes nothing."),
    ("destructive", ":material/warning:", "red", "It says that it may delete or overwrite something."),
    ("idempotent", ":material/repeat:", "blue", "It says that calling it again changes nothing more."),
    ("open world", ":material/public:", "gray", "It says that it reaches out to systems beyond its own."),
)


def tool_card(app: App, target: Target) -> None:
    """Title, server, decision, description, hints, and price, time and success with their sources."""
    tool, server = target.tool, target.server
    st.markdown(f"#### {escaped(tool.title or tool.name, 120)}\n:small[:gray[{escaped(tool.id, 200)}]]")
    if server.virtual:
        st.badge(SENTENCE, icon=MODES[CallMode.VIRTUAL].icon, color="violet")
    if target.decision is not None:
        st.markdown(f":small[{_place(target.decision, tool.id)}]")
    _description(tool.description or server.description)
    _hints(tool.hints)
    _metrics(app, target)


def _place(decision: Decision, tool_id: str) -> str:
    """Where the tool stands in the decision, in one sentence."""
    task = f"For “{escaped(decision.subtask, 160)}”"
    if tool_id not in decision.tools.ids:
        return f"{task}: this tool was not in the catalog then."
    row = decision.tool_at(decision.tools.ids.index(tool_id))
    if row.dropped_by is None:
        return f"{task}: **candidate {row.rank} of {len(decision.candidates)}**, U {row.utility:.3f}."
    return f"{task}: not a candidate ({row.dropped_by.replace('_', ' ')}), U {row.utility:.3f}."


def _description(text: str) -> None:
    text = visible(text.strip())
    if not text:
        st.caption("The tool says nothing about itself.")
    elif len(text) <= SHORT_CHARS:
        st.text(text)
    else:
        st.text(f"{text[:SHORT_CHARS].rstrip()}…")
        with st.expander("The whole description"):
            st.text(text)


def _hints(hints: ToolHints) -> None:
    """Badges for what the server says about side effects; only what it says."""
    shown = [badge for badge, says in zip(BADGES, _flags(hints), strict=True) if says]
    if not shown:
        st.caption("The server gives no hints about side effects.")
        return
    with st.container(horizontal=True, gap="xsmall"):
        for label, icon, colour, help_text in shown:
            st.badge(label, icon=icon, color=colour, help=help_text)


def _flags(hints: ToolHints) -> tuple[bool, ...]:
    """In the order of BADGES."""
    return hints.read_only is True, destructive(hints), hints.idempotent is True, hints.open_world is True


def destructive(hints: ToolHints) -> bool:
    """Whether the tool says that it destroys something; a read-only one does not."""
    return hints.destructive is True and hints.read_only is not True


def _metrics(app: App, target: Target) -> None:
    """Price, time and success, each with where it comes from."""
    row = target.catalog.tool_row[target.tool.id]
    tools = app.catalogs.statistics(target.catalog.name).tools
    grid = st.grid(3, min_column_width=120)
    calls = int(tools.calls[row])
    unpriced = int(tools.price_source[row]) == Source.PRIOR
    grid.metric(
        "Price of a call", units.price(float(tools.price_usd[row])), border=True, delta_color="off", delta_arrow="off",
        delta="not set" if unpriced else _source(int(tools.price_source[row]), calls),
        help="What one call costs: declared by the catalog or edited on the Catalog page.",
    )  # fmt: skip
    grid.metric(
        "Expected time", units.seconds(float(tools.latency_s[row])), border=True, delta_color="off", delta_arrow="off",
        delta=_source(int(tools.latency_source[row]), calls), help="Running mean of the tool's call time, EHRR (8).",
    )  # fmt: skip
    grid.metric(
        "Success", units.share(float(tools.success[row])), border=True, delta_color="off", delta_arrow="off",
        delta=_source(int(tools.success_source[row]), calls), help="Running mean of the tool's success, EHRR (8).",
    )  # fmt: skip


def _source(code: int, calls: int) -> str:
    source = Source(code)
    return f"measured, {calls:,} {'call' if calls == 1 else 'calls'}" if source is Source.MEASURED else source.label
