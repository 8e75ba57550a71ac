"""The connection to a model's endpoint: answers are bounded in bytes and time, and end when somebody stops them."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import httpx2

from core.planning.base import Watch

ANSWER_LIMIT_BYTES = 2_000_000


class TooLargeError(httpx2.StreamError):
    """An answer exceeds the limit of bytes."""


def bounded(response: httpx2.Response) -> None:
    """Ends an answer after this many bytes, and after the total time that its request allows for reading."""
    allowed_s = response.request.extensions.get("timeout", {}).get("read")
    ends = None if allowed_s is None else time.monotonic() + allowed_s
    if isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Bounded(response.stream, ends)


LOOK_S = 0.1
_CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")


@contextmanager
def stoppable(watch: Watch | None) -> Generator[dict[str, list[Callable[..., None]]]]:
    """Gives the hooks of an HTTP client whose connections are shut as soon as the watch is stopped, also while the model reads."""
    hooks: dict[str, list[Callable[..., None]]] = {"response": [bounded]}
    if watch is None:
        yield hooks
        return
    streams, over = list[Any](), threading.Event()

    def traced(event: str, info: Mapping[str, Any]) -> None:
        if event in _CONNECTED:
            streams.append(info["return_value"])

    def look() -> None:
        while not over.wait(LOOK_S):
            if watch.stop.is_set() and streams:
                with suppress(OSError):  # it has ended meanwhile
                    streams[-1].get_extra_info("socket").shutdown(socket.SHUT_RDWR)

    def trace(request: httpx2.Request) -> None:
        request.extensions = {**request.extensions, "trace": traced}

    threading.Thread(target=look, name="wayfare-watch", daemon=True).start()
    watch.tokens = 0
    try:
        yield {**hooks, "request": [trace]}
    finally:
        over.set()
        watch.tokens = None


class _Bounded(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, ends: float | None) -> None:
        self._inner = inner
        self._left = ANSWER_LIMIT_BYTES
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLargeError("the answer is too large")
            if self._ends is not None and time.monotonic() > self._ends:
                raise httpx2.ReadTimeout("the answer took too long")
            yield chunk

    def close(self) -> None:
        self._inner.close()
