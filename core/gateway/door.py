"""Starts the console of a store in the background, for an agent."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

from core.domain.console import Owner, beside, owner_of
from core.domain.errors import WayfareError
from core.domain.leaks import inherited
from core.domain.settings import Settings

BY_AGENT = "wayfare mcp"
"""The command that starts a console for an agent."""


TOKEN = "WAYFARE_TOKEN"  # noqa: S105 - the variable's name
OWN = ("WAYFARE_", "PYTHON")
"""The variables of the agent that a console gets, beside the variables that every program inherits."""
STARTS_S = 120.0
LOG_BYTES = 1_000_000  # a longer log is begun anew at the next start
IN_A_FILE = "`wayfare mcp` needs a store in a file, because a console serves it; name one with --db."
CONSOLE = ("-P", "-c", "from core.cli import main; main()", "up", "--background")


def console_of(settings: Settings) -> Owner:
    return owner_of(settings.db) or _started(settings)


def _started(settings: Settings) -> Owner:
    file = beside(settings.db, "console.log")
    if file is None:
        raise WayfareError(IN_A_FILE)
    words = [sys.executable, *CONSOLE, "--db", str(settings.db)]
    if not Path(settings.catalog).is_file():  # a file is for this client alone
        words += ["--catalog", settings.catalog]
    variables = {name: value for name, value in settings.environment.items() if name.startswith(OWN) and name != TOKEN}
    environment = {**inherited(settings.environment), **variables}
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        log = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    except OSError as error:
        raise WayfareError(
            f"The log {file} cannot be written ({error.strerror}); name another store with --db."
        ) from None
    try:
        if os.fstat(log).st_size > LOG_BYTES:
            os.ftruncate(log, 0)
        start = os.fstat(log).st_size
        process = subprocess.Popen(  # noqa: S603 - our own program
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    finally:
        os.close(log)
    deadline = time.monotonic() + STARTS_S
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        if (owner := owner_of(settings.db)) is not None:
            return owner
        if ended:
            raise WayfareError(f"The console could not be started: {last_line(file, start)}")
        time.sleep(0.05)
    raise WayfareError(f"The console did not start in {STARTS_S:g} s; {file} says more.")


LEAKS = ("nanobind:", "- leaked ", "- ... skipped remainder", "See https://nanobind.")
"""Beginnings of lines that native code may write after the last words of a process."""


def last_line(file: Path, begin: int) -> str:
    """Returns the last line of a log from this byte on that says why the process ended."""
    lines = map(str.strip, file.read_bytes()[begin:].decode(errors="replace").splitlines())
    reasons = [line for line in lines if line and not line.startswith(LEAKS)]
    return reasons[-1] if reasons else f"{file} says more."
