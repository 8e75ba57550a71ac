"""What the result of a call can be checked for."""

import csv
from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from wave import open as open_wave

from matplotlib.image import imread
from mcp_types import CallToolResult, ImageContent

from sample_catalog import ROOT

Check = Callable[[CallToolResult], bool]


@dataclass(frozen=True)
class E:
    """An example: arguments of a call, what has to be true of its result, and calls to make before it."""

    arguments: dict[str, Any]
    check: Check | None
    before: tuple[tuple[str, dict[str, Any]], ...] = ()


def gives(value: Any) -> Check:
    """The structured result is this value."""
    return lambda result: result.structured_content == {"result": value}


def near(value: float, tolerance: float = 1e-9) -> Check:
    return lambda result: abs(result.structured_content["result"] - value) <= tolerance


def has(**fields: Any) -> Check:
    """The structured result is an object with (at least) these fields."""
    return lambda result: fields.items() <= result.structured_content.items()


def rows(**fields: Any) -> Check:
    """The structured result is a list of objects; these fields have these values, row by row."""
    return lambda result: all(
        [row[name] for row in result.structured_content["result"]] == values for name, values in fields.items()
    )


def whole(value: dict[str, Any]) -> Check:
    return lambda result: result.structured_content == value


def says(*parts: str) -> Check:
    """Each part occurs in the text of the result."""
    return lambda result: not result.is_error and all(part in result.content[0].text for part in parts)


def holds(test: Callable[[Any], bool]) -> Check:
    """A test of the structured result, without its wrapping."""
    return lambda result: test(result.structured_content["result"])


def fails(text: str) -> Check:
    return lambda result: result.is_error is True and text in result.content[0].text


def embeds(mime: str, *parts: str) -> Check:
    def check(result: CallToolResult) -> bool:
        resource = result.content[0].resource
        return resource.mime_type == mime and all(part in resource.text for part in parts)

    return check


def pixels(image: ImageContent) -> Any:
    """The picture as an array of rows, columns and channels."""
    return imread(BytesIO(b64decode(image.data)), format="png")


def chart(text: str, width: int = 400, height: int = 300) -> Check:
    """A PNG of this size with something drawn on it, and a line of text."""

    def check(result: CallToolResult) -> bool:
        image, caption = result.content
        drawn = pixels(image)
        drawn_on = (drawn[:, :, :3] < 0.99).any(axis=2).mean()
        return drawn.shape[:2] == (height, width) and drawn_on > 0.01 and caption.text == text

    return check


def shows_code(code: Any, scale: int = 8, margin: int = 4) -> Check:
    """A PNG whose modules are those of a QR code."""

    def check(result: CallToolResult) -> bool:
        drawn = pixels(result.content[0])
        middle = slice(margin * scale + scale // 2, -margin * scale, scale)
        grey = drawn[middle, middle] if drawn.ndim == 2 else drawn[middle, middle, 0]
        return (grey < 0.5).tolist() == [[bool(module) for module in row] for row in code.matrix]

    return check


def _table(name: str) -> list[dict[str, str]]:
    with (ROOT / "runnable" / "data" / f"shop_{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _sold() -> list[tuple[dict[str, str], dict[str, str], float]]:
    products = {row["product_id"]: row for row in _table("products")}
    orders = [row for row in _table("orders") if row["status"] != "returned"]
    named = [(order, products[order["product_id"]]) for order in orders]
    return [(order, product, int(order["quantity"]) * float(product["price_eur"])) for order, product in named]


def best_dairy(result: CallToolResult) -> bool:
    totals: dict[str, float] = {}
    for _, product, revenue in _sold():
        if product["category"] == "dairy":
            totals[product["name"]] = totals.get(product["name"], 0) + revenue
    best = sorted(totals.items(), key=lambda item: -item[1])[:2]
    found = [(row[0], row[3]) for row in result.structured_content["rows"]]
    return found == [(name, round(total, 2)) for name, total in best]


def revenue_per_quarter(result: CallToolResult) -> bool:
    found = [round(row[2], 2) for row in result.structured_content["rows"]]
    expected = [0.0] * 4
    for order, _, revenue in _sold():
        expected[(int(order["ordered"][5:7]) - 1) // 3] += revenue
    return found == [round(total, 2) for total in expected]


def plays(result: CallToolResult) -> bool:
    """A WAV of the right length: 'e' is one unit of sound and one of silence, 60 ms each at 20 words a minute."""
    audio = result.content[0]
    with open_wave(BytesIO(b64decode(audio.data))) as sound:
        samples = sound.readframes(sound.getnframes())
        loud = any(samples[: len(samples) // 2])
        return audio.mime_type == "audio/wav" and sound.getnframes() == 960 and loud and not any(samples[960:])


def every_kind(result: CallToolResult) -> bool:
    return [block.type for block in result.content] == ["text", "image", "audio", "resource", "resource_link"]
