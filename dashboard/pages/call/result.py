"""The result of a call: text, tables, media and structured content."""

from __future__ import annotations

import io
import json
import math
import re
import warnings
from collections.abc import Callable
from typing import Any

import pandas as pd
import streamlit as st
from PIL import Image

from core.domain.outcome import ContentBlock, Outcome
from core.domain.untrusted_text import visible
from dashboard.page_host import DeltaGenerator
from dashboard.ui.table import table
from dashboard.ui.text import file_name, size

MOST_ROWS, MOST_COLUMNS = 5_000, 60
SAFE_INTEGER = 2**53


def flat_table(value: Any) -> pd.DataFrame | None:
    """Returns the first list of flat objects in a result (top or one level down), or `columns` with `rows`, else None.

    >>> flat_table({"rows": [{"a": 1}, {"a": 2, "b": "x"}]}).columns.tolist()
    ['a', 'b']
    >>> flat_table({"a": 1}) is None
    True
    """
    for candidate in [_zipped(value), value, *(value.values() if isinstance(value, dict) else ())]:
        if _is_flat(candidate):
            rows = candidate[:MOST_ROWS]
            names = list(dict.fromkeys(name for row in rows for name in row))[:MOST_COLUMNS]
            return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})
    return None


def _zipped(value: Any) -> Any:
    """Returns the rows of `{"columns": [...], "rows": [[...]]}`, the usual shape of a query's result, as objects."""
    names, rows = (value.get("columns"), value.get("rows")) if isinstance(value, dict) else (None, None)
    if not isinstance(names, list) or not isinstance(rows, list) or not all(isinstance(name, str) for name in names):
        return None
    fits = len(set(names)) == len(names) and all(isinstance(row, list) and len(row) == len(names) for row in rows)
    return [dict(zip(names, row, strict=True)) for row in rows] if fits else None


def finite(value: Any) -> Any:
    """Returns the document with NaN, infinities and integers above 2**53 as text."""
    if isinstance(value, dict):
        return {str(name): finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > SAFE_INTEGER:
        return str(value)
    return value


def _is_flat(value: Any) -> bool:
    if not isinstance(value, list) or not value or not all(isinstance(row, dict) and row for row in value):
        return False
    return not any(isinstance(cell, dict | list) for row in value for cell in row.values())


def _column(cells: list[Any]) -> list[Any]:
    """Returns the cells unchanged if they have one simple type, else as texts."""
    kinds = {type(cell) for cell in cells if cell is not None}
    numbers = kinds <= {int, float} and all(cell is None or abs(cell) <= SAFE_INTEGER for cell in cells)
    if kinds and (numbers or kinds in ({bool}, {str})):
        return cells
    return [None if cell is None else cell if isinstance(cell, str) else json.dumps(cell) for cell in cells]


MOST_PIXELS = 40_000_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")
_AUDIO = re.compile(r"audio/[A-Za-z0-9.+-]{1,40}")


def picture_problem(data: bytes) -> str:
    """Returns the reason not to show these bytes as a picture, or "".

    >>> picture_problem(b"")
    'it has no bytes.'
    >>> picture_problem(b"no picture")
    'its bytes are not a PNG, JPEG, GIF, WEBP, BMP picture.'
    """
    if not data:
        return "it has no bytes."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about size, which is checked here
            with Image.open(io.BytesIO(data), formats=FORMATS) as picture:
                width, height = picture.size
                if width * height > MOST_PIXELS:
                    return f"{width:,} × {height:,} pixels are too many to show safely."
                picture.load()
    except Image.DecompressionBombError:
        return "it has too many pixels to show safely."
    except Image.UnidentifiedImageError:
        return f"its bytes are not a {', '.join(FORMATS)} picture."
    except Exception:  # noqa: BLE001 - a decoder can fail in any way on broken bytes
        return "its bytes are broken."
    return ""


def audio_mime(declared: str) -> str:
    """Returns the declared type of a sound if it is one, else WAV.

    >>> audio_mime("audio/mpeg"), audio_mime("text/html")
    ('audio/mpeg', 'audio/wav')
    """
    return declared if _AUDIO.fullmatch(declared) else "audio/wav"


SHOWN_CHARS = 4_000
MOST_CHARS = 200_000
TALL_CHARS, TALL_LINES, TALL_PX = 1_500, 16, 360
NOTHING = "The tool returned nothing: no content and no structured data."


def result_view(outcome: Outcome) -> None:
    """Draw structured data first, then each block in the server's order."""
    wrapped = is_wrapped_text(outcome)
    if outcome.structured is not None and not wrapped:
        _structured(outcome.structured, f"{outcome.id}.structured")
    elif not outcome.content and outcome.structured is None and outcome.kind.success:
        st.info(NOTHING, icon=":material/inbox:")
    for place, block in enumerate(outcome.content):
        if not wrapped and repeats(block, outcome.structured):
            st.caption("A text block repeats the structured data.")
        elif not (block.kind == "text" and block.text.strip() == outcome.error.strip() != ""):
            BLOCKS.get(block.kind, _text)(block, f"{outcome.id}.{place}")


def is_wrapped_text(outcome: Outcome) -> bool:
    """Tells whether the structured data only wraps the text of a block, which is easier to read."""
    value = outcome.structured
    text = value.get("result") if isinstance(value, dict) and set(value) == {"result"} else None
    return isinstance(text, str) and any(block.kind == "text" and block.text == text for block in outcome.content)


def repeats(block: ContentBlock, structured: Any) -> bool:
    """Tells whether a text block repeats the structured data, which servers send for old clients.

    >>> repeats(ContentBlock("text", text='{"n": 1}'), {"n": 1}), repeats(ContentBlock("text", text="7"), {"result": 7})
    (True, True)
    """
    if block.kind != "text" or structured is None:
        return False
    inner = structured.get("result") if isinstance(structured, dict) and set(structured) == {"result"} else structured
    return block.text == inner or as_json(block.text) in (structured, inner)


def as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def pretty_text(text: str) -> tuple[str, str | None]:
    """Returns a text for display and its language. JSON objects and lists are indented.

    >>> pretty_text('{"a":[1]}')[1], pretty_text("plain")
    ('json', ('plain', None))
    """
    if text.lstrip()[:1] in {"{", "["} and len(text) <= MOST_CHARS:
        value = as_json(text)
        if not isinstance(value, str):
            return json.dumps(value, indent=2, ensure_ascii=False), "json"
    return text, None


def _structured(value: Any, key: str) -> None:
    text = json.dumps(finite(value), ensure_ascii=False, indent=2, default=str)
    frame = flat_table(value)
    if frame is not None:
        table(frame, key=f"call.table.{key}", most=10)
    if len(text) > MOST_CHARS:
        _long(text, "json", key, "structured.json")
    elif frame is None:
        st.json(finite(value), expanded=2)
    else:
        with st.expander("As JSON"):
            st.json(finite(value), expanded=2)


def _text(block: ContentBlock, key: str) -> None:
    if not block.text:
        st.caption("An empty text.")
        return
    _long(*pretty_text(block.text), key, "result.txt", raw=block.text)


def _long(text: str, language: str | None, key: str, name: str, *, raw: str | None = None) -> None:
    """Shows a text in a box of bounded height. A long text is cut, with a switch for the whole text and a download."""
    excerpt = visible(text[:SHOWN_CHARS])
    if len(text) > SHOWN_CHARS:
        count, everything, save = st.columns([2.4, 1, 1.2], vertical_alignment="center")
        count.caption(
            f"{len(text):,} characters" + (": too many to show all of them." if len(text) > MOST_CHARS else ".")
        )
        if len(text) <= MOST_CHARS and everything.toggle("Show all", key=f"call.all.{key}"):
            excerpt = visible(text)
        elif len(text) > SHOWN_CHARS:
            excerpt += "…"
        _download(save, (text if raw is None else raw).encode(errors="replace"), name, key)
    tall = len(excerpt) > TALL_CHARS or excerpt.count("\n") > TALL_LINES
    st.code(excerpt, language=language, wrap_lines=True, height=TALL_PX if tall else "content")


def _image(block: ContentBlock, key: str) -> None:
    problem = picture_problem(block.data)
    if problem:
        st.caption(f"A picture that is not shown: {problem}")
    else:
        st.image(block.data)
    _bytes_line(block, key, "picture")


def _audio(block: ContentBlock, key: str) -> None:
    if block.data:
        st.audio(block.data, format=audio_mime(block.mime_type))
    _bytes_line(block, key, "sound")


def _resource(block: ContentBlock, key: str) -> None:
    _address(block)
    if block.data and block.mime_type.startswith("image/"):
        _image(block, key)
    elif block.data and block.mime_type.startswith("audio/"):
        _audio(block, key)
    elif block.data:
        _bytes_line(block, key, "resource")
    else:
        _text(block, key)


def _link(block: ContentBlock, key: str) -> None:  # noqa: ARG001 - one signature for every kind of block
    _address(block, "Link to a resource; it is not opened.")
    if block.text:
        st.text(visible(block.text[:SHOWN_CHARS]))


def _address(block: ContentBlock, caption: str = "Embedded resource.") -> None:
    st.caption(caption)
    lines = [text for text in (block.name, block.uri, block.mime_type) if text]
    st.code(visible("\n".join(lines))[:SHOWN_CHARS] or "no address", language=None, wrap_lines=True)


def _bytes_line(block: ContentBlock, key: str, name: str) -> None:
    kind, save = st.columns([3, 1.2], vertical_alignment="center")
    kind.text(f"{visible(block.mime_type[:80]) or 'unknown type'}, {size(len(block.data))}")
    if block.text:
        st.text(visible(block.text[:SHOWN_CHARS]))
    if block.data:
        _download(save, block.data, file_name(block.name or block.uri.rsplit("/", 1)[-1], name), key)


def _download(place: DeltaGenerator, data: bytes, name: str, key: str) -> None:
    place.download_button(
        "Download", data, file_name=name, mime="application/octet-stream", key=f"call.save.{key}", on_click="ignore",
        icon=":material/download:", width="stretch",
    )  # fmt: skip


BLOCKS: dict[str, Callable[[ContentBlock, str], None]] = {
    "text": _text, "image": _image, "audio": _audio, "resource": _resource, "resource_link": _link,
}  # fmt: skip
