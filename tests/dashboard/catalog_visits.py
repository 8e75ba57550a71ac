"""A small catalog, and how its tests visit the Catalog page and import into it."""

from __future__ import annotations

import json
from functools import partial

from streamlit.testing.v1 import AppTest

from tests.dashboard.harness import labelled, open_page

SECRET = "hunter2-is-my-secret"
CATALOG = {
    "servers": [
        {
            "name": "weather",
            "description": "Forecasts for any place.",
            "connection": {"command": "no-such-command", "env": {"KEY": SECRET}},
            "tools": [
                {"name": "today", "description": "The weather now.", "price_usd": 0.002, "inputSchema": {}},
                {"name": "week", "description": "Seven days ahead."},
            ],
        },
        {"name": "files", "description": "Reads files.", "tools": [{"name": "read", "price_usd": 0.1}]},
    ]
}
CONFIG = {
    "inputs": [{"id": "token", "type": "promptString", "description": "Your token", "password": True}],
    "servers": {"gone": {"command": "no-such-command-anywhere", "env": {"TOKEN": "${input:token}", "KEY": SECRET}}},
}

visit = partial(open_page, "catalog")


def everything(page: AppTest) -> str:
    """All that the page shows and holds in its elements, as one text."""
    return "\n".join(str(element.proto) for element in page.main) + json.dumps(dict(page.query_params))


def paste(page: AppTest, text: str) -> AppTest:
    page.segmented_control(key="catalog.import.way").set_value("Paste text").run()
    page.text_area(key="catalog.import.text").set_value(text).run()
    assert not page.exception
    return page


def importing(text: str) -> AppTest:
    page = visit(catalog="mine")
    labelled(page, "Import…").click().run()
    return paste(page, text)
