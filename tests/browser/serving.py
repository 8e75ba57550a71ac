"""Programs as an operator starts them: the console and a tool server, on free ports, ended by their process id."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from tests.forking import FORKS

ROOT = Path(__file__).parents[2]
STARTS_S, ENDS_S = 90.0, 15.0


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Program:
    """A Python module in a separate process; a file keeps its output."""

    def __init__(
        self,
        arguments: Sequence[str],
        healthy_url: str,
        log: Path,
        environment: Mapping[str, str],
        *,
        python: str | None = None,
        cwd: Path = ROOT,
    ) -> None:
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [python or FORKS.python, *arguments],
                cwd=cwd,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            self._wait_until(healthy_url)
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def stop(self) -> int:
        """SIGTERM, and after a limit SIGKILL; the exit code."""
        self._process.terminate()
        try:
            return self._process.wait(ENDS_S)
        except subprocess.TimeoutExpired:
            return self.kill()

    def kill(self) -> int:
        """SIGKILL; the exit code."""
        FORKS.kill(self._process)
        return self._process.wait(ENDS_S)

    def _wait_until(self, url: str) -> None:
        deadline = time.monotonic() + STARTS_S
        while not _answers(url):
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(0.1)  # returns at once if it ended
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self._process.args} did not come up:\n{self.log.read_text(errors='replace')}")


class ConsoleProgram:
    """`wayfare up` on one store with further options: may be stopped, killed and started again."""

    def __init__(self, db: Path, cache: Path, options: Sequence[str] = ()) -> None:
        self.db = db
        self._options = options
        self.port = free_port()
        self._cache = cache
        self._program: Program | None = None

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        """Its terminal output over all starts."""
        return self.db.with_suffix(".log")

    def start(self) -> None:
        """Start, and return at the first answer."""
        self._program = Program(
            ["-m", "core.cli", "up", "--port", str(self.port), "--db", str(self.db), *self._options],
            f"{self.url}/healthz",
            self.log,
            {"WAYFARE_CACHE": str(self._cache)},
        )

    def stop(self) -> int | None:
        """SIGTERM; the exit code, None if it does not run."""
        program, self._program = self._program, None
        return program.stop() if program is not None else None

    def kill(self) -> None:
        """SIGKILL, without time to clean up."""
        program, self._program = self._program, None
        if program is not None:
            program.kill()


def _answers(url: str) -> bool:
    """Whether a GET gives an answer of any kind."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return True
    except OSError:
        return False
