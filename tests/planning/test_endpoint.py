"""One question, one answer over HTTP: the request, the answer, and the errors without an answer."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.domain.errors import PlannerError
from core.planning import model_endpoint
from core.planning.base import Watch, watched
from core.planning.model_endpoint import ANSWER_LIMIT_BYTES, STOPPED, Message, ModelEndpoint, endpoint_of
from tests.cases import each
from tests.planning.endpoints import LATE_S

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
MESSAGE = Message("the rules", "the question", SCHEMA, "thing")


def failure_of(asking, **options) -> str:
    with pytest.raises(PlannerError) as caught:
        asking(**options).ask(MESSAGE)
    return str(caught.value)


def test_the_question_goes_out_with_model_key_schema_and_without_chance(endpoint, asking, key):
    endpoint.reactions = [endpoint.answer({"a": 1})]
    reply = asking("openai/small").ask(MESSAGE)
    (request,) = endpoint.asked
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {key}"
    assert request.body["model"] == "small"
    assert request.body["temperature"] == 0
    assert request.body["messages"] == [
        {"role": "system", "content": "the rules"},
        {"role": "user", "content": "the question"},
    ]
    assert request.body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "thing", "strict": True, "schema": SCHEMA},
    }
    assert (json.loads(reply.text), reply.input_tokens, reply.output_tokens) == ({"a": 1}, 100, 20)
    assert reply.whole


def test_a_model_of_the_price_table_costs_and_another_has_no_known_price(endpoint, asking):
    endpoint.reactions = [endpoint.answer("{}")]
    assert asking("gpt-4o-mini").ask(MESSAGE).cost_usd == pytest.approx(100 * 0.15e-6 + 20 * 0.6e-6)
    assert asking("openai/gpt-4o-mini").ask(MESSAGE).cost_usd > 0
    assert asking("small").ask(MESSAGE).cost_usd is None


def test_an_endpoint_that_does_not_count_tokens_has_no_known_price(endpoint, asking):
    endpoint.reactions = [endpoint.answer("{}", tokens=None)]
    reply = asking("gpt-4o-mini").ask(MESSAGE)
    assert (reply.input_tokens, reply.cost_usd) == (0, None)


def test_an_endpoint_that_takes_no_schema_is_asked_without_from_then_on(endpoint, asking):
    endpoint.reactions = [endpoint.fail(400, '{"error": {"message": "response_format"}}'), endpoint.answer("{}")]
    client = asking()
    client.ask(MESSAGE)
    client.ask(MESSAGE)
    assert ["response_format" in request.body for request in endpoint.asked] == [True, False, False]
    schema_in_text = [json.dumps(SCHEMA) in request.body["messages"][0]["content"] for request in endpoint.asked]
    assert schema_in_text == [False, True, True]


def test_a_model_that_reasons_is_asked_without_temperature_and_with_its_own_limit(endpoint, asking):
    refusals = [endpoint.fail(400, json.dumps({"error": {"param": name}})) for name in ("max_tokens", "temperature")]
    endpoint.reactions = [*refusals, endpoint.answer("{}")]
    client = asking(answer_tokens=7)
    client.ask(MESSAGE)
    client.ask(MESSAGE)
    assert len(endpoint.asked) == 4
    for request in endpoint.asked[2:]:
        assert request.body["max_completion_tokens"] == 7
        assert "response_format" in request.body
        assert not {"max_tokens", "temperature"} & set(request.body)


def test_without_an_address_the_name_has_the_provider_and_its_variable_the_key(endpoint, monkeypatch):
    endpoint.reactions = [endpoint.answer("{}")]
    monkeypatch.setitem(model_endpoint.PROVIDERS, "groq", endpoint.url)
    monkeypatch.setenv("GROQ_API_KEY", "sk-of-groq")
    ModelEndpoint("groq/openai/gpt-oss-20b").ask(MESSAGE)
    assert endpoint.asked[0].body["model"] == "openai/gpt-oss-20b"
    assert endpoint.asked[0].headers["authorization"] == "Bearer sk-of-groq"


@each("name", ["small", "nobody/small", "/", "gpt-4o-mini/"])
def test_a_name_without_a_known_provider_is_asked_of_nobody(name):
    with pytest.raises(PlannerError, match="is of no known provider; set WAYFARE_LLM_BASE_URL"):
        ModelEndpoint(name).ask(MESSAGE)


def test_a_request_that_is_refused_with_and_without_schema_is_said(endpoint, asking, waits):
    endpoint.reactions = [endpoint.fail(400, '{"error": {"message": "no such field"}}')]
    message = failure_of(asking)
    assert "refused the request" in message
    assert "no such field" in message
    assert (len(endpoint.asked), waits) == (2, [])


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_said_at_once_and_never_shown(endpoint, asking, waits, key, status, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    filler = "x" * 180  # the key crosses the cut of the message
    endpoint.reactions = [endpoint.fail(status, json.dumps({"error": {"message": f"{filler} {key} is wrong"}}))]
    client = asking()
    with pytest.raises(PlannerError) as caught:
        client.ask(MESSAGE)
    assert "refused the key" in str(caught.value)
    assert "WAYFARE_LLM_API_KEY" in str(caught.value)
    assert (len(endpoint.asked), waits) == (1, [])
    output = "".join((*traceback.format_exception(caught.value), repr(client), caplog.text, *capfd.readouterr()))
    assert key[:8] not in output


@pytest.mark.parametrize("status", [429, 503])
def test_what_may_pass_is_tried_three_times_with_growing_waits(endpoint, asking, waits, status):
    endpoint.reactions = [endpoint.fail(status)]
    assert "after 3 attempts" in failure_of(asking)
    assert (len(endpoint.asked), waits) == (3, [0.5, 1.0])


def test_what_has_passed_is_answered(endpoint, asking, waits):
    endpoint.reactions = [endpoint.fail(429), endpoint.half(), endpoint.answer("{}")]
    assert asking().ask(MESSAGE).text == "{}"
    assert waits == [0.5, 1.0]


def test_an_endpoint_that_says_nothing_is_waited_for_so_long_and_no_longer(endpoint, asking):
    endpoint.reactions = [endpoint.late()]
    message = failure_of(asking, timeout_s=0.1)
    assert "did not answer in time (" in message


def test_an_answer_that_trickles_ends_with_the_time(endpoint, asking):
    endpoint.reactions = [endpoint.endless(b" ", every_s=0.05)]
    assert "did not answer in time" in failure_of(asking, timeout_s=0.15)


def test_an_answer_without_end_is_cut_and_not_asked_for_again(endpoint, asking):
    endpoint.reactions = [endpoint.endless(b" " * (ANSWER_LIMIT_BYTES // 4), every_s=0.0)]
    assert "gave an answer without end" in failure_of(asking)
    assert len(endpoint.asked) == 1


@each("body", ["<html>welcome</html>", "", "[]", "null", '{"choices": 7}'])
def test_what_is_no_completion_is_no_answer(endpoint, asking, body):
    endpoint.reactions = [endpoint.fail(200, body)]
    assert "after 3 attempts (not a chat completion)" in failure_of(asking)


def test_nobody_there_is_said_with_the_address_without_its_password(asking):
    client = asking(url="http://ann:pw-5@127.0.0.1:9/v1?token=t-6")
    with pytest.raises(PlannerError, match=r"at 127\.0\.0\.1:9/v1 cannot be reached") as caught:
        client.ask(MESSAGE)
    assert "pw-5" not in str(caught.value)
    assert "t-6" not in str(caught.value)


@pytest.mark.parametrize(("finish", "whole"), [("stop", True), ("length", False)])
def test_a_cut_off_answer_is_known_as_such(endpoint, asking, finish, whole):
    endpoint.reactions = [endpoint.answer('{"a', finish=finish)]
    assert asking().ask(MESSAGE).whole is whole


WATCHED = """
import json, os, sys
seen = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        seen.append(repr(arguments[1:] if event == "socket.connect" else arguments))
sys.addaudithook(watch)
from core.planning.rules import planners
planner = planners(os.environ)["model"]
before = sorted({"openai", "genai_prices"} & set(sys.modules))
print(json.dumps({"before": before, "said": planner.rewrite("q"), "usd": planner.usage.cost_usd, "seen": seen}))
"""


def test_packages_are_loaded_with_the_first_question_and_reach_the_endpoint_alone(endpoint, key):
    endpoint.reactions = [endpoint.answer({"question": "list files"})]
    model = {"WAYFARE_LLM_MODEL": "gpt-4o-mini", "WAYFARE_LLM_BASE_URL": endpoint.url, "WAYFARE_LLM_API_KEY": key}
    done = subprocess.run(
        [sys.executable, "-c", WATCHED], env={**os.environ, **model}, capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert (document["before"], document["said"]) == ([], "list files")
    assert document["usd"] > 0
    assert document["seen"]
    assert all("127.0.0.1" in address for address in document["seen"]), document["seen"]


def test_the_limit_of_time_is_a_setting() -> None:
    variables = {"WAYFARE_LLM_MODEL": "small", "WAYFARE_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    assert endpoint_of(variables).timeout_s == 120
    assert endpoint_of({**variables, "WAYFARE_LLM_TIMEOUT_S": "600"}).timeout_s == 600
    for wrong in ("soon", "0", "inf", "nan"):
        with pytest.raises(PlannerError, match="give seconds above 0"):
            endpoint_of({**variables, "WAYFARE_LLM_TIMEOUT_S": wrong})


@each("address", ["http://localhost:80a/v1", "http://[::1/v1", "https://ann:secret/word@a.example/v1"])
def test_a_malformed_address_is_one_sentence_without_its_secret(address) -> None:
    with pytest.raises(PlannerError) as caught:
        endpoint_of({"WAYFARE_LLM_MODEL": "small", "WAYFARE_LLM_BASE_URL": address})
    assert str(caught.value) == "WAYFARE_LLM_BASE_URL is no web address; give one, as http://localhost:11434/v1."


# Somebody who waits sees the tokens, and can stop.


def test_an_answer_is_streamed_to_somebody_who_waits(endpoint, asking):
    endpoint.reactions = [endpoint.answer({"a": 1})]
    watch = Watch()
    with watched(watch):
        reply = asking().ask(MESSAGE)
    assert (reply.text, reply.whole, reply.input_tokens, reply.output_tokens) == ('{"a": 1}', True, 100, 20)
    assert endpoint.asked[0].body["stream"]
    assert watch.tokens is None


def test_an_endpoint_that_does_not_stream_is_asked_without_from_then_on(endpoint, asking):
    endpoint.reactions = [endpoint.answer("{}", streams=False)]
    client = asking()
    with watched(Watch()):
        client.ask(MESSAGE)
        assert client.ask(MESSAGE).text == "{}"
    assert ["stream" in request.body for request in endpoint.asked] == [True, False, False]


@pytest.mark.parametrize("started", [False, True], ids=["while it reads", "while it writes"])
def test_an_answer_ends_as_soon_as_it_is_stopped(endpoint, asking, started):
    endpoint.reactions = [endpoint.unfinished("one", "two") if started else endpoint.late()]
    watch, began = Watch(), time.monotonic()
    with watched(watch), ThreadPoolExecutor(1) as pool:
        stopping = pool.submit(stop_at, watch, 2 if started else 0, endpoint.asked)
        assert failure_of(asking) == STOPPED
    assert stopping.result() == ("the model writes, tokens so far: 2" if started else "the model reads")
    assert time.monotonic() - began < LATE_S
    assert len(endpoint.asked) == 1


def stop_at(watch: Watch, tokens: int, requests: list) -> str:
    while watch.tokens != tokens or not requests:
        time.sleep(0.001)
    words = watch.words()
    watch.stop.set()
    return words
