"""The console of a store. A small file beside the store announces it to other processes, which ask it at its door."""

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

from core.domain.errors import WayfareError
from core.domain.settings import IN_MEMORY

if TYPE_CHECKING:
    from filelock import FileLock

PATH = "/door"
CONNECT_S, ANSWERS_S = 2.0, 10.0


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
    """The console of a store: its address, the key for commands, its process and version, its start time (ISO 8601), the command
    that started it, and the seconds without a use after which it ends (0: never)."""

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
    """Announces the console to other processes until the block ends. Only the owner of the store may announce."""
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
    """Returns the last announced console, or None. It may have ended since."""
    file = beside(db, "door.json")
    try:
        document: Any = json.loads(file.read_text(encoding="utf-8")) if file is not None else None
    except (OSError, ValueError):
        return None
    entries = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    kinds = {"pid": int, "idle_s": (int, float)}
    values = {
        field.name: entries[field.name]
        for field in fields(Owner)
        if isinstance(entries.get(field.name), kinds.get(field.name, str))
    }
    return Owner(**values) if "url" in values else None


def console_lock(db: Path | str) -> FileLock | None:
    """Returns the lock that a console holds from its start to the end of its process, or None for a store in memory."""
    from filelock import FileLock

    file = beside(db, "console.lock")
    return None if file is None else FileLock(file, mode=0o600)


def owner_of(db: Path | str) -> Owner | None:
    """Returns the console that serves a store now, or None."""
    owner = announced_owner(db)
    return owner if owner is not None and owner.answers else None


class OwnerLeftError(WayfareError):
    """The console ended before it took the request."""


def asked(owner: Owner, method: str, document: object = None, *, answers_s: float | None = ANSWERS_S) -> dict[str, Any]:
    """Returns the console's answer at its door. Raises OwnerLeftError, and WayfareError if it did not answer. A command may take long,
    so a first request checks that the console answers."""
    if method == "POST":
        asked(owner, "GET", answers_s=answers_s)
        answers_s = None
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    request = urllib.request.Request(
        f"http://{owner.url.removeprefix('http://')}{PATH}",
        None if document is None else json.dumps(document).encode(),
        {"Content-Type": "application/json", "Authorization": f"Bearer {owner.key}"},
        method=method,
    )
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=answers_s) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        error.close()
        raise WayfareError(
            f"What answers on {owner.url} does not take this command (HTTP {error.code}). It is not the console of this store, or "
            "one of another version: end it, and run the command again."
        ) from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise WayfareError(
                f"The console on {owner.url} accepts requests and does not answer; end its process {owner.pid}, and run the command again."
            ) from None
        if isinstance(reason, ConnectionRefusedError):
            raise OwnerLeftError(f"The console on {owner.url} has ended.") from None
        raise _unknown(owner) from None
    except (ValueError, HTTPException):
        raise _unknown(owner) from None


def _unknown(owner: Owner) -> WayfareError:
    return WayfareError(
        f"The console on {owner.url} ended while it worked for this command, which may be done or not: look, and run it again."
    )
