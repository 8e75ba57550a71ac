"""Presets as files: a name, a note, and every parameter of a router, as TOML.

    name = "Quick and dear"
    note = "for the demonstration"
    router = "ehrr"

    [parameters]
    alpha_t = 0.08

A parameter that is not named has its default. A file is taken whole or not at all.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from core.domain.params import NOTHING, Parameters, Value
from core.shared.errors import ParameterError
from core.shared.untrusted_text import one_line

LIMIT_BYTES = 64_000
LONGEST_NAME, LONGEST_NOTE = 80, 400
KNOWN = ("name", "note", "router", "parameters")


@dataclass(frozen=True, slots=True)
class PresetFile:
    """What a preset's file says. Name and note are somebody's words."""

    name: str
    note: str
    parameters: Parameters


def to_toml(preset: PresetFile, router: str) -> str:
    """The file of a preset.

    >>> from core.routers.rag_mcp import RagMcp
    >>> text = to_toml(PresetFile('A "b"', "", RagMcp.parameters(n=7)), "rag_mcp")
    >>> from_toml(text, "x.toml", "rag_mcp", RagMcp.parameters()).parameters.changed()
    {'n': 7}
    """
    head = {"name": preset.name, "note": preset.note, "router": router}
    values = preset.parameters.values()
    return "\n".join([*_lines(head), "", "[parameters]", *_lines(values), ""])


def from_toml(text: str, file: str, router: str, defaults: Parameters) -> PresetFile:
    """What a file says for this router. Raises ParameterError: what is wrong, where in the file, what to do."""
    try:
        found: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _fault(file, f"it is not TOML ({error}); export a preset to see the form") from None
    if unknown := sorted(found.keys() - set(KNOWN)):
        raise _fault(file, f"{unknown[0]!r} is not known; a preset has {', '.join(KNOWN)}")
    for key, longest in (("name", LONGEST_NAME), ("note", LONGEST_NOTE)):
        if not isinstance(found.get(key, ""), str) or len(found.get(key, "")) > longest:
            raise _fault(file, f"{key} is not a text of at most {longest} characters; shorten it")
    if found.get("router") != router:
        raise _fault(file, f"it is for the router {found.get('router')!r}, not {router!r}; choose that router first")
    values = found.get("parameters")
    if not isinstance(values, dict):
        raise _fault(file, "it has no table [parameters]; name at least one there")
    try:
        parameters = type(defaults)().replaced(_scalars(cast("dict[str, Any]", values)))
    except ParameterError as error:
        raise _fault(file, f"[parameters] {error}".removesuffix(".")) from None
    return PresetFile(found.get("name", ""), found.get("note", ""), parameters)


def read_preset(file: Path, router: str, defaults: Parameters) -> PresetFile:
    """A preset's file from the disk. Raises ParameterError."""
    try:
        content = file.read_bytes()
    except OSError as error:
        raise _fault(str(file), f"it cannot be read ({error.strerror or error})") from None
    return from_toml(preset_text(content, file.name), file.name, router, defaults)


def preset_text(content: bytes, file: str) -> str:
    """What a preset's file says, as text. Raises ParameterError."""
    if len(content) > LIMIT_BYTES:
        raise _fault(file, f"it has {len(content):,} bytes; a preset has at most {LIMIT_BYTES:,}")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise _fault(file, "it is not UTF-8; export a preset to see the form") from None


def _scalars(values: Mapping[str, Any]) -> dict[str, object]:
    for name, value in values.items():
        if not isinstance(value, bool | int | float | str):
            raise ParameterError(f"{name} is not a number, a text, true or false; give one of these.")
    return dict(values)


def _lines(values: Mapping[str, Value]) -> list[str]:
    return [f"{name} = {_toml(NOTHING if value is None else value)}" for name, value in values.items()]


def _toml(value: Value) -> str:
    """A value as TOML: its texts are written as JSON's are, but for the character that JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _fault(file: str, sentence: str) -> ParameterError:
    return ParameterError(one_line(f"{file}: {sentence}.", 400))
