"""`wayfare agent` with a model over HTTP, by rules, and with errors: its output and exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.cli import main
from tests.cases import each

TIME = "tell me the current time"
PARTS = {"parts": [{"text": TIME, "needs": []}]}
CALL = {
    "action": "execute",
    "tool": "Meridian::current_time",
    "arguments_json": "{}",
    "subtask": "",
    "words": "Asking.",
}
STOP = {**CALL, "action": "stop", "words": "It is noon."}


def test_by_rules_every_event_is_one_entry(db: Path, capsys) -> None:
    main(["agent", f"{TIME} and convert 3 miles to km", "--db", str(db), "--json"])
    out, err = capsys.readouterr()
    document = json.loads(out)
    assert (err, document["planner"], document["live"], document["model_tokens"]) == ("", "rules", False, 0)
    routed = [event for event in document["events"] if event["do"] == "route"]
    assert [event["step"] for event in routed] == [0, 1]
    assert routed[0]["tokens"]["exposed"] < routed[0]["tokens"]["baseline"]
    calls = [event for event in document["events"] if event["do"] == "execute"]
    assert calls
    assert not any(event["called"] for event in calls)
    assert document["calls_usd"] == pytest.approx(sum(event["price_usd"] or 0.0 for event in calls))


@pytest.mark.usefixtures("model")
def test_a_models_words_stand_apart_from_results_and_what_it_took_is_said(endpoint, db: Path, capsys) -> None:
    endpoint.reactions = [
        endpoint.answer(PARTS), endpoint.answer({**CALL, "tool": "Meridian::make_time"}), endpoint.answer(CALL),
        endpoint.answer(STOP),
    ]  # fmt: skip
    main(["agent", TIME, "--planner", "llm", "--router", "tool_attention", "--db", str(db)])
    out = capsys.readouterr().out
    assert "EXECUTE  Meridian::make_time: not called: tool not available" in out
    assert '> {"error": "tool_not_available", "available": ["' in out
    assert "gpt-4o-mini: It is noon." in out
    assert "model 0.108 m$ for 480 tokens" in out  # four answers of 100 and 20 tokens at $0.15 and $0.60 a million


@pytest.mark.usefixtures("model")
def test_a_model_is_not_asked_beyond_the_budget(endpoint, db: Path, capsys) -> None:
    endpoint.reactions = [endpoint.answer(PARTS), endpoint.answer(CALL)]
    main(["agent", TIME, "--planner", "model", "--budget-usd", "0.00002", "--db", str(db)])
    assert "The budget is spent." in capsys.readouterr().out
    assert len(endpoint.asked) == 1


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("as_json", [False, True])
def test_a_model_that_fails_half_way_leaves_what_was_done_and_a_sentence(endpoint, db: Path, capsys, as_json) -> None:
    endpoint.reactions = [endpoint.answer(PARTS), endpoint.answer(CALL), endpoint.fail(500)]
    with pytest.raises(SystemExit) as exit_:
        main(["agent", TIME, "--planner", "llm", "--db", str(db), *(["--json"] if as_json else [])])
    out, err = capsys.readouterr()
    assert exit_.value.code == 2
    assert err.startswith("The model 'gpt-4o-mini' at")
    assert err.count("\n") == 1
    if as_json:
        assert [event["do"] for event in json.loads(out)["events"]] == ["route", "execute"]
        assert json.loads(out)["problem"] in err
    else:
        assert "EXECUTE  Meridian::current_time" in out


@each(
    ("options", "said"),
    [
        (["--planner", "llm"], "No model is set; set WAYFARE_LLM_MODEL"),
        (["--planner", "model"], "No model is set; set WAYFARE_LLM_MODEL"),
        (["--planner", "gpt"], "'gpt' is not one of 'rules', 'model'"),
        (["--allow-writes"], "give --live with it"),
        (["--budget-usd", "-1"], "-1"),
        (["--rounds", "0"], "0"),
    ],
)
def test_wrong_use_is_exit_2_with_one_sentence(db: Path, capsys, options, said) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["agent", TIME, "--db", str(db), *options])
    out, err = capsys.readouterr()
    assert (exit_.value.code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err
