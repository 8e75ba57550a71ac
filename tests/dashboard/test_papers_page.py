"""The Papers page: every row and figure of the reports, their sources, and their catalogs."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from streamlit.testing.v1 import AppTest

from core.app import App
from core.papers import PAPERS
from core.papers.papers import PaperService
from core.papers.report import Column, Kind, Report, Row, Table
from dashboard import session
from dashboard.pages.papers.view import EXACT, UNLIKE, WITHIN, address, table_html
from tests.cases import each
from tests.dashboard.harness import app_with, open_page, text_of, titles, with_services

app = app_with(scope="module")


def tables_of(page: AppTest) -> str:
    """The text of all tables."""
    return html.unescape("\n".join(element.proto.body for element in page.get("html")))


def report(app: App, paper: str) -> Report:
    stored = app.papers.report(paper)
    assert stored is not None
    return stored


@pytest.fixture
def elsewhere(app: App, tmp_path: Path) -> Iterator[PaperService]:
    """The pages' papers, read from a temporary folder."""
    service = PaperService(app.catalogs, app.routing, app.scenarios, app.lab, {}, folder=tmp_path)
    session.use_app(with_services(app, papers=service))
    yield service
    session.use_app(app)


@each("paper", PAPERS)
def test_every_row_is_shown_with_what_it_lacks(app: App, paper: str) -> None:
    page = open_page("papers", paper=paper)
    tables, text = tables_of(page), text_of(page)
    for table in report(app, paper).tables:
        assert table.title in text
        for row in table.rows:
            assert row.name in tables
            assert row.why in tables
    assert report(app, paper).title in text


@each("paper", PAPERS)
def test_every_figure_is_drawn(app: App, paper: str) -> None:
    headings = titles(open_page("papers", paper=paper, view="Figures"))
    assert [html.unescape(title) for title in headings] == [chart.title for chart in report(app, paper).charts]


@each("paper", PAPERS)
def test_every_link_leads_to_a_page_with_knobs_that_exist(app: App, paper: str) -> None:
    stored = report(app, paper)
    links = [
        item.link for item in (*stored.tables, *stored.charts, *(row for table in stored.tables for row in table.rows))
    ]
    for link in filter(None, links):
        target = urlsplit(address(app, link))
        assert target.path in {"./", "./compare", "./network", "./lab", "./catalog", "./whatif"}, link
        query = dict(parse_qsl(target.query))
        assert query.get("router", "") == link.router
        if link.router:
            knobs = app.routing.parameters(link.router).values()
            app.routing.parameters(link.router, {name: text for name, text in query.items() if name in knobs})


def test_what_was_made_for_another_catalog_says_so(app: App, elsewhere: PaperService) -> None:
    stored = report(app, "ehrr")
    elsewhere.write(stored)
    assert "another version" not in text_of(open_page("papers"))
    elsewhere.write(dataclasses.replace(stored, catalogs={"sample": "0" * 16}))
    assert "made with another version of sample" in text_of(open_page("papers"))


def test_the_reports_that_come_with_wayfare_are_of_the_catalogs_that_do(app: App) -> None:
    assert {paper: app.papers.outdated(report(app, paper)) for paper in PAPERS} == dict.fromkeys(PAPERS, ())


@pytest.mark.usefixtures("elsewhere")
def test_without_a_report_the_page_says_how_to_make_one() -> None:
    assert "Run make papers" in text_of(open_page("papers"))


def test_a_broken_file_is_a_sentence(elsewhere: PaperService, tmp_path: Path) -> None:
    (tmp_path / "etom.json").write_text("{")
    assert "etom.json is no report of a paper" in text_of(open_page("papers"))


def test_a_table_says_how_each_row_came_about_and_marks_what_does_not_agree() -> None:
    columns = (Column("v", "Value", 1, slack=0.001),)
    rows = (
        Row("same", Kind.EXACT, {"v": (1.0, 1.04)}),
        Row("near", Kind.EXACT, {"v": (1.0, 1.05)}),
        Row("other", Kind.EXACT, {"v": (1.0, 1.08)}),
        Row("ours", Kind.OURS, {"v": (1.0, 7.0)}),
        Row("asked", Kind.MODEL, {"v": (None, 2.0)}, model="<b>m</b>"),
        Row("asks", Kind.MODEL, {"v": (1.0, None)}, why="Needs <i>it</i>."),
        Row("gone", Kind.NOT, {"v": (1.0, None)}),
    )
    lines = table_html(Table("t", "T", "", "a", "b", columns, rows), lambda _: "").split("<tr>")[-7:]
    words = (EXACT, WITHIN, UNLIKE, "our data", "by &lt;b&gt;m&lt;/b&gt;", "needs a model", "not made")
    assert [word in line for word, line in zip(words, lines, strict=True)] == [True] * 7
    assert ["differs" in line for line in lines] == [False, False, True, False, False, False, False]
    assert "Needs &lt;i&gt;it&lt;/i&gt;." in lines[5]
