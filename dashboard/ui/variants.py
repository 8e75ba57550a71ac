"""Routers to compare, each with its defaults or with pinned parameters. The URL has one text for each.

ehrr            the router with its defaults
ehrr~k=3~n=5    with two parameters set
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import streamlit as st

from core.app import App
from core.domain.errors import WayfareError
from core.domain.params import Parameters
from dashboard.ui.long_work import AT_ONCE
from dashboard.ui.question import DEFAULT_ROUTER
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState, variant_text

FIRST = ("ehrr", "expected_value", "rag_mcp", "tool_attention", "pa_rag")
READS_ALL = {
    "tool_attention",
    "pa_rag",
}  # at the first decision: 12 s of a processor for the summaries of 100,000 tools, and two further views to embed
MOST = 6
ASKED = "variants:asked"  # the router of the last question, with its knobs


@dataclass(frozen=True, slots=True)
class Variant:
    """A router with its parameters."""

    router: str
    title: str
    parameters: Parameters

    @property
    def text(self) -> str:
        """The variant as a text for the URL."""
        return variant_text(self.router, self.parameters.changed())

    @property
    def name(self) -> str:
        """The title of the router, with the parameters that differ from the defaults."""
        changed = ", ".join(f"{name} = {value}" for name, value in self.parameters.changed().items())
        return f"{self.title} · {changed}" if changed else self.title


def read_variant(app: App, text: str) -> Variant:
    """Returns the variant of a text. Raises WayfareError if a router, parameter or value is unknown."""
    router, *settings = text.split("~")
    pairs = {name: unquote(value) for name, _, value in (setting.partition("=") for setting in settings)}
    parameters = app.routing.parameters(router, pairs)
    title = next(known.title for known in app.routing.routers() if known.id == router)
    return Variant(router, title, parameters)


def choose_variants(
    app: App, state: UrlState, linked: Mapping[str, str], knobs: Mapping[str, str], catalog: str
) -> tuple[Variant, ...]:
    """Draw the choice of all routers and the pinned variants of a link. The router of a new question comes first and replaces the
    router of the previous question. The default choice is used if no part of a link can be used; for a large catalog it is without the
    routers that read every definition at their first decision."""
    known = [router.id for router in app.routing.routers()]
    tools = next((info.tools for info in app.catalogs.infos() if info.name == catalog), 0)
    usual = [name for name in FIRST if name in known and (tools <= AT_ONCE or name not in READS_ALL)]
    values = {name: text for name, text in knobs.items() if name != "router"}
    asked = variant_text(knobs.get("router", DEFAULT_ROUTER), values) if knobs else ""
    first = [asked] if asked else []
    wanted = linked["with"].split(",") if linked.get("with") else [*first, *(name for name in usual if name != asked)]
    key = state.key("with")
    before, st.session_state[ASKED] = st.session_state.get(ASKED, ""), asked
    if asked != before:
        others = [text for text in st.session_state.pop(key, wanted) if text not in {asked, before}]
        wanted = [*first, *others] or usual
    wanted = wanted[:MOST]
    variants: dict[str, Variant] = {name: read_variant(app, name) for name in known}
    faults: dict[str, None] = st.session_state.setdefault(f"{key}.faults", {})  # shown until the choice changes
    for text in wanted:
        try:
            variants.setdefault(text, read_variant(app, text))
        except WayfareError as error:
            faults[str(error)] = None
    for fault in faults:
        st.warning(f"A part of the link was not used: {escaped(fault)}", icon=":material/link_off:")
    if key not in st.session_state:
        st.session_state[key] = [text for text in wanted if text in variants][:MOST] or usual
    chosen: Sequence[str] = st.multiselect(
        "Routers to compare", list(variants), key=key, format_func=lambda text: variants[text].name, max_selections=MOST,
        placeholder="Choose two or more", on_change=faults.clear, help="“Compare with” above puts a preset beside the present state.",
    )  # fmt: skip
    return tuple(variants[text] for text in chosen)
