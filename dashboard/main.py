"""The script of the console: runs for every view."""

from pathlib import Path

import streamlit as st

from dashboard import session
from dashboard.navigation import bar, choose_view, signed_in_bar
from dashboard.ui.question import layer_banner

ASSETS = Path(__file__).parent / "assets"
MARK = str(ASSETS / "wayfare.png")  # our own file: named icons are fetched from another host
PAGE_SCRIPT = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("page.js", "waiting.js"))


chosen = choose_view()
st.set_page_config(page_title=f"{chosen.title} – Wayfare", page_icon=MARK, layout="wide")
st.logo(MARK, size="medium")
st.html(ASSETS / "page.css")
st.html(ASSETS / "present.css")  # its bar stays while the views change
with st.container(key="page-script"):
    once = f"if (!window.wayfarePage) {{ window.wayfarePage = true; {PAGE_SCRIPT} }}"  # the page host may run it again
    st.html(f"<script>{once}</script>", unsafe_allow_javascript=True)
bar(chosen.folder)
layer_banner()
signed_in_bar()
chosen.draw()
session.page_drawn()
