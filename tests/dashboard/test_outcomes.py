"""What the compared routers are worth, on the Compare page: labelled tasks are played on a button."""

from __future__ import annotations

from functools import partial

from core.app import App
from dashboard.pages.compare.view import LABELS
from dashboard.ui.charts.shared import frontier
from tests.dashboard.harness import app_with, markdown_of, open_page, press

CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads files.",
            "tools": [{"name": "read", "description": "Reads a file.", "price_usd": 0.001, "success": 1.0, "latency_s": 0.1}],
        },
        {
            "name": "mail",
            "description": "Sends letters.",
            "tools": [{"name": "send", "description": "Sends a letter.", "price_usd": 0.002, "success": 1.0, "latency_s": 0.1}],
        },
    ]
}  # fmt: skip

app = app_with({"small": CATALOG})
visit = partial(open_page, "compare", q="read a file", catalog="small", **{"with": "ehrr,expected_value"})


def test_nothing_is_played_before_the_button_is_pressed(app: App) -> None:
    app.feedback.label("read a file", "files::read", right=True, catalog="small")
    page = visit()
    assert "simulated" not in markdown_of(page)
    page.selectbox(key="compare.tasks").set_value(LABELS).run()
    page = press(page, "compare:play")
    assert not page.error
    table = next(frame.value for frame in page.dataframe if "m$ each" in frame.value.columns)
    assert table["router"].tolist() == ["EHRR", "Expected value"]
    assert table["front"].tolist().count("◆") >= 1
    assert all(text.endswith(" ± 13.5") for text in table["solved"])
    assert ":gray-badge[simulated]" in markdown_of(page)
    assert app.store.activity.decision_count() == 0


def test_the_tasks_that_come_with_a_catalog_are_offered_and_a_file_of_ones_own() -> None:
    page = open_page("compare", q="find a hotel", catalog="sample", **{"with": "ehrr"})
    assert page.selectbox(key="compare.tasks").options[0] == "everyday questions"
    assert visit().button(key="compare:play").disabled, "there is no file yet"


def test_the_chart_marks_the_front_and_leaves_out_who_solved_nothing(app: App) -> None:
    tasks = app.lab.parse_tasks(b'{"id": "a", "subtask": "read a file", "relevant": ["files::read"]}\n', source="tasks")
    good = app.lab.execute(
        tasks, catalog="small", router="full_catalog", parameters=app.routing.parameters("full_catalog")
    )
    none = app.lab.execute(
        tasks, catalog="small", router="ehrr", parameters=app.routing.parameters("ehrr", {"budget_usd": 0.0})
    )
    assert (good.success_rate.mean, none.success_rate.mean) == (1.0, 0.0)
    success, money = [good.success_rate, none.success_rate], [good.usd_per_solved, none.usd_per_solved]
    line, point = frontier(["<b>good</b>", "none"], success, money).to_dict()["data"]
    assert (line["x"], line["y"]) == (point["x"], point["y"])
    assert point["marker"]["symbol"] == "diamond"
    assert "&lt;b&gt;" in point["text"][0]
