"""What an operator or a client sets of the endpoint: the catalog, and how searches are routed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from core.domain.params import Parameters
from core.routers import ROUTERS
from core.routers.presets import DEFAULT_PRESET, applied
from core.shared.errors import ParameterError, UnknownNameError
from core.shared.settings import FIRST_CATALOG

DEFAULT_ROUTER = "ehrr"


@dataclass(frozen=True)
class EndpointOptions:
    """The defaults are those of the console.

    >>> EndpointOptions.of_pairs([("router", "expected_value"), ("set", "n=5")], catalog="mine")
    EndpointOptions(catalog='mine', router='expected_value', preset='balanced', settings={'n': '5'})
    """

    catalog: str = FIRST_CATALOG
    router: str = DEFAULT_ROUTER
    preset: str = DEFAULT_PRESET
    settings: Mapping[str, str] = field(default_factory=dict[str, str])

    @classmethod
    def of_pairs(cls, pairs: Iterable[tuple[str, str]], *, catalog: str = FIRST_CATALOG) -> Self:
        """Options as the address `/mcp?catalog=...&router=...&preset=...&set=K=V` gives them.

        Raises ParameterError for a name that is none of these.
        """
        chosen: dict[str, str] = {"catalog": catalog}
        settings: dict[str, str] = {}
        for name, value in pairs:
            if name == "set" and "=" in value:
                key, _, text = value.partition("=")
                settings[key.strip()] = text.strip()
            elif name in {"catalog", "router", "preset"}:
                chosen[name] = value
            else:
                raise ParameterError(f"The address has {name}={value}; it takes catalog, router, preset and set=K=V.")
        return cls(**chosen, settings=settings)

    def pairs(self) -> list[tuple[str, str]]:
        """The same for an address."""
        named = [("catalog", self.catalog), ("router", self.router), ("preset", self.preset)]
        return [*named, *(("set", f"{name}={value}") for name, value in self.settings.items())]

    def parameters(self, n: int | None = None) -> Parameters:
        """The router's parameters; `n` candidates where the router counts them. Raises UnknownNameError, ParameterError."""
        if self.router not in ROUTERS:
            raise UnknownNameError(f"There is no router {self.router!r}; choose one of: {', '.join(ROUTERS)}.")
        kind = ROUTERS[self.router].parameters
        counted = n is not None and any(knob.name == "n" for knob in kind.knobs())
        return applied(kind, self.preset, {**self.settings, **({"n": n} if counted else {})})
