"""What takes long to make is made once, however many threads ask."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.domain.progress import made_once

THREADS = 8


def test_threads_that_ask_at_the_same_time_get_the_same_value() -> None:
    together, made = threading.Barrier(THREADS), list[object]()

    @made_once
    def model(name: str) -> object:
        made.append(object())
        threading.Event().wait(0.05)  # the others ask meanwhile
        return made[-1]

    def asked(_: int) -> object:
        together.wait(30)
        return model("small")

    with ThreadPoolExecutor(THREADS) as pool:
        found = set(pool.map(asked, range(THREADS)))
    assert found == set(made)
    assert len(made) == 1


def test_an_error_is_not_kept() -> None:
    answers = iter([ValueError("no file"), 5])

    @made_once
    def table() -> int:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with pytest.raises(ValueError, match="no file"):
        table()
    assert (table(), table()) == (5, 5)
