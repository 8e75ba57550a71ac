"""The totals of a filter at a glance. Simulated calls are counted apart, and unpriced calls have a count of their own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.events import ActivityFilter
from core.shared import units
from dashboard.ui.event_words import SIMULATED, missing

WIDTH_PX = 172  # seven beside each other on a wide screen
ALL_TIME = timedelta(days=73_000)  # one bucket from 2000 on


@dataclass(frozen=True, slots=True)
class Totals:
    """Of real or of simulated calls. `judged` leaves cancelled calls out; None where nothing is known."""

    calls: int = 0
    judged: int = 0
    success: float | None = None
    p50_s: float | None = None
    p95_s: float | None = None
    spent_usd: float | None = None
    unpriced: int = 0


def totals(app: App, admitted: ActivityFilter) -> tuple[Totals, Totals]:
    """Of the real and of the simulated calls that a filter admits."""
    spent = app.store.activity.spending_over_time(ALL_TIME, admitted)
    went = app.store.activity.success_and_latency_over_time(ALL_TIME, admitted)
    return _of(spent, went, simulated=False), _of(spent, went, simulated=True)


def totals_row(decisions: int, real: Totals, simulated: Totals) -> None:
    """Seven metrics; where there are both kinds the simulated ones stand below the real ones."""
    alone = real.calls == 0 and simulated.calls > 0
    first, second = (simulated, None) if alone else (real, simulated if simulated.calls else None)
    with st.container(horizontal=True, gap="small", key="activity-totals"):
        st.metric(
            "Decisions",
            f"{decisions:,}",
            help="Routing decisions that meet the filter.",
            border=True,
            height="stretch",
            width=WIDTH_PX,
        )
        for title, show, text in METRICS:
            below = f"{show(second)} {SIMULATED}" if second else SIMULATED if alone else None
            st.metric(
                title,
                show(first),
                below,
                delta_color="off",
                delta_arrow="off",
                help=text,
                border=True,
                height="stretch",
                width=WIDTH_PX,
            )


def _spent(of: Totals) -> str:
    return "–" if of.spent_usd is None else units.price(of.spent_usd)


METRICS = (
    (
        "Calls",
        lambda of: f"{of.calls:,}",
        "Calls that meet the filter. Simulated ones reached no real tool and are counted apart.",
    ),
    (
        "Success",
        lambda of: units.share(of.success),
        "Share of the calls that succeeded, without those that the operator cancelled or an injected network troubled.",
    ),
    (
        "Latency p50",
        lambda of: units.seconds(of.p50_s),
        "Half of the calls took no longer. Connecting is not part of it.",
    ),
    (
        "Latency p95",
        lambda of: units.seconds(of.p95_s),
        "95 of 100 calls took no longer. Connecting is not part of it.",
    ),
    ("Spent", _spent, r"Sum of the prices of all priced calls. 1 m\$ is a thousandth of a US dollar."),
    (
        "Unpriced calls",
        lambda of: f"{of.unpriced:,}",
        "Calls of tools without a price: what they cost is not known, and not part of what was spent.",
    ),
)


def _of(spent: pd.DataFrame, went: pd.DataFrame, *, simulated: bool) -> Totals:
    money, ends = _row(spent, simulated), _row(went, simulated)
    return Totals(
        calls=int(money.get("calls", 0)),
        judged=int(ends.get("calls", 0)),
        success=_known(ends.get("success_share")),
        p50_s=_known(ends.get("latency_p50_s")),
        p95_s=_known(ends.get("latency_p95_s")),
        spent_usd=_known(money.get("spent_usd")),
        unpriced=int(money.get("unpriced_calls", 0)),
    )


def _row(frame: pd.DataFrame, simulated: bool) -> dict[str, float]:
    rows = frame[frame["simulated"] == simulated]
    return {} if rows.empty else {str(name): value for name, value in rows.iloc[-1].items()}


def _known(value: float | None) -> float | None:
    return None if value is None or missing(value) else float(value)
