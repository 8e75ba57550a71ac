"""Values that take long to make: models, tables, files that come with Wayfare."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from typing import Any, ParamSpec, TypeVar, cast

from cachetools import cached

P = ParamSpec("P")
T = TypeVar("T")


def made_once(make: Callable[P, T]) -> Callable[P, T]:
    """Keeps the value of each argument. Threads that ask meanwhile wait for it; under `functools.cache` each of them would make it.

    >>> table = made_once(lambda: [1, 2])
    >>> table() is table()
    True
    """
    return cast("Callable[P, T]", cached(dict[Any, Any](), condition=Condition())(make))
