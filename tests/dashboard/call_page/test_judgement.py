"""Was this the right tool? What is said of a call that came from a decision."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest

from tests.dashboard.call_page.bench import Bench, how, press
from tests.dashboard.harness import text_of

ASKED = "Was this the right tool?"
RIGHT, WRONG = "label:call:right:files::stat", "label:call:wrong:files::stat"


def called(bench: Bench, *, simulated: bool = False) -> AppTest:
    """The result of a call of files::stat, made on a decision."""
    decision = bench.app.routing.route("read a file", catalog="small")
    page = bench.open("files::stat", decision=decision.id)
    if simulated:
        how(page).set_value("drawn").run()
    bench.caller.go.set()
    return bench.answered(press(page))


def test_a_click_is_stored_with_its_decision_and_the_decision_below_follows(bench: Bench) -> None:
    page = called(bench)
    before = text_of(page)
    assert ASKED in before
    assert "ended well, but this does not tell whether" in before
    press(page, WRONG)
    (label,) = bench.app.feedback.labels("small")
    assert (label.subtask, label.tool, label.right) == ("read a file", "files::stat", False)
    assert label.decision_id is not None
    assert "Stored: files::stat is **wrong**" in text_of(page)
    rows = page.dataframe[-1].value.set_index("statistic")
    assert rows.loc["called tool: fits", "change"].startswith("▼")
    press(page, WRONG)
    assert bench.app.feedback.labels("small") == ()
    assert (
        page.dataframe[-1].value.set_index("statistic").loc["called tool: fits", "change"]
        != rows.loc["called tool: fits", "change"]
    )


def test_a_simulated_call_teaches_nothing_and_a_label_on_it_is_a_persons(bench: Bench) -> None:
    page = called(bench, simulated=True)
    assert bench.app.feedback.moved("read a file", catalog="small") == ()
    assert "was simulated and does not tell whether the tool fits" in text_of(page)
    press(page, RIGHT)
    (moved,) = bench.app.feedback.moved("read a file", catalog="small")
    assert (moved.tool, moved.by) == ("files::stat", "label")


def test_a_grade_is_stored_with_the_decision_of_the_call(bench: Bench) -> None:
    page = called(bench)
    page.session_state["judging:call:open"] = True  # as a click opens it
    page.run()
    field = next(one for one in page.radio if one.label.startswith("How well"))
    field.set_value(1).run()
    press(page, "judging:call:store")
    (one,) = bench.app.judgments.judgments("small", "my judgments")
    assert (one.subtask, one.tool, one.grade) == ("read a file", "files::stat", 1)
    assert one.decision_id is not None
    assert "files::stat has grade **1** in my judgments, by operator." in text_of(page)
    assert bench.app.feedback.labels("small") == ()
