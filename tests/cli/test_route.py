"""`wayfare route`: the document of the contract, and its numbers recomputed from the formulas."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
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
    "tool", "similarity", "cost_s", "time_cost_s", "money_cost_s", "utility", "price_usd", "affordable", "rank", "dropped_by",
    "p_fit", "p_success",
}  # fmt: skip
SETTINGS = [
    "",
    "alpha_s=0.3 alpha_t=0.05 k=2 n=7 p_bs=0 p_ofs=0.004 l0_s=0.5",
    "budget_usd=0.002 sim_midpoint=0 kappa=40",
    "auction=off billing=per_attempt execution_signals=off hierarchy=off n=20",
]


def routed(wayfare: Command, setting: str, *arguments: object) -> dict[str, Any]:
    options = [part for pair in setting.split() for part in ("--set", pair)]
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


@each("setting", SETTINGS)
def test_the_numbers_follow_from_each_other(wayfare: Command, setting: str) -> None:
    d = routed(wayfare, f"worthwhile=off {setting}")
    check_servers(d["servers"], d["parameters"])
    check_tools(d["tools"], {row["server"]: row for row in d["servers"]}, d["parameters"])
    check_candidates(d)


def check_servers(servers: list[dict[str, Any]], p: dict[str, Any]) -> None:
    """The server layer: (3), the short-list, (4), (5)."""
    alpha = p["alpha_s"] if p["execution_signals"] else 0
    for row in servers:
        assert 0 <= row["similarity"] <= 1
        assert row["utility"] == pytest.approx(row["similarity"] - alpha * row["cost_s"], abs=1e-9)  # (3)
    assert servers == sorted(servers, key=lambda row: (-row["utility"], -row["similarity"], row["server"]))
    listed = p["k"] if p["hierarchy"] else len(servers)
    assert [row["shortlisted"] for row in servers] == [place < listed for place in range(len(servers))]
    for row in servers:
        shown = row["shortlisted"] and p["auction"]
        assert row["posted_price_usd"] == (pytest.approx(posted_usd(row, p)) if shown else None)
        accepts = not p["auction"] or row["ask_usd"] is None or row["ask_usd"] <= posted_usd(row, p)
        assert row["accepted"] == (row["shortlisted"] and accepts)  # (5)


def check_tools(tools: list[dict[str, Any]], servers: dict[str, dict[str, Any]], p: dict[str, Any]) -> None:
    """The tool layer: (6), (7), what is affordable, and what dropped a tool."""
    alpha = p["alpha_t"] if p["execution_signals"] else 0
    for row in tools:
        home = servers[row["tool"].partition("::")[0]]
        assert row["cost_s"] == pytest.approx(row["time_cost_s"] + row["money_cost_s"], abs=1e-9)
        if p["billing"] == "per_call":
            assert row["money_cost_s"] == pytest.approx(p["kappa"] * (row["price_usd"] or 0), abs=1e-9)  # (6)
        assert row["utility"] == pytest.approx(row["similarity"] - alpha * row["cost_s"], abs=1e-9)  # (7)
        can_pay = not p["auction"] or row["price_usd"] is None or row["price_usd"] <= posted_usd(home, p)
        assert row["affordable"] == can_pay
        assert row["dropped_by"] == reason_to_drop(row, home, p["n"])


def check_candidates(d: dict[str, Any]) -> None:
    """Top-n by utility among the affordable tools of accepted servers: (9)."""
    accepted = {row["server"] for row in d["servers"] if row["accepted"]}
    feasible = [row for row in d["tools"] if row["affordable"] and row["tool"].partition("::")[0] in accepted]
    best = sorted(feasible, key=lambda row: (-row["utility"], -row["similarity"], row["tool"]))
    assert d["candidates"] == [row["tool"] for row in best[: d["parameters"]["n"]]]  # (9)
    assert [row["rank"] for row in best] == list(range(1, len(best) + 1))
    assert {row["tool"] for row in d["tools"] if row["rank"] is not None} == {row["tool"] for row in best}
    assert d["tools"][: len(best)] == best


def posted_usd(row: dict[str, Any], p: dict[str, Any]) -> float:
    """(4), with the cap of Proposition 3."""
    offered = p["p_bs"] * row["similarity"] + p["p_ofs"] * math.log(1 + row["cost_s"] / p["l0_s"])
    return offered if p["budget_usd"] is None else min(offered, p["budget_usd"])


def reason_to_drop(row: dict[str, Any], home: dict[str, Any], n: int) -> str | None:
    """The first stage that a tool does not pass."""
    if not home["shortlisted"]:
        return "not_shortlisted"
    if not home["accepted"]:
        return "rejected"
    if not row["affordable"]:
        return "not_affordable"
    return "outranked" if row["rank"] > n else None


def test_billing_per_attempt_divides_the_price_by_the_chance_of_success(wayfare: Command, write) -> None:
    flaky = tool("flip", "Flip a coin.", price_usd=0.002, latency_s=0.5, success=0.5)
    file = write("c.json", {"servers": [server("coin", flaky, conn_s=0.5, post_accept_failure=0.2)]})
    (row,) = routed(wayfare, "kappa=10 billing=per_attempt l_route_s=0.2", "--catalog", file)["tools"]
    assert row["time_cost_s"] == pytest.approx((0.2 + 0.5 + 0.5) / (0.8 * 0.5))
    assert row["money_cost_s"] == pytest.approx(10 * 0.002 / (0.8 * 0.5))


def test_nobody_accepts_is_a_decision_too(wayfare: Command, raw_catalog: Path) -> None:
    d = routed(wayfare, "budget_usd=0 k=1", "--catalog", raw_catalog)
    assert d["candidates"] == []
    assert "accepted the posted price" in d["reason"]


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
    shown = wayfare("route", TEXT, "--set", "alpha_t=0.1").out
    app.store.events.flush()
    (row,) = app.store.activity.decisions().itertuples()
    kept = app.store.activity.decision(row.id)
    candidates = [c["tool"] for c in json.loads(kept.candidates_json)]
    assert (kept.subtask, kept.origin, kept.winner) == (TEXT, "cli", candidates[0])
    assert json.loads(kept.parameters_json)["alpha_t"] == 0.1
    assert shown.startswith(kept.reason)
    lines = {line.split()[0]: line for line in shown.splitlines() if "candidate " in line}
    assert list(lines) == candidates
    assert all(f"candidate {rank}" in line for rank, line in enumerate(lines.values(), 1))


def test_names_of_strangers_cannot_move_the_cursor(wayfare: Command, write) -> None:
    evil = server("evil", tool("read", "Read a file.\x1b[2J\x1b[31m"), title="x")
    shown = wayfare("route", "read a file", "--catalog", write("c.json", {"servers": [evil]})).out
    assert shown.isascii() or "\x1b" not in shown
    assert all(ch.isprintable() or ch == "\n" for ch in shown)


@each("router", ["ehrr", "expected_value"])
def test_a_catalog_without_tools_is_one_sentence(wayfare: Command, write, router: str) -> None:
    shown = wayfare("route", TEXT, "--router", router, "--catalog", write("c.json", {"servers": [server("bare")]}))
    assert shown == (0, "The catalog has no tools; import or discover a catalog that has some.\n", "")
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

    def test_a_file(self, wayfare: Command, write) -> None:
        assert self.found(wayfare, "files::read", "--catalog", write("files.json", self.FILES))
        assert len(wayfare("catalogs", "--json").json()["catalogs"]) == len(SHIPPED_CATALOGS)

    def test_a_name(self, wayfare: Command, write) -> None:
        wayfare("import", write("files.json", self.FILES), "--name", "mine")
        assert self.found(wayfare, "files::read", "--catalog", "mine")

    def test_a_name_with_a_dot(self, wayfare: Command, write) -> None:
        wayfare("import", write("files.v2.json", self.FILES))
        assert self.found(wayfare, "files::read", "--catalog", "files.v2")

    def test_a_name_comes_before_a_file_of_that_name(
        self, wayfare: Command, write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
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
    for text, said in (
        ("[parameters]\nk = 7", "router is missing"),
        ('router = "ehrr"\n[parameters]\nk = 0', "k = 0"),
    ):
        file.write_text(text, encoding="utf-8")
        run = wayfare("route", TEXT, "--preset", file)
        assert (run.code, run.err.count("\n")) == (2, 1)
        assert said in run.err
    assert "cannot be read" in wayfare("route", TEXT, "--preset", tmp_path / "none.toml").err


def test_words_decide_at_once_where_that_is_wanted(wayfare: Command, write) -> None:
    mine = write(
        "mine.json", {"servers": [server("files", tool("read_file", "Reads a file."), tool("send", "Sends."))]}
    )
    options = ("route", "read that file", "--catalog", mine)
    at_once = wayfare(*options, "--at-once", "--json").json()
    assert (at_once["by_words"], at_once["p_nothing_fits"], at_once["confidence"]) == (True, None, "unsure")
    assert at_once["candidates"] == ["files::read_file"]
    assert at_once["timings_ms"]["embed"] == 0
    assert "By words alone: the catalog has no vectors yet." in at_once["reason"]
    said = r"Unsure: files::read_file fits [\d.]+ % if anything does; P\(nothing fits\) is not known\."
    assert re.search(said, wayfare(*options, "--at-once").out)
    assert "by_words" not in wayfare(*options, "--json").json()


def test_sure_is_said_of_the_tool_that_wins(wayfare: Command) -> None:
    said: dict[str, tuple[str, bool]] = {}
    for alpha_t in (0.02, 0.08):  # from .06 on the quicker tool wins, which fits less
        d = wayfare(
            "route", "Convert https://files.example/kickoff.pptx to PDF", "--set", f"alpha_t={alpha_t}", "--json"
        ).json()
        (fits,) = (row["p_fit"] for row in d["tools"] if row["tool"] == d["candidates"][0])
        said[d["candidates"][0]] = d["confidence"], fits >= 0.8
    assert said == {"slide-deck::pptx_to_pdf": ("sure", True), "pdf-tools::pdf_from_office": ("unsure", False)}
