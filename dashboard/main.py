"""The navigation: runs at the start of every page."""

from pathlib import Path

import streamlit as st

from dashboard.pages.activity import view as activity
from dashboard.pages.agent import view as agent
from dashboard.pages.call import view as call
from dashboard.pages.catalog import view as catalog
from dashboard.pages.compare import view as compare
from dashboard.pages.govern import view as govern
from dashboard.pages.lab import view as lab
from dashboard.pages.map import view as map
from dashboard.pages.network import view as network
from dashboard.pages.papers import view as papers
from dashboard.pages.route import view as route
from dashboard.pages.whatif import view as whatif
from dashboard.ui.navigation import register
from dashboard.ui.whatif_layer import layer_banner

ASSETS = Path(__file__).parent / "assets"
MARK = str(ASSETS / "wayfare.png")  # a file of ours: named icons are fetched from elsewhere

st.set_page_config(page_title="Wayfare", page_icon=MARK, layout="wide")
st.logo(MARK, size="medium")
st.html(ASSETS / "page.css")
page = st.navigation(
    register(
        st.Page(route.page, title="Route", icon=":material/alt_route:", url_path="route", default=True),
        st.Page(whatif.page, title="What if", icon=":material/tune:", url_path="whatif"),
        st.Page(compare.page, title="Compare", icon=":material/compare_arrows:", url_path="compare"),
        st.Page(call.page, title="Call", icon=":material/play_arrow:", url_path="call"),
        st.Page(agent.page, title="Agent", icon=":material/conversion_path:", url_path="agent"),
        st.Page(map.page, title="Map", icon=":material/scatter_plot:", url_path="map"),
        st.Page(network.page, title="Network", icon=":material/network_check:", url_path="network"),
        st.Page(lab.page, title="Lab", icon=":material/science:", url_path="lab"),
        st.Page(papers.page, title="Papers", icon=":material/article:", url_path="papers"),
        st.Page(catalog.page, title="Catalog", icon=":material/inventory_2:", url_path="catalog"),
        st.Page(govern.page, title="Govern", icon=":material/shield_person:", url_path="govern"),
        st.Page(activity.page, title="Activity", icon=":material/timeline:", url_path="activity"),
    ),
    position="top",
)
layer_banner()
page.run()
