"""litellm, loaded when a model is first asked: silent, offline but for the endpoint itself, and with bounded answers.

What litellm does unasked and is kept from: fetching its price table and lists of headers, reading a `.env` file of a folder
around it, printing where to give feedback, and retrying by itself.
"""

# pyright: reportUnknownVariableType=false, reportPrivateImportUsage=false
from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx

ANSWER_LIMIT_BYTES = 2_000_000
QUIET = {
    "LITELLM_MODE": "PRODUCTION",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
}
_loading = threading.Lock()
_loaded: list[Any] = []


def litellm_module() -> Any:
    """The package, loaded once (about 2 s)."""
    with _loading:
        if not _loaded:
            _loaded.append(_load())
        return _loaded[0]


def _load() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)  # who sets one of them otherwise wants it otherwise
    import litellm

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    litellm.drop_params = True
    litellm.turn_off_message_logging = True
    litellm.client_session = httpx.Client(event_hooks={"response": [bounded]})
    return litellm


class TooLargeError(httpx.StreamError):
    """An answer that goes on beyond every limit."""


def bounded(response: httpx.Response) -> None:
    """Have an answer end: after so many bytes, and after the time that its request allows for reading in all."""
    allowed_s = response.request.extensions.get("timeout", {}).get("read")
    ends = None if allowed_s is None else time.monotonic() + allowed_s
    if isinstance(response.stream, httpx.SyncByteStream):
        response.stream = _Bounded(response.stream, ends)


class _Bounded(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, ends: float | None) -> None:
        self._inner = inner
        self._left = ANSWER_LIMIT_BYTES
        self._ends = ends

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            self._left -= len(chunk)
            if self._left < 0:
                raise TooLargeError("the answer is too large")
            if self._ends is not None and time.monotonic() > self._ends:
                raise httpx.ReadTimeout("the answer took too long")
            yield chunk

    def close(self) -> None:
        self._inner.close()
