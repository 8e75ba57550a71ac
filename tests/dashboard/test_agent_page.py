"""The Agent page: a task that runs to its end, one that is done by hand, what tools say shown as text, and links."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from streamlit.testing.v1 import AppTest

from core.agents.supervised_agent import SupervisedAgent
from core.app import App
from core.governance.policy import ApprovalRules
from core.planning.plans import Executed
from dashboard.pages.agent.view import EXAMPLES, RUN
from tests.dashboard.harness import app_with, checked, markdown_of, open_page, press, text_of
from tests.importing import import_text
from tests.world import RAW

WORDS = {"type": "object", "properties": {"words": {"type": "string"}}, "required": ["words"]}


def tool(name: str, text: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "description": text, "inputSchema": WORDS, "annotations": {"readOnlyHint": True}, **fields}


RAW_SERVER = {
    "servers": [
        {"name": "raw", "description": "Echo words.", "connection": {"type": "stdio", "command": "${python}", "args": ["-S", RAW]},
         "tools": [tool("echo", "Echo words back.", price_usd=0.001, success=0.9, latency_s=0.5),
                   tool("note", "Write down a note.", price_usd=0.001, success=0.9, latency_s=0.5, annotations={})]},
    ]
}  # fmt: skip
app = app_with({"raw": RAW_SERVER}, scope="module")
TASK = "Echo words '**bold** <b>'"
ASKED = {"q": TASK, "catalog": "raw", "router": "rag_mcp"}


def finished(page: AppTest) -> AppTest:
    """The page once its run is done, or waits for a person."""
    run: SupervisedAgent = page.session_state[RUN]
    deadline = time.monotonic() + 60
    while not run.wait(1):
        assert time.monotonic() < deadline
    return checked(page.run())


def test_a_tool_that_may_write_waits_for_a_press(app: App) -> None:
    page = finished(press(open_page("agent", **{**ASKED, "q": "Write down a note of 'milk'"}), "agent:start.raw"))
    text = text_of(page)
    assert "not called: may write" in text
    assert "No call ended well" in text
    page = finished(press(page, "agent:writes"))
    assert page.query_params["calls"] in ("write", ["write"])
    run: SupervisedAgent = page.session_state[RUN]
    assert [event.error for event in run.events if isinstance(event, Executed)] == [""]


def test_a_task_runs_and_every_step_is_shown(app: App) -> None:
    page = open_page("agent", catalog="raw")
    examples = [button.label for button in page.button if str(button.key).startswith("agent:example")]
    assert examples
    assert not set(EXAMPLES) & set(examples)  # they are of the sample
    assert page.button(key="agent:start.raw").disabled
    page = finished(press(open_page("agent", **ASKED), "agent:start.raw"))
    text = text_of(page)
    assert "ROUTE" in text
    assert "EXECUTE" in text
    assert [json.loads(code.value) for code in page.code] == [{"words": "**bold** <b>"}]
    assert "**bold** <b>" not in markdown_of(page)
    assert {metric.label: metric.value for metric in page.metric}["Sub-tasks done"] == "1 of 1"
    app.store.events.flush()
    assert set(app.store.activity.decisions()["origin"]) == {"agent"}
    (turn, stop) = page.dataframe[0].value.to_dict("records")
    assert (turn["do"], stop["do"], turn["exposed"] > 0) == ("execute", "stop", True)


def test_a_person_does_another_call_and_lets_it_go_on(app: App) -> None:
    page = finished(press(open_page("agent", **ASKED, hand="1"), "agent:start.raw"))
    assert "rules would call **raw" in text_of(page)
    arguments = next(area for area in page.text_area if area.label == "Arguments, JSON")
    page = checked(arguments.set_value("[1]").run())
    assert "Arguments are an object" in text_of(page)
    do = next(button for button in page.button if button.label == "Do it")
    assert do.disabled
    arguments = next(area for area in page.text_area if area.label == "Arguments, JSON")
    page = checked(arguments.set_value('{"words": "by hand"}').run())
    page = finished(press(page, next(button.key for button in page.button if button.label == "Do it")))
    assert "rules would stop here" in text_of(page)
    run: SupervisedAgent = page.session_state[RUN]
    page = press(page, "agent:go_on")
    while not run.done:
        run.wait(1)
    page = checked(page.run())
    assert [json.loads(code.value) for code in page.code] == [{"words": "by hand"}]


def test_nothing_runs_on_another_catalog_than_the_one_shown(app: App) -> None:
    import_text(app.catalog_editor, json.dumps(RAW_SERVER), "gone")
    page = open_page("agent", **{**ASKED, "catalog": "gone", "q": "Write down a note of 'milk'"})
    ended = finished(press(open_page("agent", **dict(page.query_params)), "agent:start.gone"))
    run: SupervisedAgent = ended.session_state[RUN]
    app.catalogs.remove("gone")
    page = press(page, "agent:start.gone")
    assert RUN not in page.session_state
    assert "There is no catalog gone" in markdown_of(page)
    assert press(ended, "agent:writes").session_state[RUN] is run


def test_what_is_missing_is_said_and_can_be_done_step_by_step(app: App) -> None:
    page = finished(press(open_page("agent", **{**ASKED, "q": "Echo words"}), "agent:start.raw"))
    text = text_of(page)
    assert "needs words" in text
    assert "not done" in text
    page = finished(press(page, "agent:again"))
    assert "Your turn" in text_of(page)
    run: SupervisedAgent = page.session_state[RUN]
    page = press(page, "agent:end")
    while not run.done:
        run.wait(1)
    text = text_of(checked(page.run()))
    assert "Ended by hand" in text
    assert "under way" not in text


def test_a_call_that_needs_a_person_is_approved_where_it_is_done(app: App) -> None:
    governance = app.governance
    governance.set_policy(replace(governance.policy, approvals=ApprovalRules(new=True)), origin="test")
    import_text(app.catalog_editor, json.dumps(RAW_SERVER), "fresh")
    query = {**ASKED, "catalog": "fresh"}
    page = finished(press(open_page("agent", **query), "agent:start.fresh"))
    assert "not called: approval needed" in text_of(page)
    assert any(button.label == "Approve it on Govern" for button in page.button)
    page = finished(press(open_page("agent", **query, hand="1"), "agent:start.fresh"))
    assert "needs a person's approval**: it is new here" in text_of(page)
    page = finished(press(page, next(button.key for button in page.button if button.label == "Approve and do it")))
    run: SupervisedAgent = page.session_state[RUN]
    assert [event.error for event in run.events if isinstance(event, Executed)] == [""]
    assert [approval.action for approval in app.store.governance.approvals()][-1] == "used"
    run.end()
