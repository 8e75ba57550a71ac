"""Equal function sets on the Catalog page: one pair after the other, back, the table, hostile texts."""

from __future__ import annotations

from functools import partial

from core.app import App
from tests.dashboard.harness import app_with, checked, markdown_of, open_page, press, text_of

SAME = "Reads a file **now** <b>x</b>."
TOOL = {
    "name": "read",
    "description": SAME,
    "inputSchema": {
        "properties": {"path": {"type": "string", "description": "[Where](http://x)"}},
        "required": ["path"],
    },
}
CATALOG = {"servers": [{"name": name, "description": f"Server {name}", "tools": [TOOL]} for name in ("a", "b", "c")]}

app = app_with({"twins": CATALOG})
visit = partial(open_page, "catalog", catalog="twins", view="equal")


def test_pairs_are_judged_one_after_the_other(app: App) -> None:
    page = visit()
    assert "Do these two tools do the same?" in text_of(page)
    assert "<b>" not in markdown_of(page).replace("\\<b", "")
    assert r"`path` string, required: \[Where\]" in markdown_of(page)
    page = press(page, "catalog.equal.equal")
    page = press(page, "catalog.equal.different")
    sets = app.equal_sets.of_catalog("twins")
    assert [proposal.says for proposal in sets.proposals] == ["equal", "different", ""]
    page = press(page, "catalog.equal.back")
    assert [proposal.says for proposal in app.equal_sets.of_catalog("twins").proposals] == ["equal", "", ""]
    page = press(page, "catalog.equal.equal")
    assert app.equal_sets.sets("twins") == (("a::read", "b::read", "c::read"),)
    assert "Do these two tools do the same?" not in text_of(page), "the third follows from the first two"
    assert next(list(frame.value.columns) for frame in page.dataframe) == ["set", "tools"]


def test_the_asked_pair_alone_is_selected_in_the_table(app: App) -> None:
    def selected() -> list[int]:
        return page.session_state["catalog.equal.pairs"]["selection"]["rows"]

    page = visit(remembered={"catalog:equal.at": ("a::read", "c::read")})
    places = [(pair.one, pair.other) for pair in app.equal_sets.of_catalog("twins").proposals]
    assert selected() == [places.index(("a::read", "c::read"))]
    page = press(page, "catalog.equal.unsure")
    assert selected() == []


def test_a_file_is_taken_in(app: App) -> None:
    page = visit()
    text = b'{"sets": [["a::read", "c::read"], ["a::read", "gone::read"]]}'
    page = checked(page.file_uploader(key="catalog.equal.file").upload("sets.json", text, "application/json").run())
    assert "1 judged pairs were imported. 1 have tools that are not in this catalog." in text_of(page)
    assert app.equal_sets.sets("twins") == (("a::read", "c::read"),)
