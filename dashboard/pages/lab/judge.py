"""Judging in the Lab: the pool of the compared runs, by people and by models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from core.app import App
from core.domain.feedback import GRADE_WORDS, GRADES, MOST_NOTE_CHARACTERS, AskedQuery, Judgment
from core.domain.lab_runs import LabRun
from core.lab.agreement import Pooled
from core.services.background_jobs import Job
from core.services.lab.judgments import Checked
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.judgment_sets import judgment_set
from dashboard.pages.lab.run import Chosen, begin, start_button, taken
from dashboard.pages.lab.tasks import JUDGED
from dashboard.pages.lab.words import choose_some, run_names
from dashboard.ui.judging import choose_set, set_and_judge
from dashboard.ui.query_form import fill
from dashboard.ui.table import table
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

JUDGING = "model judge"
Pairs = Sequence[tuple[AskedQuery, str]]


def model_judge(app: App, catalog: str, set_name: str, pool: Pairs) -> None:
    """Draw the model as judge. `pool` are the pairs to grade beside those that people graded."""
    judge = app.model_judge
    box = st.expander("A model as judge", key="lab:model-judge", icon=":material/smart_toy:", on_change="rerun")
    if not box.open:
        return
    with box:
        if not judge.name:
            st.caption(
                "No model is set. With WAYFARE_LLM_MODEL a model can grade tools beside people, with a reason for each grade."
            )
            return
        if done := taken(JUDGING):
            st.success(f"{done:,} grades by {escaped(judge.name, 80)}.", icon=":material/check:")
        open_pairs, checked = judge.to_check(catalog, set_name), judge.checked(catalog, set_name)
        row = st.container(horizontal=True, vertical_alignment="center", gap="small")
        start_button(
            row, f"Grade the tools that people graded ({len(open_pairs):,})", partial(_begin, app, catalog, set_name, open_pairs),
            key="lab:model-check", icon=":material/fact_check:", disabled=not open_pairs,
        )  # fmt: skip
        if checked is None:
            st.caption(
                f"{escaped(judge.name, 80)} first grades the tools that people graded. You see its agreement with them before you use it."
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
        table(frame, key="lab:model-differ")


def _line(person: Judgment, model: Judgment) -> dict[str, str]:
    return {
        "sub-task": one_line(person.subtask, 120),
        "tool": one_line(person.tool, 80),
        "people": f"{person.grade} {GRADE_WORDS[person.grade or 0]} ({one_line(person.judge, 40)})",
        "model": f"{model.grade} {GRADE_WORDS[model.grade or 0]}",
        "reason of the model": one_line(model.note, 200),
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
        help="Adds the model as a judge. If judges differ, the rule of the set decides. The next button removes the grades.",
    )  # fmt: skip
    if counting:
        row.button(
            "Remove them", key="lab:model-discount", icon=":material/undo:", on_click=judge.discount,
            args=(catalog, set_name),
        )  # fmt: skip
        st.caption(f"{len(counting):,} grades of the model count in this set.")


def _begin(app: App, catalog: str, set_name: str, pairs: Pairs) -> None:
    def work(job: Job) -> int:
        return app.model_judge.judge(catalog, set_name, pairs, job.report)

    begin(JUDGING, "The model grades", len(pairs), work)


DESCRIBED, PARAMETERS = 1_200, 12


def asked_query(
    query: AskedQuery, tools: Sequence[str], now: str, said: Mapping[tuple[AskedQuery, str], Judgment]
) -> None:
    """Draw the sub-task with the list of its tools in the pool, and their grades."""
    with st.container(border=True, gap="xsmall"):
        st.markdown(f":small[:gray[sub-task]]  \n**{escaped(query.subtask, 600)}**")
        if query.server_hint:
            st.markdown(f":small[:gray[server hint] {escaped(query.server_hint, 200)}]")
        for tool in tools:
            known = said.get((query, tool))
            grade = "" if known is None else f" :blue-badge[grade {known.grade}]"
            name = escaped(tool, 90)
            st.markdown(f":small[{f'▸ **{name}**' if tool == now else name}{grade}]")


def pooled_tool(app: App, catalog: str, item: Pooled, known: Judgment | None) -> None:
    """Draw the card of a tool in the pool."""
    found = app.catalogs.catalog(catalog)
    tool = found.tools[found.tool_row[item.tool]]
    server = found.servers[found.server_row[tool.server]]
    with st.container(border=True, gap="xsmall"):
        graded = "" if known is None else f" :blue-badge[grade {known.grade}]"
        st.markdown(f"**{escaped(tool.name, 120)}** :small[:gray[{escaped(server.name, 80)}]]{graded}")
        st.markdown(f":small[{escaped(tool.description or 'It has no description.', DESCRIBED)}]")
        names = list((tool.input_schema or {}).get("properties") or {})
        if names:
            more = f" and {len(names) - PARAMETERS} more" if len(names) > PARAMETERS else ""
            shown = ", ".join(escaped(name, 40) for name in names[:PARAMETERS])
            st.markdown(f":small[:gray[takes] {shown}{more}]")
        if server.description:
            st.markdown(f":small[:gray[server] {escaped(server.description, 240)}]")


POOL, AT, NOTE, ERROR, TASKS = "lab:pool", "lab:pool-at", "lab:pool-note", "lab:pool-error", "lab:pool-tasks"
FIRST_RUNS, FIRST_DEPTH, MOST_DEPTH = 6, 5, 100
Made = tuple[object, tuple[Pooled, ...]]


def judge_view(app: App, state: UrlState, linked: Mapping[str, str], chosen: Chosen) -> dict[str, str]:
    """Draw the view. Returns the texts for the URL."""
    tasks = chosen.tasks
    if (
        tasks.rule and st.session_state.get(TASKS) != tasks.option
    ):  # a judgment set that is chosen as tasks gets the new judgments
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
            state, linked, "pool", "Runs in the pool", [run.id for run in runs],
            start=[run.id for run in runs[:FIRST_RUNS]], show=names.__getitem__,
            note="Choose every router that you compare, so that the tools of each one are judged.",
        )  # fmt: skip
        texts = {"depth": "" if depth == FIRST_DEPTH else str(depth), "pool": ",".join(pooled)}
        _pool(app, chosen, [run for run in runs if run.id in pooled], depth, set_name, judge)
    else:
        st.info(
            "The pool comes from stored runs over these tasks, so that each router is judged on its own results. Measure "
            "the routers that you compare under Runs first.", icon=":material/science:",
        )  # fmt: skip
        st.button("Open Runs", key="lab:judge-runs", on_click=fill, args=({state.key("view"): "Runs"},))
    _judging(app, chosen, set_name, judge, runs)
    made: Made | None = st.session_state.get(POOL) if runs else None
    model_judge(app, chosen.catalog, set_name, [(one.query, one.tool) for one in made[1]] if made else [])
    return texts


def _pool(app: App, chosen: Chosen, runs: Sequence[LabRun], depth: int, set_name: str, judge: str) -> None:
    """Make the pool if its inputs have changed. Its order stays while it is judged."""
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
    """Draw the parts that follow a grade: the next tool, if there are runs, and the set."""
    if runs:
        _next_tool(app, chosen.catalog, set_name, judge)
    judgment_set(app, chosen, set_name, judge, runs)


def _next_tool(app: App, catalog: str, set_name: str, judge: str) -> None:
    """Draw the next tool of the pool. A key press stores a grade and shows the next one."""
    made: Made = st.session_state[POOL]
    items, at = made[1], st.session_state[AT]
    if not items:
        st.info("The pool is empty: no chosen run proposed a tool of this catalog.", icon=":material/inbox:")
        return
    said = app.judgments.graded(catalog=catalog, set_name=set_name, judge=judge)
    if error := st.session_state.get(ERROR):
        st.error(error, icon=":material/error:")
    if at >= len(items):
        st.success(
            f"All tools of the pool are judged. To use the judgments as tasks, choose “judgments: {escaped(set_name, 60)}” as tasks.",
            icon=":material/check:",
        )
        st.button("Back", key="lab:pool-back", icon=":material/arrow_back:", on_click=_go, args=(at - 1,))
        return
    item = items[at]
    known = said.get((item.query, item.tool))
    tools = [one.tool for one in items if one.query == item.query]
    done = sum((item.query, tool) in said for tool in tools)
    left, right = st.columns([1, 1.5])
    with left:
        st.progress(
            done / len(tools), f"{done:,} of {len(tools):,} tools of this sub-task have a grade of {escaped(judge, 60)}"
        )
        asked_query(item.query, tools, item.tool, said)
        graded = sum((one.query, one.tool) in said for one in items)
        st.caption(
            f"{graded:,} grade{'s' * (graded != 1)} so far. Sub-tasks on which the runs differ most come first, so you can stop at any time. Keys: "
            f"{', '.join(map(str, GRADES))} grade, s skips, b goes back."
        )
    with right:
        _grading(app, catalog, set_name, judge, item, known, at)


def _grading(app: App, catalog: str, set_name: str, judge: str, item: Pooled, known: Judgment | None, at: int) -> None:
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
    app: App, catalog: str, set_name: str, judge: str, item: Pooled, grade: int, known: Judgment | None, at: int
) -> None:
    """Store the grade with the current note and show the next tool. Unchanged grades are not stored again."""
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
