"""Presets: named sets of parameters with one sentence each. A router takes the values of a preset that it has parameters for.

>>> from core.routers.ehrr import EhrrParameters
>>> applied(EhrrParameters, "paper").alpha_t, applied(EhrrParameters, "balanced") == EhrrParameters()
(0.25, True)
"""

from __future__ import annotations

import json
import threading
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast

from core.domain import documents
from core.domain.documents import CLOSED, Wanted, text_of
from core.domain.errors import ParameterError, UnknownNameError
from core.domain.params import NOTHING, Parameters, Value
from core.domain.people import actions
from core.domain.untrusted_text import one_line
from core.routers import ROUTERS
from core.routers.parameters import VIEW_WEIGHTS

if TYPE_CHECKING:
    from core.store import Store

P = TypeVar("P", bound=Parameters)
DEFAULT_PRESET = "balanced"


@dataclass(frozen=True, slots=True)
class Preset:
    """A purpose: its title, a sentence about it, and the values that it sets."""

    title: str
    sentence: str
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])


PRESETS: dict[str, Preset] = {
    DEFAULT_PRESET: Preset("Balanced", "The defaults: the likeliest tool, cheaper or quicker where it hardly fits less."),
    "paper": Preset(
        "Paper",
        "EHRR's Table V to the letter: the cosine of descriptions against time and price; a quick tool may beat one that fits.",
        {
            "similarity": VIEW_WEIGHTS, "sim_midpoint": 0.0, "doubt_names": False, "w_names": 0.0, "w_full": 0.0,
            "w_description": 1.0, "w_parameters": 0.0, "w_lexical": 0.0, "w_server_profile": 1.0, "w_server_summary": 0.0,
            "w_server_best_tool": 0.0, "w_server_lexical": 0.0, "alpha_s": 0.1, "alpha_t": 0.25, "kappa": 1.0,
            "p_bs": 0.0025, "p_ofs": 0.0225, "l0_s": 1.0, "eps": 1e-3, "worthwhile": False,
            "half_life_s": 0.0, "reads_first": False,
        },
    ),
    "thrifty": Preset(
        "Thrifty", "Money matters most: dear tools are asked only where they fit much better.",
        {"alpha_t": 0.03, "kappa": 200.0, "p_bs": 0.06, "p_ofs": 0.015, "worth_usd": 0.05},
    ),
    "quick": Preset(
        "Quick", "Time matters most: a second is worth giving up a little fit.",
        {"alpha_s": 0.02, "alpha_t": 0.08, "kappa": 10.0},
    ),
    "quality": Preset(
        "Quality", "The likeliest tool at nearly any price.",
        {"alpha_s": 0.001, "alpha_t": 0.002, "kappa": 10.0, "p_bs": 0.2, "worthwhile": False, "worth_usd": 1.0},
    ),
}  # fmt: skip


def preset(name: str) -> Preset:
    if name not in PRESETS:
        raise UnknownNameError(f"There is no preset {name!r}; choose one of: {', '.join(PRESETS)}.")
    return PRESETS[name]


def preset_values(parameters: type[Parameters], name: str) -> dict[str, Value]:
    """The values that a preset sets for these parameters. A preset's kappa is EHRR's. A router that counts in USD keeps its own."""
    knob_names = {knob.name for knob in parameters.knobs()}
    values = {key: value for key, value in preset(name).values.items() if key in knob_names}
    if "worth_usd" in knob_names:
        values.pop("kappa", None)
    return values


def preset_of(parameters: Parameters) -> str:
    """The name of the preset with these parameters, or "". The number of candidates does not matter.

    >>> from core.routers.ehrr import EhrrParameters
    >>> preset_of(EhrrParameters(n=10)), preset_of(EhrrParameters(alpha_t=0.5))
    ('balanced', '')
    """
    n = parameters.values().get("n")
    return next((name for name in PRESETS if _with_candidates(type(parameters), name, n) == parameters), "")


def applied(parameters: type[P], name: str, settings: Mapping[str, object] | None = None) -> P:
    """The parameters of a preset, with some values set on top. Raises UnknownNameError, ParameterError."""
    return parameters().replaced({**preset_values(parameters, name), **(settings or {})})


@cache
def _with_candidates(parameters: type[Parameters], name: str, n: Value) -> Parameters:
    """The parameters of a preset with this number of candidates, if any. Cached, because every decision calls it."""
    return applied(parameters, name, {} if n is None else {"n": n})


# Presets as TOML files: a name, a note, and every parameter of a router
#
#     name = "Quick and dear"
#     note = "for the demonstration"
#     router = "ehrr"
#
#     [parameters]
#     alpha_t = 0.08
#
# A parameter without a value has its default. A file with a fault changes nothing.

LIMIT_BYTES = 64_000
LONGEST_NAME, LONGEST_NOTE = 80, 400
SCALAR = Wanted("a number, a text, true or false")


@dataclass(frozen=True, slots=True)
class _Document:
    __pydantic_config__ = CLOSED

    router: str
    parameters: dict[str, Annotated[bool | int | float | str, SCALAR]]
    name: Annotated[str, text_of(LONGEST_NAME)] = ""
    note: Annotated[str, text_of(LONGEST_NOTE)] = ""


@dataclass(frozen=True, slots=True)
class PresetFile:
    """The content of a preset's file. Name and note are a user's own words."""

    name: str
    note: str
    parameters: Parameters


def to_toml(preset: PresetFile, router: str) -> str:
    """The file of a preset.

    >>> from core.routers.baselines import RagMcp
    >>> text = to_toml(PresetFile('A "b"', "", RagMcp.parameters(n=7)), "rag_mcp")
    >>> from_toml(text, "x.toml", "rag_mcp", RagMcp.parameters()).parameters.changed()
    {'n': 7}
    """
    head = {"name": preset.name, "note": preset.note, "router": router}
    values = preset.parameters.values()
    return "\n".join([*_lines(head), "", "[parameters]", *_lines(values), ""])


def from_toml(text: str, file: str, router: str, defaults: Parameters) -> PresetFile:
    """The preset of a file for this router. Raises ParameterError with place and remedy."""
    try:
        document: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _fault(file, f"it is not TOML ({error}); export a preset to see the form") from None
    content = documents.read(_Document, document, one_line(file, LONGEST_NOTE), error=ParameterError)
    if content.router != router:
        raise _fault(file, f"it is for the router {content.router!r}, not {router!r}; choose that router first")
    try:
        parameters = type(defaults)().replaced(content.parameters)
    except ParameterError as error:
        raise _fault(file, f"[parameters] {error}".removesuffix(".")) from None
    return PresetFile(content.name, content.note, parameters)


def read_preset(file: Path, router: str, defaults: Parameters) -> PresetFile:
    try:
        content = file.read_bytes()
    except OSError as error:
        raise _fault(str(file), f"it cannot be read ({error.strerror or error})") from None
    return from_toml(preset_text(content, file.name), file.name, router, defaults)


def preset_text(content: bytes, file: str) -> str:
    if len(content) > LIMIT_BYTES:
        raise _fault(file, f"it has {len(content):,} bytes; a preset has at most {LIMIT_BYTES:,}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _fault(file, "it is not UTF-8; export a preset to see the form") from None


def _lines(values: Mapping[str, Value]) -> list[str]:
    return [f"{name} = {_toml(NOTHING if value is None else value)}" for name, value in values.items()]


def _toml(value: Value) -> str:
    """A value as TOML. Texts are written as in JSON, except for a character that JSON does not escape."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _fault(file: str, sentence: str) -> ParameterError:
    return ParameterError(one_line(f"{file}: {sentence}.", 400))


@actions("tune", put="save a preset", delete="delete a preset")
class SavedPresets:
    """Thread-safe.

    >>> from core.store import Store
    >>> presets = SavedPresets(Store(None))
    >>> presets.put("ehrr", PresetFile("mine", "for noon", ROUTERS["ehrr"].parameters(alpha_t=0.08)))
    >>> [(preset.name, preset.note, preset.parameters.changed()) for preset in presets.of("ehrr").values()]
    [('mine', 'for noon', {'alpha_t': 0.08})]
    >>> presets.delete("ehrr", "mine")
    >>> presets.of("ehrr")
    {}
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()

    def of(self, router: str) -> Mapping[str, PresetFile]:
        """Returns the presets of a router by name. A stored value that the router no longer takes has its default."""
        return {
            name: PresetFile(
                name, str(entry["note"]), ROUTERS[router].parameters().replaced(usable(router, entry["values"]))
            )
            for name, entry in self._stored(router).items()
        }

    def put(self, router: str, preset: PresetFile) -> None:
        """Saves a preset and replaces an earlier one of its name. Raises StoreError."""
        with self._lock:
            entry = {"note": preset.note, "values": preset.parameters.changed()}
            self._store.set_setting(_setting(router), {**self._stored(router), preset.name: entry})

    def delete(self, router: str, name: str) -> None:
        """Deletes the preset of this name, if any. Raises StoreError."""
        with self._lock:
            others = {other: entry for other, entry in self._stored(router).items() if other != name}
            self._store.set_setting(_setting(router), others)

    def _stored(self, router: str) -> dict[str, dict[str, Any]]:
        return cast("dict[str, dict[str, Any]]", self._store.get_setting(_setting(router), {}))


def _setting(router: str) -> str:
    return f"presets:{router}"


def usable(router: str, stored: object) -> dict[str, Value]:
    """Returns the stored values that a router still takes, none for an unknown router."""
    result = dict[str, Value]()
    if router not in ROUTERS:
        return result
    parameters = ROUTERS[router].parameters()
    for name, value in cast("dict[str, Any]", stored if isinstance(stored, dict) else {}).items():
        try:
            parameters.replaced({name: value})
        except ParameterError:
            continue
        result[name] = value
    return result
