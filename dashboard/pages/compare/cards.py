"""One decision as a card: its winner, what it costs, its stages drawn alike, and its candidates."""

from __future__ import annotations

import streamlit as st

from core.domain.decision import Decision
from core.shared import units
from dashboard.ui.chart import chart
from dashboard.ui.charts.stages import stages
from dashboard.ui.navigation import open_page
from dashboard.ui.text import escaped
from dashboard.ui.variants import Variant
from dashboard.ui.whatif_layer import badge

LISTED = 5


def card(variant: Variant, decision: Decision, texts: dict[str, str]) -> None:
    """A bordered card."""
    key = f"compare:{variant.text}"
    with st.container(border=True, gap="xsmall", height="stretch"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown(f"**{escaped(variant.name, 80)}**", width="content")
            if st.button(
                "Open", icon=":material/alt_route:", key=f"{key}:open", type="tertiary", help="On the Route page"
            ):
                changed = {name: str(value) for name, value in variant.parameters.changed().items()}
                open_page(
                    "route", **texts, **({} if variant.router == "ehrr" else {"router": variant.router}), **changed
                )
        winner = decision.winner
        if winner is None:
            st.markdown(f":orange[No candidate.] :small[{escaped(decision.reason, 200)}]")
        else:
            st.markdown(f":violet[★] {escaped(winner.tool, 60)}{badge(decision.catalog, winner.tool)}")
        _numbers(decision)
        chart(stages(decision.stages), key=f"{key}:stages")
        for place, row in enumerate(decision.candidates[:LISTED], start=1):
            tool = decision.tool_at(row)
            st.markdown(
                f":small[{place} · {escaped(tool.tool, 48)} · {tool.utility:.3f}]{badge(decision.catalog, tool.tool)}"
            )
        if (more := len(decision.candidates) - LISTED) > 0:
            st.caption(f"and {more} more")


def _numbers(decision: Decision) -> None:
    winner, tokens = decision.winner, decision.tokens
    cached = f" + {tokens['cached']:,} cached" if tokens["cached"] else ""
    lines = [
        ("tokens exposed", f"{tokens['exposed']:,}{cached}"),
        ("decided in", f"{decision.timings_ms['total']:.1f} ms"),
        ("planner", decision.planner),
    ]
    if winner is not None:
        lines = [
            ("price", f"{units.price(winner.price_usd)} a call"),
            ("expected time", units.seconds(winner.time_cost_s)),
            *lines,
        ]
    st.markdown("  \n".join(f":small[:gray[{name}] **{escaped(value)}**]" for name, value in lines))
