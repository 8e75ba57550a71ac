"""Controls that a person may not use: they are shown disabled, with the reason. The services refuse in any case."""

from __future__ import annotations

from typing import Any

from core.domain.people import Right, person


def only(right: Right, **looks: Any) -> dict[str, Any]:
    """Returns the arguments of a control that takes a right."""
    why = person().refusal(right)
    return {**looks, "disabled": True, "help": why} if why else looks
