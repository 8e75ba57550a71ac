"""Messages of the protocol without secrets: what people and programs wrote is masked, the protocol's own words are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin

from pydantic import BaseModel

from core.shared.leaks import MASK

Redact = Callable[[str], str]
Message = TypeVar("Message", bound=BaseModel)


def without_secrets(message: Message, redact: Redact) -> Message:
    """The message with every text in it masked, at any depth; a field that takes certain words only is left as it is.

    >>> from mcp_types import TextContent
    >>> without_secrets(TextContent(type="text", text="a text: hunter2"), lambda text: text.replace("hunter2", "•••").replace("text", "•••"))
    TextContent(type='text', text='a •••: •••', annotations=None, meta=None)
    """
    words = _fields_of_words(type(message))
    fields = {name: value for name, value in message if name not in words}
    return message.model_copy(update={name: _masked(value, redact) for name, value in fields.items()})


def _masked(value: Any, redact: Redact) -> Any:
    match value:
        case BaseModel():
            return without_secrets(value, redact)
        case str():
            return redact(value)
        case int() | float() if not isinstance(value, bool):  # a number can be a secret as well
            return MASK if redact(str(value)) != str(value) else value
        case Mapping():
            named = cast("Mapping[Any, Any]", value)
            return {_masked(name, redact): _masked(one, redact) for name, one in named.items()}
        case Sequence():
            return [_masked(one, redact) for one in cast("Sequence[Any]", value)]
        case _:
            return value


@cache
def _fields_of_words(message: type[BaseModel]) -> frozenset[str]:
    """The fields whose values the protocol fixes: a role, a type, a level; and numbers, which must remain numbers."""
    return frozenset(name for name, field in message.model_fields.items() if not _free(field.annotation))


def _free(annotation: Any) -> bool:
    kinds = _kinds(annotation)
    return Literal not in kinds and not kinds <= {int, float, bool, type(None)}


def _kinds(annotation: Any) -> set[Any]:
    """The types that a field takes; `Literal` where it takes certain words."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return {Literal}
    if origin is Annotated:
        return _kinds(parts[0])
    return {kind for part in parts for kind in _kinds(part)} if parts else {annotation}
