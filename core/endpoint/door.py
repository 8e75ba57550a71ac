"""The announcement of a store's console: a small file beside the store. Every other process finds the console by it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from core.shared.settings import IN_MEMORY

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


# ----------------------------------------------------------------------------------------------------------------------
# The environment of a console that `wayfare mcp` starts.

TOKEN = "WAYFARE_TOKEN"  # noqa: S105 - the variable's name
PROXIES = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
CERTIFICATES = {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
OF_THE_MACHINE = frozenset({"PATH", *CERTIFICATES, *PROXIES, *map(str.lower, PROXIES)})
OF_THE_USER = frozenset({
    "HOME", "LOGNAME", "USER", "SHELL", "TERM", "LANG", "TZ", "TMPDIR", "DBUS_SESSION_BUS_ADDRESS",
    "APPDATA", "LOCALAPPDATA", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "TEMP", "TMP", "PATHEXT", "COMSPEC", "SYSTEMROOT",
    "SYSTEMDRIVE", "PROCESSOR_ARCHITECTURE",
})  # fmt: skip
PREFIXES = ("WAYFARE_", "LC_", "XDG_", "PYTHON")


def is_inherited(name: str) -> bool:
    """Whether the console gets this variable of the agent that starts it: of the user, of the machine, and ours. Others may be the
    agent's secrets.

    >>> [is_inherited(name) for name in ("PATH", "https_proxy", "WAYFARE_CACHE", "WAYFARE_TOKEN", "GITHUB_TOKEN")]
    [True, True, True, False, False]
    """
    return name in OF_THE_USER or name in OF_THE_MACHINE or (name.startswith(PREFIXES) and name != TOKEN)
