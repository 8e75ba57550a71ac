"""Why a call is not made, in words that an agent can act on."""

from __future__ import annotations

import json

from core.shared.errors import WayfareError


class NotAllowedError(WayfareError):
    """A short name of the error, what is wrong, and what to do about it."""

    def __init__(self, error: str, why: str, advice: str) -> None:
        super().__init__(f"{why} {advice}")
        self.error = error
        self.why = why
        self.advice = advice

    def as_json(self) -> str:
        """The same as an agent reads it."""
        return json.dumps({"error": self.error, "why": self.why, "try": self.advice}, ensure_ascii=False)
