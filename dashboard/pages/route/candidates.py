"""The candidates as cards: price, expected time, success, schema tokens, and the call button."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import streamlit as st

from core.domain import units
from core.domain.decision import Decision
from core.domain.trace import ToolRow
from core.routers.why import IF_ANYTHING, condition
from dashboard.ui.chart import live
from dashboard.ui.labels import LABELS_HELP, Labelling, asked_like, label_bar, label_notice, moved_words
from dashboard.ui.layer import MARK
from dashboard.ui.text import as_html
from dashboard.ui.url_state import open_page

HELP = f"Calibrated probability that the tool fits{IF_ANYTHING}, price of a call, expected seconds until success, chance that one attempt succeeds, tokens of the definition."
CARD = "card"
WRITES = ' <span class="wayfare-badge" title="It changes something, and the question asks to know: look at the others first.">writes</span>'
ACTIONS = "route:actions"


def candidate_cards(known: Labelling, html: Mapping[str, str], linked: Mapping[str, str], *, height: int) -> None:
    """Draw a card for each candidate, best first. `html` has the cards by `card_key`, `linked` the texts of a link to this query."""
    decision, texts = known.decision, dict(linked)
    with st.container(height=height, border=False, gap="xxsmall", key="route:candidates"):
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.markdown("**4 · Candidates**", help=HELP, width="content")
            _links(texts)
        label_notice(known, CARD, now=decision)
        asked = asked_like(known.app, decision, [decision.tools.ids[row] for row in decision.candidates])
        for place, row in enumerate(decision.candidates):
            with st.container(border=True, gap="xxsmall"):
                about, button = st.columns([3, 1.15], vertical_alignment="center", gap="xxsmall")
                with about:
                    live(html[card_key(place)], key=card_key(place))
                with button, st.container(key=f"{ACTIONS}:call:{place}"):
                    _call(known, decision.tool_at(row), texts)
                live(html[numbers_key(place)], key=numbers_key(place))
                with st.container(gap="xxsmall", key=f"{ACTIONS}:{place}"):
                    _judge(known, decision.tool_at(row), asked)


def card_key(place: int) -> str:
    """Returns the key of the card of a candidate, counted from 0."""
    return f"route:card:{place}"


def numbers_key(place: int) -> str:
    """Returns the key of the numbers of a candidate."""
    return f"route:card:{place}:numbers"


def card(decision: Decision, row: int, supposed: Collection[str] = ()) -> str:
    """Returns HTML: a candidate with its score, marked if one of its figures is `supposed`."""
    tool = decision.tool_at(row)
    server, name = tool.tool.split("::", 1)
    star = '<span class="wayfare-star">★</span> ' if tool.rank == 1 else ""
    score = "U" if decision.economic else as_html(decision.score)
    return (
        f'{star}<strong>{as_html(name, 40)}</strong> <small class="wayfare-faint">{as_html(server, 40)}</small>'
        f"{MARK if tool.tool in supposed else ''}{WRITES if row in decision.writing else ''}<br>"
        f"<small>{score} <strong>{units.plain(tool.utility)}</strong>{_fit(decision, row)}</small>"
    )


def numbers(tool: ToolRow) -> str:
    """Returns HTML: price, expected time, success and tokens of a candidate."""
    figures = (
        units.price(tool.price_usd), units.seconds(tool.time_cost_s), units.share(tool.success), f"{tool.tokens:,} tokens",
    )  # fmt: skip
    return f"<small>{' · '.join(as_html(figure) for figure in figures)}</small>"


def _links(texts: dict[str, str]) -> None:
    """Draw buttons that open the query on other pages."""
    with st.container(horizontal=True, width="content", gap="xsmall"):
        if st.button(
            "", icon=":material/compare_arrows:", key="route:compare", type="tertiary", help="Compare routers"
        ):
            open_page("compare", **texts)
        if st.button("", icon=":material/tune:", key="route:whatif", type="tertiary", help="What if"):
            open_page("whatif", **texts)
        if st.button("", icon=":material/scatter_plot:", key="route:map", type="tertiary", help="Show on the map"):
            open_page("map", **texts)


def _call(known: Labelling, tool: ToolRow, texts: dict[str, str]) -> None:
    """Draw the button to the Call page, with the decision if it is recorded."""
    decision = known.decision
    kind = "primary" if tool.rank == 1 else "secondary"
    if st.button("Call", key=f"route:call:{tool.tool}", type=kind, width="stretch"):
        recorded = {} if known.supposed else {"decision": decision.id}
        open_page("call", **{**texts, "catalog": decision.catalog, "tool": tool.tool, **recorded})


def _judge(known: Labelling, tool: ToolRow, asked: Mapping[str, str]) -> None:
    """Draw the near request of a candidate, its shift by labels, and the label buttons."""
    if tool.tool in asked:
        st.markdown(asked[tool.tool])
    if moved := moved_words(known.moves.get(tool.tool, ()), known.learnt(tool.tool)):
        st.markdown(f":small[{moved}]", help=LABELS_HELP)
    label_bar(known, tool.tool, CARD)


def _fit(decision: Decision, row: int) -> str:
    """Returns the probability that the tool fits, or "" if it was not estimated."""
    if decision.fit is None:
        return ""
    return f" · fits {units.share(float(decision.fit.tools[row]))}{condition(decision.fit)}"
