"""Commands of other processes, run by the process that has the store: `POST /door`, with the key that lies beside the store."""

from __future__ import annotations

import io
import logging
import secrets
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, TextIO, cast

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from core.cli.main import main
from core.endpoint.http_app import stranger

if TYPE_CHECKING:
    from core.app import App

PATH = "/door"
_log = logging.getLogger(__name__)
_given = threading.local()


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind: its exit code and what it wrote on the two streams."""

    code: int
    out: str
    err: str


class CommandDoor:
    """The route `/door` over the app that `app` gives. `key` is new with each process."""

    def __init__(self, app: Callable[[], App]) -> None:
        self.key = secrets.token_urlsafe(24)
        self._app = app

    async def serve(self, request: Request) -> Response:
        """Run one command; 403 for whoever is not on this machine or cannot read the key, 400 for what is no command."""
        given = request.headers.get("authorization", "").removeprefix("Bearer ")
        if stranger(request.scope) or not secrets.compare_digest(given.encode(), self.key.encode()):
            return JSONResponse({"error": "This door opens to commands of the store's owner alone."}, status_code=403)
        try:
            arguments = [str(word) for word in cast("list[object]", (await request.json())["arguments"])]
        except (ValueError, LookupError, TypeError, RecursionError):
            return JSONResponse({"error": "Give the words of a command as arguments."}, status_code=400)
        done = await anyio.to_thread.run_sync(self._run, arguments, abandon_on_cancel=True)
        return JSONResponse(asdict(done))

    def _run(self, arguments: list[str]) -> Done:
        from core.cli.opening import working_on

        with _captured() as (out, err), working_on(self._app()):
            code = 0
            try:
                main(arguments)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except Exception:  # noqa: BLE001  a defect of one command is no defect of the console
                _log.exception("a command failed: %s", arguments)
                return Done(
                    1, out.getvalue(), "The command failed in the process that has the store; its log says where.\n"
                )
        return Done(code, out.getvalue(), err.getvalue())


@contextmanager
def _captured() -> Generator[tuple[io.StringIO, io.StringIO]]:
    """What this thread writes on the standard streams; the other threads write where they did."""
    _install()
    _given.stdout, _given.stderr = io.StringIO(), io.StringIO()
    try:
        yield _given.stdout, _given.stderr
    finally:
        del _given.stdout, _given.stderr


@cache
def _install() -> None:
    sys.stdout = cast(TextIO, _PerThread(sys.stdout, "stdout"))
    sys.stderr = cast(TextIO, _PerThread(sys.stderr, "stderr"))


class _PerThread(io.TextIOBase):
    """A standard stream, except in a thread that runs a command for another process."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, usual: TextIO, name: str) -> None:
        self._usual = usual
        self._name = name

    def _stream(self) -> TextIO:
        return getattr(_given, self._name, self._usual)

    def write(self, text: str, /) -> int:
        """Write where this thread's output goes."""
        return self._stream().write(text)

    def flush(self) -> None:
        """Flush it."""
        self._stream().flush()

    def writable(self) -> bool:
        """It is."""
        return True

    def isatty(self) -> bool:
        """Whether it goes to a terminal."""
        return self._stream().isatty()

    def fileno(self) -> int:
        """The process's own."""
        return self._usual.fileno()
