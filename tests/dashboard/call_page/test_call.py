"""The Call page: the form and what is wrong with it, a call and its result, simulation, virtual servers, and the next decision."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from core.decisions.routing import DECISIONS_KEPT
from core.domain import units
from core.domain.execution import Progress
from core.domain.outcome import CallMode, ContentBlock, OutcomeKind
from tests.dashboard.call_page.bench import HOSTILE, Bench, how, key_of, labelled, press
from tests.dashboard.harness import checked, markdown_of, open_page, text_of


def test_the_first_run_shows_the_tool_as_text_with_the_figures_of_the_decision_and_an_untouched_form(
    bench: Bench,
) -> None:
    page = bench.open()
    assert "is required" not in markdown_of(page)
    assert labelled(page, "text_input", "path").value == ""
    assert labelled(page, "number_input", "lines").value == 10
    assert "Not called yet" in markdown_of(page)
    decision = bench.app.routing.route("read a file", catalog="small", record=False)
    trace = decision.tool_at(decision.tools.ids.index("files::read"))
    assert [metric.value for metric in page.metric] == [
        "2 m$", units.seconds(trace.time_cost_s), units.share(trace.success),
    ]  # fmt: skip
    assert [text.value for text in page.text] == [HOSTILE]
    assert "Read **a** file" not in markdown_of(page)
    assert r"Read \*\*a\*\* file" in markdown_of(page)


def test_without_a_tool_it_says_what_to_do(bench: Bench) -> None:
    page = open_page("call")
    assert "No tool is chosen yet" in markdown_of(checked(page))


def test_a_link_to_what_is_not_there_says_so(bench: Bench) -> None:
    assert r"no tool nothing\:\:here" in markdown_of(bench.open("nothing::here"))
    assert "There is no catalog gone" in markdown_of(bench.open(catalog="gone"))
    assert "no longer in memory" in markdown_of(bench.open(decision="0123"))


def test_calling_an_empty_form_tells_what_is_required_and_calls_nothing(bench: Bench) -> None:
    page = bench.open()
    labelled(page, "number_input", "lines").set_value(0)
    labelled(page, "text_area", "filters").set_value("[1,")
    markdown = markdown_of(checked(page.run()))  # a wrong value is red at once
    assert r"0 is less than the minimum of 1" in markdown
    assert "is not JSON" in markdown
    labelled(page, "number_input", "lines").set_value(7.5)
    assert r"7\.5 is not" in markdown_of(checked(page.run()))
    page = press(bench.open())
    assert "is required" in markdown_of(page)
    assert "1 argument has to be corrected" in markdown_of(page)
    labelled(page, "text_input", "path").set_value("a.txt")
    assert "is required" not in markdown_of(checked(page.run()))
    assert bench.caller.calls == []


def test_a_call_sends_what_the_form_holds(bench: Bench) -> None:
    page = bench.open()
    labelled(page, "text_input", "path").set_value("a.txt")
    labelled(page, "selectbox", "mode").set_value(1)
    labelled(page, "text_area", "filters").set_value('["x"]')
    labelled(page, "text_input", "token").set_value("hunter2secret")
    bench.caller.outcome = {"structured": {"result": "hello"}, "content": (ContentBlock("text", text="hello"),)}
    page = bench.answered(press(page))
    call = bench.caller.calls[0]
    assert call.arguments == {"path": "a.txt", "lines": 10, "mode": "bytes", "filters": ["x"], "token": "hunter2secret"}
    assert (call.catalog, call.timeout_s) == ("small", 30.0)
    assert "hello" in [code.value for code in page.code]
    assert "hunter2secret" not in " ".join(str(element.value) for element in page.json)
    assert {"200 ms", "open session", "2 m$", "2026-07-28"} <= {metric.value for metric in page.metric}
    table = page.dataframe[0].value.set_index("statistic")
    assert table.loc["tool: call time", "change"] == "▼ −120 ms"
    assert table.loc["server: calls", "after"] == "1"


def test_json_and_form_carry_the_arguments_to_each_other(bench: Bench) -> None:
    page = bench.open()
    labelled(page, "text_input", "path").set_value("a.txt")
    page.run()
    page = checked(page.toggle[0].set_value(True).run())
    assert json.loads(page.text_area[0].value or "") == {"path": "a.txt", "lines": 10}
    page.text_area[0].set_value('{"path": "b.txt", "tail": true}').run()
    page = checked(page.toggle[0].set_value(False).run())
    assert labelled(page, "text_input", "path").value == "b.txt"
    assert labelled(page, "number_input", "lines").value is None
    page = checked(page.toggle[0].set_value(True).run())
    page.text_area[0].set_value('{"more": 1}').run()
    assert checked(page.toggle[0].set_value(False).run()).toggle[0].value is True


def test_a_press_on_an_earlier_question_calls_nothing(bench: Bench) -> None:
    page = open_page("call", catalog="small", q="read notes.txt")
    page.text_input(key="ask.q").set_value("size of a file")  # sent together with the press
    page = press(page)
    assert page.query_params["tool"] == "files::stat"
    assert bench.caller.calls == []
    for number in range(DECISIONS_KEPT):  # as agents ask meanwhile
        bench.app.routing.route(f"read file {number}", visitor="", catalog="small")
    bench.answered(press(page))
    assert [call.tool for call in bench.caller.calls] == ["stat"]


def test_progress_and_cancel(bench: Bench) -> None:
    bench.caller.progress = Progress(2, 5, "**reading**")
    page = press(bench.open("files::stat"))
    while not bench.caller.calls:
        threading.Event().wait(0.005)
    page = checked(page.run())
    assert page.button(key=key_of(page, "call.run.go")).disabled
    assert "**reading** (2 of 5)" in [text.value for text in page.text]
    press(page, "call.run.cancel")
    next(iter(page.session_state["call.runs"].values())).handle.report(20)
    markdown = markdown_of(checked(page.run()))
    assert "You cancelled the call" in markdown
    assert "because the call says nothing about the tool" in markdown


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
    assert (how(page).value, page.button(key=key_of(page, "call.run.go")).label) == (CallMode.REAL, "Call")
    page = checked(how(page).set_value(CallMode.DRAWN).run())
    assert page.button(key=key_of(page, "call.run.go")).label == "Simulate"
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


@pytest.mark.parametrize(
    ("outcome", "sentence"),
    [
        ({"kind": OutcomeKind.INVALID_ARGUMENTS}, "success and variance are folded with y = 0 at 0.25 of the rates"),
        ({"kind": OutcomeKind.NOT_CONNECTED}, "Folded with y = 0, fail = 1, EHRR (8)."),
        ({"kind": OutcomeKind.TIMEOUT, "injected": "a drop"}, "unchanged, because the network was injected"),
    ],
)
def test_what_a_call_changes_is_told_by_its_outcome(bench: Bench, outcome: dict[str, Any], sentence: str) -> None:
    bench.caller.outcome = outcome
    assert sentence in text_of(bench.answered(press(bench.open("files::stat"))))


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


def test_a_new_question_replaces_what_the_earlier_one_said(bench: Bench) -> None:
    page = open_page("call", catalog="small", q="read 20 lines of notes.txt")
    ask = page.text_input(key="ask.q").set_value

    page = checked(ask("read other.txt").run())
    assert labelled(page, "text_input", "path").value == "other.txt"
    page = checked(page.toggle[0].set_value(True).run())
    page = checked(ask("read a third file, last.txt").run())
    assert json.loads(page.text_area[0].value or "") == {"path": "last.txt", "lines": 10}


def test_the_next_decision_is_compared_with_the_one_that_led_here(bench: Bench) -> None:
    decision = bench.app.routing.route("size of a file", catalog="small")
    winner = decision.winner
    assert winner is not None
    page = bench.open(winner.tool, decision=decision.id)
    assert f"candidate 1 of {len(decision.candidates)}**, utility {units.plain(winner.utility)}." in markdown_of(page)
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
    next_decision = bench.app.routing.route("size of a file", catalog="small", record=False)
    tool = next_decision.tool_at(next_decision.tools.ids.index(winner.tool))
    assert tool.success < winner.success
    time_s, success_percent = (float(metric.value.split()[0]) for metric in page.metric[1:3])
    assert time_s == pytest.approx(tool.time_cost_s, rel=0.02)  # a failure counts less with every second that passes
    assert success_percent == pytest.approx(100 * tool.success, rel=0.02)


def test_what_fails_on_our_side_is_markdown_of(bench: Bench) -> None:
    bench.caller.outcome = {"kind": "no kind of outcome"}
    page = press(bench.open("files::stat"))
    bench.caller.go.set()
    with pytest.raises(AttributeError):
        next(iter(page.session_state["call.runs"].values())).handle.report(20)
    assert "Wayfare could not finish this call" in markdown_of(checked(page.run()))
