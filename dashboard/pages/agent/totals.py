"""What a run took: sub-tasks, calls, money, and tokens turn by turn."""

from __future__ import annotations

import streamlit as st

from core.domain.plans import Executed, Routed, Stopped, turn_tokens
from core.services.call.supervised_agent import SupervisedAgent
from core.shared import units
from dashboard.ui.text import escaped

COLUMNS = {
    "step": "sub-task",
    "do": "action",
    "exposed": st.column_config.NumberColumn("definitions shown", format="localized", help="Newly put before the planner."),
    "cached": st.column_config.NumberColumn(
        "of the prefix", format="localized", help="Phase 1 of Tool Attention: one line for each tool, cached by a provider."
    ),
    "baseline": st.column_config.NumberColumn("all definitions", format="localized", help="What every turn would carry without routing."),
    "model": st.column_config.NumberColumn(
        "model", format="localized", help="What the planner's model read and wrote in this turn; 0 by rules."
    ),
}  # fmt: skip


def totals(run: SupervisedAgent) -> None:
    """The line above the steps."""
    events, loop = run.events, run.run
    begun = {event.step for event in events if isinstance(event, Routed)}
    done = sum(isinstance(event, Stopped) and event.done for event in events)
    calls = [event.outcome for event in events if isinstance(event, Executed) and event.outcome is not None]
    simulated = sum(outcome.simulated for outcome in calls)
    turns = turn_tokens(events)
    shown, everything = sum(turn.exposed for turn in turns), sum(turn.baseline for turn in turns)
    row = st.container(horizontal=True, gap="medium")
    unpriced = f" {loop.unpriced} without a known price are not in it." if loop.unpriced else ""
    left = "" if loop.left_usd is None else f" {units.price(max(0.0, loop.left_usd))} of the budget are left."
    for name, value, note in (
        ("Sub-tasks done", f"{done} of {len(begun)}", "Of those that were begun."),
        ("Calls", f"{len(calls)}", f"{simulated} of them simulated."),
        ("Calls cost", units.price(loop.calls_usd), f"Declared prices.{unpriced}{left}"),
        ("Model", units.price(loop.model_usd), f"{loop.model_tokens:,} tokens read and written."),
        ("Definitions shown", f"{shown:,}", f"cl100k_base tokens over {len(turns)} turns; all definitions in each would be {everything:,}."),
    ):  # fmt: skip
        row.metric(name, value, help=escaped(note, 300), width="content")


def turn_table(run: SupervisedAgent) -> None:
    """The tokens of each turn."""
    turns = turn_tokens(run.events)
    if not turns:
        return
    with st.expander("Tokens of each turn", icon=":material/data_usage:"):
        st.dataframe(
            [
                {"step": turn.step + 1, **{name: getattr(turn, name) for name in COLUMNS if name != "step"}}
                for turn in turns
            ],
            column_config=COLUMNS,
            hide_index=True,
        )
        st.caption(
            "Counted with cl100k_base on the definitions as they are shown; a model's own count is what its endpoint reports."
        )
