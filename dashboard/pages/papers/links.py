"""Where a row can be tried: another page with a router and its knobs in the URL."""

from __future__ import annotations

from urllib.parse import urlencode

from core.app import App
from core.lab.papers.report import Link
from core.shared.errors import WayfareError

DEFAULT_PAGE = "route"
WORDS = {"route": "Route", "compare": "Compare", "network": "Network", "lab": "Lab", "catalog": "Catalog"}


def address(app: App, link: Link) -> str:
    """The page's address; "" where the link names what is not there any more."""
    query = dict(link.query)
    if link.router:
        try:
            chosen = app.routing.parameters(link.router, link.settings, preset=link.preset)
        except WayfareError:
            return ""
        query |= {"router": link.router, **{name: str(value) for name, value in chosen.changed().items()}}
    return f"/{'' if link.page == DEFAULT_PAGE else link.page}?{urlencode(query)}"
