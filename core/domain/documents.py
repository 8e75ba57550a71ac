"""The reader of small documents: a dataclass from parsed JSON or TOML, checked by pydantic, or a sentence about the first fault.

A field's type gives its values. `Wanted` and `number` add limits, and their words.

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Limits:
...     usd: Annotated[float, number(0, 10)] = 1.0
>>> read(Limits, {"usd": 3}, "limits.toml")
Limits(usd=3.0)
>>> read(Limits, {"usd": -3}, "limits.toml")
Traceback (most recent call last):
core.domain.errors.CatalogError: limits.toml: usd is -3; give a number from 0 to 10.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from core.domain.errors import CatalogError, WayfareError
from core.domain.untrusted_text import one_line

if TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["AMOUNT", "CLOSED", "COUNT", "Annotated", "ToolId", "Wanted", "digest", "number", "read", "text_of"]

T = TypeVar("T")
CLOSED = {"extra": "forbid"}
"""`__pydantic_config__` of a dataclass whose documents have no further keys."""
SHOWN = 60  # characters of a value in a message
WORDS = {
    "string": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "list": "a list",
    "tuple": "a list",
    "dict": "an object",
    "mapping": "an object",
    "dataclass": "an object",
}
KINDS: Mapping[type[Any], str] = {dict: "an object", list: "a list", type(None): "null"}


@dataclass(frozen=True)
class Wanted:
    """The words for the values of a field, and a further check of a value of the field's type."""

    words: str
    check: Callable[[Any], object] = lambda _: True

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        from pydantic_core import PydanticCustomError, ValidationError, core_schema

        schema = handler(source)
        is_tuple = schema["type"] == "tuple"

        def checked(value: Any, inner: Callable[[Any], Any]) -> Any:
            try:
                result = inner(tuple(cast(list[Any], value)) if is_tuple and isinstance(value, list) else value)
                if self.check(result):
                    return result
            except ValidationError:
                pass
            raise PydanticCustomError("wanted", "{words}", {"words": self.words})

        return core_schema.no_info_wrap_validator_function(checked, schema)


def number(low: float, high: float) -> Wanted:
    return Wanted(f"a number from {low:g} to {high:g}", lambda value: low <= value <= high)


def text_of(most: int) -> Wanted:
    return Wanted(f"a text of at most {most} characters", lambda text: len(text) <= most)


AMOUNT = Wanted("a number of 0 or more", lambda value: 0 <= value < 1e15)
COUNT = Wanted("a whole number of 0 or more", AMOUNT.check)
ToolId = Annotated[str, Wanted("a tool as server::tool", lambda text: all(text.partition("::")))]


def read(
    kind: type[T], document: object, source: str, *, error: type[WayfareError] = CatalogError, advice: str = ""
) -> T:
    """A value of a type from a parsed document. Raises `error` with the source, the place, and a remedy, or `advice` in place of the
    remedy."""
    from pydantic import ValidationError

    try:
        return _adapter(kind).validate_json(json.dumps(document, default=lambda _: {}), strict=True)
    except ValidationError as failure:
        fault, remedy = _fault(failure.errors(include_url=False)[0])
    except RecursionError:
        fault, remedy = "it is nested too deeply", "a flatter document"
    raise error(f"{source}: {fault}; {advice or remedy}.") from None


@lru_cache(maxsize=32)
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)


def _fault(error: Mapping[str, Any]) -> tuple[str, str]:
    """The fault with its place, and the remedy."""
    *parents, last = error["loc"] or ("",)
    path, kind = _path(error["loc"]) or "it", error["type"]
    if kind == "unexpected_keyword_argument":
        return f"{_path(parents) or 'it'} has no {one_line(repr(last), SHOWN)}", "correct the name or leave it out"
    if kind in ("missing", "missing_argument"):
        return f"{path} is missing", "give it"
    if kind == "json_invalid":
        return "it holds half a character (a lone surrogate)", "remove it"
    value, context = error["input"], error.get("ctx", {})
    words = context.get("words") or context.get("expected") or WORDS.get(kind.rpartition("_")[0]) or error["msg"]
    return f"{path} is {KINDS.get(cast(type[Any], type(value))) or one_line(json.dumps(value), SHOWN)}", f"give {words}"


def _path(steps: Any) -> str:
    r"""A place in a document.

    >>> _path(("budgets", 0, "usd")), _path(("a\x1b",))
    ('budgets[0].usd', 'a⟨U+001B⟩')
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{one_line(step, SHOWN)}" for step in steps)
    return text.removeprefix(".")


def digest(text: str) -> str:
    """Returns the SHA-256 of a text in hexadecimal digits."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
