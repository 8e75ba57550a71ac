"""The Call page before a call: the tool, the form, what is wrong with it, and what is sent."""

from __future__ import annotations

import json

from core.domain import units
from core.domain.outcome import ContentBlock
from tests.dashboard.call_page.bench import HOSTILE, Bench, labelled, press
from tests.dashboard.harness import checked, markdown_of, open_page


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
    shown = markdown_of(checked(page.run()))  # a wrong value is red at once
    assert r"0 is less than the minimum of 1" in shown
    assert "is not JSON" in shown
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
    sent = bench.caller.calls[0]
    assert sent.arguments == {"path": "a.txt", "lines": 10, "mode": "bytes", "filters": ["x"], "token": "hunter2secret"}
    assert (sent.catalog, sent.timeout_s) == ("small", 30.0)
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
