"""The decision in one line: who won and by how much, what it costs, how long deciding took."""

from __future__ import annotations

from core.domain.decision import Decision, Fit
from core.routers.presets import PRESETS
from core.shared import units
from dashboard.ui.live import noted
from dashboard.ui.text import as_html
from dashboard.ui.whatif_layer import MARK

Metric = tuple[str, str, str]  # label, value, help
SIGNALS = {
    "dense": "meaning",
    "profile": "its server",
    "words": "words met",
    "everyday": "everyday words",
    "concept": "kind of task",
}


def headline(decision: Decision, *, what_if: bool = False) -> str:
    """HTML: the winner in a sentence, and its metrics; why there is none where there is none. `what_if` marks it as one under
    supposed figures."""
    winner, mark = decision.winner, MARK if what_if else ""
    if winner is None:
        return f'<div class="wayfare-notice" role="status">⊘{mark} {as_html(decision.reason, 600)}</div>'
    preset = f' <span class="wayfare-badge">{as_html(PRESETS[decision.preset].title)}</span>' if decision.preset else ""
    metrics = "".join(
        f'<div class="wayfare-metric"><dt>{noted(label, help_text)}</dt><dd>{as_html(value)}</dd></div>'
        for label, value, help_text in _metrics(decision)
    )
    return (
        f'<div class="wayfare-headline"><div class="wayfare-winner"><span class="wayfare-star">★</span> '
        f"<strong>{as_html(winner.tool, 90)}</strong>{mark}{preset}<small>{as_html(decision.reason, 300)}</small></div>"
        f'<dl class="wayfare-metrics">{metrics}</dl></div>'
    )


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
