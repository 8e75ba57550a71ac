"""The change of the statistics after a call, and of the next decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import pandas as pd
import streamlit as st

from core.app import App
from core.calls.calls import CallReport, Running
from core.domain import units
from core.domain.decision import Decision
from core.domain.outcome import OutcomeKind
from core.domain.params import SIMULATED_TOO, WITH_SIMULATED, NetworkMoment
from core.domain.trace import ToolRow
from core.routers.ema import SOFT
from dashboard.pages.call.run import Run
from dashboard.session import visitor
from dashboard.theme import ACCEPTED, REJECTED
from dashboard.ui.table import Column, table
from dashboard.ui.text import errors_shown, escaped
from dashboard.ui.url_state import open_page

EQUATION = (
    "EHRR (8), after a call with y (1 for a success, else 0), call time l, and fail (1 where the server failed after "
    "accepting, else 0):\n\n"
    "- success: r ← (1 − λr) · r + λr · y\n"
    "- variance: σ² ← (1 − λσ) · σ² + λσ · (y − r)², with the r before the call\n"
    "- post-accept failure: pfail ← (1 − λp) · pfail + λp · fail\n"
    "- call time: L ← (1 − λl) · L + λl · l; the connection time follows the same rule when a session was opened\n\n"
    "λr, λσ, λp and λl are the rates of smoothing, 0.15 each unless changed."
)


SEPARATE = (
    f"Simulated calls have statistics of their own, beside the real calls. Decisions use them only if you set *Network* to "
    f"*{WITH_SIMULATED}*; agents never do."
)


class Row(NamedTuple):
    """A statistic before and after. `better` is None without a change, and for statistics without a good direction."""

    of: str
    statistic: str
    before: str
    after: str
    change: str
    better: bool | None


def learning_rows(report: CallReport) -> list[Row]:
    server = _rows("server", report.server_before, report.server_after)
    tool = _rows("tool", report.tool_before, report.tool_after)
    return [*server, *(row for row in tool if row.statistic in {"success r", "call time", "calls"})]


def next_rows(before: Decision, after: Decision, tool_id: str) -> list[Row]:
    """Returns the winner and the called tool in the earlier decision and in a new decision."""
    old, new = tool_in(before, tool_id), tool_in(after, tool_id)
    rows = [
        Row("winner", "tool", _name(before), _name(after), "" if _name(before) == _name(after) else "changed", None)
    ]
    if before.winner and after.winner:
        rows.append(_utility("winner", before.winner, after.winner))
    if old is None or new is None:
        return rows
    rows += _fits(before, after, tool_id)
    rows.append(_utility("called tool", old, new))
    rows.append(Row("called tool", "rank", rank_text(old), rank_text(new), *_rank_change(old.rank, new.rank)))
    return rows


def next_sentence(before: Decision, after: Decision, tool_id: str) -> str:
    old, new = before.winner, after.winner
    if new is None:
        return f"Now no tool would win: {after.reason}"
    if old is None:
        return f"{new.tool} would win now, with utility {units.plain(new.utility)}; before there was no winner."
    if old.tool != new.tool:
        sentence = f"{new.tool} would win now with utility {units.plain(new.utility)}, in place of {old.tool} with {units.plain(old.utility)}"
    elif math.isclose(old.utility, new.utility, abs_tol=5e-5):
        sentence = f"{new.tool} stays the winner with the same utility, {units.plain(new.utility)}"
    else:
        way = "rises" if new.utility > old.utility else "falls"
        sentence = f"{new.tool} stays the winner; its utility {way} from {units.plain(old.utility)} to {units.plain(new.utility)}"
    return f"{sentence}{_called(before, after, tool_id)}."


def tool_in(decision: Decision, tool_id: str) -> ToolRow | None:
    return decision.tool_at(decision.tools.ids.index(tool_id)) if tool_id in decision.tools.ids else None


def rank_text(row: ToolRow) -> str:
    reason = f"{row.dropped_by.replace('_', ' ')}" if row.dropped_by is not None else ""
    if row.rank is None:
        return reason or "not ranked"
    return f"{row.rank} ({reason})" if reason else str(row.rank)


def _called(before: Decision, after: Decision, tool_id: str) -> str:
    old, new = tool_in(before, tool_id), tool_in(after, tool_id)
    if old is None or new is None:
        return ""
    if rank_text(old) == rank_text(new):
        return f"; the called tool keeps rank {rank_text(new)}" if new.rank is not None else ""
    return f"; the called tool goes from rank {rank_text(old)} to {rank_text(new)}"


def _rows(subject: str, before: Running, after: Running) -> list[Row]:
    columns: tuple[tuple[str, float, float, Callable[[float], str], Callable[[float], str], bool], ...] = (
        ("success r", before.success, after.success, units.share, _points, True),
        ("variance σ²", before.success_variance, after.success_variance, "{:.3g}".format, "{:.3g}".format, False),
        ("post-accept failure", before.post_accept_failure, after.post_accept_failure, units.share, _points, False),
        ("call time", before.call_s, after.call_s, units.seconds, units.seconds, False),
        ("connection time", before.conn_s, after.conn_s, units.seconds, units.seconds, False),
    )
    rows = [
        Row(subject, name, show(old), show(new), *_change(new - old, delta, higher_is_better=higher))
        for name, old, new, show, delta, higher in columns
    ]
    calls = after.calls - before.calls
    return [
        *rows,
        Row(subject, "calls", f"{before.calls:,}", f"{after.calls:,}", f"+{calls}" if calls else "no change", None),
    ]


def _utility(subject: str, before: ToolRow, after: ToolRow) -> Row:
    change = _change(after.utility - before.utility, "{:.4f}".format, higher_is_better=True)
    return Row(subject, "utility U", f"{units.plain(before.utility, 4)}", f"{units.plain(after.utility, 4)}", *change)


def _fits(before: Decision, after: Decision, tool_id: str) -> list[Row]:
    """Returns the change of the called tool's probability of fit, or [] for a router without it."""
    old, new = (decision.fit_at(decision.tools.ids.index(tool_id)) for decision in (before, after))
    if not old or not new:
        return []
    change = _change(new["p_fit"] - old["p_fit"], _points, higher_is_better=True)
    return [Row("called tool", "fits", units.share(old["p_fit"]), units.share(new["p_fit"]), *change)]


def _change(delta: float, show: Callable[[float], str], *, higher_is_better: bool) -> tuple[str, bool | None]:
    if abs(delta) < 1e-9:
        return "no change", None
    return f"{'▲ +' if delta > 0 else '▼ −'}{show(abs(delta))}", (delta > 0) is higher_is_better


def _rank_change(before: int | None, after: int | None) -> tuple[str, bool | None]:
    if before == after:
        return "no change", None
    if before is None or after is None:
        return ("▲ now ranked", True) if before is None else ("▼ no longer ranked", False)
    return (f"▲ {before - after} up", True) if after < before else (f"▼ {after - before} down", False)


def _name(decision: Decision) -> str:
    return decision.winner.tool if decision.winner else "none"


def _points(value: float) -> str:
    return f"{value * 100:.3g} points"


def learning(report: CallReport) -> None:
    """Draw the statistics before and after, in units, with the difference marked."""
    outcome, report = report.outcome, report.simulated or report
    badge = " :violet-badge[simulated]" if outcome.simulated else ""
    st.markdown(f"##### Changed statistics{badge}", help=EQUATION)
    if outcome.simulated:
        st.caption(f"The measured statistics are unchanged, because it was simulated. {SEPARATE}")
    same = (report.server_before, report.tool_before) == (report.server_after, report.tool_after)
    if same or outcome.injected or not outcome.kind.counts:  # what fades changes with time alone
        if outcome.injected:
            reason = "the network was injected, and its faults are not the server's"
        else:
            reason = "no statistic moved" if outcome.kind.counts else "the call says nothing about the tool"
        st.caption(f"The statistics are unchanged, because {reason}.")
        return
    if outcome.kind is OutcomeKind.INVALID_ARGUMENTS:
        st.caption(
            f"The tool rejected the arguments. Its success and variance are folded with y = 0 at {SOFT:g} of the rates of EHRR (8). "
            "All other statistics stay, also those of the server."
        )
    else:
        y, fail = int(outcome.kind.success), int(outcome.kind.post_accept_failure)
        latency = "" if outcome.kind is OutcomeKind.NOT_CONNECTED else f", l = {units.seconds(outcome.latency_s)}"
        st.caption(f"Folded with y = {y}, fail = {fail}{latency}, EHRR (8).")
    _table(learning_rows(report), "call.learning")


def next_decision(app: App, run: Run, tool_id: str) -> None:
    """Route the same sub-task again with the current statistics, without recording it. After a simulated call, use the simulated statistics."""
    before, simulated = run.decision, run.handle.report(0).outcome.simulated
    st.markdown(
        f"##### The next decision{', if simulated calls counted :violet-badge[simulated]' if simulated else ''}",
        help="The same sub-task, router and parameters with the statistics after this call.",
    )
    if before is None:
        st.caption(
            "This call has no decision. If you open this page from a candidate on the Decision view, "
            "it shows how a call changes the next decision."
        )
        if st.button("Route a sub-task", icon=":material/alt_route:", key="call.route"):
            open_page("route")
        return
    after = _routed(app, run, before, SIMULATED_TOO if simulated else before.network)
    if after is None:
        return
    st.markdown(f"For “{escaped(before.query, 160)}”: {escaped(next_sentence(before, after, tool_id), 600)}")
    _table(next_rows(before, after, tool_id), "call.next")
    since = after.statistics_version - before.statistics_version
    if since > 1 and not simulated:
        st.caption(f"{since} calls were made on this catalog since that decision. All of them count here.")


def _routed(app: App, run: Run, decision: Decision, network: NetworkMoment) -> Decision | None:
    if run.next_decision is None:
        with errors_shown(), st.spinner("Routing the sub-task once more…"):
            run.next_decision = app.routing.route(
                decision.query, visitor=visitor(), catalog=decision.catalog, router=decision.router,
                parameters=app.routing.parameters(decision.router, decision.parameters), server_hint=decision.server_hint,
                record=False, network=network,
            )  # fmt: skip
    return run.next_decision


def _table(rows: Sequence[Row], key: str) -> None:
    columns = ["statistic", "before", "after", "change"]
    frame = pd.DataFrame(
        [(f"{row.of}: {row.statistic}", row.before, row.after, row.change) for row in rows], columns=columns
    )
    better = [row.better for row in rows]  # the sign carries the same information as the colour
    colours = ["" if good is None else f"color: {ACCEPTED if good else REJECTED}; font-weight: 600" for good in better]
    styler = frame.style.apply(lambda _: colours, subset=["change"])
    table(styler, (Column("statistic", width=168),), key=key)
