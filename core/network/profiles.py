"""Profiles assign network states to servers: by hand, by rule, at random, or by default. Stored as JSON.

    {"name": "mine", "about": "...", "servers": {"web-search": ["outage", {"state": "high_jitter", "base_ms": 100}]},
     "rules": [{"category": "mail", "name": "corp-*", "cycle": ["ideal", "high_latency"]}],
     "random": ["ideal", "packet_loss"], "default": "ideal"}

A server's states are set by hand, else by the first rule that it meets, else by an entry of `random`, drawn by the seed and the
server's name, else by the default. Servers that meet a rule take the entries of its cycle in turn, in order of their names. An
entry is a state, or a list of states that act together.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, cast
from uuid import uuid4

import numpy as np

from core.domain import documents
from core.domain.catalog import Server
from core.domain.documents import CLOSED, Wanted
from core.domain.errors import CatalogError, ParameterError, StoreError, UnknownNameError
from core.domain.people import actions
from core.network import STATES
from core.network.states import Ideal, State
from core.network.traces import Traces

Entry = tuple[State, ...]
SHIPPED_DIR = Path(__file__).with_name("shipped")
NAME = re.compile(r"(?!(?:con|prn|aux|nul|com\d|lpt\d)$)[a-z0-9][a-z0-9_-]{0,59}")  # a file name on every system
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Rule:
    """Servers of a category (any if empty) whose name fits a pattern take the entries in turn."""

    cycle: tuple[Entry, ...]
    category: str = ""
    name: str = "*"

    def meets(self, server: Server) -> bool:
        return self.category in {"", server.category} and fnmatchcase(server.name, self.name)


@dataclass(frozen=True, slots=True)
class Profile:
    """Network states for the servers of any catalog."""

    name: str
    about: str = ""
    servers: Mapping[str, Entry] = field(default_factory=lambda: MappingProxyType({}))
    rules: tuple[Rule, ...] = ()
    random: tuple[Entry, ...] = ()
    default: Entry = (Ideal(),)

    def assign(self, servers: Iterable[Server], seed: int = 0) -> dict[str, Entry]:
        """The states of each server, in the order given.

        >>> calm, slow = (Ideal(),), (Ideal(base_ms=300),)
        >>> profile = Profile("p", servers={"b": slow}, rules=(Rule((slow, calm), name="c*"),))
        >>> assigned = profile.assign([Server("a"), Server("b"), Server("c2"), Server("c1")])
        >>> [states[0].base_ms for states in assigned.values()]
        [20.0, 300.0, 20.0, 300.0]
        """
        all_servers = list(servers)
        states_by_name = dict.fromkeys((server.name for server in all_servers), self.default)
        if self.random:
            states_by_name = {name: self.random[_draw(seed, name, len(self.random))] for name in states_by_name}
        for rule in reversed(self.rules):
            names = sorted(server.name for server in all_servers if rule.meets(server))
            states_by_name |= {name: rule.cycle[place % len(rule.cycle)] for place, name in enumerate(names)}
        return states_by_name | {name: states for name, states in self.servers.items() if name in states_by_name}

    def traces(self, servers: Iterable[Server], steps: int, *, seed: int = 0) -> Traces:
        return Traces.of(self.assign(servers, seed), steps, seed=seed)

    def to_json(self) -> dict[str, Any]:
        rules = [
            {**({"category": rule.category} if rule.category else {}), "name": rule.name, "cycle": _entries(rule.cycle)}
            for rule in self.rules
        ]
        return {
            "name": self.name,
            "about": self.about,
            "servers": {name: _entry(states) for name, states in self.servers.items()},
            "rules": rules,
            "random": _entries(self.random),
            "default": _entry(self.default),
        }

    def text(self) -> str:
        return json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"


def load_profile(name_or_path: str) -> Profile:
    """A shipped profile by name, or a profile from a JSON file. Raises UnknownNameError, CatalogError that names the file."""
    if name_or_path in shipped_profiles():
        return profile_file(SHIPPED_DIR / f"{name_or_path}.json")
    if name_or_path.endswith(".json"):
        return profile_file(Path(name_or_path))
    raise unknown_profile(name_or_path, shipped_profiles())


def unknown_profile(name: str, known: Iterable[str]) -> UnknownNameError:
    return UnknownNameError(f"There is no network profile {name!r}; choose {', '.join(known)}, or give a .json file.")


def read_profile(text: bytes, source: str) -> Profile:
    """Parses the content of a profile's file. Raises CatalogError that names the source."""
    if len(text) > MOST_BYTES:
        raise CatalogError(f"{source}: it has more than {MOST_BYTES:,} bytes; a profile has fewer.")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CatalogError(f"{source}: it cannot be read as a profile ({error}); give a JSON file of one.") from None
    try:
        return parse_profile(document, source)
    except ParameterError as error:
        raise CatalogError(f"{source}: {error}") from None


def shipped_profiles() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in SHIPPED_DIR.glob("*.json")))


def parse_profile(document: Any, source: str = "the profile") -> Profile:
    """Parses a profile's JSON. Raises CatalogError that names the fault, ParameterError for a parameter out of range."""
    content = documents.read(_Document, document, source)
    return Profile(
        name=content.name,
        about=content.about,
        servers={name: _parse_entry(entry) for name, entry in content.servers.items()},
        rules=tuple(Rule(tuple(map(_parse_entry, rule.cycle)), rule.category, rule.name) for rule in content.rules),
        random=tuple(map(_parse_entry, content.random)),
        default=_parse_entry(content.default),
    )


@dataclass(frozen=True, slots=True)
class _Rule:
    __pydantic_config__ = CLOSED

    cycle: Annotated[tuple[Any, ...], Wanted("a list of states", bool)]
    category: str = ""
    name: str = "*"


@dataclass(frozen=True, slots=True)
class _Document:
    __pydantic_config__ = CLOSED

    name: Annotated[str, Wanted("a name", str.strip)]
    about: str = ""
    servers: dict[str, Any] = field(default_factory=dict[str, Any])
    rules: tuple[_Rule, ...] = ()
    random: tuple[Any, ...] = ()
    default: Any = "ideal"


def profile_file(path: Path) -> Profile:
    """Reads a profile's file. Raises CatalogError that names the file."""
    try:
        with path.open("rb") as file:
            return read_profile(file.read(MOST_BYTES + 1), str(path))
    except OSError as error:
        raise CatalogError(
            f"{path}: it cannot be read as a profile ({error.strerror}); give a JSON file of one."
        ) from None


def _parse_entry(document: Any) -> Entry:
    entries = cast(Sequence[Any], document) if isinstance(document, list) else [document]
    if not entries:
        raise ParameterError("a server has no state; give one, such as ideal.")
    return tuple(map(_parse_state, entries))


def _parse_state(document: Any) -> State:
    raw = cast("dict[str, Any]", document) if isinstance(document, dict) else {"state": document}
    name = raw.get("state")
    if not isinstance(name, str) or name not in STATES:
        raise ParameterError(f"there is no network state {str(name)[:60]!r}; choose one of: {', '.join(STATES)}.")
    return STATES[name]().replaced({key: value for key, value in raw.items() if key != "state"})


def _entry(states: Entry) -> Any:
    return states[0].to_json() if len(states) == 1 else [state.to_json() for state in states]


def _entries(entries: Iterable[Entry]) -> list[Any]:
    return [_entry(states) for states in entries]


def _draw(seed: int, name: str, count: int) -> int:
    return int(np.random.default_rng([seed, zlib.crc32(name.encode()), 1]).integers(count))


# Saved profiles: one JSON file each in one folder, replaced in one step


def tidy_name(typed: str) -> str:
    """Turns a typed name into a valid form: small letters, no spaces.

    >>> tidy_name(" Monday  mess ")
    'monday_mess'
    """
    return "_".join(typed.lower().split())


def check_profile_name(name: str) -> None:
    if name in shipped_profiles():
        raise CatalogError(f"The name {name!r} belongs to a shipped network; choose another.")
    if not NAME.fullmatch(name):
        raise CatalogError(
            f"{name[:60]!r} cannot name a network; give up to 60 letters a to z, digits, - and _, a letter or digit first."
        )


@actions("tune", save="save a network", remove="remove a network")
class NetworkProfiles:
    """The shipped profiles, and the profiles saved in a folder. The first save creates the folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> tuple[str, ...]:
        return (*shipped_profiles(), *self.saved())

    def saved(self) -> tuple[str, ...]:
        """The names of the saved profiles. Their files are not read."""
        paths = (path for path in self.folder.glob("*.json") if NAME.fullmatch(path.stem))
        return tuple(sorted({path.stem for path in paths if path.is_file()} - set(shipped_profiles())))

    def load(self, name_or_path: str) -> Profile:
        """A profile by name, or from a JSON file. Raises UnknownNameError, CatalogError that names the file."""
        if name_or_path in self.saved():
            return replace(profile_file(self._file(name_or_path)), name=name_or_path)  # the file may have been renamed
        if name_or_path in shipped_profiles() or name_or_path.endswith(".json"):
            return load_profile(name_or_path)
        raise unknown_profile(name_or_path, self.names())

    def save(self, profile: Profile) -> Path:
        """Saves a profile under its name and replaces an older one. Raises CatalogError, StoreError."""
        check_profile_name(profile.name)
        path = self._file(profile.name)
        temporary = path.with_name(f".{profile.name}.{uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                temporary.write_text(profile.text(), encoding="utf-8")
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(
                f"{path}: the network cannot be saved ({error.strerror}); nothing of it was kept."
            ) from None
        return path

    def remove(self, name: str) -> None:
        """Deletes a saved profile. Raises UnknownNameError for an unknown name, StoreError."""
        if name not in self.saved():
            raise UnknownNameError(f"There is no saved network {name!r} to delete; it may be gone already.")
        try:
            self._file(name).unlink()
        except FileNotFoundError:
            return
        except OSError as error:
            raise StoreError(f"{self._file(name)}: it cannot be deleted ({error.strerror}).") from None

    def free_name(self, name: str) -> str:
        names = set(self.names())
        base = f"my_{name}" if NAME.fullmatch(f"my_{name}") else "my_network"
        return next(
            candidate for n in range(1, len(names) + 2) if (candidate := base if n == 1 else f"{base}_{n}") not in names
        )

    def _file(self, name: str) -> Path:
        return self.folder / f"{name}.json"
