"""Work in the background on a page: its progress with Stop, the reason of its end, a button that starts it again, and the preparation of a catalog."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from core.app import App
from core.catalogs.background_jobs import Job, Stopped
from core.domain import units
from core.domain.errors import WayfareError
from core.domain.progress import Step
from core.planning.base import Usage
from dashboard.session import current_app, here, known_job, only, start_job
from dashboard.ui.text import escaped, progress_words

AT_ONCE = 5_000  # tools of a catalog: work that grows with them takes more than a moment beyond


def work_first(key: str, work: Callable[[Job], object], *, title: str) -> None:
    """Start the work unless it is known, and draw its progress, or a button that starts it again.

    A view calls it as long as the result is not there. `key` names the work and its input.
    """

    def start() -> None:
        start_job(key, work, title, title=title)

    def words(job: Job) -> str:
        # texts without a vector are embedded first, which may take much longer than the work
        step = current_app().startup.step
        step_text = f" {escaped(str(step))}" if step is not None and step.total else ""
        return f"{escaped(job.title, 80)}: {share_of(job):.0%}{units.time_left(job.left_s)}.{step_text} You can leave this page meanwhile."

    job = known_job(key)
    if job is None or job.result is not None:  # of an earlier state of the catalog
        start()
        job = known_job(key)
    if job is not None and job.under_way:
        job_progress(job, lambda job: (share_of(job), words(job)), stop=f"{key}.stop")
    elif job is not None:
        _ended(f"{escaped(title, 80)}: {progress_words(job)}.", key, start)


def by_words_first(app: App, catalog: str) -> None:
    """Begin to make the vectors of a catalog without vectors, and draw the progress while words alone decide. The page is drawn anew when
    they are there. Draws nothing for a catalog that is ready, or soon is."""
    place = st.container()  # drawn in every run: charts below an element that comes and goes would be made anew
    job = app.readiness.soon(catalog, link=here())
    if job is None:
        return

    def told(_: Job) -> tuple[float, str]:
        embedding, step = app.catalogs.embedding(catalog), app.startup.step
        # before the first text the encoder is made or opened
        step_text = f" {escaped(str(step))}" if step is not None and not embedding.of else ""
        return embedding.share, f"{embedding}{step_text}"

    with place:
        if job.under_way:
            job_progress(job, told, stop="by-words.stop")
        else:
            words = (
                f"By words alone, because the vectors are not there. {escaped(job.title, 80)}: {progress_words(job)}."
            )
            _ended(words, "by-words", lambda: app.background.forget(job))


def share_of(job: Job) -> float:
    """Returns the finished share of a job, in [0, 1]."""
    return min(job.done / job.of, 1.0) if job.of else 0.0


@st.fragment(run_every=0.5)
def job_progress(job: Job, told: Callable[[Job], tuple[float, str]], *, stop: str = "") -> None:
    """Draw the share and the words of a job, by `told`, until it ends. Then the page is drawn anew. `stop` is the key of a button that
    stops it, "" for none."""
    if not job.under_way:
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(*told(job))
        if stop:
            st.button("Stop", key=stop, **only("tune"), icon=":material/stop:", on_click=job.end)


def job_error(job: Job, unexpected: str) -> None:
    """Draw why a job ended without a result. `unexpected` has a place for the name of an error that is not ours."""
    if isinstance(job.error, Stopped):
        st.info("Stopped.", icon=":material/stop_circle:")
    elif isinstance(job.error, WayfareError):
        st.warning(escaped(str(job.error), 600), icon=":material/info:")
    elif job.error is not None:
        st.error(unexpected.format(type(job.error).__name__))


def _ended(words: str, key: str, again: Callable[[], None]) -> None:
    st.info(words, icon=":material/pending_actions:")
    st.button("Start again", key=f"{key}.again", icon=":material/refresh:", on_click=again)


TITLE = "Getting ready for the first decision"
BEGIN = Step("Reading the catalog", after="texts without vectors are embedded")
NOTE = "Only the first time takes this long. You can leave this page meanwhile."
POLL_S = 0.2


@dataclass(slots=True)
class Preparation:
    """The finished steps of a preparation, and the current step."""

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
            _steps(preparation, job)
    app.background.forget(job)
    place.empty()
    try:
        job.future.result()
    except Stopped:
        raise WayfareError(f"The preparation of {catalog} was stopped. Open the page again to go on.") from None


def _steps(preparation: Preparation, job: Job) -> None:
    st.markdown(f"**{TITLE}** :gray[· {job.elapsed_s:.0f} s{units.time_left(job.left_s)}]")
    for name in preparation.finished:
        st.markdown(f":small[:green[:material/check:] {escaped(name)}]")
    st.progress(preparation.share, text=escaped(str(preparation.step)))
    st.caption(NOTE)


def planner_usage(app: App) -> None:
    """Shows the use of the planner's model. It is the last line of a page, because it changes with every request."""
    usage = app.routing.planner_usage()
    if usage is not None:
        st.caption(f":material/smart_toy: {_used(usage)}")


def _used(usage: Usage) -> str:
    """
    >>> _used(Usage("small", calls=2, failed=1, input_tokens=1200, output_tokens=80, cost_usd=0.0, cache_hits=3))
    'small since the start: 2 replies, 1,200 tokens read, 80 written, 0 m\\\\$; 3 from the cache, 1 failed, 0 invented names refused.'
    >>> "price not known" in _used(Usage("small", calls=1, cost_usd=None))
    True
    """
    cost = "price not known" if usage.cost_usd is None else escaped(units.price(usage.cost_usd))
    return (
        f"{escaped(usage.model, 60)} since the start: {usage.calls:,} replies, {usage.input_tokens:,} tokens read, "
        f"{usage.output_tokens:,} written, {cost}; {usage.cache_hits:,} from the cache, {usage.failed:,} failed, "
        f"{usage.invented:,} invented names refused."
    )
