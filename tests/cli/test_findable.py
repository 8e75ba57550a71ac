"""How often tools would be found: each request left out, twins as one, what would change, Lint, the command and the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.app import App
from core.domain.errors import CatalogError
from core.domain.feedback import By
from tests.cli.conftest import Command
from tests.importing import import_text
from tests.world import open_test_app

REQUESTS = {
    "web::go_back": ["return to the last page", "step back one page", "previous page please", "the page before"],
    "web::go_forward": [
        "return to the last page please",
        "step back a page",
        "previous page now",
        "the page before it",
    ],
    "mail::send": ["mail a letter", "send mail to Bo", "post mail to Ann", "mail Bo a letter"],
    "post::send": ["letter to Bo by mail", "send Ann a mail", "mail it to Bo", "a mail letter please"],
    "lone::dance": ["mail the previous page to Bo as a letter"],
}
DESCRIPTIONS = {
    "web::go_back": "Navigate in the browser.", "web::go_forward": "Return to the previous page, one step back.",
    "mail::send": "Send a mail letter.", "post::send": "Send a mail letter.", "lone::dance": "Dance.", "lone::sing": "Sing.",
}  # fmt: skip


def document() -> dict[str, Any]:
    servers: dict[str, Any] = {}
    for place, description in DESCRIPTIONS.items():
        server, _, name = place.partition("::")
        entry = servers.setdefault(server, {"name": server, "description": f"Server {server}.", "tools": []})
        entry["tools"].append({"name": name, "description": description, "requests": REQUESTS.get(place, [])})
    return {"servers": list(servers.values())}


@pytest.fixture
def app(tmp_path: Path) -> Iterator[App]:
    with open_test_app(tmp_path / "wayfare.duckdb") as app:
        import_text(app.catalog_editor, json.dumps(document()), "mine")
        yield app


def test_each_request_is_asked_without_itself_and_twins_are_one(app: App) -> None:
    progress: list[tuple[int, int]] = []
    estimate = app.findable.estimate("mine", lambda count, total: progress.append((count, total)))
    by_tool = {row.tool: row for row in estimate.tools}
    assert (estimate.without, progress[-1]) == (1, (17, 17))
    assert by_tool["lone::dance"].of == 1
    assert by_tool["web::go_back"].found + by_tool["web::go_forward"].first < 8
    (pair,) = [pair for pair in estimate.confused() if pair.one == "web::go_back"]
    assert (pair.other, pair.kind, pair.of, pair.back_of) == ("web::go_forward", "opposite", 4, 4)
    assert pair.both == by_tool["web::go_back"].taken_for[0][1] + by_tool["web::go_forward"].taken_for[0][1]
    assert f"{max(pair.times, pair.back)} of 4 requests of web::go_" in pair.sentences[0]
    assert estimate.confused(pair.both + 1) == ()
    assert estimate.interval_3[0] <= estimate.hit_3 <= estimate.interval_3[1]
    assert estimate.left_out_3 == sum(row.found for row in estimate.tools) / 17 < estimate.hit_3
    assert estimate.hit_1 <= estimate.hit_3
    mails = by_tool["mail::send"], by_tool["post::send"]
    assert [row.first for row in mails] == [4, 4]  # the two are equally right
    assert app.findable.known("mine") is estimate
    app.requests.add_by_hand("mine", "lone::sing", ["sing a song"], By(origin="test"))
    assert app.findable.latest("mine") == (estimate, False)
    assert app.findable.estimate("mine").without == 0


def test_pairs_that_people_find_equal_are_one(app: App) -> None:
    before = {row.tool: row.first for row in app.findable.estimate("mine").tools}
    app.equal_sets.judge("mine", "web::go_back", "web::go_forward", "equal")
    after = {row.tool: row.first for row in app.findable.estimate("mine").tools}
    assert before["web::go_back"] < after["web::go_back"] == 4


def test_another_description_is_tried_without_being_kept(app: App) -> None:
    preview = app.findable.preview("mine", "web::go_back", "Return to the last page, the page before, previous page.")
    assert preview.then.first > preview.now.first
    assert preview.then.of == 4
    assert app.catalogs.catalog("mine").tools[0].description == "Navigate in the browser."
    with pytest.raises(CatalogError, match="no example requests"):
        app.findable.preview("mine", "lone::sing", "Sing a song.")


def test_lint_names_what_is_seldom_found_once_it_is_known(app: App) -> None:
    def rules() -> set[str]:
        return {finding.rule for finding in app.lint_reports.report("mine", vectors=True).findings}

    assert not rules() & {"seldom_found", "taken_for_each_other"}
    app.findable.estimate("mine")
    assert rules() & {"seldom_found", "taken_for_each_other"}


def test_the_command_lists_the_worst_first_and_is_a_gate(wayfare: Command, write: Callable[[str, Any], Path]) -> None:
    wayfare("import", write("mine.json", document()))
    run = wayfare("findable", "--catalog", "mine", "--json", "--min", "0.1")
    report = run.json()
    assert run.code == 0
    assert [*report] == ["hit@1", "hit@3", "interval", "left_out", "without_requests", "asked", "requests", "tools"]
    shares = [row["found"] / row["of"] for row in report["tools"]]
    assert shares == sorted(shares)
    assert all(
        sum(confusion["times"] for confusion in row["taken_for"]) == row["of"] - row["first"] for row in report["tools"]
    )
    gate = wayfare("findable", "--catalog", "mine", "--min", "1")
    assert (gate.code, "is less than --min 1" in gate.err, "taken for" in gate.out) == (1, True, True)
    assert wayfare("findable", "--catalog", "mine", "--min", "2").code == 2


def test_the_command_says_what_is_missing_and_a_gate_without_an_estimate_is_wrong_use(
    wayfare: Command, write: Callable[[str, Any], Path]
) -> None:
    tool = {"name": "b", "description": "B."}
    for name, server, message in (
        ("hollow", {"connection": {"command": "none"}}, "Catalog 'hollow' lists no tool"),
        ("bare", {"tools": [tool]}, "No tool of catalog 'bare' has two example requests"),
        ("one", {"tools": [{**tool, "requests": ["do b"]}]}, "`wayfare requests write --catalog one`"),
        ("two", {"tools": [{**tool, "requests": ["do b", "b, please"]}]}, ""),
    ):
        wayfare("import", write(f"{name}.json", {"servers": [{"name": "a", **server}]}))
        run = wayfare("findable", "--catalog", name, "--min", "0.8")
        assert (run.code, message in run.err) == (2 if message else 0, True), name
        assert not (message and run.out)
    assert "Every request that was left out finds its tool first." in wayfare("findable", "--catalog", "two").out
