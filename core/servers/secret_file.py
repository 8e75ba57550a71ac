"""Values of servers on disk: one encrypted file beside the store, and the key that opens it.

The key is, in this order: derived from the passphrase in WAYFARE_KEY; kept in the keychain of the operating system; a file beside
the values that only its owner can read. The first two protect the values from copies of the disk or a backup. The third protects
them from other users of the machine and from a look into the file, not from somebody who can read both files. None of them protects
the values from programs that run as the same user.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from core.domain.catalog import ServerId
from core.domain.errors import WayfareError

PASSPHRASE = "WAYFARE_KEY"  # noqa: S105 - the variable's name
KEYCHAIN_SERVICE = "wayfare"
LOCK_LIMIT_S = 5.0
SCRYPT_COST = 2**15  # about 0.1 s and 32 MB for each guess of a passphrase
KeySource = Literal["passphrase", "keychain", "key file"]
SOURCES: Mapping[KeySource, str] = {
    "passphrase": f"the passphrase in {PASSPHRASE}",
    "keychain": "the keychain of the operating system",
    "key file": "a key file beside the values, which only you can read",
}


class SecretFileError(WayfareError):
    """The file of values cannot be read or written."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A value, and when it was set. Its text is never part of a representation."""

    value: str
    set_at: datetime

    def __repr__(self) -> str:
        return f"Secret(set_at={self.set_at:%Y-%m-%d})"


Secrets = dict[tuple[ServerId, str], Secret]
"""Values by server and by the name that its references use."""


class SecretFile:
    """The values of a store's servers, encrypted (Fernet: AES-128-CBC with HMAC-SHA256). Several processes may use one file.

    >>> import tempfile
    >>> from datetime import UTC
    >>> file = SecretFile(Path(tempfile.mkdtemp()) / "w.duckdb.secrets", {"WAYFARE_KEY": "correct horse"})
    >>> file.change(lambda values: values.update({(ServerId("work", "mail"), "KEY"): Secret("hunter2", datetime.now(UTC))}))
    >>> [value.value for value in file.read().values()], b"hunter2" in file.path.read_bytes()
    (['hunter2'], False)
    """

    def __init__(
        self, path: Path, environ: Mapping[str, str] = MappingProxyType({}), *, lock_limit_s: float = LOCK_LIMIT_S
    ) -> None:
        self.path = path
        self._lock_limit_s = lock_limit_s
        self._passphrase = environ.get(PASSPHRASE, "")
        self._read: tuple[tuple[int, int], Secrets] | None = None
        self._salt = b""

    @property
    def key_file(self) -> Path:
        return self.path.with_name(f"{self.path.name}.key")

    def read(self) -> Secrets:
        """Returns the values, as the same object while the file is unchanged. Raises SecretFileError."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise SecretFileError(f"{self.path} cannot be read ({error.strerror}).") from None
        stamp = status.st_mtime_ns, status.st_size
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, self._decrypted()
        return self._read[1]

    def change(self, edit: Callable[[Secrets], object]) -> None:
        """Apply `edit` to the newest values and write them, all or nothing. Raises SecretFileError, and then nothing is lost."""
        from filelock import FileLock, Timeout

        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(f"{self.path}.lock", timeout=self._lock_limit_s, mode=0o600):
                values = dict(self.read())
                edit(values)
                self._write(values)
        except Timeout:
            raise SecretFileError(f"{self.path} is locked by another process; try again.") from None
        except OSError as error:
            raise SecretFileError(f"{self.path} cannot be written ({error.strerror}).") from None

    def portable(self) -> dict[str, bytes]:
        """Returns the files that can be opened elsewhere, by the ending of their names after `path`: the values, and their key unless it
        follows from a passphrase. Raises SecretFileError."""
        if not self.path.exists():
            return {}
        text = self.path.read_bytes()
        document = json.loads(text)
        if document["key"] == "passphrase":
            return {"": text}
        key = self._key(document["key"], b"", make=False)
        return {"": json.dumps({**document, "key": "key file"}).encode(), ".key": key}

    def source(self) -> KeySource:
        if self._passphrase:
            return "passphrase"
        return "keychain" if _keychain() is not None else "key file"

    def _write(self, values: Secrets) -> None:
        from cryptography.fernet import Fernet

        source, salt = self.source(), self._salt or secrets.token_bytes(16)
        rows = [
            [catalog, server, name, secret.value, secret.set_at.isoformat(), *([person] if person else [])]
            for ((catalog, server, person), name), secret in values.items()
        ]
        ciphertext = Fernet(self._key(source, salt, make=True)).encrypt(json.dumps(rows).encode())
        document = {"format": 1, "key": source, "salt": base64.b64encode(salt).decode(), "values": ciphertext.decode()}
        _write_private(self.path, json.dumps(document))
        self._read = None
        if source != "key file":
            self.key_file.unlink(missing_ok=True)

    def _decrypted(self) -> Secrets:
        from cryptography.fernet import Fernet, InvalidToken

        try:
            document = cast("dict[str, Any]", json.loads(self.path.read_text(encoding="utf-8")))
            source, salt = cast(KeySource, document["key"]), base64.b64decode(document["salt"])
            ciphertext, where = str(document["values"]).encode(), SOURCES[source]
            self._salt = salt
        except (OSError, ValueError, LookupError, TypeError):
            raise SecretFileError(
                f"{self.path} is not a file of values; move it away and enter the values again."
            ) from None
        try:
            rows = json.loads(Fernet(self._key(source, salt, make=False)).decrypt(ciphertext))
        except (InvalidToken, ValueError):
            raise SecretFileError(
                f"The values in {self.path} cannot be opened with {where}. Give the key that they were written with, or remove the file "
                "and enter them again."
            ) from None
        return {
            (ServerId(catalog, server, *person), name): Secret(value, datetime.fromisoformat(set_at))
            for catalog, server, name, value, set_at, *person in rows
        }

    def _key(self, source: KeySource, salt: bytes, *, make: bool) -> bytes:
        if source == "passphrase":
            if not self._passphrase:
                raise SecretFileError(
                    f"The values in {self.path} were encrypted with {PASSPHRASE}; set it and start again."
                )
            return _derived(self._passphrase, salt)
        if source == "keychain":
            key = _on_keychain(lambda ring: ring.get_password(KEYCHAIN_SERVICE, str(self.path)))
        else:
            key = self.key_file.read_text(encoding="ascii").strip() if self.key_file.exists() else None
        if key is None:
            if not make:
                raise SecretFileError(
                    f"The key to {self.path} is not in {SOURCES[source]} any more; enter the values again."
                )
            key = base64.urlsafe_b64encode(secrets.token_bytes(32)).decode()
            if source == "keychain":
                _on_keychain(lambda ring: ring.set_password(KEYCHAIN_SERVICE, str(self.path), key))
            else:
                _write_private(self.key_file, key)
        return key.encode()


def _keychain() -> Any:
    import keyring
    from keyring.backends import fail, null

    ring = keyring.get_keyring()
    return None if isinstance(ring, fail.Keyring | null.Keyring) else ring


def _on_keychain(work: Callable[[Any], Any]) -> Any:
    from keyring.errors import KeyringError

    ring = _keychain()
    if ring is None:
        raise SecretFileError("The keychain of the operating system is not there; unlock it and try again.")
    try:
        return work(ring)
    except KeyringError as error:
        raise SecretFileError(
            f"The keychain of the operating system refused ({error}); unlock it and try again."
        ) from None


@lru_cache(maxsize=4)
def _derived(passphrase: str, salt: bytes) -> bytes:
    from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

    return base64.urlsafe_b64encode(Scrypt(salt, 32, SCRYPT_COST, 8, 1).derive(passphrase.encode()))


def _write_private(path: Path, text: str) -> None:
    """Replace a file as a whole. From its first byte on, only its owner can read it."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
