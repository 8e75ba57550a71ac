"""`wayfare route`: the document of the contract, and its numbers recomputed from the formulas."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from tests.cases import each
from tests.cli.conftest import Command, server, tool

TEXT = "sum a column of a CSV file"
KEYS = {
    "router", "subtask", "parameters", "planner", "reason", "servers", "tools", "candidates", "tokens", "timings_ms",
    "preset", "p_nothing_fits", "confidence",
}  # fmt: skip
SERVER_KEYS = {
    "server", "similarity", "cost_s", "utility", "shortlisted", "posted_price_usd", "ask_usd", "accepted",
}  # fmt: skip
TOOL_KEYS = {
    "tool", "similarity", "cost_s", "time_cost_s", "money_cost_s", "utility", "price_usd", "payment_usd", "affordable", "rank", "dropped_by",
    "p_fit", "p_success",
}  # fmt: skip


def routed(wayfare: Command, setting: str, *arguments: object) -> dict[str, Any]:
    options = [word for pair in setting.split() for word in ("--set", pair)]
    return wayfare("route", TEXT, *options, *arguments, "--json").json()


def test_the_document_is_that_of_the_contract(wayfare: Command) -> None:
    d = routed(wayfare, "")
    assert d.keys() - {"stages"} == KEYS
    assert all(row.keys() == SERVER_KEYS for row in d["servers"])
    assert all(row.keys() == TOOL_KEYS for row in d["tools"])
    assert (d["router"], d["subtask"], d["planner"]) == ("ehrr", TEXT, "none")
    assert {len(d["servers"]), len({row["server"] for row in d["servers"]})} == {81}
    assert {len(d["tools"]), len({row["tool"] for row in d["tools"]})} == {950}
    assert d["candidates"][0].startswith("csv-tables::")
    assert d["candidates"][0] in d["reason"]
    tokens, times = d["tokens"], d["timings_ms"]
    assert tokens == {"baseline": tokens["baseline"], "exposed": tokens["exposed"], "cached": 0}
    assert 0 < tokens["exposed"] < tokens["baseline"]
    assert times.keys() == {"embed", "score", "total"}
    assert times["total"] == pytest.approx(times["embed"] + times["score"], abs=0.002)


def test_set_is_what_the_document_says(wayfare: Command, raw_catalog: Path) -> None:
    setting = "alpha_t=0.1 k=7 auction=no budget_usd=none billing=per_attempt"
    p = routed(wayfare, setting, "--catalog", raw_catalog)["parameters"]
    assert (p["alpha_t"], p["k"], p["auction"], p["budget_usd"], p["billing"]) == (0.1, 7, False, None, "per_attempt")
    assert p["alpha_s"] == 0.01


def test_a_hint_lifts_its_server(wayfare: Command) -> None:
    def similarity(document: dict[str, Any]) -> float:
        return {row["server"]: row["similarity"] for row in document["servers"]}["waypoint-atlas"]

    views = ("--set", "similarity=views")
    hinted = routed(wayfare, "", "--hint", "maps, places and distances", *views)
    assert similarity(hinted) > 1.2 * similarity(routed(wayfare, "", *views))


def test_the_decision_is_kept_and_shown_to_people(wayfare: Command, app: App) -> None:
    text = wayfare("route", TEXT, "--set", "alpha_t=0.1").out
    app.store.events.flush()
    (row,) = app.store.activity.decisions().itertuples()
    stored = app.store.activity.decision(row.id)
    candidates = [c["tool"] for c in json.loads(stored.candidates_json)]
    assert (stored.subtask, stored.origin, stored.winner) == (TEXT, "cli", candidates[0])
    assert json.loads(stored.parameters_json)["alpha_t"] == 0.1
    assert text.startswith(stored.reason)
    lines = {line.split()[0]: line for line in text.splitlines() if "candidate " in line}
    assert list(lines) == candidates
    assert all(f"candidate {rank}" in line for rank, line in enumerate(lines.values(), 1))


def test_the_table_has_what_a_call_pays_if_that_is_not_its_price(wayfare: Command) -> None:
    at_price, asks = (wayfare("route", TEXT, *options).out for options in ((), ("--set", "settlement=ask")))
    assert "payment" not in at_price
    assert "payment" in asks


def test_names_of_strangers_cannot_move_the_cursor(wayfare: Command, write) -> None:
    evil = server("evil", tool("read", "Read a file.\x1b[2J\x1b[31m"), title="x")
    text = wayfare("route", "read a file", "--catalog", write("c.json", {"servers": [evil]})).out
    assert text.isascii() or "\x1b" not in text
    assert all(ch.isprintable() or ch == "\n" for ch in text)


@each("router", ["ehrr", "expected_value"])
def test_a_catalog_without_tools_is_one_sentence(wayfare: Command, write, router: str) -> None:
    run = wayfare("route", TEXT, "--router", router, "--catalog", write("c.json", {"servers": [server("bare")]}))
    assert run == (0, "The catalog has no tools; import or discover a catalog that has some.\n", "")
    d = wayfare(
        "route", TEXT, "--router", router, "--catalog", write("c.json", {"servers": [server("bare")]}), "--json"
    ).json()
    assert d.keys() >= KEYS
    assert (d["tools"], d["candidates"], d["confidence"]) == ([], [], "nothing")


class TestCatalogs:
    """`--catalog NAME|PATH`."""

    FILES = {"servers": [server("files", tool("read", "Read a file."))]}  # noqa: RUF012
    MAIL = {"servers": [server("mail", tool("send", "Send a message."))]}  # noqa: RUF012

    def found(self, wayfare: Command, tool_id: str, *arguments: object) -> bool:
        return wayfare("call", *tool_id.split("::"), *arguments, "--simulate", "--json").code == 0

    def test_a_file_or_a_name_which_comes_before_a_file_of_that_name(
        self, wayfare: Command, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert self.found(wayfare, "files::read", "--catalog", write("files.json", self.FILES))
        wayfare("import", write("files.v2.json", self.FILES))
        assert self.found(wayfare, "files::read", "--catalog", "files.v2")
        wayfare("import", write("files.json", self.FILES), "--name", "mine")
        write("mine", self.MAIL)
        write("sample", self.MAIL)
        monkeypatch.chdir(tmp_path)
        assert self.found(wayfare, "files::read", "--catalog", "mine")
        assert self.found(wayfare, "mail::send", "--catalog", "./mine")
        assert self.found(wayfare, "gremlin::hang")


def test_a_preset_may_be_a_file_that_the_console_exported(wayfare: Command, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "Mine"\nrouter = "ehrr"\n[parameters]\nalpha_t = 0.5\nk = 7\n', encoding="utf-8")
    parameters = routed(wayfare, "k=9", "--preset", file)["parameters"]
    assert (parameters["alpha_t"], parameters["k"]) == (0.5, 9)
    for text, message in (
        ("[parameters]\nk = 7", "router is missing"),
        ('router = "ehrr"\n[parameters]\nk = 0', "k = 0"),
    ):
        file.write_text(text, encoding="utf-8")
        run = wayfare("route", TEXT, "--preset", file)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert message in run.err
    assert "cannot be read" in wayfare("route", TEXT, "--preset", tmp_path / "none.toml").err


def test_words_decide_at_once_where_that_is_wanted(wayfare: Command, write) -> None:
    file = write(
        "mine.json", {"servers": [server("files", tool("read_file", "Reads a file."), tool("send", "Sends."))]}
    )
    options = ("route", "read that file", "--catalog", file)
    at_once = wayfare(*options, "--at-once", "--json").json()
    assert (at_once["by_words"], at_once["p_nothing_fits"], at_once["confidence"]) == (True, None, "unsure")
    assert at_once["candidates"] == ["files::read_file"]
    assert at_once["timings_ms"]["embed"] == 0
    assert "By words alone: the catalog has no vectors yet." in at_once["reason"]
    pattern = r"Unsure: files::read_file fits [\d.]+ % if anything does; P\(nothing fits\) is not known\."
    assert re.search(pattern, wayfare(*options, "--at-once").out)
    assert "by_words" not in wayfare(*options, "--json").json()


def test_sure_is_said_of_the_tool_that_wins(wayfare: Command) -> None:
    confidences: dict[str, tuple[str, bool]] = {}
    for alpha_t in (0.02, 0.08):  # from .06 on the quicker tool wins, which fits less
        d = wayfare(
            "route", "Convert https://files.example/kickoff.pptx to PDF", "--set", f"alpha_t={alpha_t}", "--json"
        ).json()
        (fits,) = (row["p_fit"] for row in d["tools"] if row["tool"] == d["candidates"][0])
        confidences[d["candidates"][0]] = d["confidence"], fits >= 0.8
    assert confidences == {"slide-deck::pptx_to_pdf": ("sure", True), "pdf-tools::pdf_from_office": ("unsure", False)}
