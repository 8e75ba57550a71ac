"""The decision in one line: who won and by how much, what it costs, how long deciding took."""

from __future__ import annotations

import streamlit as st

from core import units
from core.domain.decision import Decision
from dashboard.widgets.text import escaped


def verdict(decision: Decision) -> None:
    """A sentence and five figures."""
    winner = decision.winner
    if winner is None:
        st.warning(escaped(decision.reason, 600), icon=":material/block:")
        return
    row = st.container(horizontal=True, vertical_alignment="center", gap="medium")
    row.container(width="stretch", gap=None).markdown(
        f":violet[★] **{escaped(winner.tool, 90)}**  \n:small[{escaped(decision.reason, 300)}]"
    )
    tokens = decision.tokens
    timings = decision.timings_ms
    values = (
        ("Price a call", units.price(winner.price_usd), "Declared or set price of one call."),
        (
            "Expected time",
            units.seconds(winner.time_cost_s),
            "Expected seconds until a call succeeds: the time term of EHRR (6).",
        ),
        ("Success", units.share(winner.success), "Chance that one attempt succeeds: (1 − pfail) · r."),
        (
            "Tokens exposed",
            f"{tokens['exposed']:,}",
            f"cl100k_base tokens of the candidates' definitions; all definitions of the catalog have {tokens['baseline']:,}.",
        ),
        (
            "Decided in",
            f"{timings['total']:.1f} ms",
            f"Embedding {timings['embed']:.1f} ms, scoring {timings['score']:.1f} ms.",
        ),
    )
    for label, value, help_text in values:
        row.metric(label, value, help=help_text, width="content")
