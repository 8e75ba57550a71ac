"""The words of the Activity page: outcomes with a sign, real or simulated, times in the visitor's zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pandas as pd
import streamlit as st

from core.domain.outcome import OutcomeKind
from core.shared import untrusted_text
from dashboard.theme import ACCEPTED, ACCEPTED_SIGN, DROPPED_SIGN, MUTED, REJECTED, REJECTED_SIGN

REAL, SIMULATED = "real", "simulated"
ORIGINS = ("console", "cli", "agent", "scenario")
KINDS = tuple(kind.value for kind in OutcomeKind)


def outcome_words(kind: str) -> str:
    """An outcome with its sign.

    >>> outcome_words("ok"), outcome_words("not_connected"), outcome_words("cancelled")
    ('✓ ok', '✗ not connected', '· cancelled')
    """
    return f"{_sign(kind)} {kind.replace('_', ' ')}"


def outcome_colour(words: str) -> str:
    """The colour that goes with the words of an outcome."""
    return {ACCEPTED_SIGN: ACCEPTED, REJECTED_SIGN: REJECTED}.get(words[:1], MUTED)


def origin_words(origin: str) -> str:
    """Where a call or decision came from: one of the origins that are known here, so that no stranger's text gets into a sentence.

    >>> origin_words("cli"), origin_words("**x**")
    ('cli', 'another')
    """
    return origin if origin in ORIGINS else "another"


def source_words(simulated: bool) -> str:
    """Whether a real tool was called; a virtual server's results and drawn outcomes are simulated."""
    return SIMULATED if simulated else REAL


def visitor_zone() -> str:
    """The visitor's time zone as their browser says it; UTC where it says nothing that is known here."""
    zone = st.context.timezone or "UTC"
    try:
        return ZoneInfo(zone).key
    except (ValueError, OSError):
        return "UTC"


def timestamp(at: datetime, zone: str) -> str:
    """A time to the millisecond on the visitor's clock.

    >>> from datetime import UTC
    >>> timestamp(datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC), "Europe/Berlin")
    '2026-03-01 13:00:00.123 Europe/Berlin'
    """
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" {zone}"


def one_line(text: object, limit: int = 300) -> str:
    r"""A stranger's text for a cell: one line, hidden characters written out, nothing where there is none.

    >>> one_line("a\n b"), one_line(None), one_line(float("nan"))
    ('a b', '', '')
    """
    if not isinstance(text, str):
        return ""
    return untrusted_text.one_line(text, limit)


def missing(value: object) -> bool:
    """Whether a table has nothing here: None, NaN or NaT.

    >>> missing(None), missing(float("nan")), missing(""), missing(0.0)
    (True, True, False, False)
    """
    return value is None or value is pd.NaT or (isinstance(value, float) and value != value)  # noqa: PLR0124


def _sign(kind: str) -> str:
    if kind == OutcomeKind.OK:
        return ACCEPTED_SIGN
    return DROPPED_SIGN if kind == OutcomeKind.CANCELLED else REJECTED_SIGN
