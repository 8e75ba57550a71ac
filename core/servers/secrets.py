"""References to secrets, and their values: in memory, and in the encrypted file of values if there is one."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from core.domain.catalog import Connection, ServerId, Transport
from core.domain.errors import WayfareError
from core.domain.leaks import DEFAULT, MASK, PLACEHOLDER, USERINFO, hide_leaks, masked, telling
from core.domain.settings import Settings
from core.servers.secret_file import PASSPHRASE, SOURCES, Secret, SecretFile, SecretFileError

SHORTEST_REDACTED, SHORTEST_IN_RESULTS = 4, 8
_REFERENCE = re.compile(
    r"\$\{(?:(?P<kind>env|input|secret):(?P<name>[^{}]+?)|(?P<bare>[A-Z_][A-Z0-9_]*|python))"
    rf"(?::-(?P<default>{DEFAULT}))?\}}"
)
_WORD = re.compile(r"[A-Za-z]{1,15}|[0-9]{1,15}")
"""Words and numbers are not masked in results: a password such as `postgres` occurs in many of them."""
_ENVIRONMENT = {None, "env"}  # the kinds of reference that read the environment first
GRANT = "{oauth}"
"""The name of a server's OAuth grant among its secrets. No reference can have a name with braces."""


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
    server: ServerId

    def __repr__(self) -> str:
        return f"Launch({self.transport})"


class MissingReferenceError(WayfareError):
    """A connection refers to values that have not been entered."""


class SecretVault:
    """Secrets, each for one server of one catalog, and for one person if `per_person` says so of the server. Thread-safe, and nothing shows
    a value.

    They stay in the `file` of values. Without a file, or while it cannot be used (`note` says why), they stay in memory.

    References: `${env:NAME}` and `${NAME}` (`environ` first, then the vault), `${input:id}` and `${secret:NAME}` (the
    vault), each with an optional default as in `${env:NAME:-default}` or `${env:NAME:-${secret:NAME}}`, and `${python}`, the running
    interpreter.

    >>> vault = SecretVault()
    >>> vault.put(ServerId("work", "mail"), "KEY", "hunter2")
    >>> vault, vault.redact("the key is hunter2")
    (SecretVault(1 secrets), 'the key is •••')
    >>> vault.missing(ServerId("home", "mail"), Connection("http", url="https://a.example/${secret:KEY}"))
    ('${secret:KEY}',)
    """

    python = sys.executable
    """The command that `${python}` stands for."""

    def __init__(
        self,
        environ: Mapping[str, str] = MappingProxyType({}),
        file: SecretFile | None = None,
        per_person: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._environ = environ
        self._file = file
        self._per_person = per_person
        self._lock = threading.Lock()
        self._in_memory: dict[tuple[ServerId, str], Secret] = {}
        self._note = self._unwritten = ""
        self._seen: frozenset[str] = frozenset()
        self._servers: frozenset[str] = frozenset()
        self._in_results: frozenset[str] = frozenset()
        self._tokens: dict[ServerId, tuple[str, ...]] = {}
        self._renewing: dict[ServerId, threading.Lock] = {}

    def __repr__(self) -> str:
        return f"SecretVault({len(self._known())} secrets)"

    @property
    def where(self) -> str:
        """The place of the values, as a sentence for people."""
        if self._file is None or self._note or self._unwritten:
            return "Values stay in memory until Wayfare stops."
        return f"Values stay in {self._file.path.name}, encrypted. The key is in {SOURCES[self._file.source()]}."

    @property
    def note(self) -> str:
        """The reason why the file of values cannot be used, or why the last change is not in it, or ""."""
        self._known()
        return self._note or self._unwritten

    def put(self, server: ServerId, name: str, value: str) -> None:
        """Keeps a server's secret under the name that its references use."""
        self.put_all([(server, name, value)])

    def put_all(self, values: Iterable[tuple[ServerId, str, str]]) -> None:
        """Keep several values, written together. Values that cannot be written stay in memory, and `note` says why."""
        set_at = datetime.now(UTC)
        added = {(server, name): Secret(value, set_at) for server, name, value in values}
        if added:
            self._change(lambda secrets: secrets.update(added))
        for (_, name), secret in added.items():
            self._remember(name, secret.value)

    def remove(self, server: ServerId, name: str) -> bool:
        if (server, name) not in self._known():
            return False
        self._change(lambda secrets: secrets.pop((server, name), None))
        return True

    def holder(self, server: ServerId, person: str) -> ServerId:
        """Returns the key of the values and the sign-in that a person uses, either personal or shared."""
        return server._replace(person=person if person and self._per_person(server.server) else "")

    def own_holder(self, server: ServerId, person: str) -> ServerId:
        """Returns the key of a person's own values and sign-in. Raises WayfareError if all people share them."""
        holder = self.holder(server, person)
        if not holder.person:
            raise WayfareError(
                f"All people share the values and the sign-in of server {server.server}. An admin lets each have their own with "
                "`per_person` in the policy."
            )
        return holder

    def persons(self, server: ServerId) -> tuple[str, ...]:
        """The people and clients with a value or a sign-in of their own."""
        return tuple(sorted({key.person for key, _ in self._known() if key[:2] == server[:2] and key.person}))

    def whose(self, holder: ServerId) -> str:
        """The owner of the values and the sign-in, in words."""
        if holder.person or not self._per_person(holder.server):
            return f"{holder.person}'s own" if holder.person else "shared"
        return f"Wayfare's own, for lists; each person's own: {', '.join(self.persons(holder)) or 'none yet'}"

    def forget(self, catalog: str) -> None:
        self._forget(lambda key: key.catalog == catalog)

    def forget_person(self, person: str) -> None:
        self._forget(lambda key: key.person == person)

    def _forget(self, whether: Callable[[ServerId], bool]) -> None:
        keys = [key for key in self._known() if whether(key[0])]
        if keys:
            self._change(lambda secrets: [secrets.pop(key, None) for key in keys])

    def names(self) -> Mapping[tuple[ServerId, str], datetime]:
        return {key: secret.set_at for key, secret in self._known().items()}

    def grant(self, server: ServerId) -> str | None:
        secret = self._known().get((server, GRANT))
        return None if secret is None else secret.value

    def put_grant(self, server: ServerId, text: str) -> None:
        self._change(lambda secrets: secrets.update({(server, GRANT): Secret(text, datetime.now(UTC))}))

    def client_secret(self, server: ServerId, client_id: str) -> str:
        secret = self._known().get((server, client_secret_name(client_id)))
        return "" if secret is None else secret.value

    def mask_tokens(self, server: ServerId, tokens: Iterable[str]) -> None:
        """Mask the tokens of a server from now on, and its previous tokens until the next change. A late error may quote them."""
        long_tokens = tuple(token for token in tokens if len(token) >= SHORTEST_IN_RESULTS)
        with self._lock:
            previous = self._tokens.get(server, ())
            if not set(long_tokens) <= set(previous):
                self._tokens[server] = tuple(dict.fromkeys((*long_tokens, *previous)))[: 2 * len(long_tokens)]

    def renewing(self, server: ServerId) -> threading.Lock:
        """Returns the lock for renewing a server's token, because a refresh token may be used once only."""
        with self._lock:
            return self._renewing.setdefault(server, threading.Lock())

    def _known(self) -> Mapping[tuple[ServerId, str], Secret]:
        """The current secrets of the file, and the secrets that could not be written to it."""
        if self._file is None:
            return self._in_memory
        try:
            stored = self._file.read()
            self._note = ""
        except SecretFileError as error:
            self._note = str(error)
            return self._in_memory
        return {**stored, **self._in_memory} if self._in_memory else stored

    def _change(self, edit: Callable[[dict[tuple[ServerId, str], Secret]], object]) -> None:
        with self._lock:
            edit(self._in_memory)
            if self._file is None:
                return
            waiting = dict(self._in_memory)

            def both(secrets: dict[tuple[ServerId, str], Secret]) -> None:
                secrets.update(waiting)
                edit(secrets)

            try:
                self._file.change(both)
                self._in_memory.clear()
                self._unwritten = ""
            except SecretFileError as error:
                self._unwritten = str(error)

    def missing(self, server: ServerId, connection: Connection | None) -> tuple[str, ...]:
        """Returns the unresolved references as written, in order, each once; empty without a connection."""
        if server.server not in self._servers:
            with self._lock:
                self._servers |= {server.server}
        texts = connection.texts() if connection else ()
        personal = personal_names(server, connection)
        outer = (match for text in texts for match in _REFERENCE.finditer(text))
        return tuple(dict.fromkeys(match[0] for match in outer if self._value(server, match, personal) is None))

    def replaceable(self, server: ServerId, connection: Connection | None) -> tuple[str, ...]:
        """The references whose value was put here and can be replaced, as written, in order, each once."""
        secrets, personal = self._known(), personal_names(server, connection)
        matches = (match for match in _references(connection) if (server, _name(match)) in secrets)
        references = (match[0] for match in matches if _name(match) in personal or not self._in_environment(match))
        return tuple(dict.fromkeys(references))

    def resolve(self, server: ServerId, connection: Connection) -> Launch:
        """Returns the connection with every reference replaced. Raises MissingReferenceError with every reference without a value."""
        if missing := self.missing(server, connection):
            raise MissingReferenceError(f"no value for {', '.join(missing)}")

        secret_names, personal = _secret_names(connection), personal_names(server, connection)
        for match in _references(connection):
            if _name(match) in secret_names and (value := self._value(server, match, personal)):
                self._remember(_name(match), value, secret=True)

        def expand(text: str) -> str:
            return self._expanded(server, text, personal) or ""

        return Launch(
            transport=connection.transport,
            command=expand(connection.command),
            args=tuple(expand(arg) for arg in connection.args),
            cwd=expand(connection.cwd),
            env={name: expand(value) for name, value in connection.env.items()},
            url=expand(connection.url).strip(),  # a variable often ends in a line break
            headers={name: expand(value).strip() for name, value in connection.headers.items()},
            server=server,
        )

    def redact(self, text: str) -> str:
        """Returns the text with every known secret and every used environment value masked (from 4 characters on). The names of servers
        stay, even if they contain a value."""
        values = [value for value in (*self._seen, *self._masked_tokens) if value in text]
        hit = sorted(name for name in self._servers if any(value in name for value in values))
        marks = {name: chr(0xF0000 + number) for number, name in enumerate(hit)}
        for value in sorted({*values, *marks}, key=len, reverse=True):
            text = text.replace(value, marks.get(value, MASK))
        for name, mark in marks.items():
            text = text.replace(mark, name)
        return text

    @property
    def in_results(self) -> tuple[str, ...]:
        """Returns the values that are masked in successful results, too, longest first: values of 8 characters or more
        that are named as a secret or look like one, without plain words and numbers. Other values (a path, a region,
        a level) are ordinary parts of results.

        >>> vault = SecretVault()
        >>> for name, value in {"API_KEY": "hunter2hunter2", "ROOT": "/home/me/files", "PASSWORD": "postgres"}.items():
        ...     vault.put(ServerId("work", "mail"), f"mail/{name}", value)
        >>> vault.in_results
        ('hunter2hunter2',)
        """
        return tuple(sorted({*self._in_results, *self._masked_tokens}, key=len, reverse=True))

    @property
    def _masked_tokens(self) -> list[str]:
        return [token for tokens in tuple(self._tokens.values()) for token in tokens]

    def _in_environment(self, match: re.Match[str]) -> bool:
        name = _name(match)  # no server gets the key to the others' values
        return match["kind"] in _ENVIRONMENT and name != PASSPHRASE and name in self._environ

    def _value(self, server: ServerId, match: re.Match[str], personal: Set[str]) -> str | None:
        """The value of a reference. A name in `personal` has the person's value, never the environment's or a shared value."""
        name, default = _name(match), match["default"]
        if name == "python" and match["kind"] is None:
            return self.python
        value = self._environ[name] if name not in personal and self._in_environment(match) else None
        keeper = server if name in personal else server._replace(person="")
        if value is None and (secret := self._known().get((keeper, name))) is not None:
            value = secret.value
        if default is not None and not value:
            return self._expanded(server, default, personal)
        if value is not None:
            self._remember(name, value)
        return value

    def _expanded(self, server: ServerId, text: str, personal: Set[str]) -> str | None:
        values = {match[0]: self._value(server, match, personal) for match in _REFERENCE.finditer(text)}
        return None if None in values.values() else _REFERENCE.sub(lambda match: values[match[0]] or "", text)

    def _remember(self, name: str, value: str, *, secret: bool = False) -> None:
        """Keeps old values masked, because a late error may quote them, also inside JSON or line by line."""
        value = value.strip()
        in_results = value not in self._in_results and _is_secret(name, value, secret)
        if in_results or (len(value) >= SHORTEST_REDACTED and value not in self._seen):
            forms = {value, *(json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False))}
            lines = {line for line in map(str.strip, value.splitlines()) if _is_secret(name, line, secret=True)}
            with self._lock:
                self._seen |= forms | lines
                self._in_results |= forms if in_results else set()


def client_secret_name(client_id: str) -> str:
    return f"{{oauth client secret of {client_id}}}"


def vault_of(settings: Settings, per_person: Callable[[str], bool] = lambda _: False) -> SecretVault:
    path, environment = settings.secrets_path, settings.environment
    return SecretVault(environment, None if path is None else SecretFile(path, environment), per_person)


def _is_secret(name: str, value: str, secret: bool) -> bool:
    """Whether a value is secret by its reference, by its name without the server's, or by its looks. `user:password` of a
    URL has a name of ours."""
    if len(value) < SHORTEST_IN_RESULTS or _WORD.fullmatch(value):
        return False
    short_name = name.rpartition("/")[2]
    return secret or telling(short_name) or short_name.startswith(USERINFO) or masked(value) != value


def reference_names(connection: Connection | None) -> set[str]:
    return set() if connection is None else names_in(*connection.texts())


def names_in(*texts: str) -> set[str]:
    """The names of the values that texts refer to, without the interpreter's.

    >>> names_in("${secret:web/KEY} ${python}")
    {'web/KEY'}
    """
    return {_name(match) for match in _matches(texts) if match["bare"] != "python"}


def _secret_names(connection: Connection) -> set[str]:
    """The references in the place of a secret (a variable, header or flag with a telling name, or before the @ of an
    address), and the inputs that are passwords.

    >>> _secret_names(Connection("stdio", "x", ("--key", "${input:a}"), env={"TOKEN": "${input:b}", "ROOT": "${input:c}"})) == {"a", "b"}
    True
    """
    references: list[str] = []
    secret = set(connection.passwords)

    def mark(match: re.Match[str]) -> str:
        references.append(match[0])
        return f"\ue000{len(references) - 1}\ue001"

    def cover(_: str, value: str) -> str:
        secret.update(names_in(*(references[int(placeholder[1:-1])] for placeholder in PLACEHOLDER.findall(value))))
        return value

    pairs = [f"{name}={value}" for name, value in (*connection.env.items(), *connection.headers.items())]
    for text in (*pairs, connection.url, connection.cwd, " ".join((connection.command, *connection.args))):
        hide_leaks("", _REFERENCE.sub(mark, text), cover)
    return secret


def personal_names(server: ServerId, connection: Connection | None) -> Set[str]:
    """The references to secrets that get a person's own value. Empty if the values are shared."""
    if not server.person or connection is None:
        return frozenset()
    return {_name(match) for match in _references(connection) if match["kind"] == "secret"} | _secret_names(connection)


def _name(match: re.Match[str]) -> str:
    return match["name"] or match["bare"]


def _references(connection: Connection | None) -> Iterator[re.Match[str]]:
    return _matches(() if connection is None else connection.texts())


def _matches(texts: Iterable[str]) -> Iterator[re.Match[str]]:
    """All references of texts, including references in the default of another."""
    for match in (match for text in texts for match in _REFERENCE.finditer(text)):
        yield match
        yield from _matches([match["default"] or ""])
