"""A chart on a page, the parts of a page that move with a knob, and the flow chart of a decision: its stages, and the number that goes on at each."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st
from streamlit.components import v2 as components
from streamlit.components.v2.types import ComponentRenderer

from core.domain.decision import Decision, Stage
from dashboard.theme import CHOSEN, SIMILARITY
from dashboard.ui.charts.base import CONFIG, figure_json, title_of
from dashboard.ui.text import as_html, counted

ASSETS = Path(__file__).parent.parent / "assets"
# The build of plotly.js without maps, 3D and the like has a third of the size, and a browser runs it in a third of the time:
# https://www.npmjs.com/package/plotly.js-cartesian-dist-min
PLOTLY = ASSETS / "plotly-cartesian-4.1.1.min.js"
PLOTLY_URL = f"/{PLOTLY.name}"


def component(name: str, html: str, *files: str) -> ComponentRenderer:
    """Returns a component of the console, in the page's own styles. `files` are its styles and scripts in the folder of assets."""
    texts = {file: (ASSETS / file).read_text(encoding="utf-8") for file in files}
    css, js = ("\n".join(text for file, text in texts.items() if file.endswith(kind)) for kind in (".css", ".js"))
    return components.component(f"wayfare.{name}", html=html, css=css, js=js, isolate_styles=False)


_chart = component(
    "chart",
    f'<div class="wayfare-frame"><div class="wayfare-chart" role="img" aria-label="Chart" data-due data-plotly=".{PLOTLY_URL}"></div>'
    '<button class="wayfare-widen" type="button" title="Fullscreen" aria-label="Fullscreen">⤢</button></div>',
    "chart.css", "dom.js", "chart.js", "drag.js",
)  # fmt: skip


def read_out(title: str) -> str:
    """Returns a title without its markup, for screen readers.

    >>> read_out('Tools: <span style="color:red">◆</span> of a &lt;b')
    'Tools: ◆ of a <b'
    """
    return html.unescape(re.sub(r"<[^>]*>", "", title))


def chart(
    figure: go.Figure,
    *,
    key: str,
    choose: Callable[[str], None] | None = None,
    about: str = "",
    config: Mapping[str, Any] = CONFIG,
    seen: Callable[[object], None] | None = None,
    view: Sequence[float] = (),
) -> None:
    """Show a figure that has a height.

    A click on a point calls `choose` with the point's customdata. `about` is the text for screen readers, by default the title. After a
    zoom or a move `seen` is called with [left, right, low, high] of the axes, and the page runs again; `view` is the last view.
    """
    _chart(
        key=key,
        data={
            "figure": figure_json(figure),
            "part": key,
            "about": about or read_out(title_of(figure)),
            "config": dict(config),
            # the number of handled clicks, or None without `choose`; a higher number redraws the same figure
            "clicks": None if choose is None else st.session_state.get(f"{key}.clicks", 0),
            "view": None if seen is None else [*view],
        },
        on_chosen_change=None if choose is None else lambda: point_chosen(key, choose),
        on_view_change=None if seen is None else lambda: seen(st.session_state[key].get("view")),
    )


def point_chosen(key: str, choose: Callable[[str], None]) -> None:
    """Call `choose` once with the clicked point of the chart with this key. The browser repeats a click until it is handled, and its
    message may be anything."""
    match st.session_state[key].get("chosen"):
        case {"count": int(count), "name": str(name)} if count > st.session_state.get(f"{key}.clicks", 0):
            st.session_state[f"{key}.clicks"] = count
            choose(name)
        case _:
            pass


_part = component("live", '<div class="wayfare-live"></div>', "live.css", "live.js")


def live(html: str, *, key: str, lane: str = "") -> None:
    """Show HTML as the part of the page with this key. `lane` is the token of the fast lane that answers for this page."""
    _part(key=key, data={"html": html, "part": key, "lane": lane})


def noted(term: str, help_text: str) -> str:
    """Returns a term as HTML, with a help text for mouse and keyboard."""
    return f'<span class="wayfare-noted" tabindex="0" data-help="{as_html(help_text, 900)}">{as_html(term)}</span>'


LEAST = 3.0  # percent of the height: a thinner end is not seen


def flow(decision: Decision) -> str:
    """Returns HTML: a band for each stage, from the share that came to it to the share that goes on. Shares are of the first stage in a
    row of stages over the same things: servers, tools, sub-queries."""
    bands, whole = [], 0
    for previous, stage in zip((None, *decision.stages), decision.stages, strict=False):
        whole = whole if previous is not None and previous.what == stage.what else stage.of
        bands.append(_band(stage, whole, last=stage is decision.stages[-1]))
    counts = counted(len(decision.servers.names), "server"), counted(len(decision.tools.ids), "tool")
    title = f"From {' and '.join(counts)} to {counted(len(decision.candidates), 'candidate')}"
    return (
        f'<div class="wayfare-stages"><p><strong>{title}</strong></p>'
        f'<ol class="wayfare-flow" aria-label="{title}">{"".join(bands)}</ol></div>'
    )


def _band(stage: Stage, whole: int, *, last: bool) -> str:
    arriving, goes_on = (100 * count / whole if whole else 0.0 for count in (stage.of, stage.kept))
    ends = [f"{max(LEAST, end) if count else 0:.1f}%" for end, count in ((arriving, stage.of), (goes_on, stage.kept))]
    by = f' <small class="wayfare-faint">by {as_html(stage.by, 40)}</small>' if stage.by else ""
    dropped = f"<b>{stage.of - stage.kept:,} dropped</b> " if stage.kept < stage.of else ""
    return (
        f'<li style="--came: {ends[0]}; --goes-on: {ends[1]}; --flow: {CHOSEN if last else SIMILARITY}">'
        f'<div><strong>{as_html(stage.name, 40)}</strong>{by}</div><div class="wayfare-band"></div>'
        f"<div><strong>{stage.kept:,}</strong> of {stage.of:,} {as_html(stage.what, 20)}</div>"
        f"<small>{dropped}{as_html(stage.note, 240)}</small></li>"
    )
