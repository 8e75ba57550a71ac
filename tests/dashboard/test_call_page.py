"""The Call page with a caller written by hand: first run, validation, simulation, progress, results, the next decision."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from core.app import App
from core.domain.catalog import Connection, Tool
from core.domain.outcome import CallMode, ContentBlock, Outcome, OutcomeKind, ToolCall
from core.execution.base import Progress
from tests.dashboard import harness
from tests.dashboard.harness import checked, markdown_of, open_page, opened

HOSTILE = "<script>alert(1)</script> **bold** :red[x] $a$ [link](javascript:alert(1))"
CATALOG = {
    "servers": [
        {
            "name": "files",
            "description": "Reads and removes files.",
            "connection": {"command": "nowhere"},
            "tools": [
                {
                    "name": "read",
                    "title": "Read **a** file",
                    "description": HOSTILE,
                    "price_usd": 0.002,
                    "annotations": {"readOnlyHint": True},
                    "inputSchema": {
                        "type": "object",
                        "properties": {
                            "path": {"type": "string", "description": "Which file"},
                            "lines": {"type": "integer", "minimum": 1, "default": 10},
                            "mode": {"enum": ["text", "bytes"]},
                            "tail": {"type": "boolean"},
                            "filters": {"type": "array", "items": {"type": "string"}},
                            "token": {"type": "string", "format": "password"},
                        },
                        "required": ["path"],
                    },
                },
                {"name": "remove", "description": "Removes a file.", "annotations": {"destructiveHint": True}},
                {"name": "stat", "description": "Size of a file.", "inputSchema": {"type": "object", "properties": {}}},
            ],
        },
        {
            "name": "shelf",
            "description": "Lends books.",
            "virtual": True,
            "tools": [{"name": "lend", "description": "Lends a book.", "annotations": {"destructiveHint": True}}],
        },
    ]
}


@dataclass
class Caller:
    """Answers what it is told; waits for `go`, reports `progress`, and knows what it was asked."""

    answer: dict[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    go: threading.Event = field(default_factory=threading.Event)
    asked: list[ToolCall] = field(default_factory=list)
    connections: list[Connection | None] = field(default_factory=list)

    def call(
        self,
        call: ToolCall,
        tool: Tool | None,
        connection: Connection | None,
        *,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: threading.Event | None = None,
    ) -> Outcome:
        """See ToolCaller."""
        self.asked.append(call)
        self.connections.append(connection)
        if self.progress is not None and on_progress is not None:
            on_progress(self.progress)
        while not self.go.wait(0.005):
            if cancel is not None and cancel.is_set():
                return Outcome(call, OutcomeKind.CANCELLED, datetime.now(UTC), 0.1, error="cancelled")
        given = {"kind": OutcomeKind.OK, "latency_s": 0.2, **self.answer}
        return Outcome(call=call, started_at=datetime.now(UTC), protocol_version="2026-07-28", **given)


@dataclass
class Bench:
    """An app with one small catalog, and the caller behind it."""

    app: App
    caller: Caller

    def open(self, tool: str = "files::read", **query: str) -> AppTest:
        """The page after its first run."""
        return open_page("call", **{"catalog": "small", "tool": tool, **query})

    def answered(self, page: AppTest) -> AppTest:
        """The page once the call under way is done."""
        self.caller.go.set()
        for run in page.session_state["call.runs"].values():
            run.handle.report(20)
        return checked(page.run())


def press(page: AppTest, key: str = "call.run.go") -> AppTest:
    """The page after a button."""
    return harness.press(page, key)


def how(page: AppTest) -> Any:
    """The choice between real, virtual and simulated calls."""
    return next(group for group in page.segmented_control if group.label == "How")


def labelled(page: AppTest, kind: str, label: str) -> Any:
    """A widget by the beginning of its label."""
    return next(widget for widget in getattr(page, kind) if widget.label.startswith(label))


@pytest.fixture
def bench() -> Iterator[Bench]:
    """An app whose calls are made by a caller written by hand."""
    caller = Caller()
    with opened({"small": CATALOG}, caller=lambda: caller) as app:
        yield Bench(app, caller)
        caller.go.set()


def test_the_first_run_shows_the_tool_and_an_untouched_form(bench: Bench) -> None:
    page = bench.open()
    assert "is required" not in markdown_of(page)
    assert labelled(page, "text_input", "path").value == ""
    assert labelled(page, "number_input", "lines").value == 10
    assert [metric.value for metric in page.metric] == ["2 m$", "1 s", "90 %"]
    assert "Not called yet" in markdown_of(page)


def test_a_strangers_text_is_never_markup(bench: Bench) -> None:
    page = bench.open()
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
    page = press(bench.open())
    assert "is required" in markdown_of(page)
    assert "1 argument has to be put right" in markdown_of(page)
    labelled(page, "text_input", "path").set_value("a.txt")
    assert "is required" not in markdown_of(checked(page.run()))
    assert bench.caller.asked == []


def test_a_wrong_value_is_red_at_once(bench: Bench) -> None:
    page = bench.open()
    labelled(page, "number_input", "lines").set_value(0)
    labelled(page, "text_area", "filters").set_value("[1,")
    shown = markdown_of(checked(page.run()))
    assert r"0 is less than the minimum of 1" in shown
    assert "is not JSON" in shown


def test_a_call_sends_what_the_form_holds(bench: Bench) -> None:
    page = bench.open()
    labelled(page, "text_input", "path").set_value("a.txt")
    labelled(page, "selectbox", "mode").set_value(1)
    labelled(page, "text_area", "filters").set_value('["x"]')
    labelled(page, "text_input", "token").set_value("hunter2secret")
    bench.caller.answer = {"structured": {"result": "hello"}, "content": (ContentBlock("text", text="hello"),)}
    page = bench.answered(press(page))
    sent = bench.caller.asked[0]
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


def test_progress_and_cancel(bench: Bench) -> None:
    bench.caller.progress = Progress(2, 5, "**reading**")
    page = press(bench.open("files::stat"))
    while not bench.caller.asked:
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
    assert bench.caller.asked == []
    assert "may delete or overwrite" not in markdown_of(press(page, "call.run.keep"))
    bench.answered(press(press(page), "call.run.sure"))
    assert len(bench.caller.asked) == 1


def test_a_simulated_call_calls_and_teaches_nothing(bench: Bench) -> None:
    page = bench.open("files::remove")
    page = checked(how(page).set_value(CallMode.DRAWN).run())
    assert page.button(key="call.run.go").label == "Simulate"
    page = bench.answered(press(page))
    assert bench.caller.asked == []
    assert "the outcome was drawn at random" in markdown_of(page)
    assert "because it was simulated" in markdown_of(page)
    assert len(page.dataframe) == 0


def test_how_to_call_is_one_choice(bench: Bench) -> None:
    page = bench.open("files::remove")
    assert how(page).options == ["Real call", "Virtual server", "Simulate"]
    assert (how(page).value, page.button(key="call.run.go").label) == (CallMode.REAL, "Call")
    assert "Virtual server: real MCP" not in markdown_of(page)
    page = checked(how(page).set_value(CallMode.VIRTUAL).run())
    page = bench.answered(press(page))  # nothing is destroyed: nobody has to confirm
    assert "Virtual server: real MCP, simulated results. Nothing is learnt from it." in markdown_of(page)
    assert "because it was simulated" in markdown_of(page)
    assert "Would cost" in {metric.label for metric in page.metric}
    assert "core.virtual" in (bench.caller.connections[0] or Connection("stdio")).args


def test_a_virtual_server_says_so_and_is_called_without_a_real_choice(bench: Bench) -> None:
    page = bench.open("shelf::lend")
    assert how(page).options == ["Virtual server", "Simulate"]
    assert "Virtual server: real MCP, simulated results." in markdown_of(page)
    bench.caller.answer = {"kind": OutcomeKind.NOT_CONNECTED, "error": "it is gone"}
    page = bench.answered(press(page))
    assert len(bench.caller.asked) == 1
    assert "Nothing is learnt from it" in markdown_of(page)
    assert not any(button.key == "call.connect" for button in page.button)  # there is nothing to connect


def test_each_kind_of_server_keeps_its_own_choice(bench: Bench) -> None:
    page = checked(how(bench.open("files::stat")).set_value(CallMode.DRAWN).run())
    page = checked(page.selectbox(key="call.url.tool").set_value("shelf::lend").run())
    assert how(page).value is CallMode.VIRTUAL
    page = checked(page.selectbox(key="call.url.tool").set_value("files::stat").run())
    assert how(page).value is CallMode.DRAWN


@pytest.mark.parametrize("kind", list(OutcomeKind))
def test_every_outcome_has_its_word_and_error_text(bench: Bench, kind: OutcomeKind) -> None:
    bench.caller.answer = {"kind": kind, "error": "" if kind.success else HOSTILE, "attempts": 2}
    page = bench.answered(press(bench.open("files::stat")))
    assert "2, retried" in {metric.value for metric in page.metric}
    assert (HOSTILE in [code.value for code in page.code]) is not kind.success
    assert any(button.key == "call.connect" for button in page.button) is (kind is OutcomeKind.NOT_CONNECTED)


def test_hostile_results_appear_as_text(bench: Bench) -> None:
    rows = [{"<b>a</b>": HOSTILE, "n": 1}, {"<b>a</b>": "x", "n": 2}]
    bench.caller.answer = {"structured": {"rows": rows}, "content": (ContentBlock("text", text=HOSTILE),)}
    page = bench.answered(press(bench.open("files::stat")))
    assert HOSTILE in [code.value for code in page.code]
    assert page.dataframe[0].value["<b>a</b>"].tolist() == [HOSTILE, "x"]
    assert "javascript:" not in markdown_of(page)


def test_the_next_decision_is_compared_with_the_one_that_led_here(bench: Bench) -> None:
    decision = bench.app.routing.route("size of a file", catalog="small")
    winner = decision.winner
    assert winner is not None
    page = bench.open(winner.tool, decision=decision.id)
    assert "candidate 1 of" in markdown_of(page)
    if winner.tool == "files::read":
        labelled(page, "text_input", "path").set_value("a")
    bench.caller.answer = {"kind": OutcomeKind.TIMEOUT, "latency_s": 30.0, "error": "no answer"}
    page = press(page)
    if any(button.key == "call.run.sure" for button in page.button):
        page = press(page, "call.run.sure")
    page = bench.answered(page)
    assert bench.caller.asked[0].decision_id == decision.id
    figures = page.dataframe[1].value.set_index("statistic")
    assert figures.loc["called tool: utility U", "change"].startswith("▼")
    assert page.query_params["decision"] == decision.id


def test_what_fails_on_our_side_is_markdown_of(bench: Bench) -> None:
    bench.caller.answer = {"kind": "no kind of outcome"}
    page = press(bench.open("files::stat"))
    bench.caller.go.set()
    with pytest.raises(AttributeError):
        next(iter(page.session_state["call.runs"].values())).handle.report(20)
    assert "Wayfare could not finish this call" in markdown_of(checked(page.run()))


def _draw_form() -> None:
    import streamlit as st

    from dashboard.pages.call.form import call_form

    call_form("small", st.session_state["tool"], attempted=True)


TYPES = st.sampled_from(["string", "integer", "number", "boolean", "array", "object", ["string", "null"], 5])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
PROPERTY = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "enum": st.lists(SCALARS, max_size=3),
        "default": SCALARS,
        "description": SCALARS,
        "multipleOf": SCALARS,
        "minimum": SCALARS,
        "format": st.sampled_from(["password", "markdown", 3]),
        "$ref": st.sampled_from(["#", "#/properties/a", "nowhere"]),
    },
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(st.text(max_size=6), PROPERTY, max_size=6), st.lists(st.text(max_size=6), max_size=2))
def test_no_schema_breaks_the_drawn_form(bench: Bench, properties: dict[str, Any], required: list[str]) -> None:
    page = AppTest.from_function(_draw_form, default_timeout=30)
    page.session_state["tool"] = Tool("s", "t", input_schema={"properties": properties, "required": required})
    checked(page.run())
