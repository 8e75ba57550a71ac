"""Activity's list of the long runs: progress, Stop, end and link, in every visit."""

from __future__ import annotations

import re
import threading
from functools import partial
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from streamlit.testing.v1 import AppTest

from core.app import App
from core.catalogs.background_jobs import Job
from core.cli import main
from core.cli.apps import working_on
from core.domain.errors import WayfareError
from tests.cli.conftest import wait_for
from tests.dashboard.harness import TIMEOUT_S, app_with, checked, open_page, press, text_of

app = app_with()
visit = partial(open_page, "activity")


def test_a_run_is_listed_in_every_visit_until_it_is_stopped_and_after_it(app: App) -> None:
    app.routing.route("read a file", catalog="search-15")
    app.store.events.flush()
    assert "No long run yet" in text_of(visit(view="runs"))
    begun = threading.Event()

    def work(job: Job) -> None:
        for step in range(1, 10_000):
            job.report(step, 10_000)
            begun.set()
            job.stop.wait(0.05)

    def broken(_: Job) -> None:
        raise WayfareError("No task names a tool.")

    long = app.background.start("lab:job ", work, title="Sweeping **x**", of=10_000, link="/lab?view=Sweep")
    app.background.start("other", broken, title="Searching").wait(TIMEOUT_S)
    assert begun.wait(TIMEOUT_S)
    page = visit(view="runs")  # another visit, as after a reload
    assert "of 10,000" in page.get("progress")[0].proto.text
    assert "Sweeping \\*\\*x" in page.get("progress")[0].proto.text
    assert "✗ ended" in text_of(page)
    assert "No task names a tool." in text_of(page)
    links = [link.proto.url for link in page.get("link_button")]
    assert [link for link in links if not link.startswith("./export/")] == ["./lab?view=Sweep"]
    page = press(page, "activity.runs.stop.0")
    assert long.wait(TIMEOUT_S)
    page = checked(page.run())
    assert "stopped after" in text_of(page)
    assert not [button for button in page.button if "runs.stop" in (button.key or "")]


def test_runs_are_listed_where_nothing_else_has_happened(app: App) -> None:
    app.background.start("x", lambda _: None, title="Map of sample").wait(TIMEOUT_S)
    page = visit()
    assert "No activity yet" in text_of(page)
    assert "✓ finished" in text_of(page)


def test_a_command_is_listed_can_be_stopped_and_leads_to_its_result(app: App, tmp_path: Path) -> None:
    """Over tasks of one's own, which no stored run has yet. Commands beside a console run like this in it."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "t", "subtask": "convert miles", "relevant": ["unit-exchange::convert_units"]}\n')
    ends = list[object]()

    def command(*words: str) -> None:
        with working_on(app):
            try:
                main([*words, "--tasks", str(tasks)])
            except SystemExit as end:
                ends.append(end.code)

    long = threading.Thread(target=command, args=("sweep", "--axis", "alpha_t=0:1:0.001"))
    long.start()
    wait_for(lambda: any(job.done for job in app.background.listed()))
    page = visit(view="runs")
    assert re.match(r"\*\*wayfare sweep .* of 1,001, ", page.get("progress")[0].proto.text)
    press(page, "activity.runs.stop.0")
    long.join(TIMEOUT_S)
    assert ends == [130]
    assert "stopped after" in text_of(visit(view="runs"))
    command("sweep", "--axis", "alpha_t=0:1:0.5")
    query = linked(visit(view="runs"))
    assert open_page("lab", **query).session_state["lab.sweep"] == query["sweep"]


def linked(page: AppTest) -> dict[str, str]:
    """The query of the newest run's link."""
    return dict(parse_qsl(urlsplit(page.get("link_button")[0].proto.url).query))
