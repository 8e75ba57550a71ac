"""Who is signed in, and the way out; nothing where nobody has to sign in."""

from __future__ import annotations

from html import escape

import streamlit as st

from core.shared.untrusted_text import visible
from dashboard.session import operator

STYLE = """<style>
.signed-in { position: fixed; z-index: 999992; bottom: 0.6rem; right: 0.8rem; max-width: 16rem; padding: 0.15rem 0.6rem; font-size: 0.85rem;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); border-radius: 0.4rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; background: light-dark(#fbfbfd, #12141c); }
.signed-in a { color: inherit; }
</style>"""


def signed_in_bar() -> None:
    """A line at the bottom right of every page."""
    name = operator()
    if name:
        shown = escape(visible(name))
        st.html(
            f'{STYLE}<div class="signed-in">{shown} is signed in · <a href="/sign-out" target="_self">Sign out</a></div>'
        )
