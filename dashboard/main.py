"""The navigation: runs at the start of every page."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import streamlit as st

from dashboard import session
from dashboard.ui.layer import layer_banner, signed_in_bar
from dashboard.ui.url_state import register

ASSETS = Path(__file__).parent / "assets"
MARK = str(ASSETS / "wayfare.png")  # our own file: named icons are fetched from another host
PAGE_SCRIPT = "\n".join((ASSETS / name).read_text(encoding="utf-8") for name in ("page.js", "waiting.js"))


def view(folder: str) -> Callable[[], None]:
    """Returns the page of a folder of dashboard/pages. Its modules are imported when it is first shown."""
    return lambda: import_module(f"dashboard.pages.{folder}.view").page()


st.set_page_config(page_title="Wayfare", page_icon=MARK, layout="wide")
st.logo(MARK, size="medium")
st.html(ASSETS / "page.css")
with st.container(key="page-script"):
    st.html(f"<script>{PAGE_SCRIPT}</script>", unsafe_allow_javascript=True)
page = st.navigation(
    register(
        st.Page(view("route"), title="Route", icon=":material/alt_route:", url_path="route", default=True),
        st.Page(view("whatif"), title="What if", icon=":material/tune:", url_path="whatif"),
        st.Page(view("compare"), title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page(view("call"), title="Call", icon=":material/play_arrow:", url_path="call"),
        st.Page(view("agent"), title="Agent", icon=":material/conversion_path:", url_path="agent"),
        st.Page(view("map"), title="Map", icon=":material/scatter_plot:", url_path="map"),
        st.Page(view("network"), title="Network", icon=":material/network_check:", url_path="network"),
        st.Page(view("lab"), title="Lab", icon=":material/science:", url_path="lab"),
        st.Page(view("papers"), title="Papers", icon=":material/article:", url_path="papers"),
        st.Page(view("catalog"), title="Catalog", icon=":material/inventory_2:", url_path="catalog"),
        st.Page(view("setup"), title="Setup", icon=":material/cable:", url_path="setup"),
        st.Page(view("govern"), title="Govern", icon=":material/shield_person:", url_path="govern"),
        st.Page(view("activity"), title="Activity", icon=":material/timeline:", url_path="activity"),
    ),
    position="top",
    expanded=True,
)
layer_banner()
signed_in_bar()
page.run()
session.page_drawn()
