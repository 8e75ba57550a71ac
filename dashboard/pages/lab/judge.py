"""Judging a pool: the first tools of every compared run, one after the other, in an order that does not tell whose they are.

Owns the keys `lab:pool*`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from core.app import App
from core.domain.feedback import GRADE_WORDS, GRADES, MOST_NOTE_CHARACTERS, Judgment
from core.domain.lab_runs import LabRun
from core.lab.agreement import Pooled
from core.shared.errors import WayfareError
from dashboard.pages.lab.fields import choose_some
from dashboard.pages.lab.judgment_sets import judgment_set
from dashboard.pages.lab.model_judge import model_judge
from dashboard.pages.lab.names import run_names
from dashboard.pages.lab.pooled_tool import pooled_tool
from dashboard.pages.lab.run import Chosen
from dashboard.pages.lab.tasks import JUDGED
from dashboard.ui.judging import choose_set, set_and_judge
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

POOL, AT, NOTE, ERROR, TASKS = "lab:pool", "lab:pool-at", "lab:pool-note", "lab:pool-error", "lab:pool-tasks"
FIRST_RUNS, FIRST_DEPTH, MOST_DEPTH = 6, 5, 100
Made = tuple[object, tuple[Pooled, ...]]


def judge_view(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    """All of it; what it puts into the URL."""
    tasks = chosen.tasks
    if (
        tasks.rule and st.session_state.get(TASKS) != tasks.option
    ):  # a judgment set as tasks is the one that is judged into
        choose_set(tasks.option.removeprefix(JUDGED), "lab")
    st.session_state[TASKS] = tasks.option
    row = st.container(horizontal=True, vertical_alignment="bottom", gap="small")
    set_name, judge = set_and_judge(row, app, chosen.catalog, "lab")
    runs = app.judgments.runs_to_pool(chosen.catalog, tasks.tasks, tasks.source)
    texts: dict[str, str] = {}
    if runs:
        key, wanted = state.key("depth"), linked.get("depth", "")
        start = int(wanted) if wanted.isdecimal() else FIRST_DEPTH
        st.session_state.setdefault(key, min(max(1, start), MOST_DEPTH))
        depth = row.number_input(
            "Depth k", 1, MOST_DEPTH, key=key, width=120, help="The first k tools of each run are in the pool."
        )
        names = run_names(app, runs)
        pooled = choose_some(
            state, linked, "pool", "Runs whose first tools are judged", [run.id for run in runs],
            start=[run.id for run in runs[:FIRST_RUNS]], show=names.__getitem__,
            note="Take every router that you compare: what only one of them found is judged then, too.",
        )  # fmt: skip
        texts = {"depth": "" if depth == FIRST_DEPTH else str(depth), "pool": ",".join(pooled)}
        _pool(app, chosen, [run for run in runs if run.id in pooled], depth, set_name, judge)
    else:
        st.info(
            "What is judged is pooled from stored runs over these tasks, so that no router is judged on another's results: measure "
            "the routers that you compare under Runs, then come back.", icon=":material/science:",
        )  # fmt: skip
    _judging(app, chosen, set_name, judge, runs)
    made: Made | None = st.session_state.get(POOL) if runs else None
    model_judge(app, chosen.catalog, set_name, [(one.query, one.tool) for one in made[1]] if made else [])
    return texts


def _pool(app: App, chosen: Chosen, runs: Sequence[LabRun], depth: int, set_name: str, judge: str) -> None:
    """Make the pool where something else is asked for than last time; while it is judged its order stays."""
    asked = (chosen.catalog, [task.id for task in chosen.tasks.tasks], [run.id for run in runs], depth, set_name, judge)
    known: Made | None = st.session_state.get(POOL)
    if known is None or known[0] != asked:
        items = app.judgments.pool(
            chosen.tasks.tasks, runs, depth, catalog=chosen.catalog, set_name=set_name, judge=judge
        )
        st.session_state[POOL] = (asked, items)
        st.session_state[AT] = 0
        st.session_state.pop(ERROR, None)


@st.fragment(key="lab:judging")
def _judging(app: App, chosen: Chosen, set_name: str, judge: str, runs: Sequence[LabRun]) -> None:
    """What a grade redraws: the tool to be judged, where there are runs, and the set below it."""
    if runs:
        _next_tool(app, chosen.catalog, set_name, judge)
    judgment_set(app, chosen, set_name, judge, runs)


def _next_tool(app: App, catalog: str, set_name: str, judge: str) -> None:
    """The tool that is to be judged now; a key press stores a grade and goes on."""
    made: Made = st.session_state[POOL]
    items, at = made[1], st.session_state[AT]
    if not items:
        st.info("The pool is empty: no chosen run proposed a tool of this catalog.", icon=":material/inbox:")
        return
    said = app.judgments.graded(catalog=catalog, set_name=set_name, judge=judge)
    done = sum((one.query, one.tool) in said for one in items)
    queries = len({one.query for one in items})
    st.progress(
        done / len(items),
        f"{done:,} of {len(items):,} tools for {queries:,} sub-tasks have a grade of {escaped(judge, 60)}",
    )
    if error := st.session_state.get(ERROR):
        st.error(error, icon=":material/error:")
    if at >= len(items):
        st.success(
            f"All tools of the pool are judged. To measure with them, choose “judgments: {escaped(set_name, 60)}” as tasks.",
            icon=":material/check:",
        )
        st.button("Back", key="lab:pool-back", icon=":material/arrow_back:", on_click=_go, args=(at - 1,))
        return
    item = items[at]
    known = said.get((item.query, item.tool))
    pooled_tool(app, catalog, item, known)
    st.text_input(
        "Why (optional)", value="" if known is None else known.note, key=f"{NOTE}:{at}", max_chars=MOST_NOTE_CHARACTERS,
        placeholder="stored with the grade",
    )  # fmt: skip
    row = st.container(horizontal=True, vertical_alignment="center", gap="small")
    for grade in GRADES:
        row.button(
            GRADE_WORDS[grade], key=f"lab:pool-grade:{grade}", shortcut=str(grade),
            type="primary" if known is not None and known.grade == grade else "secondary",
            on_click=_grade, args=(app, catalog, set_name, judge, item, grade, known, at),
        )  # fmt: skip
    with row.container(horizontal=True, horizontal_alignment="right", width="stretch"):
        st.button(
            "Back", key="lab:pool-back", type="tertiary", shortcut="b", disabled=at == 0, on_click=_go, args=(at - 1,)
        )
        st.button("Skip", key="lab:pool-skip", type="tertiary", shortcut="s", on_click=_go, args=(at + 1,))


def _go(at: int) -> None:
    st.session_state[AT] = at
    st.session_state.pop(ERROR, None)


def _grade(
    app: App,
    catalog: str,
    set_name: str,
    judge: str,
    item: Pooled,
    grade: int,
    known: Judgment | None,
    at: int,
) -> None:
    """Store the grade with the note that the field has now, and go on to the next; the same again stores nothing."""
    note = str(st.session_state[f"{NOTE}:{at}"])
    try:
        if known is None or (known.grade, known.note) != (grade, note):
            app.judgments.judge(
                item.query.subtask, item.tool, grade, judge=judge, set_name=set_name, catalog=catalog,
                server_hint=item.query.server_hint, note=note,
            )  # fmt: skip
        _go(at + 1)
    except WayfareError as error:
        st.session_state[ERROR] = escaped(str(error), 300)
