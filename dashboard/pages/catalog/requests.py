"""Example requests on the Catalog page: the requests of one tool, and a prompt for a model that writes the missing requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from zlib import crc32

import streamlit as st

from core.app import App
from core.domain.catalog import Catalog, Tool
from core.domain.errors import WayfareError
from core.domain.findings import Findable
from core.domain.tasks import MOST_CHARACTERS, MOST_REQUESTS, Request
from core.learning.requests import MODEL
from dashboard.session import only
from dashboard.ui.first_look import FOLD, begin_first_look
from dashboard.ui.labels import labeller
from dashboard.ui.table import PLAIN
from dashboard.ui.text import counted, escaped

SAID = "catalog:requests.said"
SOURCE_WORDS = {
    "shipped": "comes with Wayfare", "catalog": "from the catalog's file", "model": "a model wrote it",
    "client": "a connected agent wrote it", "operator": "by hand",
}  # fmt: skip
HELP = (
    "What somebody says who needs exactly this tool, one a line. Decisions compare a question with them. "
    f"A tool has at most {MOST_REQUESTS} of at most {MOST_CHARACTERS} characters."
)


def requests_fold(app: App, catalog: Catalog, tool: Tool) -> None:
    """Draw the requests of a tool in a fold, which is open after a change."""
    requests = app.requests.of_catalog(catalog.name).get(tool.id, ())
    offered = [text for text in tool.offered if text not in {request.text for request in requests}]
    key = f"catalog.requests.{catalog.name}.{tool.id}"
    about, sentence, done = st.session_state.get(SAID, ("", "", True))
    label = f"Example requests: {len(requests)}{f', {len(offered)} offered by the server' if offered else ''}"
    with st.expander(label, icon=":material/forum:", key=f"{key}.fold", expanded=about == key):
        if about == key:
            (st.success if done else st.error)(escaped(sentence, 600))
        if requests:
            _listed(app, catalog.name, tool.id, requests, key)
        else:
            st.caption("No example requests. The tool is found by its own texts alone.")
        if offered:
            _offered(app, catalog.name, tool.id, offered, key)
        with st.form(f"{key}.form", border=False):
            st.text_area("Add requests, one a line", key=f"{key}.new", height=80, help=HELP)
            with st.container(horizontal=True):
                st.form_submit_button("Add", icon=":material/add:", key=f"{key}.add", **only("tune"), on_click=_add, args=(app, catalog.name, tool.id, key))  # fmt: skip
                st.form_submit_button(
                    "Undo the newest change", icon=":material/undo:", key=f"{key}.undo", on_click=_undo,
                    args=(app, catalog.name, key), **only("tune", help="The newest change of requests of this catalog, of any tool."),
                )  # fmt: skip


def _listed(app: App, catalog: str, tool: str, requests: Sequence[Request], key: str) -> None:
    uncounted = app.requests.uncounted(catalog).get(tool, {}) if app.catalogs.is_prepared(catalog) else {}
    for number, request in enumerate(requests):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            note = " · :orange[stale: the tool has changed since]" if request.stale else ""
            note += f" · :orange[does not count: {uncounted[request.text]}]" if request.text in uncounted else ""
            st.markdown(f"{escaped(request.text)} :small[:gray[{SOURCE_WORDS[request.source]}]{note}]", width="stretch")
            st.button(
                "", key=f"{key}.remove.{number}", icon=":material/delete:", type="tertiary", **only("tune", help="Remove this request"),
                on_click=_acted, args=(key, "Removed.", partial(app.requests.remove, catalog, tool, [request.text], labeller())),
            )  # fmt: skip


def _offered(app: App, catalog: str, tool: str, offered: Sequence[str], key: str) -> None:
    """Draw the requests that the server offers for its own tool. They count after they are accepted."""
    st.markdown(f"**The server offers {len(offered)}**, which do not count until you accept them:")
    st.markdown("\n".join(f"- {escaped(text)}" for text in offered))
    st.button(
        "Accept them", key=f"{key}.accept", **only("tune"), icon=":material/check:",
        on_click=_acted, args=(key, "Accepted.", partial(app.requests.accept_offered, catalog, tool, labeller())),
    )  # fmt: skip


def _add(app: App, catalog: str, tool: str, key: str) -> None:
    texts = [line for line in st.session_state[f"{key}.new"].splitlines() if line.strip()]

    def add() -> str:
        report = app.requests.add_by_hand(catalog, tool, texts, labeller())
        st.session_state[f"{key}.new"] = ""
        left_out = "".join(f" Left out: {skip.why}." for skip in report.skipped)
        return f"Added {report.requests}.{left_out}"

    _acted(key, "", add)


def _undo(app: App, catalog: str, key: str) -> None:
    def undo() -> str:
        change = app.requests.undo(catalog, labeller())
        return f"The change of {change.at:%Y-%m-%d %H:%M} UTC is taken back. Requests: {change.requests}, tools: {change.tools}."

    _acted(key, "", undo)


def _acted(key: str, sentence: str, act: Callable[[], object]) -> None:
    """Act, and keep the sentence, the result of `act`, or its error for the fold."""
    try:
        result = act()
    except WayfareError as error:
        st.session_state[SAID] = (key, str(error), False)
        return
    st.session_state[SAID] = (key, sentence or str(result), True)


MOST_TOOLS = 20  # in one prompt
MISSING, WORST = "Without requests", "Seldom found"
WRITTEN, SKIPPED_SHOWN = "catalog:requests.written", 8
UNCOUNTED_TOOLS, UNCOUNTED_SHOWN = 20, 12


def lacking_requests(app: App, catalog: str, found: Findable | None, *, expanded: bool = False) -> None:
    """Say how many tools lack requests, with a prompt that has any model write them, and a place for its answer.

    `found` is the estimate, which names the tools that are seldom found.
    """
    lacking = app.requests.lacking(catalog)
    seldom = [tool.tool for tool in found.seldom] if found is not None else []
    sentence, skipped, done = st.session_state.get(WRITTEN, {}).get(catalog, ("", (), True))
    if not (lacking or seldom or sentence):
        return
    label = (
        f"**{counted(len(lacking), 'tool')} without requests**"
        if lacking
        else "Write more requests for what is seldom found"
    )
    with st.expander(
        f"{label}: let a model write them", icon=":material/edit_note:", key="catalog.requests.write",
        expanded=expanded or bool(sentence) or st.session_state.pop(FOLD, False)
    ):  # fmt: skip
        if sentence:
            (st.success if done else st.error)(escaped(sentence, 600))
            st.markdown("\n".join(f"- :small[:gray[{escaped(line, 300)}]]" for line in skipped))
        offers = {name: tools for name, tools in ((MISSING, lacking), (WORST, seldom)) if tools}
        if not offers:
            return
        copied, pasted = st.columns(2, gap="medium")
        with copied:
            _prompt(app, catalog, offers)
        with pasted:
            _answer(app, catalog)


def uncounted_requests(app: App, catalog: str) -> None:
    uncounted = app.requests.uncounted(catalog)
    if not uncounted:
        return
    count = sum(map(len, uncounted.values()))
    with st.expander(
        f"{counted(count, 'request')} of {counted(len(uncounted), 'tool')} {'does' if count == 1 else 'do'} not count",
        icon=":material/block:",
    ):
        st.caption(
            "They take part in no decision, so that a tool attracts only what is its own. Word them for this tool alone, or remove them."
        )
        for tool, requests in [*uncounted.items()][:UNCOUNTED_TOOLS]:
            lines = [f"- :small[“{escaped(text, 200)}” :gray[{why}]]" for text, why in requests.items()]
            more = f"\n- :small[and {len(lines) - UNCOUNTED_SHOWN:,} more]" if len(lines) > UNCOUNTED_SHOWN else ""
            st.markdown(f"**{escaped(tool, 160)}**\n" + "\n".join(lines[:UNCOUNTED_SHOWN]) + more)
        if len(uncounted) > UNCOUNTED_TOOLS:
            st.caption(f"and {len(uncounted) - UNCOUNTED_TOOLS:,} more tools")


def _prompt(app: App, catalog: str, offers: Mapping[str, Sequence[str]]) -> None:
    st.markdown(
        "**1 · Copy a prompt**", help="For any chat model. It has the definitions of the chosen tools, marked as data."
    )
    name = st.segmented_control("Tools", list(offers), default=next(iter(offers)), required=True, key="catalog.requests.which",
        format_func=lambda choice: f"{choice}: {len(offers[choice]):,}", label_visibility="collapsed") if len(offers) > 1 else next(iter(offers))  # fmt: skip
    tools = offers[name][:PLAIN]
    chosen = st.multiselect(
        f"Tools, at most {MOST_TOOLS} at once", tools, tools[:MOST_TOOLS], max_selections=MOST_TOOLS,
        key=f"catalog.requests.tools.{crc32(repr((catalog, tools)).encode())}",
    )  # fmt: skip
    if chosen:
        st.code(app.requests.prompt(catalog, chosen), language=None, wrap_lines=True, height=220)


def _answer(app: App, catalog: str) -> None:
    key = f"catalog.requests.answer.{catalog}"
    with st.form(f"{key}.form", border=False):
        st.markdown("**2 · Paste the answer**")
        st.text_area(
            "JSON Lines", key=key, height=300, placeholder='{"tool": "server::tool", "requests": ["...", "..."]}',
            label_visibility="collapsed",
        )  # fmt: skip
        st.form_submit_button("Take", icon=":material/check:", key=f"{key}.take", **only("tune"), on_click=_take, args=(app, catalog, key))  # fmt: skip


def _take(app: App, catalog: str, key: str) -> None:
    notices = st.session_state.setdefault(WRITTEN, {})
    try:
        report = app.requests.import_file(
            st.session_state[key].encode("utf-8", "replace"), source_file="The answer", catalog=catalog, source=MODEL, by=labeller()
        )  # fmt: skip
    except WayfareError as error:
        notices[catalog] = (str(error), (), False)
        return
    begin_first_look(app, catalog)
    st.session_state[key] = ""
    left_out = f" Skipped: {len(report.skipped):,}." if report.skipped else ""
    lines = [f"Line {skip.line}: {skip.why}" for skip in report.skipped[:SKIPPED_SHOWN]]
    notices[catalog] = (
        f"Taken: {counted(report.requests, 'request')} of {counted(report.tools, 'tool')}.{left_out}",
        lines,
        True,
    )
