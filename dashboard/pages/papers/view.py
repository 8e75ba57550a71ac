"""The Papers page: results of papers beside the results of Wayfare."""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import plotly.graph_objects as go
import streamlit as st

import dashboard
from core.app import App
from core.domain.errors import WayfareError
from core.domain.untrusted_text import one_line
from core.papers.papers import code_version, papers
from core.papers.report import AS_IT_IS, Chart, Column, Kind, Link, Report, Row, Series, Table, Value, agrees
from dashboard.session import current_app
from dashboard.theme import MUTED, SERIES
from dashboard.ui.chart import chart
from dashboard.ui.charts.base import SMALL, axis, figure, label
from dashboard.ui.text import counted, errors_shown, escaped
from dashboard.ui.url_state import UrlState, segments

DEFAULT_PAGE = "route"
WORDS = {
    "route": "Decision", "compare": "Compare", "network": "Network", "lab": "Lab", "catalog": "Catalog", "whatif": "What if",
}  # fmt: skip


def address(app: App, link: Link) -> str:
    """Returns the address of a link, or "" if its router or parameters no longer exist."""
    query = dict(link.query)
    if link.router:
        try:
            chosen = app.routing.parameters(link.router, link.settings, preset=link.preset)
        except WayfareError:
            return ""
        query |= {"router": link.router, **{name: str(value) for name, value in chosen.changed().items()}}
    return f"./{'' if link.page == DEFAULT_PAGE else link.page}?{urlencode(query)}"


FEWEST_DIGITS, WHOLE = 3, 1000
EXACT, WITHIN, UNLIKE = "exact ✓", "within rounding ≈", "paper ≠ itself"
Address = Callable[[Link], str]


def kind_words(table: Table, row: Row) -> str:
    if row.kind is Kind.EXACT:
        cells = [(column, *row.values[column.key]) for column in table.columns if column.key in row.values]
        if not all(agrees(*cell) for cell in cells):
            return UNLIKE
        same = all(paper is None or shown(paper, spec.digits) == shown(own, spec.digits) for spec, paper, own in cells)
        return EXACT if same else WITHIN
    if row.kind is Kind.OURS:
        return "our data"
    if row.kind is Kind.MODEL:
        has_ours = any(ours is not None for _, ours in row.values.values())
        return f"by {one_line(row.model, 40)}" if has_ours else "needs a model"
    return "not made"


def shown(value: Value, digits: int) -> str:
    """Returns a figure with the digits of the paper, a small figure with at least three significant digits, or a dash.

    >>> shown(94.2, 1), shown(0.0170234, 2), shown(52278678.0, 2), shown(2500.31, 2), shown(None, 1), shown("Yes", 1)
    ('94.2', '0.0170', '52,278,678', '2,500.31', '–', 'Yes')
    >>> shown(5.0, AS_IT_IS), shown(0.0025, AS_IT_IS), shown(0.0, 1)
    ('5', '0.0025', '0.0')
    """
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    if digits == AS_IT_IS:
        return f"{value:g}"
    if abs(value) >= WHOLE and value == int(value):
        return f"{value:,.0f}"
    if 0 < abs(value) < 1 and digits:
        digits = max(digits, FEWEST_DIGITS - 1 - math.floor(math.log10(abs(value))) if abs(value) < 0.1 else digits)
    return f"{value:,.{digits}f}"


def table_html(table: Table, address: Address) -> str:
    """Returns the table as HTML. All texts are escaped."""
    sides = {column.key: _sides(table, column) for column in table.columns}
    head = "".join(f'<th colspan="{len(sides[c.key])}">{_title(c)}</th>' for c in table.columns)
    subheads = "".join(
        f'<th class="{"ours" if side else "theirs"}">{"ours" if side else "paper"}</th>'
        for c in table.columns
        for side in sides[c.key]
    )
    has_links = _has_links(table)
    lines = "".join(_line(table, row, sides, address, tried=has_links) for row in table.rows)
    end = '<th rowspan="2"></th>' * (2 if has_links else 1)
    return (
        f'<div class="papers-scroll"><table class="papers"><thead><tr><th rowspan="2"></th>{head}{end}</tr><tr>{subheads}</tr></thead>'
        f"<tbody>{lines}</tbody></table></div>"
    )


def width(table: Table) -> int:
    """Returns the approximate width of a table in px."""
    figures = sum(max(8 * len(_title(column)) + 20, 62 * len(_sides(table, column))) for column in table.columns)
    names = max(max(len(row.name) for row in table.rows) * 7, 120)
    return min(names, 300) + figures + 100 + 70 * _has_links(table)


def _has_links(table: Table) -> bool:
    return any(row.link is not None and row.link != table.link for row in table.rows)


def _sides(table: Table, column: Column) -> tuple[int, ...]:
    """Returns the sides (paper, ours) that have values, or both if there are no values."""
    present = [
        side for side in (0, 1) if any(row.values.get(column.key, (None, None))[side] is not None for row in table.rows)
    ]
    return tuple(present) or (0, 1)


def _title(column: Column) -> str:
    return html.escape(f"{column.title}, {column.unit}" if column.unit else column.title)


def _line(table: Table, row: Row, sides: dict[str, tuple[int, ...]], address: Address, *, tried: bool) -> str:
    cells = "".join(_cell(row, column, side) for column in table.columns for side in sides[column.key])
    why = f'<div class="why">{html.escape(one_line(row.why, 400))}</div>' if row.why else ""
    name = f'<th scope="row">{html.escape(one_line(row.name, 120))}{why}</th>'
    words = kind_words(table, row)
    end = f'<td class="kind{" differs" if "≠" in words else ""}">{html.escape(words)}</td>'
    if tried:
        target = "" if row.link is None else address(row.link)
        end += f'<td class="try">{_anchor(row.link, target) if row.link is not None and target else ""}</td>'
    return f"<tr>{name}{cells}{end}</tr>"


def _anchor(link: Link, target: str) -> str:
    return f'<a href="{html.escape(target)}">{html.escape(WORDS.get(link.page, link.page))}</a>'


def _cell(row: Row, column: Column, side: int) -> str:
    pair = row.values.get(column.key, (None, None))
    missed = row.kind is Kind.EXACT and side == 1 and not agrees(column, *pair)
    return f'<td class="{"ours" if side else "theirs"}{" differs" if missed else ""}">{html.escape(shown(pair[side], column.digits))}</td>'


TABLES, FIGURES = "Tables", "Figures"
VIEWS = (TABLES, FIGURES)
LONG, NARROW = 12, 590  # longer tables are folded; two narrower tables (px) share a row
CSS = Path(dashboard.__file__).parent / "assets" / "papers.css"


def page() -> None:
    app, state = current_app(), UrlState("papers")
    linked = state.begin()
    st.html(CSS)
    names = papers()
    with errors_shown():
        reports = {name: app.papers.report(name) for name in names}
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            titles = {name: "" if report is None else report.name for name, report in reports.items()}
            paper = segments(state, linked, "paper", "Paper", names, lambda name: titles[name] or name)
            view = segments(state, linked, "view", "View", VIEWS)
        report = reports[paper]
        if report is None:
            st.info("No results yet. Run make papers, or wayfare papers.", icon=":material/article:")
        else:
            _heading(app, report)
            if view == TABLES:
                _tables(app, report)
            else:
                _figures(app, report)
        state.end({"paper": "" if paper == names[0] else paper, "view": "" if view == TABLES else view})


def _heading(app: App, report: Report) -> None:
    st.markdown(f"#### {escaped(report.title)}")
    st.markdown(f"{escaped(report.about)} {_counted(report)}")
    if changed := app.papers.outdated(report):
        st.warning(
            f"These figures were made with another version of {escaped(', '.join(changed))}. Run make papers again.",
            icon=":material/history:",
        )
    versions = ", ".join(f"{name} {number}" for name, number in report.versions.items())
    catalogs = ", ".join(f"{name} {fingerprint[:8]}" for name, fingerprint in report.catalogs.items())
    model = f"model {report.model}" if report.model else "no model"
    with st.expander("How to read this, and how to repeat it", icon=":material/info:"):
        st.markdown(
            f"Checks take the paper's formula and its printed numbers. **{EXACT}**: they give the printed digits. **{WITHIN}**: they do within "
            f"the rounding of the numbers that go in. **{UNLIKE}**: figures of the paper do not follow from each other; the table says why. "
            "**our data**: the same experiment on catalogs and tasks of Wayfare. Compare directions, not levels. "
            "**needs a model**, **not made**: the row gives the reason. Our figures without a model are simulated "
            "or counted. Times are measured on the machine that made the file."
        )
        st.caption(
            f"Catalogs: {escaped(catalogs)}. Seed {report.seed}, {escaped(model)}. {escaped(versions, 300)}. Code {escaped(report.code[:8])}, "
            f"{'the present one' if report.code == code_version() else f'since then changed to {code_version()[:8]}'}. Made by make papers."
        )


def _counted(report: Report) -> str:
    rows = [(table, row) for table in report.tables for row in table.rows]
    checks = Counter(kind_words(table, row) for table, row in rows if row.kind is Kind.EXACT)
    ours = sum(row.kind is Kind.OURS for _, row in rows)
    model = sum(kind_words(table, row) == "needs a model" for table, row in rows)
    phrases = {
        EXACT: "give the printed digits", WITHIN: "do within rounding",
        UNLIKE: "show figures of the paper that do not follow from each other",
    }  # fmt: skip
    parts = [f"{checks[kind]} {words}" for kind, words in phrases.items() if checks[kind]]
    sentences = (
        [f"Of {counted(checks.total(), 'check')} of the paper by its own numbers {', '.join(parts)}"] if parts else []
    )
    sentences += [f"{ours} rows are on our data"] if ours else []
    sentences += [f"{model} need a model"] if model else []
    return f":gray[{escaped('; '.join(sentences))}\\.]" if sentences else ""


def _tables(app: App, report: Report) -> None:
    """Draw the tables. Consecutive narrow tables share a row."""
    for narrow, tables in groupby(report.tables, lambda table: width(table) <= NARROW and len(table.rows) <= LONG):
        columns = st.grid(2 if narrow else 1, min_column_width=560, gap="small")
        for table in tables:
            with columns.cell():
                _table(app, table)


def _table(app: App, table: Table) -> None:
    with st.container(border=True, gap="small"):
        st.markdown(f"**{escaped(table.title)}**{_try(app, table.link)}  \n{escaped(table.about, 500)}")
        st.caption(f"**Paper**: {escaped(table.theirs, 400)}. **Ours**: {escaped(table.ours, 400)}.")
        with st.expander(f"{len(table.rows)} rows") if len(table.rows) > LONG else nullcontext():
            st.html(table_html(table, lambda link: address(app, link)))
        if table.differs:
            st.caption(f"**What differs, and why**: {escaped(table.differs, 1000)}")


def _figures(app: App, report: Report) -> None:
    columns = st.grid(2, min_column_width=420, gap="small")
    for spec in report.charts:
        with columns.cell(), st.container(border=True, gap="small"):
            chart(paper_chart(spec), key=f"papers:{report.id}:{spec.id}", about=f"{spec.title}. {spec.about}")
            st.caption(f"{escaped(spec.about, 500)}{_try(app, spec.link)}")
            if spec.differs:
                with st.expander("What differs, and why"):
                    st.caption(escaped(spec.differs, 1000))


def _try(app: App, link: Link | None) -> str:
    target = "" if link is None else address(app, link)
    if link is None or not target:
        return ""
    return f" · [{escaped(link.says) if link.says else f'Try it on {WORDS.get(link.page, link.page)}'}]({target})"


FEW, SINGLE = 14, 4  # points of a line up to FEW are marked; up to SINGLE there is no line


def paper_chart(chart: Chart) -> go.Figure:
    """Draws the series of a figure, with the legend below."""
    hues: dict[str, str] = {}
    for series in chart.series:
        hues.setdefault(_subject(series), SERIES[len(hues) % len(SERIES)])
    traces = [_trace(chart, series, hues[_subject(series)]) for series in chart.series]
    rows = -(-len(chart.series) // 3)
    return figure(
        traces,
        title=label(chart.title, 90),
        height=330 + 18 * rows,
        showlegend=len(chart.series) > 1,
        legend={"orientation": "h", "y": -0.22, "yanchor": "top", "x": 0, "font": {"size": 11}},
        xaxis=axis(label(chart.x, 60), fixedrange=True, **({"type": "log"} if chart.log_x else {})),
        yaxis={
            "title": {"text": label(chart.y, 60), "font": SMALL, "standoff": 10},
            "type": "log" if chart.log_y else "linear",
            "fixedrange": True,
        },
        **({"barmode": "group", "bargap": 0.25} if chart.shape == "bar" else {}),
    )


def _subject(series: Series) -> str:
    """Returns the subject of a series: the paper's and ours have one hue."""
    return series.name.removesuffix(", ours").removesuffix(", paper")


def _trace(chart: Chart, series: Series, hue: str) -> dict[str, Any]:
    common: dict[str, Any] = {
        "name": label(series.name, 60),
        "x": [label(str(x), 40) if isinstance(x, str) else x for x in series.x],
        "y": series.y,
        "hovertemplate": f"{label(series.name, 60)}<br>%{{x}}: %{{y:.4g}}<extra></extra>",
    }
    if chart.shape == "bar":
        pattern = {"shape": "/", "size": 5, "solidity": 0.4} if series.theirs else {"shape": ""}
        return common | {
            "type": "bar",
            "marker": {"color": hue, "opacity": 0.75 if series.theirs else 1.0, "pattern": pattern},
        }
    mode = "lines+markers" if len(series.x) <= FEW else "lines"
    if len(series.x) <= SINGLE or chart.shape == "point":
        mode = "markers"
    colour = MUTED if series.theirs and mode == "markers" and chart.shape != "point" else hue
    marker = {
        "size": 10 if mode == "markers" else 6,
        "symbol": "circle-open" if series.theirs else "circle",
        "color": colour,
    }
    if series.theirs:
        marker["line"] = {"width": 2}
    return common | {
        "type": "scatter",
        "mode": mode,
        "marker": marker,
        "line": {"color": colour, "width": 2, "dash": "dash" if series.theirs else "solid"},
    }
