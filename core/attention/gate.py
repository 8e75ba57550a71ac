"""The gate after the model: a call of a tool whose schema was not put before it is refused (Tool Attention, 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def refusal(active: Sequence[str], tool: str) -> dict[str, Any] | None:
    """The structured error that goes back to the model, None where the tool is active and may be called.

    >>> refusal(["files::read"], "files::read") is None
    True
    >>> refusal(["files::read"], "files::delete")
    {'error': 'tool_not_available', 'available': ['files::read']}
    """
    return None if tool in active else {"error": "tool_not_available", "available": list(active)}
