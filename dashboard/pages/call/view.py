"""The Call page: a tool, its arguments, the call, and its outcome."""

from __future__ import annotations

import streamlit as st

from core.app import App
from core.calls.calls import CallReport
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.feedback import AskedQuery
from core.domain.outcome import CallMode, Outcome, OutcomeKind
from core.domain.untrusted_text import visible
from core.virtual import SENTENCE
from dashboard.pages.call.form import call_form
from dashboard.pages.call.learning import learning, next_decision
from dashboard.pages.call.result import result_view
from dashboard.pages.call.run import Run, Target, attempted, call_bar, choose_target, run_of, tool_card, watch
from dashboard.ui.calling import MODES, judge_popover
from dashboard.ui.labels import label_bar, label_notice, labelling
from dashboard.ui.question import Asks, Question
from dashboard.ui.text import Colour, escaped, injected_badge
from dashboard.ui.url_state import open_page

CALL = "call"
ASKS = Asks("call.url", of_answer=("tool", "decision"))


def judgement(app: App, run: Run, outcome: Outcome) -> None:
    if run.decision is None:
        return

    def changed() -> None:
        run.next_decision = None  # decide again with the label

    ending = "ended well" if outcome.kind.success else "failed"
    teaches = f"The call {ending}, but this does not tell whether the tool fits. Your label does."
    if outcome.simulated:
        teaches = (
            "The call was simulated and does not tell whether the tool fits. Your label counts as your own judgement."
        )
    labels = labelling(app, run.decision, changed=changed)
    st.markdown("##### Was this the right tool?")
    st.markdown(f"For “{escaped(run.decision.query, 160)}”. {teaches}")
    decision, tool = run.decision, f"{outcome.call.server}::{outcome.call.tool}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        with st.container(width="content"):
            label_bar(labels, tool, CALL)
        judge_popover(
            app, AskedQuery(decision.query, decision.server_hint), (tool,), CALL, catalog=decision.catalog,
            decision_id=decision.id,
        )  # fmt: skip
    label_notice(labels, CALL)


LOOKS: dict[OutcomeKind, tuple[Colour, str, str]] = {
    OutcomeKind.OK: ("green", ":material/check_circle:", "The tool answered."),
    OutcomeKind.TOOL_ERROR: ("orange", ":material/report:", "The tool or its server answered with an error."),
    OutcomeKind.INVALID_ARGUMENTS: (
        "orange", ":material/rule:",
        "The server did not accept the arguments. The success of the tool falls by a quarter of a failure.",
    ),
    OutcomeKind.TIMEOUT: ("red", ":material/timer_off:", "The tool gave no answer within the time limit."),
    OutcomeKind.CRASH: ("red", ":material/power_off:", "The server was lost before it answered."),
    OutcomeKind.NOT_CONNECTED: ("red", ":material/link_off:", "The server could not be reached, so nothing was called."),
    OutcomeKind.NOT_TRIED: (
        "gray", ":material/key_off:", "The server is not set up, so nothing was called. The statistics are unchanged.",
    ),
    OutcomeKind.BUSY: (
        "gray", ":material/hourglass_top:",
        "The server asks to be called later, so nothing was called. The statistics are unchanged.",
    ),
    OutcomeKind.CANCELLED: ("gray", ":material/stop_circle:", "You cancelled the call. The statistics are unchanged."),
}  # fmt: skip

SIMULATED = {
    CallMode.VIRTUAL: f"{SENTENCE} The measured statistics are unchanged.",
    CallMode.DRAWN: "No tool was called: the outcome was drawn at random from the known success rate and call time.",
}


def outcome_head(run: Run, outcome: Outcome) -> None:
    """Show the outcome in a line and five metrics, with a button if the server is not connected."""
    colour, icon, sentence = LOOKS[outcome.kind]
    word = "success" if outcome.kind.success else outcome.kind.value.replace("_", " ")
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.badge(word, icon=icon, color=colour)
        if outcome.simulated:
            st.badge("simulated", icon=MODES[outcome.mode].icon, color="violet", help="No real tool was called.")
        if outcome.injected:
            injected_badge(outcome.injected)
        st.markdown(SIMULATED.get(outcome.mode, sentence))
    _metrics(outcome)
    if outcome.error:
        text = visible(outcome.error)
        st.code(text, language=None, wrap_lines=True, height=300 if len(text) > 1500 else "content")
    missing = outcome.kind in {OutcomeKind.NOT_CONNECTED, OutcomeKind.NOT_TRIED} and not outcome.simulated
    if missing and st.button("Open the Catalog page to connect it", icon=":material/inventory_2:", key="call.connect"):
        open_page("catalog", catalog=outcome.call.catalog, server=outcome.call.server)
    _arguments(run, outcome)


def next_candidate(run: Run, outcome: Outcome, texts: dict[str, str]) -> None:
    """Draw the button to the next candidate after a failed call. `texts` are the texts of a link to the question."""
    if outcome.kind.success or run.decision is None:
        return
    names = [run.decision.tools.ids[row] for row in run.decision.candidates]
    tool_id = f"{outcome.call.server}::{outcome.call.tool}"
    rest = names[names.index(tool_id) + 1 :] if tool_id in names else []
    if rest and st.button(
        f"Go on to the next candidate, {escaped(rest[0], 60)}",
        icon=":material/redo:",
        key="call.next-candidate",
        type="primary",
    ):
        open_page("call", **{**texts, "tool": rest[0], "decision": run.decision.id})


def _metrics(outcome: Outcome) -> None:
    connection = "open session" if outcome.connect_s is None else units.seconds(outcome.connect_s)
    if outcome.mode is CallMode.DRAWN or (
        outcome.connect_s is None and outcome.kind in {OutcomeKind.NOT_CONNECTED, OutcomeKind.NOT_TRIED}
    ):
        connection = "none"
    price = outcome.price_usd
    metrics = (
        ("Call time", units.seconds(outcome.latency_s), "The tool call alone, without connecting to the server."),
        ("Connection", connection, "Time to connect to the server. An open session needs no time."),
        (
            "Would cost" if outcome.simulated else "Charged",
            units.price(price),
            "The price of a call if the tool answered; 0 if it was not reached.",
        ),
        (
            "Attempts",
            "1" if outcome.attempts == 1 else f"{outcome.attempts}, retried",
            "A lost connection is retried once if the tool's hints allow it.",
        ),
        ("Protocol", outcome.protocol_version or "none", "The agreed version of MCP."),
    )
    with st.grid(len(metrics), min_column_width=112):
        for label, value, help_text in metrics:
            st.metric(label, value, help=help_text)


def _arguments(run: Run, outcome: Outcome) -> None:
    arguments = {name: "•••" if name in run.secret else value for name, value in outcome.call.arguments.items()}
    if arguments:
        with st.expander("Arguments of this call"):
            st.json(arguments)


def page(question: Question) -> None:
    """Draw the tool and its form on the left, the result and the changed statistics on the right."""
    app = question.app
    target = choose_target(question)
    if target is None:
        return
    run = run_of(target)
    under_way = run is not None and not run.handle.done
    left, right = st.columns([1, 1.25], gap="medium")
    with left, st.container(key="call:form"):
        tool_card(app, target)
        filled = call_form(target.catalog.name, target.tool, target.query, attempted=attempted(target))
        call_bar(app, target, filled)
    with right:
        _result(question, target, run)
    if run is not None and under_way and run.handle.done:
        st.rerun()  # the call ended between the two columns: the left column still shows it as running


def _result(question: Question, target: Target, run: Run | None) -> None:
    app = question.app
    st.markdown("#### Result")
    under_way = st.empty()  # a place of its own, so that it leaves no rest in the result
    if run is None:
        st.info(
            "Not called yet: fill in the form and press Call. "
            "The result, its time and price, and the changed statistics appear here."
        )
    elif not run.handle.done:
        with under_way.container():
            watch(run)
    else:
        report = _report(run)
        if report is not None:
            with st.container(key="call:outcome"):
                outcome_head(run, report.outcome)
                next_candidate(run, report.outcome, question.texts)
                result_view(report.outcome)
            judgement(app, run, report.outcome)
            with st.container(key="call:learned"):
                learning(report)
            with st.container(key="call:next"):
                next_decision(app, run, target.tool.id)


def _report(run: Run) -> CallReport | None:
    try:
        return run.handle.report(0)
    except WayfareError as error:
        reason = str(error)
    except Exception as error:  # noqa: BLE001 - a call runs in its own thread; every error is shown on the page
        reason = f"{type(error).__name__}: {error}"
    st.error(f"Wayfare could not finish this call: {escaped(reason)} Press Call to try again.", icon=":material/error:")
    return None
