"""Results by type of content: every kind is drawn, broken and huge ones too, and nothing is run."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

from PIL import Image
from streamlit.testing.v1 import AppTest

from core.domain.outcome import ContentBlock, Outcome, OutcomeKind, ToolCall
from core.domain.untrusted_text import visible
from dashboard.pages.call.result import (
    MOST_CHARS,
    SHOWN_CHARS,
    finite,
    flat_table,
    is_wrapped_text,
    picture_problem,
    pretty_text,
    repeats,
)
from tests.cases import each

SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"


def png(width: int = 4, height: int = 4) -> bytes:
    """A small picture."""
    buffer = io.BytesIO()
    Image.new("1", (width, height)).save(buffer, "PNG")
    return buffer.getvalue()


def outcome(*content: ContentBlock, structured: Any = None, error: str = "") -> Outcome:
    """A finished call."""
    kind = OutcomeKind.TOOL_ERROR if error else OutcomeKind.OK
    return Outcome(
        ToolCall("s", "t"), kind, datetime.now(UTC), 0.1, content=content, structured=structured, error=error, id="o"
    )


def _script() -> None:
    import streamlit as st

    from dashboard.pages.call.result import result_view

    result_view(st.session_state["outcome"])


def drawn(*content: ContentBlock, **more: Any) -> AppTest:
    """The result on a page."""
    page = AppTest.from_function(_script, default_timeout=30)
    page.session_state["outcome"] = outcome(*content, **more)
    page.run()
    assert not page.exception, page.exception[0].stack_trace
    return page


def test_text_stays_as_it_is_and_json_is_laid_out() -> None:
    page = drawn(ContentBlock("text", text="**plain**"), ContentBlock("text", text='{"a":[1,2]}'))
    assert [code.value for code in page.code] == ["**plain**", '{\n  "a": [\n    1,\n    2\n  ]\n}']
    assert pretty_text("[not json") == ("[not json", None)


def test_nothing_and_an_empty_text_are_said() -> None:
    assert "returned nothing" in drawn().info[0].value
    assert drawn(ContentBlock("text")).caption[0].value == "An empty text."


def test_long_text_is_cut_until_all_of_it_is_wanted() -> None:
    page = drawn(ContentBlock("text", text="x" * (SHOWN_CHARS + 1)))
    assert len(page.code[0].value) == SHOWN_CHARS + 1  # with an ellipsis
    assert len(page.toggle[0].set_value(True).run().code[0].value) == SHOWN_CHARS + 1
    assert not page.code[0].value.endswith("…")
    huge = drawn(ContentBlock("text", text="x" * (MOST_CHARS + 1)))
    assert not huge.toggle
    assert "too many to show" in huge.caption[0].value


@each("data", [png(), b"", b"\x89PNG\r\n\x1a\nbroken", SVG, png()[:-30]])
def test_pictures_whole_and_broken(data: bytes) -> None:
    page = drawn(ContentBlock("image", data=data, mime_type="image/png"))
    types = [element.type for element in page.main.children.values()]
    assert ("image" in types) is (picture_problem(data) == "")


def test_a_picture_with_too_many_pixels_is_not_decoded() -> None:
    assert "too many" in picture_problem(png(10_000, 8_000))


def test_sound_resources_and_links() -> None:
    page = drawn(
        ContentBlock("audio", data=b"RIFF", mime_type="audio/wav\r\nx: y"),
        ContentBlock("resource", text="inside", uri="file:///a.txt", mime_type="text/plain"),
        ContentBlock("resource", data=b"\0\1", uri="file:///a.bin", mime_type="application/octet-stream"),
        ContentBlock("resource", data=png(), uri="file:///a.png", mime_type="image/png"),
        ContentBlock("resource_link", text="a page", uri="javascript:alert(1)", name="click **me**"),
        ContentBlock("of the future", text="unknown kind"),
    )
    codes = [code.value for code in page.code]
    assert "inside" in codes
    assert "unknown kind" in codes
    assert "click **me**\njavascript:alert(1)" in codes
    assert all("javascript" not in markdown.value for markdown in page.markdown)


def test_data_that_was_no_base64_is_said() -> None:
    page = drawn(ContentBlock("image", text="[the server's data is not valid base64]", mime_type="image/png"))
    assert "[the server's data is not valid base64]" in [text.value for text in page.text]


def test_structured_data_as_json_and_as_a_table() -> None:
    rows = [{"name": "a", "n": 1}, {"name": "b", "n": None}]
    page = drawn(ContentBlock("text", text=json.dumps({"rows": rows})), structured={"rows": rows})
    assert page.dataframe[0].value["name"].tolist() == ["a", "b"]
    assert "repeats the structured data" in page.caption[0].value
    assert not page.code
    assert drawn(structured={"a": {"b": 1}}).json[0].value == '{"a": {"b": 1}}'
    assert "too many to show" in drawn(structured=["x" * MOST_CHARS]).caption[0].value


def test_a_wrapped_text_is_shown_as_the_text() -> None:
    assert is_wrapped_text(outcome(ContentBlock("text", text="a\nb"), structured={"result": "a\nb"}))
    assert [code.value for code in drawn(ContentBlock("text", text="a\nb"), structured={"result": "a\nb"}).code] == [
        "a\nb"
    ]
    assert not repeats(ContentBlock("text", text="other"), {"result": "a"})


def test_the_error_text_is_not_shown_twice() -> None:
    assert not drawn(ContentBlock("text", text="bad luck"), error="bad luck").code


@each(
    ("value", "columns"),
    [
        ([{"a": 1}, {"b": "x"}], ["a", "b"]),
        ({"n": 1, "rows": [{"a": True}]}, ["a"]),
        ([{"a": 1}, {"a": "x"}], ["a"]),
        ([{"a": 10**30}], ["a"]),
        ({"columns": ["a", "b"], "rows": [[1, 2], [3, 4]]}, ["a", "b"]),
        ({"columns": ["a", "a"], "rows": [[1, 2]]}, None),
        ([{"a": {"b": 1}}], None),
        ([1, 2], None),
        ([], None),
        ([{}], None),
        ("text", None),
    ],
)
def test_lists_of_flat_objects_become_tables(value: Any, columns: list[str] | None) -> None:
    table = flat_table(value)
    assert (None if table is None else list(table.columns)) == columns
    if columns is not None:
        drawn(structured=value)


def test_numbers_that_json_or_a_browser_would_break_become_text() -> None:
    assert finite({"a": [float("nan"), float("-inf"), 2**60, 1.5, True]}) == {
        "a": ["nan", "-inf", str(2**60), 1.5, True]
    }


def test_hidden_characters_are_written_out() -> None:
    assert visible("a\x1b[31m\u202eb\u200b\ud800") == "a⟨U+001B⟩[31m⟨U+202E⟩b⟨U+200B⟩⟨U+D800⟩"
    assert drawn(ContentBlock("text", text="\x00\ud800")).code[0].value == "⟨U+0000⟩⟨U+D800⟩"
