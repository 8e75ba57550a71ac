"""Texts of strangers made safe for a page, and the words for events and dropped tools."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

import streamlit as st

from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.outcome import OutcomeKind
from core.domain.trace import Drop
from core.domain.untrusted_text import one_line
from dashboard.theme import ACCEPTED, ACCEPTED_SIGN, DROPPED_SIGN, MUTED, REJECTED, REJECTED_SIGN

Colour = Literal["red", "orange", "blue", "green", "violet", "gray"]

_READ_ANYWAY = re.compile(  # Streamlit turns these into links, icons, its logo and arrows even if they are escaped
    r"://|www\.|@|:(?=material_|streamlit:)|-(?=[->])|<(?=[-=])|[>~](?==)", re.IGNORECASE
)
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+\-.!|~:$^&\"'=/@])")


def escaped(text: str, limit: int = 400) -> str:
    r"""Returns a stranger's text for Markdown: one line, hidden characters written out, special characters escaped.

    >>> escaped("**bold** <b> :red[x] $a$")
    '\\*\\*bold\\*\\* \\<b\\> \\:red\\[x\\] \\$a\\$'
    """
    marked = _READ_ANYWAY.sub(lambda match: f"\u2060{match[0][0]}\u2060{match[0][1:]}", one_line(text, limit))
    return _SPECIAL.sub(r"\\\1", marked)


def counted(number: int, thing: str) -> str:
    """Returns a number with its noun.

    >>> counted(1, "server"), counted(2000, "tool")
    ('1 server', '2,000 tools')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def as_html(text: str, limit: int = 400) -> str:
    """Returns a stranger's text for HTML, between tags or in a quoted attribute.

    >>> as_html('<b>x</b> "y"')
    '&lt;b&gt;x&lt;/b&gt; &quot;y&quot;'
    """
    return html.escape(one_line(text, limit))


def link_warning(sentence: str) -> None:
    st.warning(sentence, icon=":material/link_off:")


def not_used(problem: str) -> None:
    """Warn that a part of the page's link was not used, and why."""
    link_warning(f"A part of the link was not used: {escaped(problem)}")


def no_tool(catalog: str, tool: str) -> None:
    link_warning(f"Catalog {escaped(catalog, 80)} has no tool {escaped(tool, 120)}; choose another.")


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show a WayfareError of the block on the page, and go on after the block."""
    try:
        yield
    except WayfareError as error:
        st.error(escaped(str(error), 600), icon=":material/error:")


@contextmanager
def error_kept(key: str) -> Iterator[None]:
    """Keep the sentence of a WayfareError or ValueError of the block in the session until `kept_error` shows it. For `on_click`."""
    st.session_state[key] = ""
    try:
        yield
    except (ValueError, WayfareError) as error:
        st.session_state[key] = str(error)


def kept_error(key: str) -> None:
    """Show the sentence that `error_kept` keeps under this key, if there is one."""
    if sentence := st.session_state.get(key, ""):
        st.error(escaped(sentence), icon=":material/error:")


@contextmanager
def error_toasted() -> Iterator[None]:
    """Show a WayfareError of the block as a toast, and go on after the block. For `on_click`."""
    try:
        yield
    except WayfareError as error:
        st.toast(escaped(str(error)), icon=":material/error:")


def size(count_bytes: int) -> str:
    """Returns a size with its unit.

    >>> size(3), size(20_480)
    ('3 B', '20.0 kB')
    """
    if count_bytes < 1000:
        return f"{count_bytes} B"
    return f"{count_bytes / 1024:.1f} kB" if count_bytes < 1_000_000 else f"{count_bytes / 1024**2:.1f} MB"


def file_name(name: str, otherwise: str) -> str:
    """Returns a file name for a download that has only safe characters.

    >>> file_name("../../etc/passwd", "x"), file_name("", "result.txt")
    ('etc_passwd', 'result.txt')
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[-80:].lstrip("._-") or otherwise


DROPPED = {
    Drop.NOT_SHORTLISTED: "server not short-listed", Drop.REJECTED: "server rejected the price",
    Drop.NOT_AFFORDABLE: "not affordable", Drop.OUTRANKED: "outranked", Drop.PRUNED: "not curated",
    Drop.BELOW_THRESHOLD: "below the threshold", Drop.GATED: "left out by the state",
    Drop.NOT_RETRIEVED: "not retrieved", Drop.REFUSED: "refused", Drop.NOT_WORTH: "not worth a call",
}  # fmt: skip


REAL, SIMULATED = "real", "simulated"
ORIGINS = ("console", "cli", "agent", "scenario")
KINDS = tuple(kind.value for kind in OutcomeKind)


def outcome_words(kind: str) -> str:
    """Returns an outcome with its sign.

    >>> outcome_words("ok"), outcome_words("not_connected"), outcome_words("cancelled")
    ('✓ ok', '✗ not connected', '· cancelled')
    """
    return f"{_sign(kind)} {kind.replace('_', ' ')}"


def outcome_colour(words: str) -> str:
    return {ACCEPTED_SIGN: ACCEPTED, REJECTED_SIGN: REJECTED}.get(words[:1], MUTED)


def origin_words(origin: str) -> str:
    """Returns the origin of a call or decision, or "another" for an unknown origin, which may be a stranger's text.

    >>> origin_words("cli"), origin_words("**x**")
    ('cli', 'another')
    """
    return origin if origin in ORIGINS else "another"


def source_words(simulated: bool) -> str:
    """Returns "simulated" for results of virtual servers and drawn outcomes, else "real"."""
    return SIMULATED if simulated else REAL


def visitor_zone() -> str:
    """Returns the time zone of the visitor's browser, or UTC if it is unknown."""
    zone = st.context.timezone or "UTC"
    try:
        return ZoneInfo(zone).key
    except (ValueError, OSError):
        return "UTC"


def timestamp(at: datetime, zone: str) -> str:
    """Returns a time to the millisecond in the visitor's zone.

    >>> from datetime import UTC
    >>> timestamp(datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC), "Europe/Berlin")
    '2026-03-01 13:00:00.123 Europe/Berlin'
    """
    return f"{at.astimezone(ZoneInfo(zone)):%Y-%m-%d %H:%M:%S.%f}"[:-3] + f" {zone}"


def cell_text(text: object, limit: int = 300) -> str:
    r"""Returns a stranger's text for a cell on one line, or "" if the cell is empty.

    >>> cell_text("a\n b"), cell_text(None), cell_text(float("nan"))
    ('a b', '', '')
    """
    if not isinstance(text, str):
        return ""
    return one_line(text, limit)


def progress_words(job: Job) -> str:
    """Returns how far a run is, or how it ended, as Markdown."""
    took = units.seconds(job.elapsed_s)
    if job.under_way:
        if job.stop.is_set():
            return "stopping after the current step"
        counted = f"{job.done:,} of {job.of:,}, " if job.of else ""
        return f"{counted}{took} so far{units.time_left(job.left_s)}"
    if job.error is None:
        return f":green[✓ finished] in {took}"
    if isinstance(job.error, Stopped):
        return f"stopped after {took}"
    return f":orange[✗ ended] after {took}: {reason_of(job.error, 300)}"


def reason_of(error: BaseException, limit: int = 400) -> str:
    """Returns why a job ended, escaped: an error of ours has a sentence."""
    return escaped(str(error) if isinstance(error, WayfareError) else type(error).__name__, limit)


def missing(value: object) -> bool:
    """Tells whether a cell is empty: None, NaN or NaT.

    >>> missing(None), missing(float("nan")), missing(""), missing(0.0)
    (True, True, False, False)
    """
    return value is None or (isinstance(value, float | datetime) and value != value)  # noqa: PLR0124


def _sign(kind: str) -> str:
    if kind == OutcomeKind.OK:
        return ACCEPTED_SIGN
    return DROPPED_SIGN if kind == OutcomeKind.CANCELLED else REJECTED_SIGN


HELP = "This call had an injected network: its latency and its failure do not describe the server."


def injected_badge(what: str) -> None:
    st.badge(f"network injected: {escaped(what, 80)}", icon=":material/network_ping:", color="gray", help=HELP)
