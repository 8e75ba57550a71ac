"""One test over many cases: all of them run, and those that fail are named together.

`pytest.mark.parametrize` makes an item of each case. An item costs some milliseconds and its fixtures anew, which is much for a
check of microseconds over every knob, phrase or tool.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

Param = type(pytest.param())


def each(
    names: str | Sequence[str], cases: Iterable[Any], ids: Sequence[str] | Callable[..., Any] = ()
) -> Callable[..., Any]:
    """Runs a test for each case, with the arguments of `parametrize`. The other fixtures are made once and shared by all cases.

    The test fails with the group of what the failing cases raised. The message has their names: from `ids` or `pytest.param`,
    or the values themselves.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    single = isinstance(names, str) and len(arguments) == 1
    table = list(cases)
    if not table:
        raise ValueError("each: no cases")

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def run(*owner: Any, **fixtures: Any) -> None:
            faults: dict[int, BaseException] = {}
            for place, case in enumerate(table):
                try:
                    test(*owner, **fixtures, **dict(zip(arguments, _values(case, single), strict=True)))
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as fault:  # noqa: BLE001 - raised below
                    fault.add_note(f"in the case {_name(place, case, ids)}")
                    faults[place] = fault
            if faults:
                failed = "; ".join(_name(place, table[place], ids) for place in faults)
                raise BaseExceptionGroup(f"{len(faults)} of {len(table)} cases fail: {failed}", list(faults.values()))

        signature = inspect.signature(test)
        remaining = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=remaining)  # type: ignore[attr-defined]
        return run

    return decorated


def _values(case: Any, single: bool) -> Sequence[Any]:
    """The values of a case in the order of the names."""
    if isinstance(case, Param):
        return case.values
    return (case,) if single else case


def _name(place: int, case: Any, ids: Sequence[str] | Callable[..., Any]) -> str:
    """A case's name in a report."""
    if callable(ids):
        return ", ".join(str(ids(value)) for value in (case if isinstance(case, tuple) else (case,)))
    if ids:
        return ids[place]
    return str(getattr(case, "id", None) or reprlib.repr(case.values if isinstance(case, Param) else case))
