"""The tool that is called: its choice and its card."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from core.app import App
from core.domain import units
from core.domain.catalog import Catalog, Server, Tool, ToolHints
from core.domain.decision import Decision
from core.domain.errors import WayfareError
from core.domain.outcome import CallMode
from core.domain.statistics import Source
from core.domain.untrusted_text import visible
from core.routers.auction import SETTLEMENTS
from core.routers.estimates import ATTEMPT_SUCCESS, EXPECTED_TIME, expected
from core.virtual import SENTENCE
from dashboard.session import first_catalog
from dashboard.ui.calling import MODES
from dashboard.ui.labels import asked_like_line
from dashboard.ui.long_work import show_preparing
from dashboard.ui.question import Question
from dashboard.ui.setting import chosen_network
from dashboard.ui.table import pick
from dashboard.ui.text import Colour, escaped
from dashboard.ui.url_state import UrlState


@dataclass(frozen=True, slots=True)
class Target:
    """The tool on the page. `decision` is None without one, or after a restart of Wayfare."""

    catalog: Catalog
    server: Server
    tool: Tool
    decision: Decision | None

    @property
    def agreed_usd(self) -> float | None:
        """What the decision agreed on for a call, None: the listed price."""
        return None if self.decision is None else self.decision.agreed_usd(self.tool.id)

    @property
    def key(self) -> tuple[str, str]:
        """The key of a call of this tool."""
        return self.catalog.name, self.tool.id


def choose_target(question: Question) -> Target | None:
    """Draw the choice of the tool. Returns None and says what to do if no tool is chosen.

    A new question chooses its winner.
    """
    app, state, name = question.app, question.state, question.query.catalog
    linked = state.follow(question.texts)
    if question.query.subtask and "tool" not in linked:
        linked = {**linked, **_answer(question)}
    catalog = app.catalogs.catalog(name)
    same = catalog.name == linked.get("catalog", first_catalog())
    linked_decision = linked.get("decision", "") if same else ""
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
    tool = catalog.tools[catalog.tool_row[tool_id]]
    return Target(catalog, catalog.servers[catalog.server_row[tool.server]], tool, decision)


def _answer(question: Question) -> dict[str, str]:
    """Returns the winner of the question with its decision, or {} if there is no decision. A hypothetical decision is not recorded,
    so it has no id."""
    try:
        show_preparing(question.app, question.query.catalog, decides=True)
        decision = question.decide()
    except WayfareError:
        return {}  # the decision view shows the error
    found = {"tool": decision.winner.tool if decision.winner is not None else ""}
    return found if question.asked.hypothetical else {**found, "decision": decision.id}


def _tool(state: UrlState, wanted: str, catalog: Catalog, decision: Decision | None) -> str | None:
    candidates = [decision.tools.ids[row] for row in decision.candidates] if decision else []
    ranks = {name: rank for rank, name in enumerate((c for c in candidates if c in catalog.tool_row), start=1)}
    key = state.key("tool")
    if st.session_state.get(key) not in catalog.tool_row:
        st.session_state[key] = wanted if wanted in catalog.tool_row else None

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
    """Warn about parts of the link that do not exist."""
    tool = linked.get("tool", "")
    if linked.get("catalog", catalog.name) == catalog.name and tool and tool not in catalog.tool_row:
        st.warning(
            f"Catalog {escaped(catalog.name, 80)} has no tool {escaped(tool, 120)}; choose another.",
            icon=":material/link_off:",
        )
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
    """Title, server, decision, description, hints, and price, time and success with their sources."""
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
    """Returns the place of the tool in the decision, in one sentence."""
    task = f"For “{escaped(decision.subtask, 160)}”"
    if tool_id not in decision.tools.ids:
        return f"{task}: this tool was not in the catalog then."
    row = decision.tool_at(decision.tools.ids.index(tool_id))
    if row.dropped_by is None:
        return f"{task}: **candidate {row.rank} of {len(decision.candidates)}**, U {units.plain(row.utility)}."
    return f"{task}: not a candidate ({row.dropped_by.replace('_', ' ')}), U {units.plain(row.utility)}."


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
    flags = hints.read_only is True, destructive(hints), hints.idempotent is True, hints.open_world is True
    shown = [badge for badge, says in zip(BADGES, flags, strict=True) if says]
    if not shown:
        st.caption("The server gives no hints about side effects.")
        return
    with st.container(horizontal=True, gap="xsmall"):
        for label, icon, colour, help_text in shown:
            st.badge(label, icon=icon, color=colour, help=help_text)


def destructive(hints: ToolHints) -> bool:
    """Tells whether the hints call the tool destructive and not read-only."""
    return hints.destructive is True and hints.read_only is not True


def _metrics(app: App, target: Target) -> None:
    row = target.catalog.tool_row[target.tool.id]
    name, network = target.catalog.name, chosen_network()
    statistics = app.catalogs.statistics(name)
    if network.simulated:
        context = app.catalogs.context(name, with_simulated=network.with_simulated)
        statistics = app.simulated_networks.context(context, network).statistics
    tools, now = statistics.tools, expected(statistics, row, target.catalog.server_row[target.server.name])
    time_s, success, decided, made = now.time_s, now.success, "", target.decision
    # the same figures as on the decision's page, until a call changes them
    if made is not None and made.statistics_version == statistics.version and target.tool.id in made.tools.ids:
        then = made.tool_at(made.tools.ids.index(target.tool.id))
        time_s, success, decided = then.time_cost_s, then.success, " As the decision above had it."
    grid = st.grid(3, min_column_width=120)
    calls = int(tools.calls[row])
    unpriced = int(tools.price_source[row]) == Source.PRIOR
    if made is not None and target.agreed_usd is not None:
        grid.metric(
            "Payment of a call", units.price(target.agreed_usd), border=True, delta="as decided", delta_color="off", delta_arrow="off",
            help=SETTLEMENTS[made.settlement],
        )  # fmt: skip
    else:
        grid.metric(
            "Price of a call", units.price(float(tools.price_usd[row])), border=True, delta_color="off", delta_arrow="off",
            delta="not set" if unpriced else _source(int(tools.price_source[row]), calls),
            help="The price of one call, declared by the catalog or edited on the Catalog page.",
        )  # fmt: skip
    grid.metric(
        "Expected time", units.seconds(time_s), border=True, delta_color="off", delta_arrow="off",
        delta=_source(int(tools.latency_source[row]), calls), help=f"{EXPECTED_TIME} {MEANS}{decided}",
    )  # fmt: skip
    grid.metric(
        "One attempt succeeds", units.share(success), border=True, delta_color="off", delta_arrow="off",
        delta=_source(Source.SIMULATED if network.simulated else int(tools.success_source[row]), calls), help=f"{ATTEMPT_SUCCESS} {MEANS}{decided}",
    )  # fmt: skip


MEANS = "l and r are running means, EHRR (8): each begins at the declared figure, and every call moves it a part of the way."


def _source(code: int, calls: int) -> str:
    source = Source(code)
    return f"after {calls:,} {'call' if calls == 1 else 'calls'}" if source is Source.MEASURED else source.label
