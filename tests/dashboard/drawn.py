"""The charts of a page under test, as they are sent to the browser."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

Figure = dict[str, Any]


def charts(app: AppTest) -> list[Figure]:
    """All of them, in order, each {"data", "layout"}."""
    sent = [json.loads(element.proto.json) for element in app.get("bidi_component")]
    return [json.loads(data["figure"]) for data in sent if "figure" in data]


def titles(app: AppTest) -> list[str]:
    """What they say they show."""
    return [chart["layout"]["title"]["text"] for chart in charts(app)]
