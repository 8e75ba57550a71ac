"""The JSON documents of a recorded decision as tables; and the link that makes the same decision again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pandas as pd

from core.domain.events import DecisionEvent
from core.shared import units
from dashboard.theme import ACCEPTED_SIGN, CHOSEN_SIGN, REJECTED_SIGN
from dashboard.ui.event_words import one_line

DEFAULT_ROUTER = "ehrr"


def shortlist_frame(event: DecisionEvent) -> pd.DataFrame:
    """The short-listed servers, best first, with each one's posted price and ask."""
    servers = _rows(_document(event.trace_json, {}).get("servers"))
    return pd.DataFrame(
        {
            "": [ACCEPTED_SIGN if row.get("accepted") else REJECTED_SIGN for row in servers],
            "server": [one_line(row.get("server")) for row in servers],
            "utility U": _texts(servers, "utility", _plain),
            "similarity": _texts(servers, "similarity", _plain),
            "time to success C": _texts(servers, "cost_s", units.seconds),
            "posted price τ": _texts(servers, "posted_price_usd", units.price, "not asked"),
            "ask price c": _texts(servers, "ask_usd", units.price, "none advertised"),
        }
    )


def candidates_frame(event: DecisionEvent) -> pd.DataFrame:
    """The candidates, best first, with the numbers behind each."""
    tools = _rows(_document(event.candidates_json, []))
    return pd.DataFrame(
        {
            "": [CHOSEN_SIGN if row.get("tool") == event.winner else "" for row in tools],
            "tool": [one_line(row.get("tool")) for row in tools],
            "utility U": _texts(tools, "utility", _plain),
            "similarity": _texts(tools, "similarity", _plain),
            "price": _texts(tools, "price_usd", units.price, "unpriced"),
            "time cost": _texts(tools, "time_cost_s", units.seconds),
            "success": _texts(tools, "success", units.share),
            "tokens": _texts(tools, "tokens", lambda count: f"{count:,.0f}"),
        }
    )


def parameters(event: DecisionEvent) -> dict[str, Any]:
    """The parameters that the decision was made with."""
    found = _document(event.parameters_json, {})
    return found if isinstance(found, dict) else {}


def changed(used: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Those that differ from the defaults of today.

    >>> changed({"k": 3, "n": 3, "b": None}, {"k": 5, "n": 3, "b": None})
    {'k': 3}
    """
    return {name: value for name, value in used.items() if name not in defaults or defaults[name] != value}


def route_query(event: DecisionEvent, defaults: Mapping[str, Any], first_catalog: str) -> dict[str, str]:
    """The Route page's URL with the same query and knobs; knobs that do not exist any more are left out."""
    query = {
        "q": event.subtask,
        "hint": event.server_hint,
        "catalog": "" if event.catalog == first_catalog else event.catalog,
        "router": "" if event.router == DEFAULT_ROUTER else event.router,
    }
    knobs = {name: str(value) for name, value in changed(parameters(event), defaults).items() if name in defaults}
    return {name: text for name, text in {**query, **knobs}.items() if text}


def _document(text: str, otherwise: Any) -> Any:
    """A JSON document of the expected kind; events of other versions may hold another, which counts as empty."""
    try:
        found = json.loads(text)
    except ValueError:
        return otherwise
    return found if isinstance(found, type(otherwise)) else otherwise


def _rows(found: Any) -> list[dict[str, Any]]:
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _texts(rows: list[dict[str, Any]], name: str, show: Any, nothing: str = "–") -> list[str]:
    values = [row.get(name) for row in rows]
    return [show(value) if isinstance(value, int | float) else nothing for value in values]


def _plain(value: float) -> str:
    return f"{value:.3f}"
