"""Checks of a call's result."""

from base64 import b64decode
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from matplotlib.image import imread
from mcp_types import CallToolResult, ImageContent

Check = Callable[[CallToolResult], bool]


@dataclass(frozen=True)
class E:
    """An example: arguments of a call, a check of its result, and calls to make before it."""

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
        picture = pixels(image)
        drawn_on = (picture[:, :, :3] < 0.99).any(axis=2).mean()
        return picture.shape[:2] == (height, width) and drawn_on > 0.01 and caption.text == text

    return check


def every_kind(result: CallToolResult) -> bool:
    return [block.type for block in result.content] == ["text", "image", "audio", "resource", "resource_link"]
