"""Making the call: timeout, real or simulated, confirmation, progress, cancel. Owns the keys `call.run*`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.calls.calls import CallHandle
from core.domain import units
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.execution import Progress
from core.domain.outcome import CallMode, ToolCall
from core.domain.people import person
from core.domain.untrusted_text import visible
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Outlook
from dashboard.page_host import DeltaGenerator
from dashboard.pages.call.form import Filled
from dashboard.pages.call.target import Target, destructive
from dashboard.session import only, origin, use_own_sessions
from dashboard.ui.calling import MODES, leave_note, mode_choice
from dashboard.ui.setting import chosen_network
from dashboard.ui.text import escaped

RUNS_KEPT = 8
POLL_S = 0.25
LONGEST_S = 600.0


@dataclass
class Run:
    """A call that was started on this page, and the next decision once it is computed."""

    handle: CallHandle
    started_s: float
    decision: Decision | None
    secret: frozenset[str]
    next_decision: Decision | None = None


def run_of(target: Target) -> Run | None:
    """The last call of this tool in this session, under way or done."""
    return _runs().get(target.key)


def attempted(target: Target) -> bool:
    """Tells whether a call with invalid arguments was tried."""
    return target.key in st.session_state.setdefault("call.run.attempted", set())


def call_bar(app: App, target: Target, filled: Filled) -> None:
    """Draw the obstacles, the mode, the timeout and the button. A destructive tool needs a second click."""
    run = run_of(target)
    note, line = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
    mode = mode_choice(line, target.server)
    call = _call(target, filled, _timeout(line))
    outlook = app.governed.outlook(call) if mode is CallMode.REAL else Outlook()
    with note:
        leave_note(app, target.catalog.name, target.tool, outlook)
        if call.network.has_profile:
            st.info(
                f"The call meets the network {escaped(str(call.network))}: its delays and outages. It teaches nothing.",
                icon=":material/network_ping:",
            )
    held = outlook.refusal is not None and outlook.refusal.error in {DEFINITION_CHANGED, DEFINITION_WAITS}
    pressed = _button(line, mode, outlook, disabled=held or (run is not None and not run.handle.done))
    if filled.problems:
        _blocked(target, filled, pressed=pressed)
        return
    if destructive(target.tool.hints) and mode is CallMode.REAL and not target.server.virtual:
        if pressed:
            st.session_state["call.run.confirm"] = target.key
        pressed = st.session_state.get("call.run.confirm") == target.key and _confirmed()
    if pressed:
        may_approve = outlook.reasons and not person().refusal("approve")
        _start(app, target, call, filled.secret, mode, approved_by=origin() if may_approve else "")


def _timeout(line: DeltaGenerator) -> float:
    st.session_state.setdefault("call.run.timeout", 30.0)
    return line.number_input(
        "Timeout (s)", 0.1, LONGEST_S, step=5.0, format="%g", width=120,
        key="call.run.timeout", persist_state="session",
        help="The call is cancelled after this time. Connecting to the server does not count.",
    )  # fmt: skip


WAITS = "The call waits on Govern for a person who may approve. Once it is approved, press again."


def _button(line: DeltaGenerator, mode: CallMode, outlook: Outlook, *, disabled: bool) -> bool:
    """Tells whether it was pressed. Approving has a button of its own, so that an approval is deliberate."""
    words = MODES[mode]
    text, icon, key = words.button, words.icon, "call.run.go"
    if outlook.reasons:
        text, icon, key = "Approve and call", ":material/how_to_reg:", "call.run.approve"
        if person().refusal("approve"):
            text, icon = "Call once approved", ":material/front_hand:"
    looks = only("call", disabled=disabled, help=WAITS if icon == ":material/front_hand:" else None)
    return line.button(text, icon=icon, type="primary", width="stretch", key=key, **looks)


def _blocked(target: Target, filled: Filled, *, pressed: bool) -> None:
    if pressed and not attempted(target):
        st.session_state["call.run.attempted"].add(target.key)
        st.rerun()
    if attempted(target):
        count = len(filled.problems)
        st.warning(
            f"{count} {'argument has' if count == 1 else 'arguments have'} to be corrected before the call.",
            icon=":material/edit:",
        )


@st.fragment(run_every=POLL_S)
def watch(run: Run) -> None:
    """Show a running call until it ends, then redraw the page."""
    if run.handle.done:
        st.rerun()
    elapsed_s = time.monotonic() - run.started_s
    cancelling = run.handle.cancel_event.is_set()
    text, stop = st.columns([3, 1], vertical_alignment="center")
    limit = units.seconds(run.handle.call.timeout_s)
    text.markdown(f"**{'Cancelling' if cancelling else 'Calling'}…** {elapsed_s:.1f} s, timeout {limit}")
    if stop.button(
        "Cancel", icon=":material/stop_circle:", key="call.run.cancel", disabled=cancelling, width="stretch"
    ):
        run.handle.cancel()
    progress = run.handle.progress
    if progress is None:
        st.caption("The server has not reported any progress.")
        return
    st.progress(fraction(progress) or 0.0)
    st.text(progress_text(progress))


def fraction(progress: Progress) -> float | None:
    """Returns the finished share in [0, 1], or None if the total is unknown.

    >>> fraction(Progress(2, 5, "")), fraction(Progress(2, None, "")), fraction(Progress(9, 5, ""))
    (0.4, None, 1.0)
    """
    total = progress.total
    if total is None or not math.isfinite(total) or total <= 0 or not math.isfinite(progress.progress):
        return None
    return min(1.0, max(0.0, progress.progress / total))


def progress_text(progress: Progress) -> str:
    """The server's own message and count.

    >>> progress_text(Progress(2, 5, "reading"))
    'reading (2 of 5)'
    """
    count = f"{progress.progress:g}" + (f" of {progress.total:g}" if progress.total is not None else "")
    return f"{visible(progress.message[:300])} ({count})" if progress.message else f"Progress: {count}"


def _runs() -> dict[tuple[str, str], Run]:
    return st.session_state.setdefault("call.runs", {})


def _confirmed() -> bool:
    """Draw the second question before a destructive call."""
    with st.container(border=True):
        st.markdown(
            ":red[:material/warning:] **This tool may delete or overwrite data, as its hints say.** Call it anyway?"
        )
        with st.container(horizontal=True):
            sure = st.button("Yes, call it", type="primary", key="call.run.sure", **only("call"))
            if st.button("Do not call", key="call.run.keep"):
                del st.session_state["call.run.confirm"]
                st.rerun()
    return sure


def _call(target: Target, filled: Filled, timeout_s: float) -> ToolCall:
    decision = target.decision
    return ToolCall(
        target.tool.server, target.tool.name, filled.arguments, timeout_s, target.catalog.name,
        None if decision is None else decision.id, chosen_network(), target.agreed_usd,
    )  # fmt: skip


def _start(
    app: App, target: Target, call: ToolCall, secret: frozenset[str], mode: CallMode, *, approved_by: str
) -> None:
    use_own_sessions()
    try:
        handle = app.governed.by_person(call, mode=mode, origin="console", approved_by=approved_by)
    except WayfareError as error:
        st.error(escaped(str(error)), icon=":material/error:")
        return
    st.session_state.pop("call.run.confirm", None)
    runs = _runs()
    runs.pop(target.key, None)
    runs[target.key] = Run(handle, time.monotonic(), target.decision, secret)
    for key in [key for key, run in runs.items() if run.handle.done][: max(0, len(runs) - RUNS_KEPT)]:
        del runs[key]
    st.session_state["call.run.attempted"].discard(target.key)
    st.rerun()
