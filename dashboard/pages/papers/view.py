"""The Papers page: the five papers' tables and figures, ours beside theirs. It reads what `make papers` wrote and computes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from pathlib import Path

import streamlit as st

import dashboard
from core.app import App
from core.lab.papers.report import Chart, Kind, Link, Report, Table
from core.services.lab.papers import papers
from core.shared.errors import WayfareError
from dashboard.pages.papers.charts.paper_chart import paper_chart
from dashboard.pages.papers.links import WORDS, address
from dashboard.pages.papers.table import kind_words, table_html, width
from dashboard.session import current_app
from dashboard.ui.chart import chart
from dashboard.ui.text import escaped
from dashboard.ui.url_state import UrlState

TABLES, FIGURES = "Tables", "Figures"
VIEWS = (TABLES, FIGURES)
LONG, NARROW = 12, 590  # rows beyond which a table is folded; px that leave room for another table
CSS = Path(dashboard.__file__).parent / "assets" / "papers.css"


def page() -> None:
    """Draw the page from the URL's state, and write the state back."""
    app, state = current_app(), UrlState("papers")
    linked = state.begin()
    st.html(CSS)
    names = papers()
    try:
        reports = {name: app.papers.report(name) for name in names}
    except WayfareError as error:
        st.error(escaped(str(error), 400), icon=":material/error:")
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        titles = {name: "" if report is None else report.name for name, report in reports.items()}
        paper = _choice(state, linked, "paper", "Paper", names, titles)
        view = _choice(state, linked, "view", "View", VIEWS, {})
    report = reports[paper]
    if report is None:
        st.info("Nothing has been recomputed yet: run make papers, or wayfare papers.", icon=":material/article:")
    else:
        _heading(app, report)
        if view == TABLES:
            _tables(app, report)
        else:
            _figures(app, report)
    state.end({"paper": "" if paper == names[0] else paper, "view": "" if view == TABLES else view})


def _choice(
    state: UrlState,
    linked: Mapping[str, str],
    name: str,
    label: str,
    options: tuple[str, ...],
    titles: Mapping[str, str],
) -> str:
    key, wanted = state.key(name), linked.get(name, options[0])
    st.session_state.setdefault(key, wanted if wanted in options else options[0])
    return st.segmented_control(
        label, options, key=key, required=True, label_visibility="collapsed", format_func=lambda one: titles.get(one) or one
    ) or options[0]  # fmt: skip


def _heading(app: App, report: Report) -> None:
    st.markdown(f"#### {escaped(report.title)}")
    st.markdown(f"{escaped(report.about)} {_counted(report)}")
    if changed := app.papers.outdated(report):
        st.warning(
            f"These figures were made over another state of {escaped(', '.join(changed))} than the one that is here; run make papers again.",
            icon=":material/history:",
        )
    made = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    catalogs = ", ".join(f"{name} {fingerprint[:8]}" for name, fingerprint in report.catalogs.items())
    model = f"model {report.model}" if report.model else "no model"
    with st.expander("How to read this, and what repeats it", icon=":material/info:"):
        st.markdown(
            "**exact ✓**: a formula of the paper on its own numbers gives the digits that it prints; **exact ≠**: it does not. "
            "**our data**: the same experiment on catalogs and tasks that come with Wayfare, so that its level is not theirs to be compared with; "
            "what can be compared are directions. **needs a model**, **not made**: the row says why. Figures of ours without a model are simulated "
            "or counted, times are measured on the machine that made the file."
        )
        st.caption(
            f"Catalogs: {escaped(catalogs)}. Seed {report.seed}, {escaped(model)}. {escaped(made, 300)}. Made by make papers."
        )


def _counted(report: Report) -> str:
    rows = [(table, row) for table in report.tables for row in table.rows]
    exact = [kind_words(table, row) for table, row in rows if row.kind is Kind.EXACT]
    ours = sum(row.kind is Kind.OURS for _, row in rows)
    model = sum(kind_words(table, row) == "needs a model" for table, row in rows)
    said = [f"{exact.count('exact ✓')} of {len(exact)} exact rows agree"] if exact else []
    said += [f"{ours} rows are on our data"] if ours else []
    said += [f"{model} need a model"] if model else []
    return f":gray[{escaped(', '.join(said))}\\.]" if said else ""


def _tables(app: App, report: Report) -> None:
    """Narrow tables that follow each other stand side by side."""
    for narrow, tables in groupby(report.tables, lambda table: width(table) <= NARROW and len(table.rows) <= LONG):
        columns = st.grid(2 if narrow else 1, min_column_width=560, gap="small")
        for table in tables:
            with columns.cell():
                _table(app, table)


def _table(app: App, table: Table) -> None:
    with st.container(border=True, gap="small"):
        st.markdown(f"**{escaped(table.title)}**{_try(app, table.link)}  \n{escaped(table.about, 500)}")
        st.caption(f"**Paper**: {escaped(table.theirs, 400)}. **Ours**: {escaped(table.ours, 400)}.")
        if len(table.rows) > LONG:
            with st.expander(f"{len(table.rows)} rows"):
                st.html(table_html(table, lambda link: address(app, link)))
        else:
            st.html(table_html(table, lambda link: address(app, link)))
        if table.differs:
            st.caption(f"**What differs, and why**: {escaped(table.differs, 1000)}")


def _figures(app: App, report: Report) -> None:
    columns = st.grid(2, min_column_width=420, gap="small")
    for one in report.charts:
        with columns.cell(), st.container(border=True, gap="small"):
            _figure(app, report, one)


def _figure(app: App, report: Report, one: Chart) -> None:
    chart(paper_chart(one), key=f"papers:{report.id}:{one.id}", about=f"{one.title}. {one.about}")
    st.caption(f"{escaped(one.about, 500)}{_try(app, one.link)}")
    if one.differs:
        with st.expander("What differs, and why"):
            st.caption(escaped(one.differs, 1000))


def _try(app: App, link: Link | None) -> str:
    target = "" if link is None else address(app, link)
    return f" · [Try it on {WORDS.get(link.page, link.page)}]({target})" if link is not None and target else ""
