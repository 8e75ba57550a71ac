"""What an operator or a client sets of the endpoint: the catalog, how searches are routed, how long a call may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from core.domain.params import Parameters
from core.routers import ROUTERS
from core.routers.presets import DEFAULT_PRESET, applied
from core.shared.errors import ParameterError, UnknownNameError
from core.shared.settings import FIRST_CATALOG

DEFAULT_ROUTER = "ehrr"
SWITCH = ("on", "off")
SHORTEST_S, LONGEST_S = 0.1, 3600.0


@dataclass(frozen=True)
class EndpointOptions:
    """The defaults are those of the console. `timeout_s` bounds one call of a tool. With `fallback` the
    next candidates of a search are called where a tool that only reads does not answer. `mirror` are names of servers, with * and ?,
    whose tools are listed in place of Wayfare's own.

    >>> options = EndpointOptions.of_pairs([("router", "expected_value"), ("set", "n=5"), ("fallback", "on")], catalog="mine")
    >>> options.catalog, options.router, options.settings, options.timeout_s, options.fallback
    ('mine', 'expected_value', {'n': '5'}, 60.0, True)
    """

    catalog: str = FIRST_CATALOG
    router: str = DEFAULT_ROUTER
    preset: str = DEFAULT_PRESET
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    timeout_s: float = 60.0
    fallback: bool = False
    mirror: tuple[str, ...] = ()

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]], *, catalog: str = FIRST_CATALOG) -> Self:
        """Options as the address `/mcp?catalog=...&router=...&preset=...&timeout=S&fallback=on&mirror=SERVER&set=K=V` gives them.

        Raises ParameterError for a name that is none of these, and a time that is none.
        """
        chosen: dict[str, str] = {"catalog": catalog}
        timeout_s, fallback = cls.timeout_s, cls.fallback
        settings: dict[str, str] = {}
        mirror: list[str] = []
        for name, value in pairs:
            if name == "set" and "=" in value:
                key, _, text = value.partition("=")
                settings[key.strip()] = text.strip()
            elif name == "timeout":
                timeout_s = _seconds(value)
            elif name == "fallback" and value in SWITCH:
                fallback = value == "on"
            elif name == "mirror" and value:
                mirror.append(value)
            elif name in {"catalog", "router", "preset"}:
                chosen[name] = value
            else:
                raise ParameterError(
                    f"The address has {name}={value}; it takes catalog, router, preset, timeout, fallback=on|off, mirror=SERVER and set=K=V."
                )
        return cls(**chosen, settings=settings, timeout_s=timeout_s, fallback=fallback, mirror=tuple(mirror))

    def pairs(self) -> list[tuple[str, str]]:
        """The same for an address."""
        named = [
            ("catalog", self.catalog),
            ("router", self.router),
            ("preset", self.preset),
            ("timeout", f"{self.timeout_s:g}"),
            ("fallback", "on" if self.fallback else "off"),
        ]
        named += [("mirror", server) for server in self.mirror]
        return [*named, *(("set", f"{name}={value}") for name, value in self.settings.items())]

    def parameters(self, n: int | None = None) -> Parameters:
        """The router's parameters; `n` candidates where the router counts them. Raises UnknownNameError, ParameterError."""
        if self.router not in ROUTERS:
            raise UnknownNameError(f"There is no router {self.router!r}; choose one of: {', '.join(ROUTERS)}.")
        kind = ROUTERS[self.router].parameters
        counted = n is not None and any(knob.name == "n" for knob in kind.knobs())
        return _parameters(kind, self.preset, tuple(self.settings.items()), n if counted else None)


@lru_cache(maxsize=1024)  # clients ask with few addresses, many times
def _parameters(
    kind: type[Parameters], preset: str, settings: tuple[tuple[str, str], ...], n: int | None
) -> Parameters:
    return applied(kind, preset, {**dict(settings), **({} if n is None else {"n": n})})


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_S <= seconds <= LONGEST_S:
        raise ParameterError(f"timeout={text} is not between {SHORTEST_S:g} and {LONGEST_S:g} seconds.")
    return seconds
