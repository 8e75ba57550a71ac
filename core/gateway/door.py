"""The console of a store: announced in a small file beside the store, by which every other process finds it, or started."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from core.domain.environment import inherited
from core.domain.errors import WayfareError
from core.domain.settings import IN_MEMORY, Settings

if TYPE_CHECKING:
    from filelock import FileLock

CONNECT_S = 2.0
BY_AGENT = "wayfare mcp"
"""The command that starts a console for an agent."""


def beside(db: Path | str, ending: str) -> Path | None:
    """Returns a file beside a store, or None for a store in memory.

    >>> beside("/data/w.duckdb", "door.json").as_posix(), beside(":memory:", "door.json")
    ('/data/w.duckdb.door.json', None)
    """
    if str(db) == IN_MEMORY:
        return None
    file = Path(db).expanduser().absolute()
    return file.with_name(f"{file.name}.{ending}")


@dataclass(frozen=True, slots=True)
class Owner:
    """The console of a store: its address, the key for commands, its process, its version, since when it runs (ISO 8601), the
    command that started it, and after how many seconds without a use it ends (0: never)."""

    url: str
    key: str = ""
    pid: int = 0
    since: str = ""
    started_by: str = ""
    idle_s: float = 0.0
    version: str = ""

    @property
    def answers(self) -> bool:
        """Whether its process runs and accepts connections."""
        if self.pid and os.name == "posix":
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return False
            except OSError:
                pass  # it belongs to another user
        address = urlsplit(self.url)
        with suppress(OSError, ValueError):
            socket.create_connection((address.hostname or "", address.port or 80), CONNECT_S).close()
            return True
        return False


@contextmanager
def announced(db: Path | str, owner: Owner) -> Generator[None]:
    """Announces the console to other processes until the block ends. Only the process that has the store may announce."""
    file = beside(db, "door.json")
    if file is None:
        yield
        return
    text = json.dumps(asdict(owner))
    with suppress(OSError):  # the folder is not writable: other processes cannot join, everything else works
        file.unlink(missing_ok=True)
        file.touch(mode=0o600)
        file.write_text(text, encoding="utf-8")
    try:
        yield
    finally:
        with suppress(OSError):
            if file.read_text(encoding="utf-8") == text:
                file.unlink()


def announced_owner(db: Path | str) -> Owner | None:
    """Returns the console that was announced last, or None. It may have ended since."""
    file = beside(db, "door.json")
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, ValueError):
        return None
    known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    kinds = {"pid": int, "idle_s": (int, float)}
    given = {
        field.name: known[field.name]
        for field in fields(Owner)
        if isinstance(known.get(field.name), kinds.get(field.name, str))
    }
    return Owner(**given) if "url" in given else None


def console_lock(db: Path | str) -> FileLock | None:
    """Returns the lock that a console holds from its start to the end of its process, or None for a store in memory."""
    from filelock import FileLock

    file = beside(db, "console.lock")
    return None if file is None else FileLock(file, mode=0o600)


def owner_of(db: Path | str) -> Owner | None:
    """Returns the console that serves a store now, or None."""
    owner = announced_owner(db)
    return owner if owner is not None and owner.answers else None


TOKEN = "WAYFARE_TOKEN"  # noqa: S105 - the variable's name
OWN = ("WAYFARE_", "PYTHON")
"""The variables of the agent that a console gets, beside those that every program inherits."""
STARTS_S = 120.0
LOG_BYTES = 1_000_000  # a longer log is begun anew at the next start
IN_A_FILE = "`wayfare mcp` needs a store in a file, because a console serves it; name one with --db."
CONSOLE = ("-P", "-c", "from core.cli import main; main()", "up", "--background")


def console_of(settings: Settings) -> Owner:
    """Returns the console that serves the store, after starting one in the background if there is none. Raises WayfareError."""
    return owner_of(settings.db) or _started(settings)


def _started(settings: Settings) -> Owner:
    file = beside(settings.db, "console.log")
    if file is None:
        raise WayfareError(IN_A_FILE)
    words = [sys.executable, *CONSOLE, "--db", str(settings.db)]
    if not Path(settings.catalog).is_file():  # a file is for this client alone
        words += ["--catalog", settings.catalog]
    own = {name: value for name, value in settings.environment.items() if name.startswith(OWN) and name != TOKEN}
    environment = {**inherited(settings.environment), **own}
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
        before = os.fstat(log).st_size
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
            raise WayfareError(f"The console could not be started: {_last_line(file, before)}")
        time.sleep(0.05)
    raise WayfareError(f"The console did not start in {STARTS_S:g} s; {file} says more.")


LEAKS = ("nanobind:", "- leaked ", "- ... skipped remainder", "See https://nanobind.")
"""How lines begin that native code may write after the last words of a process that ends."""


def _last_line(file: Path, begin: int) -> str:
    """Returns the last line of a log from this byte on that says why the process ended."""
    lines = map(str.strip, file.read_bytes()[begin:].decode(errors="replace").splitlines())
    said = [line for line in lines if line and not line.startswith(LEAKS)]
    return said[-1] if said else f"{file} says more."
