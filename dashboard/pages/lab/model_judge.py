"""A model as judge, below the pool: first over what people graded, with their agreement; then over the rest; then, if wanted, counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app import App
from core.domain.feedback import GRADE_WORDS, AskedQuery, Judgment
from core.services.background_jobs import Job
from core.services.lab.judgments import Checked
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.job import begin, start_button, taken
from dashboard.ui.choice_table import table_height
from dashboard.ui.text import escaped

JUDGING = "model judge"
Pairs = Sequence[tuple[AskedQuery, str]]


def model_judge(app: App, catalog: str, set_name: str, pool: Pairs) -> None:
    """All of it; `pool` is what is to be judged beside what people judged."""
    judge = app.model_judge
    box = st.expander("A model as judge", key="lab:model-judge", icon=":material/smart_toy:", on_change="rerun")
    if not box.open:
        return
    with box:
        if not judge.name:
            st.caption(
                "No model is set. With WAYFARE_LLM_MODEL in the environment it can grade beside people, explained for each grade."
            )
            return
        if done := taken(JUDGING):
            st.success(f"{done:,} grades by {escaped(judge.name, 80)}.", icon=":material/check:")
        open_pairs, checked = judge.to_check(catalog, set_name), judge.checked(catalog, set_name)
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        start_button(
            row, f"Grade what people graded ({len(open_pairs):,})", partial(_begin, app, catalog, set_name, open_pairs),
            key="lab:model-check", icon=":material/fact_check:", disabled=not open_pairs,
        )  # fmt: skip
        if checked is None:
            st.caption(
                f"{escaped(judge.name, 80)} grades what people graded first: how far it agrees with them is shown before it is used."
            )
            return
        _agreement(checked)
        _rest(app, catalog, set_name, pool, row)


def _agreement(checked: Checked) -> None:
    found = checked.agreement
    alpha = "not defined yet" if found.alpha is None else f"{found.alpha:.3f}"
    bounds = "" if found.low is None or found.high is None else f" (95 % {found.low:.3f} to {found.high:.3f})"
    st.markdown(
        f"**Krippendorff's α with people: {alpha}**{bounds}; the same grade on {found.same:,} of {found.shared:,}."
    )
    if checked.differ:
        frame = pd.DataFrame([_line(*pair) for pair in checked.differ])
        st.dataframe(frame, hide_index=True, key="lab:model-differ", height=table_height(len(frame)), row_height=32)


def _line(person: Judgment, model: Judgment) -> dict[str, str]:
    return {
        "sub-task": one_line(person.subtask, 120),
        "tool": one_line(person.tool, 80),
        "people": f"{person.grade} {GRADE_WORDS[person.grade or 0]} ({one_line(person.judge, 40)})",
        "model": f"{model.grade} {GRADE_WORDS[model.grade or 0]}",
        "why, says the model": one_line(model.note, 200),
    }


def _rest(app: App, catalog: str, set_name: str, pool: Pairs, row: DeltaGenerator) -> None:
    judge = app.model_judge
    grades, counting = judge.grades(catalog, set_name), judge.counting(catalog, set_name)
    rest = [pair for pair in pool if pair not in grades]
    start_button(
        row, f"Grade the rest of the pool ({len(rest):,})", partial(_begin, app, catalog, set_name, rest),
        key="lab:model-rest", icon=":material/playlist_play:", disabled=not rest,
    )  # fmt: skip
    row.button(
        f"Count its {len(grades):,} grades in this set", key="lab:model-count", icon=":material/add_task:",
        disabled=len(counting) == len(grades), on_click=judge.count, args=(catalog, set_name),
        help="Adds the model as a further judge. Where judges differ, the set's rule decides. The next button takes the grades back.",
    )  # fmt: skip
    if counting:
        row.button(
            "Take them back",
            key="lab:model-discount",
            icon=":material/undo:",
            on_click=judge.discount,
            args=(catalog, set_name),
        )
        st.caption(f"{len(counting):,} grades of the model count in this set.")


def _begin(app: App, catalog: str, set_name: str, pairs: Pairs) -> None:
    def work(job: Job) -> int:
        return app.model_judge.judge(catalog, set_name, pairs, job.report)

    begin(JUDGING, "The model grades", len(pairs), work)
