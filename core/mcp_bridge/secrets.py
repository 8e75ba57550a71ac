"""References to secrets, and their values, which exist only in this process's memory."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from core.domain.catalog import Connection, ServerId, Transport
from core.shared.errors import WayfareError
from core.shared.leaks import MASK, USERINFO, masked, telling

SHORTEST_REDACTED, SHORTEST_IN_RESULTS = 4, 8
_REFERENCE = re.compile(
    r"\$\{(?:(?P<kind>env|input|secret):(?P<name>[^{}]+?)|(?P<bare>[A-Z_][A-Z0-9_]*|python))(?::-(?P<default>[^{}]*))?\}"
)
_WORD = re.compile(r"[A-Za-z]{1,15}|[0-9]{1,15}")
"""Words and numbers are not masked in results: a password such as `postgres` occurs in many of them."""
_ENVIRONMENT = {None, "env"}  # the kinds of reference that read the environment first


@dataclass(frozen=True, repr=False)
class Launch:
    """A connection with every reference replaced by its value. It is never stored and never shown."""

    transport: Transport
    command: str
    args: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    url: str
    headers: Mapping[str, str]

    def __repr__(self) -> str:
        return f"Launch({self.transport})"


class MissingReferenceError(WayfareError):
    """A connection refers to values that have not been entered."""


class SecretVault:
    """Secrets in memory only, each for one server of one catalog. Thread-safe. No method and no repr prints a value.

    References: `${env:NAME}` and `${NAME}` (`environ` first, then the vault), `${input:id}` and `${secret:NAME}` (the
    vault), each with an optional default as in `${env:NAME:-default}`, and `${python}`, the running interpreter.

    >>> vault = SecretVault()
    >>> vault.put(ServerId("work", "mail"), "KEY", "hunter2")
    >>> vault, vault.redact("the key is hunter2")
    (SecretVault(1 secrets), 'the key is •••')
    >>> vault.missing(ServerId("home", "mail"), Connection("http", url="https://a.example/${secret:KEY}"))
    ('${secret:KEY}',)
    """

    def __init__(self, environ: Mapping[str, str] = MappingProxyType({})) -> None:
        self._environ = environ
        self._lock = threading.Lock()
        self._secrets: dict[tuple[ServerId, str], str] = {}
        self._seen: frozenset[str] = frozenset()
        self._in_results: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SecretVault({len(self._secrets)} secrets)"

    def put(self, server: ServerId, name: str, value: str) -> None:
        """Keeps a server's secret under the name in its references. Replaces an earlier value."""
        with self._lock:
            self._secrets[server, name] = value
        self._remember(name, value)

    def forget(self, catalog: str) -> None:
        """Drops the secrets of a catalog's servers. They are still masked."""
        with self._lock:
            self._secrets = {key: value for key, value in self._secrets.items() if key[0].catalog != catalog}

    def missing(self, server: ServerId, connection: Connection | None) -> tuple[str, ...]:
        """Returns the unresolved references as written, in order, each once; empty without a connection."""
        found = (match[0] for match in _references(connection) if self._value(server, match) is None)
        return tuple(dict.fromkeys(found))

    def replaceable(self, server: ServerId, connection: Connection | None) -> tuple[str, ...]:
        """Returns the references whose value was entered here, as written, in order, each once. Their values can be
        replaced."""
        found = (match for match in _references(connection) if (server, _name(match)) in self._secrets)
        used = (match[0] for match in found if not (match["kind"] in _ENVIRONMENT and _name(match) in self._environ))
        return tuple(dict.fromkeys(used))

    def resolve(self, server: ServerId, connection: Connection) -> Launch:
        """Returns the connection with every reference replaced.

        Raises MissingReferenceError with every reference that has no value.
        """
        if missing := self.missing(server, connection):
            raise MissingReferenceError(f"no value for {', '.join(missing)}")

        def expand(text: str) -> str:
            return _REFERENCE.sub(lambda match: self._value(server, match) or "", text)

        return Launch(
            transport=connection.transport,
            command=expand(connection.command),
            args=tuple(expand(arg) for arg in connection.args),
            cwd=expand(connection.cwd),
            env={name: expand(value) for name, value in connection.env.items()},
            url=expand(connection.url),
            headers={name: expand(value) for name, value in connection.headers.items()},
        )

    def redact(self, text: str) -> str:
        """Returns the text with every known secret and every used environment value masked (from 4 characters on)."""
        for value in sorted(self._seen, key=len, reverse=True):
            text = text.replace(value, MASK)
        return text

    @property
    def in_results(self) -> tuple[str, ...]:
        """Returns the values that are masked in successful results, too, longest first: those of 8 characters or more
        that are named as a secret or look like one, without plain words and numbers. Other values (a path, a region,
        a level) are ordinary parts of results.

        >>> vault = SecretVault()
        >>> for name, value in {"API_KEY": "hunter2hunter2", "ROOT": "/home/me/files", "PASSWORD": "postgres"}.items():
        ...     vault.put(ServerId("work", "mail"), f"mail/{name}", value)
        >>> vault.in_results
        ('hunter2hunter2',)
        """
        return self._in_results

    def _value(self, server: ServerId, match: re.Match[str]) -> str | None:
        kind, name, default = match["kind"], _name(match), match["default"]
        if name == "python" and kind is None:
            return sys.executable
        in_vault = self._secrets.get((server, name))
        value = self._environ.get(name, in_vault) if kind in _ENVIRONMENT else in_vault
        if default is not None and not value:
            return default
        if value is not None:
            self._remember(name, value)
        return value

    def _remember(self, name: str, value: str) -> None:
        """Keeps old values masked: a late error may quote one."""
        if len(value) >= SHORTEST_REDACTED and value not in self._seen:
            with self._lock:
                self._seen |= {value}
        if value not in self._in_results and _is_secret(name, value):
            with self._lock:
                self._in_results = tuple(sorted({*self._in_results, value}, key=len, reverse=True))


def _is_secret(name: str, value: str) -> bool:
    """Whether a value is secret by its name, without the server's name before it, or by its looks. `user:password` of a
    URL has a name of ours."""
    if len(value) < SHORTEST_IN_RESULTS or _WORD.fullmatch(value):
        return False
    own = name.rpartition("/")[2]
    return telling(own) or own.startswith(USERINFO) or masked(value) != value


def reference_names(connection: Connection | None) -> set[str]:
    """Returns the names in the references of a connection."""
    return {_name(match) for match in _references(connection)}


def _name(match: re.Match[str]) -> str:
    return match["name"] or match["bare"]


def _references(connection: Connection | None) -> Iterator[re.Match[str]]:
    if connection is not None:
        for text in _texts(connection):
            yield from _REFERENCE.finditer(text)


def _texts(connection: Connection) -> Iterator[str]:
    yield connection.command
    yield from connection.args
    yield connection.cwd
    yield from connection.env.values()
    yield connection.url
    yield from connection.headers.values()
