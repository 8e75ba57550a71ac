"""A Python for tests whose programs start without the second that the protocol's packages take to import: each is a fork of a
process that has them.

    with Forks() as forks:
        forks.python      a command that takes `[-P] -m MODULE`, `-c CODE` and `FILE` with arguments as `python` does; with others it is `python`

What is started by it is a process of its own with its own streams, folder and environment. It is killed with the process that was
started in its place, gets that one's signals, and gives it its exit code.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from functools import cached_property

TYPE_CHECKING = False
if TYPE_CHECKING:  # the process in its place has no time for imports
    import subprocess
    from typing import Any

IMPORTED = (
    "mcp.server.mcpserver", "mcp.server.lowlevel", "mcp.server.stdio", "uvicorn", "faker", "jsonschema_rs", "streamlit", "core.virtual.server",
    "core.cli.serving", "core.cli.agent", "core.gateway.endpoint", "core.gateway.http_app", "dashboard.pages.route.view",
    "sample_catalog.runnable._common",
)  # fmt: skip
MESSAGE_BYTES = 1 << 18
KILL = getattr(signal, "SIGUSR1", signal.SIGTERM)
"""Has the process in its place kill a program: nothing can be told when that process itself is killed."""


class Forks:
    """The process that is forked, from the first use of `python` on. It ends with this object."""

    def __enter__(self) -> Forks:
        return self

    @cached_property
    def python(self) -> str:
        """The command. Only Linux has forks; other systems get `python`."""
        if not hasattr(os, "pidfd_open"):
            return sys.executable
        import subprocess
        from pathlib import Path
        from tempfile import TemporaryDirectory

        self._folder = TemporaryDirectory(prefix="forks-")
        address, command = Path(self._folder.name, "socket"), Path(self._folder.name, "python")
        line = [sys.executable, "-m", "tests.forking", str(address)]
        self._process = subprocess.Popen(line, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdout.readline() == b"ready\n"
        command.write_text(
            f'#!/bin/sh\ncase "$1" in\n  -m|-c|-P|*.py) exec "{sys.executable}" -SE "{__file__}" --in-place-of "{address}" "$@" ;;\n'
            f'  *) exec "{sys.executable}" "$@" ;;\nesac\n'
        )
        command.chmod(0o700)
        return str(command)

    def kill(self, process: subprocess.Popen[Any]) -> None:
        """Kills a program. When its process has ended, the program has, too; otherwise it ends a moment later."""
        process.send_signal(signal.SIGKILL if self.python == sys.executable else KILL)

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "_process"):
            self._process.communicate()
            self._folder.cleanup()


FORKS = Forks()
"""The session's instance."""
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib takes 10 ms to import


def in_place_of(address: str, words: list[str]) -> None:
    """Has a program started, passes signals on to it, and ends as it does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as line:
        line.connect(address)
        message = repr((words, os.getcwd(), dict(os.environ)))  # noqa: PTH109
        socket.send_fds(line, [message.encode("utf-8", "surrogateescape")], [0, 1, 2])
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(nothing, stream)
        pid = int(line.recv(64))
        for passed_on in (signal.SIGTERM, signal.SIGINT):
            signal.signal(passed_on, lambda number, _: os.kill(pid, number))
        signal.signal(KILL, lambda *_: os.kill(pid, signal.SIGKILL))
        code = int(line.recv(64) or -signal.SIGKILL)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL) if -code != signal.SIGKILL else None
        os.kill(os.getpid(), -code)
    os._exit(code)


def serve(address: str) -> list[str] | None:
    """Forks for every request. Returns the program's words in a fork, and None at the end."""
    import gc
    import importlib
    import select

    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(address)
        listener.listen(64)
        os.write(1, b"ready\n")
        while True:
            ready, _, _ = select.select([listener, 0], [], [])
            if 0 in ready:
                break
            connection, _ = listener.accept()
            with connection:
                if os.fork() == 0:
                    listener.close()
                    return _watched(connection)
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
    return None


def _watched(connection: socket.socket) -> list[str]:
    """Forks once more, and waits for the end of either side. Returns only in the second fork."""
    import ast
    import select

    message, streams, _, _ = socket.recv_fds(connection, MESSAGE_BYTES, 3)
    words, folder, environment = ast.literal_eval(message.decode("utf-8", "surrogateescape"))
    program = os.fork()
    if program == 0:
        connection.close()
        for stream, descriptor in enumerate(streams):
            os.dup2(descriptor, stream)
            os.close(descriptor)
        # new objects: the old ones keep the capabilities of the forked process's streams
        sys.stdin, sys.stdout = open(0, closefd=False, encoding="utf-8"), open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
        sys.stderr = open(2, "w", 1, closefd=False, encoding="utf-8", errors="backslashreplace")  # noqa: SIM115
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environment)
        return words
    for descriptor in (*streams, 0, 1, 2):
        os.close(descriptor)
    try:
        connection.send(str(program).encode())
        ended = os.pidfd_open(program)
        if ended not in select.select([ended, connection], [], [])[0]:
            os.kill(program, signal.SIGKILL)
        _, status = os.waitpid(program, 0)
        connection.send(str(os.waitstatus_to_exitcode(status)).encode())
    finally:
        os._exit(0)


def _run(words: list[str]) -> None:
    import runpy

    sys.path[:1] = [] if words[0] == "-P" else [os.getcwd()]  # noqa: PTH109
    if words[0] == "-P":
        words = words[1:]
    if words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    elif words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        sys.argv = words
        sys.path[:1] = [os.path.dirname(words[0])]  # noqa: PTH120
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "--in-place-of":
        in_place_of(sys.argv[2], sys.argv[3:])
    if (given_words := serve(sys.argv[1])) is not None:
        sys.executable = os.path.join(os.path.dirname(sys.argv[1]), "python")  # noqa: PTH118, PTH120 - what it starts is quick, too
        _run(given_words)
