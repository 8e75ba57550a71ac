"""Presets of parameters: their choice, and their files."""

from __future__ import annotations

from typing import Any

import streamlit as st

from core.domain.errors import ParameterError
from core.domain.params import Parameters
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
from dashboard.ui.knobs import read_knobs
from dashboard.ui.text import escaped, file_name


def own_preset(parameters: Parameters, prefix: str) -> PresetFile | None:
    """Returns the file that was imported last if the knobs still have its values, else None."""
    found: PresetFile | None = st.session_state.get(_own_key(prefix))
    return found if found is not None and found.parameters == parameters else None


def imported_presets(prefix: str) -> tuple[PresetFile, ...]:
    """Returns the files imported for this router during the visit, the newest of each name."""
    found: dict[str, PresetFile] = st.session_state.get(_all_key(prefix), {})
    return tuple(found.values())


def preset_files(defaults: Parameters, prefix: str) -> None:
    """A button that opens the export and import of presets."""
    with st.container(key=f"preset-files:{prefix}", width="content"):  # its name is heard, not seen: page.css
        opened = st.popover(
            "Preset files", icon=":material/save:", key=f"{prefix}:files", on_change="rerun", help="Export or import a preset",
            width="content",
        )  # fmt: skip
    if not opened.open:
        return
    router, parameters = prefix.rpartition(".")[2], read_knobs(defaults, prefix)
    own = own_preset(parameters, prefix)
    with opened:
        name = st.text_input(
            "Name", own.name if own else "My preset", max_chars=LONGEST_NAME, key=f"{prefix}:file name"
        )
        note = st.text_area(
            "Note", own.note if own else "", max_chars=LONGEST_NOTE, key=f"{prefix}:file note", height=80
        )
        st.download_button(
            "Export", to_toml(PresetFile(name, note, parameters), router), f"{file_name(name, 'preset')}.toml",
            "application/toml", icon=":material/download:", on_click="ignore", key=f"{prefix}:export", width="stretch",
        )  # fmt: skip
        upload = f"{prefix}:import:{st.session_state.get(f'{prefix}:imports', 0)}"  # another one after each file
        st.file_uploader(
            "Import", type="toml", key=upload, on_change=_import, args=(defaults, prefix, router, upload), max_upload_size=1,
        )  # fmt: skip
        if problem := st.session_state.get(f"{prefix}:import problem"):
            st.error(escaped(problem), icon=":material/error:")


def _import(defaults: Parameters, prefix: str, router: str, upload: str) -> None:
    file: Any = st.session_state.get(upload)
    if file is None:
        return
    st.session_state[f"{prefix}:imports"] = st.session_state.get(f"{prefix}:imports", 0) + 1
    st.session_state[f"{prefix}:import problem"] = ""
    try:
        preset = from_toml(preset_text(file.getvalue(), file.name), file.name, router, defaults)
    except ParameterError as error:
        st.session_state[f"{prefix}:import problem"] = str(error)
        return
    st.session_state[_own_key(prefix)] = preset
    st.session_state[_all_key(prefix)] = {
        **st.session_state.get(_all_key(prefix), {}),
        preset.name or file.name: preset,
    }
    for name, value in preset.parameters.values().items():
        st.session_state[f"{prefix}.{name}"] = value
    st.rerun()


def _own_key(prefix: str) -> str:
    return f"{prefix}:own"


def _all_key(prefix: str) -> str:
    """Returns a key that all pages with knobs of this router share. Following a link keeps it."""
    return f"presets:{prefix.rpartition('.')[2]}"


OWN = "own"


def preset_choice(defaults: Parameters, prefix: str) -> None:
    """Draws the choice of a preset. Draws nothing for a router without presets."""
    offered = [name for name in PRESETS if name == DEFAULT_PRESET or preset_values(type(defaults), name).keys() - {"n"}]
    if len(offered) == 1:
        return
    parameters = read_knobs(defaults, prefix)
    current = preset_of(parameters) or OWN
    key = _key(prefix, current)
    st.session_state[key] = current
    own = own_preset(parameters, prefix)
    title = one_line(own.name, 40) if own and own.name else "Your own"
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="bottom", wrap=False):
        st.selectbox(
            "Preset", [*offered, *([OWN] if current == OWN else [])], key=key,
            format_func=lambda name: PRESETS[name].title if name in PRESETS else title, on_change=_apply,
            args=(defaults, prefix, key, current), help="A named set of parameters. A choice sets the knobs below.",
        )  # fmt: skip
        preset_files(defaults, prefix)
    by_hand = (own and own.note) or "The knobs below are set by hand."
    st.caption(escaped(PRESETS[current].sentence if current in PRESETS else by_hand, 200))


def _apply(defaults: Parameters, prefix: str, key: str, shown: str) -> None:
    name = st.session_state.get(key, shown)  # a late message of the browser may come when the key is gone
    if name == shown or name not in PRESETS:
        return
    before = read_knobs(defaults, prefix).values()
    chosen = applied(type(defaults), name, {"n": before["n"]} if "n" in before else {})
    for parameter, value in chosen.values().items():
        st.session_state[f"{prefix}.{parameter}"] = value
    st.rerun()


def _key(prefix: str, current: str) -> str:
    """Returns the key of the choice. The key changes when the knobs become `current` without the choice: a late message of the
    browser about the old state then reaches an old key and changes no knob."""
    turns = st.session_state.get(f"{prefix}:preset turns", 0)
    if st.session_state.get(f"{prefix}:preset.{turns}", current) != current:
        turns += 1
        st.session_state[f"{prefix}:preset turns"] = turns
    return f"{prefix}:preset.{turns}"
