"""Testbeds: servers by words, category and size; copies; names; tasks that fit; prices by two tiers."""

from __future__ import annotations

import statistics

import pytest

from core.domain.catalog import Catalog, Server, Tool
from core.domain.tasks import Step, Task
from core.lab.lab import HIGH_USD, LOW_USD, drawn_price_usd, priced_by_tiers
from core.lab.testbed import Selection, Source, drawn_testbed
from tests.cases import each


def server(name: str, description: str, *tools: str, category: str = "") -> Server:
    return Server(name, description, category=category, tools=tuple(Tool(name, tool, f"To {tool}.") for tool in tools))


SOURCE = Source(
    "one",
    (
        server("web", "Searches the web and search engines.", "find_page", category="search"),
        server("maps", "Maps of towns.", "search_town", "route", category="geo"),
        server("mail", "Letters.", "send", category="mail"),
        server("empty", "Searches nothing."),
    ),
    (
        Task("a", "find", relevant=("web::find_page", "mail::send"), grades={"web::find_page": 2.0, "mail::send": 1.0}),
        Task("b", "go", relevant=("maps::route",), plan=(Step("maps::route"), Step("mail::send", (0,)))),
        Task("c", "write", relevant=("mail::send",)),
        Task("d", "fly"),
    ),
)
OTHER = Source(
    "two", (server("web", "Searches other webs.", "find_page"),), (Task("a", "look", relevant=("web::find_page",)),)
)


@each(
    ("selection", "names"),
    [
        (Selection(), ["web", "maps", "mail"]),
        (Selection(words=("search",)), ["web", "maps"]),  # twice, and once in a tool's name
        (Selection(words=("town", "search")), ["maps", "web"]),  # both words rank before one word
        (Selection(words=("SEARCH",), least_tools=0), ["web", "maps", "empty"]),
        (Selection(words=("ail",)), []),  # a match begins at the start of a word
        (Selection(categories=("geo", "mail")), ["maps", "mail"]),
        (Selection(least_tools=2), ["maps"]),
        (Selection(most_tools=1, servers=1), ["web"]),
    ],
)
def test_servers_are_chosen_by_words_category_and_size(selection: Selection, names: list[str]) -> None:
    assert [choice.server.name for choice in drawn_testbed([SOURCE], selection).chosen] == names


def test_tasks_have_the_tools_that_are_there_and_their_copies() -> None:
    bed = drawn_testbed([SOURCE], Selection(words=("search",), copies=2))
    assert [entry.name for entry in bed.catalog("bed").servers] == ["web", "web-1", "web-2", "maps", "maps-1", "maps-2"]
    tasks = {task.id: task for task in bed.tasks}
    assert list(tasks) == ["a", "d"], "the plan of b is not whole, nothing can do c, and nothing could ever do d"
    assert tasks["a"].relevant == ("web::find_page", "web-1::find_page", "web-2::find_page")
    assert tasks["a"].grades == dict.fromkeys(tasks["a"].relevant, 2.0)
    assert {tool for task in bed.tasks for tool in task.relevant} <= bed.catalog("bed").tool_row.keys()


def test_two_of_one_name_are_told_apart_with_their_tasks() -> None:
    bed = drawn_testbed([SOURCE, OTHER], Selection(words=("searches",)))
    assert [(choice.server.name, choice.source) for choice in bed.chosen] == [("web", "one"), ("web-2", "two")]
    assert [(task.id, task.relevant) for task in bed.tasks] == [
        ("a", ("web::find_page",)),
        ("a-2", ("web-2::find_page",)),
    ]


def tools(description: str) -> list[Tool]:
    return [Tool("s", f"t{number}", description) for number in range(300)]


def test_each_tier_has_its_distribution() -> None:
    low = [drawn_price_usd(tool, 0) for tool in tools("Counts words.")]
    high = [drawn_price_usd(tool, 0) for tool in tools("Searches the web.")]
    assert 0 <= min(low) <= max(low) <= LOW_USD
    assert statistics.fmean(low) == pytest.approx(LOW_USD / 2, rel=0.1)
    assert statistics.fmean(high) == pytest.approx(HIGH_USD, rel=0.05)
    assert min(high) >= 0


def test_another_tool_changes_no_price_and_another_seed_does() -> None:
    counter, added = Tool("s", "a", "Counts."), Tool("s", "b", "Counts.")
    small = Catalog("c", (Server("s", "S", tools=(counter,)),))
    large = Catalog("c", (Server("s", "S", ask_usd=1.0, tools=(added, counter)),))
    price = priced_by_tiers(small, name="x").tools[0].price_usd
    assert priced_by_tiers(large, name="x").tools[1].price_usd == price
    assert priced_by_tiers(small, name="x", seed=1).tools[0].price_usd != price
    assert priced_by_tiers(large, name="x").servers[0].ask_usd is None, "what was asked for other prices is forgotten"
