"""Commands of other processes, run by the console: `/door` with the key from the file beside the store."""

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
from typing import TYPE_CHECKING, Any, TextIO, cast
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from core.cli import apps
from core.cli.main import COMMANDS, main
from core.domain.settings import launched
from core.gateway.entrance import Uses, stranger

if TYPE_CHECKING:
    from core.app import App


CALLS_END_S, TELLS_S = 30.0, 0.3
"""How long an ending console waits for calls of agents, and how long it tells other calls that it ends."""
_log = logging.getLogger(__name__)
_given = threading.local()


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a command: its exit code and its output on the two streams."""

    code: int
    out: str
    err: str


class CommandDoor:
    """The route `/door` over the app that `app` returns: POST runs a command, GET tells who uses the console, PUT lends the store's file, DELETE
    ends it. Each
    process has a new `key`."""

    def __init__(self, app: Callable[[], App], uses: Uses) -> None:
        self.key = secrets.token_urlsafe(24)
        self._app = app
        self._uses = uses

    async def serve(self, request: Request) -> Response:
        """Answers 403 to other machines and to requests without the key, 400 to a POST without a command."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        own_hosts = launched().hosts & {urlsplit(launched().url).netloc}  # the address of --host
        if stranger(request.scope, own_hosts) or not secrets.compare_digest(key.encode(), self.key.encode()):
            return JSONResponse({"error": "Only commands with the key of this store are accepted."}, status_code=403)
        if request.method == "GET":
            return JSONResponse({"uses": self._uses.users(), "idle_s": self._uses.idle_s})
        if request.method == "PUT":
            app = await anyio.to_thread.run_sync(self._app)
            await anyio.to_thread.run_sync(app.store.lend)
            return JSONResponse({})
        if request.method == "DELETE":
            return JSONResponse({}, 202, background=BackgroundTask(self._end))
        try:
            document = await request.json()
            arguments, folder = list(map(str, document["arguments"])), str(document.get("folder", ""))
        except (ValueError, LookupError, TypeError, RecursionError):
            return JSONResponse({"error": "Give the words of a command as arguments."}, status_code=400)
        with self._uses.use("command", arguments[0] if arguments and arguments[0] in COMMANDS else "unknown"):
            done = await anyio.to_thread.run_sync(self._run, arguments, folder, abandon_on_cancel=True)
        return JSONResponse(asdict(done))

    async def _end(self) -> None:
        """Ends the console when no call of an agent is under way, or after the limit. Later calls are sent to the next console."""
        with anyio.move_on_after(CALLS_END_S):
            while self._uses.active("agent"):
                await anyio.sleep(0.02)
        self._uses.ending = True
        await anyio.sleep(TELLS_S)
        launched().stop()

    def _run(self, arguments: list[str], folder: str) -> Done:
        with _captured() as (out, err), apps.working_on(self._app(), within=folder):
            code = 0
            try:
                main(arguments)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except Exception:  # noqa: BLE001  a defect of a command must not end the console
                _log.exception("a command failed: %s", arguments[:1])  # others may be secret
                return Done(
                    1, out.getvalue(), "The command failed in the process that has the store; its log says where.\n"
                )
        return Done(code, out.getvalue(), err.getvalue())


@contextmanager
def _captured() -> Generator[tuple[io.StringIO, io.StringIO]]:
    """Captures the output of this thread on the standard streams. Other threads write as before."""
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


class _PerThread:
    """A standard stream, except in a thread that runs a command for another process."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, usual: TextIO, name: str) -> None:
        self._usual = usual
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(getattr(_given, self._name, self._usual), attribute)
