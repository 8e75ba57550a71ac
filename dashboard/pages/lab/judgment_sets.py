"""A judgment set below the pool: the agreement of its judges, the rules that settle grades, import and export."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.lab_runs import LabRun
from core.lab.agreement import JUDGE, RULE_WORDS, RULES, Agreement, judged_tasks
from core.lab.stored_runs import run_file
from core.services.lab.judgments import Format
from core.shared.errors import WayfareError
from core.shared.untrusted_text import one_line
from dashboard.pages.lab.run import Chosen
from dashboard.pages.lab.words import run_names
from dashboard.ui.table import table
from dashboard.ui.text import escaped, file_name

TAKEN = "lab:judgments-taken"
FORMATS: dict[Format, tuple[str, str]] = {
    "jsonl": ("JSON Lines: every judgment", "jsonl"),
    "csv": ("CSV: every judgment", "csv"),
    "qrels": ("TREC qrels: one grade for each tool", "qrels"),
    "tasks": ("labelled tasks to measure routers", "tasks.jsonl"),
}


def judgment_set(app: App, chosen: Chosen, set_name: str, judge: str, runs: Sequence[LabRun]) -> None:
    """Draw agreement and files of the chosen set, each only while it is open."""
    judges = st.expander(
        f"Judges of “{escaped(set_name, 60)}”, and their agreement", key="lab:judgments-judges",
        icon=":material/groups:", on_change="rerun",
    )  # fmt: skip
    if judges.open:
        with judges:
            if set_name in app.judgments.sets(chosen.catalog):
                _agreement(app, chosen.catalog, set_name)
            else:
                st.caption("There are no judgments in this set yet.")
    files = st.expander(
        "Files: import and export judgments", key="lab:judgments-files", icon=":material/swap_vert:", on_change="rerun"
    )
    if not files.open:
        return
    with files:
        columns = st.grid(2, min_column_width=360, gap="medium")
        with columns.cell():
            _import(app, chosen, set_name, judge)
        with columns.cell():
            _export(app, chosen.catalog, set_name, runs)


def _agreement(app: App, catalog: str, set_name: str) -> None:
    found = app.judgments.agreement(catalog, set_name)
    row = st.container(horizontal=True, gap="large", vertical_alignment="top")
    row.metric(
        "Krippendorff's α, ordinal", "–" if found.alpha is None else f"{found.alpha:.3f}", width="content",
        help="1: all judges agree. 0: agreement by chance. Below 0: less than by chance.",
    )  # fmt: skip
    row.metric("Tools with two judges", f"{found.shared:,} of {found.units:,}", width="content")
    row.metric("Equal grades", f"{found.same:,} of {found.shared:,}", width="content")
    st.caption(_alpha_words(found))
    columns = st.grid(3, min_column_width=250, gap="medium")
    with columns.cell():
        frame = pd.DataFrame({"judge": map(one_line, found.judges), "judgments": list(found.judges.values())})
        table(frame, key="lab:judges")
    with columns.cell(column_span=2):
        settled = {rule: app.judgments.settled(catalog, set_name, rule) for rule in RULES}
        counts = {rule: sum(map(len, grades.values())) for rule, grades in settled.items()}
        frame = pd.DataFrame(
            {
                "rule if judges differ": list(RULES),
                "settled": list(counts.values()),
                "left out": [found.units - count for count in counts.values()],
                "tasks": [len(judged_tasks(grades)[0]) for grades in settled.values()],
                "grade of a tool": [RULE_WORDS[rule] for rule in RULES],
            }
        )
        table(frame, key="lab:rules")
    st.caption(
        "Choose the rule beside the tasks to measure with this set, and below to export it. One judge can also "
        "count alone. A sub-task without a tool above grade 0 is left out, because the other tools were not judged."
    )


def _alpha_words(found: Agreement) -> str:
    if found.alpha is None:
        return "α is not defined yet. It needs tools with two judges, and at least two different grades."
    if found.low is None or found.high is None:
        return "α has no interval: too few tools have two judges."
    return (
        f"95 % interval of α, by bootstrap over tools: {found.low:.3f} to {found.high:.3f}. Krippendorff advises to rely on "
        "data with α of at least 0.800, and to draw tentative conclusions from 0.667."
    )


def _import(app: App, chosen: Chosen, set_name: str, judge: str) -> None:
    file = st.file_uploader(
        "Judgments: JSON Lines, CSV or TREC qrels", key="lab:judgments-file",
        help='JSON Lines: {"subtask": "read a file", "tool": "server::tool", "grade": 3, "judge": "ann"}. CSV: the same names in its '
        "first line. The query ids of qrels are found in the chosen tasks and in the judged ones.",
    )  # fmt: skip
    st.caption(
        f"The judgments go into “{escaped(set_name, 60)}”. Those without a judge count as those of {escaped(judge, 60)}."
    )
    st.button(
        "Import", key="lab:judgments-import", icon=":material/upload:", disabled=file is None, on_click=_taken,
        help="Choose a file first." if file is None else None,
        args=(app, chosen, set_name, judge, b"" if file is None else file.getvalue(), "" if file is None else file.name),
    )  # fmt: skip
    said: tuple[bool, str] | None = st.session_state.pop(TAKEN, None)
    if said is not None:
        (st.success if said[0] else st.error)(said[1])


def _taken(app: App, chosen: Chosen, set_name: str, judge: str, data: bytes, name: str) -> None:
    try:
        found = app.judgments.import_(
            data, source=name, catalog=chosen.catalog, set_name=set_name, judge=judge, tasks=chosen.tasks.tasks
        )
    except WayfareError as error:
        st.session_state[TAKEN] = (False, f"Nothing was imported. {escaped(str(error), 400)}")
        return
    absent = f" {found.not_in_catalog:,} are for tools that are not in the catalog." if found.not_in_catalog else ""
    st.session_state[TAKEN] = (True, f"{found.added:,} judgments added, {found.known:,} known.{absent}")


def _export(app: App, catalog: str, set_name: str, runs: Sequence[LabRun]) -> None:
    if set_name in app.judgments.sets(catalog):
        form: Format = st.selectbox(
            "Export as", list(FORMATS), key="lab:judgments-format", format_func=lambda one: FORMATS[one][0]
        )
        rules = [*RULES, *(f"{JUDGE}{name}" for name in app.judgments.judges(catalog, set_name))]
        rule = st.selectbox(
            "If judges differ", rules, key=f"lab:judgments-rule:{set_name}", format_func=lambda one: one_line(one, 90),
            help="For qrels and tasks. With one judge, any file has only the judgments of that judge.",
        )  # fmt: skip
        st.download_button(
            "Download judgments", app.judgments.export(catalog, set_name, form, rule), icon=":material/download:",
            file_name=file_name(f"{set_name}.{FORMATS[form][1]}", "judgments"), mime="text/plain", key="lab:judgments-save",
            on_click="ignore",
        )  # fmt: skip
    if runs:
        names = run_names(app, runs)
        run = st.selectbox("A run as a TREC run file", runs, key="lab:trec-run", format_func=lambda one: names[one.id])
        st.download_button(
            "Download run", run_file(run), file_name=f"{run.router}-{run.id[:8]}.run", mime="text/plain",
            key="lab:trec-save", on_click="ignore", icon=":material/download:",
        )  # fmt: skip
