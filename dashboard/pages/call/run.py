"""The tool that is called: its choice, its card, and the call with its timeout, mode, confirmation, progress and cancel. Owns the keys
`call.run*`."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.calls.calls import CallHandle
from core.domain import units
from core.domain.catalog import Catalog, Server, Tool, ToolHints, definition_text
from core.domain.decision import Decision
from core.domain.documents import digest
from core.domain.errors import WayfareError
from core.domain.execution import Progress
from core.domain.outcome import CallMode, ToolCall
from core.domain.people import person
from core.domain.statistics import Source
from core.domain.untrusted_text import visible
from core.governance.refusals import DEFINITION_CHANGED, DEFINITION_WAITS, Outlook
from core.routers.auction import SETTLEMENTS
from core.routers.estimates import ATTEMPT_SUCCESS, EXPECTED_TIME, expected
from core.virtual import SENTENCE
from dashboard.page_host import DeltaGenerator
from dashboard.pages.call.form import Filled
from dashboard.session import first_catalog, only, origin, use_own_sessions
from dashboard.ui.calling import MODES, leave_note, mode_choice
from dashboard.ui.labels import asked_like_line
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Question, chosen_network
from dashboard.ui.table import pick
from dashboard.ui.text import Colour, escaped, no_tool
from dashboard.ui.url_state import UrlState


@dataclass(frozen=True, slots=True)
class Target:
    catalog: Catalog
    server: Server
    tool: Tool
    decision: Decision | None
    query: str

    @property
    def agreed_usd(self) -> float | None:
        """The decision's agreed price of a call, or None for the listed price."""
        return None if self.decision is None else self.decision.agreed_usd(self.tool.id)

    @property
    def key(self) -> tuple[str, str]:
        return self.catalog.name, self.tool.id

    @property
    def shown(self) -> str:
        """A digest of what the person sees, for the keys of the buttons: a press that comes after another target was chosen has no effect."""
        return digest(repr((*self.key, definition_text(self.tool), self.query)))  # a decision is forgotten after others


def choose_target(question: Question) -> Target | None:
    """Draw the choice of the tool. Returns None and says what to do if no tool is chosen.

    A new question chooses its winner.
    """
    app, state, name = question.app, question.state, question.form.catalog
    linked = state.follow(question.texts)
    if question.form.query and "tool" not in linked:
        linked = {**linked, **_answer(question)}
    catalog = app.catalogs.catalog(name)
    same_catalog = catalog.name == linked.get("catalog", first_catalog())
    linked_decision = linked.get("decision", "") if same_catalog else ""
    decision = app.routing.decision(linked_decision) if linked_decision else None
    if decision is not None and decision.catalog != catalog.name:
        decision = None
    tool_id = _tool(state, linked.get("tool", ""), catalog, decision)
    state.end({**question.texts, "tool": tool_id or "", "decision": linked_decision}, question=question.texts)
    _notes(linked, catalog, forgotten=decision is None and linked_decision != "")
    if tool_id is None:
        st.info(
            "No tool is chosen yet: choose one above, or ask, and the router chooses it.", icon=":material/touch_app:"
        )
        return None
    tool, query = catalog.tools[catalog.tool_row[tool_id]], (decision or question.form).query
    return Target(catalog, catalog.servers[catalog.server_row[tool.server]], tool, decision, query)


def _answer(question: Question) -> dict[str, str]:
    """Returns the winner of the question with its decision, or {} if there is no decision. A hypothetical decision is not recorded,
    so it has no id."""
    try:
        show_preparing(question.app, question.form.catalog, decides=True)
        decision = question.decide()
    except WayfareError:
        return {}  # the decision view shows the error
    texts = {"tool": decision.winner.tool if decision.winner is not None else ""}
    return texts if question.asked.hypothetical else {**texts, "decision": decision.id}


def _tool(state: UrlState, linked_id: str, catalog: Catalog, decision: Decision | None) -> str | None:
    candidates = [decision.tools.ids[row] for row in decision.candidates] if decision else []
    ranks = {name: rank for rank, name in enumerate((tool for tool in candidates if tool in catalog.tool_row), start=1)}
    key = state.key("tool")
    if st.session_state.get(key) not in catalog.tool_row:
        st.session_state[key] = linked_id if linked_id in catalog.tool_row else None

    def label(name: str) -> str:
        title = catalog.tools[catalog.tool_row[name]].title
        rank = f"★ {ranks[name]}  " if name in ranks else ""
        return f"{rank}{name}{f' – {title}' if title else ''}"

    return pick(
        "Tool", catalog.tool_row.keys(), key=key, first=list(ranks), show=label,
        placeholder="Type a part of a server's or tool's name",
        help="★ marks the candidates of the decision behind this page, in their order.",
    )  # fmt: skip


def _notes(linked: dict[str, str], catalog: Catalog, *, forgotten: bool) -> None:
    tool = linked.get("tool", "")
    if linked.get("catalog", catalog.name) == catalog.name and tool and tool not in catalog.tool_row:
        no_tool(catalog.name, tool)
    if forgotten:
        st.caption(
            "The decision behind this link is no longer in memory: Wayfare was restarted, or made many decisions since. "
            "The call works without it."
        )


SHORT_CHARS = 420
BADGES: tuple[tuple[str, str, Colour, str], ...] = (
    ("read-only", ":material/visibility:", "green", "Its hint: it changes no data."),
    ("destructive", ":material/warning:", "red", "Its hint: it may delete or overwrite data."),
    ("idempotent", ":material/repeat:", "blue", "Its hint: a second call has no further effect."),
    ("open world", ":material/public:", "gray", "Its hint: it uses other systems."),
)


def tool_card(app: App, target: Target) -> None:
    """Draw the title, server, decision, description, hints, and price, time and success with their sources."""
    tool, server = target.tool, target.server
    st.markdown(f"#### {escaped(tool.title or tool.name, 120)}\n:small[:gray[{escaped(tool.id, 200)}]]")
    if server.virtual:
        st.badge(SENTENCE, icon=MODES[CallMode.VIRTUAL].icon, color="violet")
    if target.decision is not None:
        st.markdown(f":small[{_place(target.decision, tool.id)}]")
        asked_like_line(app, target.decision, tool.id)
    _description(tool.description or server.description)
    _hints(tool.hints)
    _metrics(app, target)


def _place(decision: Decision, tool_id: str) -> str:
    task = f"For “{escaped(decision.query, 160)}”"
    if tool_id not in decision.tools.ids:
        return f"{task}: this tool was not in the catalog then."
    row = decision.tool_at(decision.tools.ids.index(tool_id))
    if row.dropped_by is None:
        return f"{task}: **candidate {row.rank} of {len(decision.candidates)}**, {escaped(decision.score)} {units.plain(row.utility)}."
    return f"{task}: not a candidate ({row.dropped_by.replace('_', ' ')}), {escaped(decision.score)} {units.plain(row.utility)}."


def _description(text: str) -> None:
    text = visible(text.strip())
    if not text:
        st.caption("The tool has no description.")
    elif len(text) <= SHORT_CHARS:
        st.text(text)
    else:
        st.text(f"{text[:SHORT_CHARS].rstrip()}…")
        with st.expander("The whole description"):
            st.text(text)


def _hints(hints: ToolHints) -> None:
    flags = hints.read_only, _destructive(hints), hints.idempotent, hints.open_world
    badges = [badge for badge, applies in zip(BADGES, flags, strict=True) if applies]
    if not badges:
        st.caption("The server gives no hints about side effects.")
        return
    with st.container(horizontal=True, gap="xsmall"):
        for label, icon, colour, help_text in badges:
            st.badge(label, icon=icon, color=colour, help=help_text)


def _destructive(hints: ToolHints) -> bool:
    return hints.destructive is True and hints.read_only is not True


def _metrics(app: App, target: Target) -> None:
    row = target.catalog.tool_row[target.tool.id]
    name, network = target.catalog.name, chosen_network()
    stats = app.catalogs.statistics(name)
    if network.simulated:
        context = app.catalogs.context(name, with_simulated=network.with_simulated)
        stats = app.simulated_networks.context(context, network).statistics
    tools, estimate = stats.tools, expected(stats, row, target.catalog.server_row[target.server.name])
    time_s, success, note, decision = estimate.time_s, estimate.success, "", target.decision
    # the figures of the decision's page, until a call changes them
    if decision is not None and decision.statistics_version == stats.version and target.tool.id in decision.tools.ids:
        tool_row = decision.tool_at(decision.tools.ids.index(target.tool.id))
        time_s, success, note = tool_row.time_cost_s, tool_row.success, " As the decision above had it."
    calls, price_source = int(tools.calls[row]), int(tools.price_source[row])
    if decision is not None and target.agreed_usd is not None:
        price = "Payment of a call", units.price(target.agreed_usd), "as decided", SETTLEMENTS[decision.settlement]
    else:
        origin_of_price = "not set" if price_source == Source.PRIOR else _source(price_source, calls)
        help_text = "The price of one call, declared by the catalog or edited on the Catalog page."
        price = "Price of a call", units.price(float(tools.price_usd[row])), origin_of_price, help_text
    success_source = Source.SIMULATED if network.simulated else int(tools.success_source[row])
    time_source = _source(int(tools.latency_source[row]), calls)
    grid = st.grid(3, min_column_width=120)
    for label, value, source, help_text in (
        price,
        ("Expected time", units.seconds(time_s), time_source, f"{EXPECTED_TIME} {MEANS}{note}"),
        (
            "One attempt succeeds",
            units.share(success),
            _source(success_source, calls),
            f"{ATTEMPT_SUCCESS} {MEANS}{note}",
        ),
    ):
        grid.metric(label, value, border=True, delta=source, delta_color="off", delta_arrow="off", help=help_text)


MEANS = "l and r are running means, EHRR (8): each begins at the declared figure, and every call moves it a part of the way."


def _source(code: int, calls: int) -> str:
    source = Source(code)
    return f"after {calls:,} {'call' if calls == 1 else 'calls'}" if source is Source.MEASURED else source.label


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
    return _runs().get(target.key)


def attempted(target: Target) -> bool:  # with invalid arguments
    return target.key in st.session_state.setdefault("call.run.attempted", set())


def call_bar(app: App, target: Target, filled: Filled) -> None:
    """Draw the obstacles, the mode, the timeout and the button. A destructive tool needs a second click."""
    run = run_of(target)
    note, line = st.container(), st.container(horizontal=True, vertical_alignment="bottom")
    mode, decision = mode_choice(line, target.server), target.decision
    call = ToolCall(
        target.tool.server, target.tool.name, filled.arguments, _timeout(line), target.catalog.name,
        None if decision is None else decision.id, chosen_network(), target.agreed_usd,
    )  # fmt: skip
    outlook = app.governed.outlook(call) if mode is CallMode.REAL else Outlook()
    with note:
        leave_note(app, target.catalog.name, target.tool, outlook)
        if call.network.has_profile:
            st.info(
                f"The call meets the network {escaped(str(call.network))}: its delays and outages. It teaches nothing.",
                icon=":material/network_ping:",
            )
    held = outlook.refusal is not None and outlook.refusal.error in {DEFINITION_CHANGED, DEFINITION_WAITS}
    pressed = _button(line, target, mode, outlook, disabled=held or (run is not None and not run.handle.done))
    if filled.problems:
        _blocked(target, filled, pressed=pressed)
        return
    if _destructive(target.tool.hints) and mode is CallMode.REAL and not target.server.virtual:
        if pressed:
            st.session_state["call.run.confirm"] = target.shown
        pressed = st.session_state.get("call.run.confirm") == target.shown and _confirmed()
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


def _button(line: DeltaGenerator, target: Target, mode: CallMode, outlook: Outlook, *, disabled: bool) -> bool:
    """Tells whether the button was pressed. Approving has a separate button, so that an approval is deliberate."""
    words = MODES[mode]
    text, icon, key = words.button, words.icon, "call.run.go"
    if outlook.reasons:
        text, icon, key = "Approve and call", ":material/how_to_reg:", "call.run.approve"
        if person().refusal("approve"):
            text, icon = "Call once approved", ":material/front_hand:"
    options = only("call", disabled=disabled, help=WAITS if icon == ":material/front_hand:" else None)
    return line.button(text, icon=icon, type="primary", width="stretch", key=f"{key}.{target.shown}", **options)


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
    line, stop = st.columns([3, 1], vertical_alignment="center")
    limit = units.seconds(run.handle.call.timeout_s)
    line.markdown(f"**{'Cancelling' if cancelling else 'Calling'}…** {elapsed_s:.1f} s, timeout {limit}")
    if stop.button(
        "Cancel", icon=":material/stop_circle:", key="call.run.cancel", disabled=cancelling, width="stretch"
    ):
        run.handle.cancel()
    progress = run.handle.progress
    if progress is None:
        st.caption("The server has not reported any progress.")
        return
    share, text = shown_progress(progress)
    st.progress(share)
    st.text(text)


def shown_progress(progress: Progress) -> tuple[float, str]:
    """Returns the finished share in [0, 1], 0 if the total is unknown, and the server's own message and count.

    >>> shown_progress(Progress(2, 5, "reading")), shown_progress(Progress(9, 5, ""))
    ((0.4, 'reading (2 of 5)'), (1.0, 'Progress: 9 of 5'))
    """
    done, total = progress.progress, progress.total
    has_total = total is not None and math.isfinite(total) and total > 0 and math.isfinite(done)
    share = min(1.0, max(0.0, done / total)) if has_total and total is not None else 0.0
    count = f"{done:g}" + (f" of {total:g}" if total is not None else "")
    return share, f"{visible(progress.message[:300])} ({count})" if progress.message else f"Progress: {count}"


def _runs() -> dict[tuple[str, str], Run]:
    return st.session_state.setdefault("call.runs", {})


def _confirmed() -> bool:
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
