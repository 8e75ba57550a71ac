"""The flow chart of a decision: its stages, and the number that goes on and that is dropped at each."""

from __future__ import annotations

from core.domain.decision import Decision, Stage
from dashboard.theme import CHOSEN, SIMILARITY
from dashboard.ui.text import as_html

LEAST = 3.0  # percent of the height: a thinner end is not seen


def flow(decision: Decision) -> str:
    """Returns HTML: a band for each stage, from the share that came to it to the share that goes on. Shares are of the first stage in a
    row of stages over the same things: servers, tools, sub-queries."""
    bands, whole = [], 0
    for before, stage in zip((None, *decision.stages), decision.stages, strict=False):
        whole = whole if before is not None and before.what == stage.what else stage.of
        bands.append(_band(stage, whole, last=stage is decision.stages[-1]))
    counts = _count(len(decision.servers.names), "server"), _count(len(decision.tools.ids), "tool")
    title = f"From {' and '.join(counts)} to {_count(len(decision.candidates), 'candidate')}"
    return (
        f'<div class="wayfare-stages"><p><strong>{title}</strong></p>'
        f'<ol class="wayfare-flow" aria-label="{title}">{"".join(bands)}</ol></div>'
    )


def _band(stage: Stage, whole: int, *, last: bool) -> str:
    came, goes_on = (100 * count / whole if whole else 0.0 for count in (stage.of, stage.kept))
    ends = [f"{max(LEAST, end) if count else 0:.1f}%" for end, count in ((came, stage.of), (goes_on, stage.kept))]
    by = f' <small class="wayfare-faint">by {as_html(stage.by, 40)}</small>' if stage.by else ""
    dropped = f"<b>{stage.of - stage.kept:,} dropped</b> " if stage.kept < stage.of else ""
    return (
        f'<li style="--came: {ends[0]}; --goes-on: {ends[1]}; --flow: {CHOSEN if last else SIMILARITY}">'
        f'<div><strong>{as_html(stage.name, 40)}</strong>{by}</div><div class="wayfare-band"></div>'
        f"<div><strong>{stage.kept:,}</strong> of {stage.of:,} {as_html(stage.what, 20)}</div>"
        f"<small>{dropped}{as_html(stage.note, 240)}</small></li>"
    )


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
