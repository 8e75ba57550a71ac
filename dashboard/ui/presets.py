"""The choice of a preset beside the knobs: shipped ones, and those that operators saved under a name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from core.domain.errors import WayfareError
from core.domain.params import Parameters, Value
from core.domain.untrusted_text import one_line
from core.routers.presets import (
    DEFAULT_PRESET,
    LONGEST_NAME,
    LONGEST_NOTE,
    PRESETS,
    PresetFile,
    applied,
    from_toml,
    preset_of,
    preset_text,
    preset_values,
    to_toml,
)
from dashboard.session import current_app
from dashboard.ui.knobs import read_knobs
from dashboard.ui.rights import only
from dashboard.ui.text import errors_shown, escaped, file_name

OWN, SAVED = "own", "saved:"  # knobs set by hand, and the beginning of the choice of a saved preset
CHOSEN = "preset chosen"  # which of several with the same values


def preset_choice(defaults: Parameters, prefix: str) -> None:
    """Draws the choice of a preset. Draws nothing for a router without presets."""
    shipped = offered(type(defaults))
    if len(shipped) == 1:
        return
    saved = current_app().saved_presets.of(_router(prefix))
    parameters = read_knobs(defaults, prefix)
    alike = {f"{SAVED}{name}": one for name, one in saved.items() if without_n(one.parameters) == without_n(parameters)}
    usual, chosen = preset_of(parameters), st.session_state.get(f"{prefix}:{CHOSEN}")
    current = chosen if chosen in {usual, *alike} else usual or next(iter(alike), OWN)
    own = alike.get(current)
    key = _key(prefix, current)
    st.session_state[key] = current
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="bottom", wrap=False):
        st.selectbox(
            "Preset", [*shipped, *(f"{SAVED}{name}" for name in saved), *([OWN] if current == OWN else [])], key=key,
            format_func=_title, on_change=_apply, args=(defaults, prefix, key, current),
            **only("tune", help="A named set of parameters. A choice sets the knobs below."),
        )  # fmt: skip
        _files(parameters, defaults, prefix, saved, own)
    st.caption(escaped(PRESETS[current].sentence if current in PRESETS else own.note if own else "", 200))


def offered(kind: type[Parameters]) -> list[str]:
    """Returns the shipped presets that change something of these parameters, after the default one."""
    return [name for name in PRESETS if name == DEFAULT_PRESET or preset_values(kind, name).keys() - {"n"}]


def _title(choice: str) -> str:
    if choice == OWN:
        return "Your own"
    return PRESETS[choice].title if choice in PRESETS else one_line(choice.removeprefix(SAVED), 40)


def without_n(parameters: Parameters) -> dict[str, Value]:
    """Returns the values of a preset. The number of candidates is not one."""
    return {name: value for name, value in parameters.values().items() if name != "n"}


def _apply(defaults: Parameters, prefix: str, key: str, shown: str) -> None:
    name = st.session_state.get(key, shown)  # a late message of the browser may come when the key is gone
    if name == shown:
        return
    if name in PRESETS:
        before = read_knobs(defaults, prefix).values()
        values = applied(type(defaults), name, {"n": before["n"]} if "n" in before else {}).values()
    elif chosen := current_app().saved_presets.of(_router(prefix)).get(name.removeprefix(SAVED)):
        values = without_n(chosen.parameters)
    else:  # deleted meanwhile
        return
    _set(prefix, name, values)


def _files(
    parameters: Parameters, defaults: Parameters, prefix: str, saved: Mapping[str, PresetFile], own: PresetFile | None
) -> None:
    """A button that opens the saving, deleting, export and import of presets."""
    with st.container(key=f"preset-files:{prefix}", width="content"):  # its name is heard, not seen: page.css
        opened = st.popover(
            "Save preset", icon=":material/save:", key=f"{prefix}:files", on_change="rerun",
            help="Save these knobs under a name, or export or import a file", width="content",
        )  # fmt: skip
    if not opened.open:
        return
    router, fields = _router(prefix), f"{prefix}:file:{own.name if own else ''}"
    with opened, errors_shown():
        name = st.text_input(
            "Name", own.name if own else "My preset", max_chars=LONGEST_NAME, key=f"{fields}:name"
        ).strip()
        note = st.text_area("Note", own.note if own else "", max_chars=LONGEST_NOTE, key=f"{fields}:note", height=80)
        preset, shipped = PresetFile(name, note, parameters), name in {one.title for one in PRESETS.values()}
        if st.button(
            "Replace" if name in saved else "Save", icon=":material/save:", key=f"{prefix}:save", type="primary", width="stretch",
            **only("tune", disabled=not name or shipped, help="Enter a name first." if not name else "A shipped preset has this name." if shipped else "In this console, for all its windows."),
        ):  # fmt: skip
            current_app().saved_presets.put(router, preset)
            _set(prefix, f"{SAVED}{name}", {})
        if own and st.button(f"Delete {escaped(own.name, 40)}", icon=":material/delete:", key=f"{prefix}:delete", **only("tune"), width="stretch"):  # fmt: skip
            current_app().saved_presets.delete(router, own.name)
            st.rerun()
        st.download_button(
            "Export", to_toml(preset, router), f"{file_name(name, 'preset')}.toml",
            "application/toml", icon=":material/download:", on_click="ignore", key=f"{prefix}:export", width="stretch",
        )  # fmt: skip
        upload = f"{prefix}:import:{st.session_state.get(f'{prefix}:imports', 0)}"  # another one after each file
        st.file_uploader("Import", type="toml", key=upload, **only("tune"), on_change=_import, args=(defaults, prefix, router, upload), max_upload_size=1)  # fmt: skip
        if problem := st.session_state.get(f"{prefix}:import problem"):
            st.error(escaped(problem), icon=":material/error:")


def _import(defaults: Parameters, prefix: str, router: str, upload: str) -> None:
    """Save the preset of a file, and set the knobs to it."""
    file: Any = st.session_state.get(upload)
    if file is None:
        return
    st.session_state[f"{prefix}:imports"] = st.session_state.get(f"{prefix}:imports", 0) + 1
    st.session_state[f"{prefix}:import problem"] = ""
    try:
        preset = from_toml(preset_text(file.getvalue(), file.name), file.name, router, defaults)
        name = preset.name.strip() or one_line(file.name, LONGEST_NAME)
        current_app().saved_presets.put(router, PresetFile(name, preset.note, preset.parameters))
    except WayfareError as error:
        st.session_state[f"{prefix}:import problem"] = str(error)
        return
    _set(prefix, f"{SAVED}{name}", preset.parameters.values())


def _set(prefix: str, choice: str, values: Mapping[str, Value]) -> None:
    """Set the knobs to the values of a choice, and draw the page again."""
    st.session_state[f"{prefix}:{CHOSEN}"] = choice
    for name, value in values.items():
        st.session_state[f"{prefix}.{name}"] = value
    st.rerun()


def _router(prefix: str) -> str:
    return prefix.rpartition(".")[2]


def _key(prefix: str, current: str) -> str:
    """Returns the key of the choice. The key changes when the knobs become `current` without the choice: a late message of the
    browser about the old state then reaches an old key and changes no knob."""
    turns = st.session_state.get(f"{prefix}:preset turns", 0)
    if st.session_state.get(f"{prefix}:preset.{turns}", current) != current:
        turns += 1
        st.session_state[f"{prefix}:preset turns"] = turns
    return f"{prefix}:preset.{turns}"
