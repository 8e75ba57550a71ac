"""The decision in one line: who won and by how much, what it costs, how long deciding took."""

from __future__ import annotations

import streamlit as st

from core.domain.decision import Decision
from core.domain.fit import Fit
from core.routers.presets import PRESETS
from core.shared import units
from dashboard.ui.text import escaped

Metric = tuple[str, str, str]  # label, value, help
SENTENCE_PX = 400  # what is beside it on a wide page is below it on a narrow one
SIGNALS = {
    "dense": "meaning",
    "profile": "its server",
    "words": "words met",
    "everyday": "everyday words",
    "concept": "kind of task",
}


def headline(decision: Decision) -> None:
    """The winner in a sentence, and its metrics; why there is none where there is none."""
    winner = decision.winner
    if winner is None:
        st.warning(escaped(decision.reason, 600), icon=":material/block:")
        return
    preset = f" :gray-badge[{PRESETS[decision.preset].title}]" if decision.preset else ""
    row = st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute", gap="medium")
    row.container(width=SENTENCE_PX, gap=None).markdown(
        f":violet[★] **{escaped(winner.tool, 90)}**{preset}  \n:small[{escaped(decision.reason, 300)}]"
    )
    metrics = row.container(horizontal=True, width="content", gap="medium")
    for label, value, help_text in _metrics(decision):
        metrics.metric(label, value, help=help_text, width="content")


def _metrics(decision: Decision) -> list[Metric]:
    winner, tokens, timings = decision.winner, decision.tokens, decision.timings_ms
    if winner is None:
        return []
    return [
        *([] if decision.fit is None else [_fit_metric(decision.candidates[0], decision.fit)]),
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
    ]


def _fit_metric(row: int, fit: Fit) -> Metric:
    parts = " + ".join(f"{SIGNALS[name]} {float(part[row]):.2f}" for name, part in fit.signals.items())
    if fit.learnt is not None:
        parts += f" + labels {float(fit.relevance[row] - sum(part[row] for part in fit.signals.values())):.2f}"
    return (
        "Fits",
        units.share(float(fit.tools[row])),
        f"Calibrated probability that this tool can do it, from its relevance {float(fit.relevance[row]):.2f} = {parts}, "
        "and how far that is ahead of tools that do something else.",
    )
