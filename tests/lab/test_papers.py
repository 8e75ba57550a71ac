"""The reports of the papers: the shipped reports equal new reports, and every row names its source."""

from __future__ import annotations

import dataclasses

import pytest

from core.domain.errors import WayfareError
from core.papers import PAPERS, RESULTS, ehrr
from core.papers.etom import equal_sets, sizes
from core.papers.etom_figures import meteor
from core.papers.report import AS_IT_IS, Column, Kind, Report, agrees
from tests.cases import each

COST = Column("c", "C", digits=2)


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {paper: Report.parse((RESULTS / f"{paper}.json").read_bytes(), source=paper) for paper in PAPERS}


every_paper = each("paper", PAPERS)


def test_the_stored_ehrr_is_what_its_formulas_give_now(reports) -> None:
    stored = {table.id: table for table in reports["ehrr"].tables}
    for table in ehrr.tables():
        assert stored[table.id] == table
    assert reports["ehrr"].charts[: len(ehrr.charts())] == ehrr.charts()


def test_the_exact_rows_of_tables_i_ii_v_and_the_bounds_agree_to_the_printed_digit(reports) -> None:
    for table in reports["ehrr"].tables:
        if table.id in {"I", "II", "V", "bounds"}:
            for row in table.rows:
                assert all(agrees(column, *row.values[column.key]) for column in table.columns), row.name


def test_the_stored_sizes_of_etom_are_those_of_the_samples_files(reports) -> None:
    from core.importers import read_tasks
    from core.papers.etom import FILES
    from sample_catalog import TASKS_DIR

    paths = {level: TASKS_DIR / f"{name}.jsonl" for level, name in FILES.items()}
    tasks = {level: read_tasks(path.read_bytes(), source=path.name) for level, path in paths.items()}
    stored = {table.id: table for table in reports["etom"].tables}
    assert (stored["2"], stored["efs"]) == (sizes(tasks), equal_sets())


def test_tool_attention_takes_the_published_tokens(reports) -> None:
    tables = {
        table.id: {row.name: row.values["t"] for row in table.rows}
        for table in reports["tool_attention"].tables
        if table.id in {"7.1", "7.3"}
    }
    *baselines, (_, attention) = tables["7.1"].values()
    for published, ours in baselines:
        assert ours == pytest.approx(published, rel=0.1)
    assert attention <= 0.05 * tables["7.1"]["B1 full schema"][1]
    ablated = {name: ours for name, (_, ours) in tables["7.3"].items()}
    assert ablated["phase 1, all summaries"] == pytest.approx(4_820, rel=0.1)
    order = ("theta = 0.15", "k = 20", "Tool Attention", "k = 5", "theta = 0.40", "without lazy loading")
    assert [ablated[name] for name in order] == sorted((ablated[name] for name in order), reverse=True)
    assert ablated["without lazy loading"] == 0


@every_paper
def test_each_row_has_a_figure_or_says_why_not(paper, reports) -> None:
    for table in reports[paper].tables:
        keys = {column.key for column in table.columns}
        assert len({row.name for row in table.rows}) == len(table.rows), table.id
        for row in table.rows:
            assert row.values.keys() <= keys, (table.id, row.name)
            measured = any(ours is not None for _, ours in row.values.values())
            if row.kind in (Kind.EXACT, Kind.OURS):
                assert measured or row.name == "t1,1", (table.id, row.name)
            else:
                assert measured or row.why, (table.id, row.name)


def test_what_a_clock_measured_is_not_repeatable(reports) -> None:
    report = reports["etom"]
    (table,) = (table for table in report.tables if table.id == "3-latency")
    slower = dataclasses.replace(
        table, rows=tuple(dataclasses.replace(row, values={"L1": (None, 9.0)}) for row in table.rows)
    )
    changed = dataclasses.replace(report, tables=tuple(slower if old is table else old for old in report.tables))
    assert changed.repeatable() == report.repeatable()
    assert dataclasses.replace(report, seed=1).repeatable() != report.repeatable()


@each("content", [b"", b"{}", b"[1]", b'{"id": "ehrr", "tables": 3}'])
def test_a_file_that_is_no_report_is_one_sentence(content) -> None:
    with pytest.raises(WayfareError, match=r"^ehrr\.json is no report of a paper .*run `make papers` again\.$"):
        Report.parse(content, source="ehrr.json")


@each(
    ("column", "theirs", "ours", "same"),
    [
        (COST, 1.78, 1.7816, True),
        (COST, 1.78, 1.786, False),
        (COST, 51.95, 51.945, True),  # a half
        (Column("k", "k", AS_IT_IS), 5.0, 5.0, True),
        (Column("k", "k", AS_IT_IS), 5.0, 5.1, False),
        (COST, "No", "No", True),
        (COST, "No", "Yes", False),
        (COST, 1.78, None, False),
        (COST, None, 1.0, True),
    ],
)
def test_agreement_is_to_the_digits_that_are_printed(column, theirs, ours, same) -> None:
    assert agrees(column, theirs, ours) is same


@each(
    ("one", "score"),
    [
        ("the cat sat on the mat", 0.9977),
        ("on the mat sat the cat", 0.5),
        ("the cat was sat on the mat", 0.9654),
        ("dogs bark", 0.0),
    ],
)
def test_meteor_gives_the_published_examples(one, score) -> None:
    assert meteor(one, "the cat sat on the mat") == pytest.approx(score, abs=5e-5)
