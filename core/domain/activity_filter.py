"""Which decisions and calls to list, as the Activity page, the command line and the store understand it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from core.shared.errors import StoreError


@dataclass(frozen=True, slots=True)
class ActivityFilter:
    """Which decisions and calls to list; the default lists all.

    `since` is inclusive, `until` exclusive, both with a time zone. `text` is looked for anywhere, without regard to
    case. `simulated` None admits both. `kinds` are values of OutcomeKind. A decision meets `server` and `tool` by its
    winner, and `kinds` and `simulated` where one of its calls does.

    Raises StoreError for a time without a zone.
    """

    catalog: str | None = None
    server: str | None = None
    tool: str | None = None
    text: str = ""
    kinds: tuple[str, ...] = ()
    origin: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    simulated: bool | None = None

    def __post_init__(self) -> None:
        for time in (self.since, self.until):
            if time is not None and time.tzinfo is None:
                raise StoreError(f"The time {time} has no zone; give one with a zone, such as UTC.")
