"""The form of a sub-task, and the notes about index and planner below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.progress import Step
from core.importers.shipped_catalogs import starting_subtasks
from core.planning.base import Usage
from dashboard.session import here
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

DEFAULT_ROUTER = "ehrr"
LONGEST = 20_000  # characters of a sub-task


@dataclass(frozen=True, slots=True)
class QueryForm:
    """The values of the row."""

    subtask: str
    hint: str
    catalog: str
    router: str

    def texts(self, first_catalog: str) -> dict[str, str]:
        """Returns the texts for the URL, "" for defaults."""
        return {
            "q": self.subtask,
            "hint": self.hint,
            "catalog": "" if self.catalog == first_catalog else self.catalog,
            "router": "" if self.router == DEFAULT_ROUTER else self.router,
        }


def query_row(app: App, state: UrlState, linked: Mapping[str, str], first_catalog: str) -> QueryForm:
    """Draw the row and return its values."""
    grid = st.grid(2, min_column_width=400, gap="small", vertical_alignment="bottom")
    subtask = grid.text_input(
        "What is needed?", _text(state, linked, "q"), key=state.key("q"), placeholder="For example: convert 300 miles to kilometres",
        icon=":material/search:", max_chars=LONGEST,
    )  # fmt: skip
    row = grid.container(horizontal=True, vertical_alignment="bottom", gap="small")
    server_hint = row.text_input(
        "Server hint (optional)", _text(state, linked, "hint"), key=state.key("hint"), placeholder="kind of server",
        help="The kind of server. It is compared only with the texts of servers.",
    )  # fmt: skip
    catalogs = [info.name for info in app.catalogs.infos()]
    start = _start(state, "catalog", catalogs, linked.get("catalog", first_catalog))
    catalog = row.selectbox("Catalog", catalogs, start, key=state.key("catalog"), width=150)
    _warn_if_missing("catalog", catalog, catalogs, linked)
    routers = {router.id: router.title for router in app.routing.routers()}
    start = _start(state, "router", list(routers), linked.get("router", DEFAULT_ROUTER))
    router = row.selectbox(
        "Router", list(routers), start, key=state.key("router"), format_func=routers.__getitem__, width=140,
    )  # fmt: skip
    _warn_if_missing("router", router, list(routers), linked)
    return QueryForm(subtask.strip(), server_hint.strip(), catalog, router)


def example_subtasks(state: UrlState, catalog: str, *, count: int = 6) -> None:
    """Buttons with example sub-tasks of a catalog. A click fills the field."""
    grid = st.grid(2, min_column_width=320, gap="xsmall")
    for number, subtask in enumerate(starting_subtasks(catalog, count)):
        grid.button(
            escaped(subtask, 120), key=f"{state.key('example')}:{number}", icon=":material/north_east:", on_click=fill,
            args=({state.key("q"): subtask},),
        )  # fmt: skip


def fill(values: Mapping[str, str]) -> None:
    """Set fields by their session keys. For `on_click`."""
    st.session_state.update(values)


def _text(state: UrlState, linked: Mapping[str, str], name: str) -> str:
    """Returns the default of a text field. Gives a field without a text the linked one."""
    text = linked.get(name, "")
    if state.begins and len(text) <= LONGEST:  # the page host drops a longer default
        return text
    st.session_state.setdefault(state.key(name), text)
    return ""


def _start(state: UrlState, name: str, options: Sequence[str], value: str) -> int:
    """Returns the place of the default option. Gives a choice without a usable value its first value."""
    start = value if value in options else options[0]
    if not state.begins and st.session_state.get(state.key(name)) not in options:
        st.session_state[state.key(name)] = start
    return options.index(start) if state.begins else 0


def _warn_if_missing(kind: str, shown: str, options: Sequence[str], linked: Mapping[str, str]) -> None:
    """Warn if a link names an unknown option."""
    if (wanted := linked.get(kind, shown)) not in options:
        st.warning(
            f"There is no {kind} {escaped(wanted, 80)}; this is {escaped(shown, 80)}.", icon=":material/link_off:"
        )


TITLE = "Getting ready for the first decision"
BEGIN = Step("Reading the catalog", after="texts without vectors are embedded")
NOTE = "Only the first time takes this long. You can leave this page meanwhile."
POLL_S = 0.2


@dataclass(slots=True)
class Preparation:
    """The finished steps of a preparation, and the current one."""

    finished: list[str] = field(default_factory=list[str])
    step: Step = BEGIN

    def observe(self, step: Step | None) -> None:
        """Take over the reported step. None is reported between two steps.

        >>> preparation = Preparation()
        >>> for reported in (None, Step("Exporting"), Step("Embedding", 1, 2), None, Step("Embedding", 2, 2)):
        ...     preparation.observe(reported)
        >>> preparation.finished, preparation.share
        (['Reading the catalog', 'Exporting'], 1.0)
        """
        if step is None:
            return
        if step.what != self.step.what and self.step.what not in self.finished:
            self.finished.append(self.step.what)
        self.step = step

    @property
    def share(self) -> float:
        """The finished share of the current step, in [0, 1]; 0 if it cannot be counted."""
        return min(1.0, self.step.done / self.step.total) if self.step.total else 0.0


def show_preparing(app: App, catalog: str, *, decides: bool = False) -> None:
    """Show the preparation of a catalog until it is ready. Raises WayfareError if the catalog cannot be prepared.

    With `decides` a decision follows, so it waits for the encoders too. The work runs in the background: the page can be used or
    left meanwhile, and a second page waits for the same work.
    """
    place = st.empty()  # drawn in every run: charts below an element that comes and goes would be made anew
    if app.catalogs.is_ready(catalog) if decides else app.catalogs.is_prepared(catalog):
        return
    job = app.readiness.begin(catalog, link=here()) if decides else None
    if job is None:
        job = app.background.start(
            f"index of {catalog}",
            lambda job: app.catalogs.prepare(catalog, job.report),
            title=f"Embedding {catalog}",
            link=here(),
        )
    preparation = Preparation()
    while not job.wait(POLL_S):
        preparation.observe(app.startup.step)
        with place.container(border=True, gap="xsmall"):
            _draw(preparation, job)
    app.background.forget(job)
    place.empty()
    try:
        job.future.result()
    except Stopped:
        raise WayfareError(f"The preparation of {catalog} was stopped. Open the page again to go on.") from None


def _draw(preparation: Preparation, job: Job) -> None:
    st.markdown(f"**{TITLE}** :gray[· {job.elapsed_s:.0f} s{units.time_left(job.left_s)}]")
    for name in preparation.finished:
        st.markdown(f":small[:green[:material/check:] {escaped(name)}]")
    st.progress(preparation.share, text=escaped(str(preparation.step)))
    st.caption(NOTE)


def planner_usage(app: App) -> None:
    """Shows the use of the planner's model. It is the last line of a page, because it changes with every request."""
    usage = app.routing.planner_usage()
    if usage is not None:
        st.caption(f":material/smart_toy: {_line(usage)}")


def _line(usage: Usage) -> str:
    """
    >>> _line(Usage("small", calls=2, failed=1, input_tokens=1200, output_tokens=80, cost_usd=0.0, cache_hits=3))
    'small since the start: 2 replies, 1,200 tokens read, 80 written, 0 m\\\\$; 3 from the cache, 1 failed, 0 invented names refused.'
    >>> "price not known" in _line(Usage("small", calls=1, cost_usd=None))
    True
    """
    cost = "price not known" if usage.cost_usd is None else escaped(units.price(usage.cost_usd))
    return (
        f"{escaped(usage.model, 60)} since the start: {usage.calls:,} replies, {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written, {cost}; {usage.cache_hits:,} from the cache, {usage.failed:,} failed, "
        f"{usage.invented:,} invented names refused."
    )
