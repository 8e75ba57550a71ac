"""A call and its result: progress, simulation, virtual servers, outcomes, and the next decision."""

from __future__ import annotations

import threading

import pytest

from core.domain.execution import Progress
from core.domain.outcome import CallMode, OutcomeKind
from tests.dashboard.call_page.bench import HOSTILE, Bench, how, labelled, press
from tests.dashboard.harness import checked, markdown_of, text_of


def test_progress_and_cancel(bench: Bench) -> None:
    bench.caller.progress = Progress(2, 5, "**reading**")
    page = press(bench.open("files::stat"))
    while not bench.caller.calls:
        threading.Event().wait(0.005)
    page = checked(page.run())
    assert page.button(key="call.run.go").disabled
    assert "**reading** (2 of 5)" in [text.value for text in page.text]
    press(page, "call.run.cancel")
    next(iter(page.session_state["call.runs"].values())).handle.report(20)
    shown = markdown_of(checked(page.run()))
    assert "You cancelled the call" in shown
    assert "because it was cancelled" in shown


def test_a_destructive_tool_asks_once_more(bench: Bench) -> None:
    page = press(bench.open("files::remove"))
    assert "may delete or overwrite" in markdown_of(page)
    assert bench.caller.calls == []
    assert "may delete or overwrite" not in markdown_of(press(page, "call.run.keep"))
    bench.answered(press(press(page), "call.run.sure"))
    assert len(bench.caller.calls) == 1


def test_a_simulated_call_calls_nothing_and_changes_simulated_statistics_alone(bench: Bench) -> None:
    page, measured = bench.open("files::remove"), bench.app.catalogs.statistics("small")
    assert how(page).options == ["Real call", "Virtual server", "Simulate"]
    assert (how(page).value, page.button(key="call.run.go").label) == (CallMode.REAL, "Call")
    page = checked(how(page).set_value(CallMode.DRAWN).run())
    assert page.button(key="call.run.go").label == "Simulate"
    page = bench.answered(press(page))
    assert bench.caller.calls == []
    assert "the outcome was drawn at random" in markdown_of(page)
    assert "The measured statistics are unchanged, because it was simulated" in markdown_of(page)
    assert "##### Changed statistics :violet-badge[simulated]" in markdown_of(page)
    changed = page.dataframe[0].value
    assert changed.loc[changed["statistic"] == "tool: calls", "change"].tolist() == ["+1"]
    assert bench.app.catalogs.statistics("small") is measured


def test_a_virtual_server_says_so_and_is_called_without_a_real_choice(bench: Bench) -> None:
    page = checked(how(bench.open("files::stat")).set_value(CallMode.DRAWN).run())
    page = checked(page.selectbox(key="call.url.tool").set_value("shelf::lend").run())
    assert how(page).value is CallMode.VIRTUAL
    page = checked(page.selectbox(key="call.url.tool").set_value("files::stat").run())
    assert how(page).value is CallMode.DRAWN  # each kind of server keeps its own choice
    page = checked(page.selectbox(key="call.url.tool").set_value("shelf::lend").run())
    assert how(page).options == ["Virtual server", "Simulate"]
    assert "Virtual server: real MCP, simulated results." in markdown_of(page)
    bench.caller.outcome = {"kind": OutcomeKind.NOT_CONNECTED, "error": "it is gone"}
    page = bench.answered(press(page))
    assert len(bench.caller.calls) == 1
    assert "The measured statistics are unchanged" in markdown_of(page)
    assert not any(button.key == "call.connect" for button in page.button)  # there is nothing to connect


SOME = (OutcomeKind.TIMEOUT, OutcomeKind.NOT_TRIED)


@pytest.mark.parametrize("kind", SOME)
def test_every_outcome_has_its_word_and_error_text(bench: Bench, kind: OutcomeKind) -> None:
    bench.caller.outcome = {"kind": kind, "error": HOSTILE, "attempts": 2}
    page = bench.answered(press(bench.open("files::stat")))
    assert "Was this the right tool?" not in text_of(page)  # there was no question
    assert "2, retried" in {metric.value for metric in page.metric}
    assert HOSTILE in [code.value for code in page.code]
    assert any(button.key == "call.connect" for button in page.button) is (kind is OutcomeKind.NOT_TRIED)


def test_the_form_begins_with_what_the_question_says(bench: Bench) -> None:
    decision = bench.app.routing.route("read notes.txt", catalog="small")
    page = bench.open("files::read", decision=decision.id)
    assert labelled(page, "text_input", "path").value == "notes.txt"
    assert "From the question: path. Check it before the call." in [caption.value for caption in page.caption]
    labelled(page, "text_input", "path").set_value("other.txt").run()
    assert labelled(page, "text_input", "path").value == "other.txt"
    assert not any("From the question" in caption.value for caption in page.caption)
    decision = bench.app.routing.route("read what Bo wrote in May", catalog="small")
    page = bench.open("files::read", decision=decision.id)
    assert "Also in the question: Bo, May. No rule puts them into a field." in [
        caption.value for caption in page.caption
    ]


def test_the_next_decision_is_compared_with_the_one_that_led_here(bench: Bench) -> None:
    decision = bench.app.routing.route("size of a file", catalog="small")
    winner = decision.winner
    assert winner is not None
    page = bench.open(winner.tool, decision=decision.id)
    assert "candidate 1 of" in markdown_of(page)
    if winner.tool == "files::read":
        labelled(page, "text_input", "path").set_value("a")
    bench.caller.outcome = {"kind": OutcomeKind.TIMEOUT, "latency_s": 30.0, "error": "no answer"}
    page = press(page)
    if any(button.key == "call.run.sure" for button in page.button):
        page = press(page, "call.run.sure")
    page = bench.answered(page)
    assert bench.caller.calls[0].decision_id == decision.id
    figures = page.dataframe[1].value.set_index("statistic")
    assert figures.loc["called tool: utility U", "change"].startswith("▼")
    assert page.query_params["decision"] == decision.id
    after = bench.app.routing.route("size of a file", catalog="small", record=False)
    now = after.tool_at(after.tools.ids.index(winner.tool))
    assert now.success < winner.success
    time_s, success_percent = (float(metric.value.split()[0]) for metric in page.metric[1:3])
    assert time_s == pytest.approx(now.time_cost_s, rel=0.02)  # a failure counts less with every second that passes
    assert success_percent == pytest.approx(100 * now.success, rel=0.02)


def test_what_fails_on_our_side_is_markdown_of(bench: Bench) -> None:
    bench.caller.outcome = {"kind": "no kind of outcome"}
    page = press(bench.open("files::stat"))
    bench.caller.go.set()
    with pytest.raises(AttributeError):
        next(iter(page.session_state["call.runs"].values())).handle.report(20)
    assert "Wayfare could not finish this call" in markdown_of(checked(page.run()))
