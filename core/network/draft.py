"""A profile while it is edited: each state has a name, and servers and rules use names; "A + B" are two states that act together.

Names are made when a profile is opened and are not stored. A kind of state is named by its title. A second state with other
parameters, or a second mention in one list, gets a number.

>>> from core.network.states import Ideal
>>> draft = Draft.of(Profile("p", random=((Ideal(),), (Ideal(base_ms=30), Ideal()))))
>>> draft.random, draft.states["Ideal 2"].base_ms
(('Ideal', 'Ideal 2 + Ideal'), 30.0)
>>> draft.profile("p").random[1][0].base_ms
30.0
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

from core.domain.catalog import Server
from core.domain.errors import CatalogError
from core.network import STATES
from core.network.profiles import Entry, Profile, Rule
from core.network.states import State

WITH = " + "
MOST_STATES = 200


@dataclass(frozen=True, slots=True)
class DraftRule:
    """A rule whose cycle names states, several at once with WITH."""

    cycle: tuple[str, ...]
    category: str = ""
    name: str = "*"


@dataclass(frozen=True, slots=True)
class Row:
    """A server, the names of its states, and their origin: by hand, by a rule, at random, or as all others."""

    server: str
    applies: str
    because: str


@dataclass(frozen=True, slots=True)
class Draft:
    states: Mapping[str, State]
    servers: Mapping[str, tuple[str, ...]]
    rules: tuple[DraftRule, ...]
    random: tuple[str, ...]
    default: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile) -> Draft:
        """The draft of a profile, with at least one state of every kind. Raises CatalogError for too many states."""
        names = _Names(profile)
        return cls(
            servers={server: names.several(states) for server, states in profile.servers.items()},
            rules=tuple(DraftRule(names.listed(rule.cycle), rule.category, rule.name) for rule in profile.rules),
            random=names.listed(profile.random),
            default=names.several(profile.default),
            states=names.states(),
        )

    def profile(self, name: str, about: str = "") -> Profile:
        """Builds the profile without servers that have no state and rules that have no cycle. Raises CatalogError."""
        if not self.default:
            raise CatalogError("All other servers need a state; choose one.")
        return Profile(
            name,
            about,
            servers={server: self._entry(names) for server, names in self.servers.items() if names},
            rules=tuple(
                Rule(self._entries(rule.cycle), rule.category, rule.name or "*") for rule in self.rules if rule.cycle
            ),
            random=self._entries(self.random),
            default=self._entry(self.default),
        )

    def choices(self) -> tuple[str, ...]:
        used_names = (*self.random, *(name for rule in self.rules for name in rule.cycle))
        return tuple(dict.fromkeys((*self.states, *used_names)))

    def another(self, name: str) -> tuple[Draft, str]:
        """The draft with a copy of a state, and the name of the copy."""
        kind = self.states[name]
        new_name = _free(kind.title, self.states)
        return replace(self, states=_in_order({**self.states, new_name: kind})), new_name

    def rows(self, servers: Sequence[Server], seed: int = 0) -> tuple[Row, ...]:
        """A row for each server of a catalog. Raises CatalogError as `profile` does."""
        profile = self.profile("draft")
        states_by_server = profile.assign(servers, seed)
        return tuple(
            Row(
                server.name,
                WITH.join(self._name(state) for state in states_by_server[server.name]),
                _because(profile, server),
            )
            for server in servers
        )

    def changed_values(self, name: str) -> str:
        """The parameters of a state that differ from its defaults, as in "start 0.1, longest 60"; "" if none differ."""
        state = self.states[name]
        units = {knob.name: f" {knob.unit}".rstrip() for knob in state.knobs()}
        changes = state.changed().items()
        return ", ".join(
            f"{_plain(parameter)} {'off' if value is None else f'{value:g}'}{units[parameter]}"
            for parameter, value in changes
        )

    def _name(self, state: State) -> str:
        return next(name for name, stored in self.states.items() if stored == state)

    def _entries(self, texts: Iterable[str]) -> tuple[Entry, ...]:
        return tuple(self._entry(text.split(WITH.strip())) for text in texts)

    def _entry(self, names: Iterable[str]) -> Entry:
        states = {name.casefold(): state for name, state in self.states.items()}
        names_wanted = [" ".join(name.split()) for name in names]
        for name in names_wanted:
            if name.casefold() not in states:
                raise CatalogError(
                    f"There is no state {name[:60]!r}; choose of {', '.join(self.states)}, or several with + between them."
                )
        return tuple(states[name.casefold()] for name in names_wanted)


def varied(rows: Sequence[Row], most: int = 6) -> tuple[str, ...]:
    """At most `most` servers in their order, preferring a server for each different state.

    >>> varied([Row("a", "Ideal", ""), Row("b", "Ideal", ""), Row("c", "Outage", "")], 2)
    ('a', 'c')
    """
    first = {row.applies: row.server for row in reversed(rows)}.values()
    kept_servers = {row.server for row in sorted(rows, key=lambda row: row.server not in first)[:most]}
    return tuple(row.server for row in rows if row.server in kept_servers)


class _Names:
    """Names states. Equal states share a name, unless a list needs two."""

    def __init__(self, profile: Profile) -> None:
        lists = (profile.random, *(rule.cycle for rule in profile.rules), tuple(profile.servers.values()))
        used_states = [*profile.default, *(state for entries in lists for entry in entries for state in entry)]
        self._states: dict[str, State] = {}
        for kind in STATES.values():
            in_use = dict.fromkeys(state for state in used_states if type(state) is kind)
            default = kind()
            for state in {default: None, **in_use} if default in in_use or not in_use else in_use:
                self._added(state)

    def states(self) -> dict[str, State]:
        return _in_order(self._states)

    def several(self, entry: Entry, avoid: Iterable[str] = ()) -> tuple[str, ...]:
        """A name for each of the states that act together."""
        names: list[str] = []
        for state in entry:
            taken_names = {*avoid, *names}
            names_free = (name for name, stored in self._states.items() if stored == state and name not in taken_names)
            names.append(next(names_free, "") or self._added(state))
        return tuple(names)

    def listed(self, entries: Iterable[Entry]) -> tuple[str, ...]:
        texts: list[str] = []
        for entry in entries:
            avoid: list[str] = []
            while (text := WITH.join(names := self.several(entry, avoid))) in texts:
                avoid.append(names[0])
            texts.append(text)
        return tuple(texts)

    def _added(self, state: State) -> str:
        if len(self._states) == MOST_STATES:
            raise CatalogError(
                f"This network has more than {MOST_STATES} states with figures of their own: it can be used, but not edited "
                "here; edit its file."
            )
        name = _free(state.title, self._states)
        self._states[name] = state
        return name


def _free(title: str, names: Mapping[str, State]) -> str:
    return title if title not in names else next(name for n in count(2) if (name := f"{title} {n}") not in names)


def _plain(parameter: str) -> str:
    return parameter.removesuffix("_ms").removesuffix("_s").replace("_", " ")


def _in_order(states: Mapping[str, State]) -> dict[str, State]:
    kinds = list(STATES.values())
    return dict(sorted(states.items(), key=lambda item: kinds.index(type(item[1]))))


def _because(profile: Profile, server: Server) -> str:
    if server.name in profile.servers:
        return "by hand"
    number = next((n for n, rule in enumerate(profile.rules, 1) if rule.meets(server)), None)
    if number is not None:
        return f"rule {number}"
    return "at random" if profile.random else "all others"
