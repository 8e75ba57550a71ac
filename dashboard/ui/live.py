"""HTML of ours on a page that can change in place: the fast lane puts a newer text where the page host had put one.

Every word of a stranger in it has gone through `dashboard.ui.text.as_html`.
"""

from __future__ import annotations

from pathlib import Path

from streamlit.components.v2 import component

from dashboard.ui.text import as_html

ASSETS = Path(__file__).parent.parent / "assets"

_part = component(
    "wayfare.live",
    html='<div class="wayfare-live"></div>',
    css=(ASSETS / "live.css").read_text(encoding="utf-8"),
    js=(ASSETS / "live.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def live(html: str, *, key: str) -> None:
    """Show HTML as the part of the page with this key."""
    _part(key=key, data={"html": html, "part": key})


def noted(term: str, help_text: str) -> str:
    """A term of ours that explains itself to the mouse and to the keyboard, as HTML."""
    return f'<span class="wayfare-noted" tabindex="0" data-help="{as_html(help_text, 900)}">{as_html(term)}</span>'
