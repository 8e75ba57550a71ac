"""What a page shows while a catalog gets ready for its first decision: what is done, how far it is, and what comes next."""

from __future__ import annotations

from dataclasses import dataclass, field

import streamlit as st

from core.app import App
from core.shared.progress import Step
from dashboard.ui.text import escaped

TITLE = "Getting ready for the first decision"
BEGIN = Step("Reading the catalog", after="its texts are embedded where they have no vectors yet")
NOTE = "Only the first time takes this long. It goes on when you leave this page."
POLL_S = 0.2


@dataclass(slots=True)
class Preparation:
    """The steps of a preparation as a page sees them: those that are finished, and the one under way."""

    finished: list[str] = field(default_factory=list[str])
    step: Step = BEGIN

    def observe(self, step: Step | None) -> None:
        """Take over what is reported now; between two steps nothing is.

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
        """How far the step under way is, in [0, 1]; 0 where it cannot be counted."""
        return min(1.0, self.step.done / self.step.total) if self.step.total else 0.0


def show_preparing(app: App, catalog: str, *, decides: bool = False) -> None:
    """Nothing where the catalog is ready; else its preparation until it is. Raises WayfareError as the catalog does.

    `decides`: a decision follows, so the encoders are waited for too. The work is done in the background, so that the page
    can be used or left meanwhile, even where another catalog is being embedded first; a second page waits for the same work.
    """
    place = st.empty()  # there in every run: charts below an element that comes or goes would be made anew
    if app.is_ready(catalog) if decides else app.catalogs.is_prepared(catalog):
        return
    prepare = app.make_ready if decides else app.catalogs.prepare
    key = f"{'decisions' if decides else 'index'} of {catalog}"
    job, preparation = app.background.start(key, lambda _: prepare(catalog)), Preparation()
    while not job.wait(POLL_S):
        preparation.observe(app.startup.step)
        with place.container(border=True, gap="xsmall"):
            _draw(preparation, job.elapsed_s)
    app.background.forget(job)
    job.future.result()
    place.empty()


def _draw(preparation: Preparation, elapsed_s: float) -> None:
    st.markdown(f"**{TITLE}** :gray[· {elapsed_s:.0f} s]")
    for name in preparation.finished:
        st.markdown(f":small[:green[:material/check:] {escaped(name)}]")
    st.progress(preparation.share, text=escaped(str(preparation.step)))
    st.caption(NOTE)
