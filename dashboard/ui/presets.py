"""The choice of a preset beside the knobs, shipped or saved by operators under a name, and routers to compare, each with its defaults or with
pinned parameters.

The URL has one text for each router to compare:

    ehrr            the router with its defaults
    ehrr~k=3~n=5    with two parameters set
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import streamlit as st

from core.app import App
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
from dashboard.session import current_app, only
from dashboard.ui.knobs import read_knobs
from dashboard.ui.long_work import AT_ONCE
from dashboard.ui.text import error_kept, errors_shown, escaped, file_name, kept_error, not_used
from dashboard.ui.url_state import UrlState, variant_text

DEFAULT_ROUTER = "ehrr"
OWN, SAVED = "own", "saved:"  # knobs set by hand, and the beginning of the choice of a saved preset
CHOSEN = "preset chosen"  # the choice among presets with equal values


def preset_choice(defaults: Parameters, prefix: str) -> None:
    """Draws the choice of a preset. Draws nothing for a router without presets."""
    shipped = offered(type(defaults))
    if len(shipped) == 1:
        return
    saved = current_app().saved_presets.of(_router(prefix))
    knobs = read_knobs(defaults, prefix)
    alike = {f"{SAVED}{name}": item for name, item in saved.items() if without_n(item.parameters) == without_n(knobs)}
    usual, chosen = preset_of(knobs), st.session_state.get(f"{prefix}:{CHOSEN}")
    current = chosen if chosen in {usual, *alike} else usual or next(iter(alike), OWN)
    stored = alike.get(current)
    key = _key(prefix, current)
    st.session_state[key] = current
    with st.container(horizontal=True, gap="xxsmall", vertical_alignment="bottom", wrap=False):
        st.selectbox(
            "Preset", [*shipped, *(f"{SAVED}{name}" for name in saved), *([OWN] if current == OWN else [])], key=key,
            format_func=_title, on_change=_apply, args=(defaults, prefix, key, current),
            **only("tune", help="A named set of parameters. A choice sets the knobs below."),
        )  # fmt: skip
        _files(knobs, defaults, prefix, saved, stored)
    st.caption(escaped(PRESETS[current].sentence if current in PRESETS else stored.note if stored else "", 200))


def offered(kind: type[Parameters]) -> list[str]:
    """Returns the shipped presets that change something of these parameters, after the default preset."""
    return [name for name in PRESETS if name == DEFAULT_PRESET or preset_values(kind, name).keys() - {"n"}]


def _title(choice: str) -> str:
    if choice == OWN:
        return "Your own"
    return PRESETS[choice].title if choice in PRESETS else one_line(choice.removeprefix(SAVED), 40)


def without_n(parameters: Parameters) -> dict[str, Value]:
    """Returns all values but the number of candidates, which is no part of a preset."""
    return {name: value for name, value in parameters.values().items() if name != "n"}


def _apply(defaults: Parameters, prefix: str, key: str, current: str) -> None:
    name = st.session_state.get(key, current)  # a late message of the browser may come when the key is gone
    if name == current:
        return
    if name in PRESETS:
        previous = read_knobs(defaults, prefix).values()
        values = applied(type(defaults), name, {"n": previous["n"]} if "n" in previous else {}).values()
    elif chosen := current_app().saved_presets.of(_router(prefix)).get(name.removeprefix(SAVED)):
        values = without_n(chosen.parameters)
    else:  # deleted meanwhile
        return
    _set(prefix, name, values)


def _files(
    parameters: Parameters,
    defaults: Parameters,
    prefix: str,
    saved: Mapping[str, PresetFile],
    stored: PresetFile | None,
) -> None:
    """A button that opens the saving, deleting, export and import of presets."""
    with st.container(key=f"preset-files:{prefix}", width="content"):  # its name is heard, not seen: page.css
        popover = st.popover(
            "Save preset", icon=":material/save:", key=f"{prefix}:files", on_change="rerun",
            help="Save these knobs under a name, or export or import a file", width="content",
        )  # fmt: skip
    if not popover.open:
        return
    router, key = _router(prefix), f"{prefix}:file:{stored.name if stored else ''}"
    with popover, errors_shown():
        name = st.text_input(
            "Name", stored.name if stored else "My preset", max_chars=LONGEST_NAME, key=f"{key}:name"
        ).strip()
        note = st.text_area("Note", stored.note if stored else "", max_chars=LONGEST_NOTE, key=f"{key}:note", height=80)
        preset, shipped = PresetFile(name, note, parameters), name in {entry.title for entry in PRESETS.values()}
        if st.button(
            "Replace" if name in saved else "Save", icon=":material/save:", key=f"{prefix}:save:{name if name in saved else ''}", type="primary", width="stretch",
            **only("tune", disabled=not name or shipped, help="Enter a name first." if not name else "A shipped preset has this name." if shipped else "In this console, for all its windows."),
        ):  # fmt: skip
            current_app().saved_presets.put(router, preset)
            _set(prefix, f"{SAVED}{name}", {})
        if stored and st.button(f"Delete {escaped(stored.name, 40)}", icon=":material/delete:", key=f"{prefix}:delete", **only("tune"), width="stretch"):  # fmt: skip
            current_app().saved_presets.delete(router, stored.name)
            st.rerun()
        st.download_button(
            "Export", to_toml(preset, router), f"{file_name(name, 'preset')}.toml",
            "application/toml", icon=":material/download:", on_click="ignore", key=f"{prefix}:export", width="stretch",
        )  # fmt: skip
        upload = f"{prefix}:import:{st.session_state.get(f'{prefix}:imports', 0)}"  # a new field after each file
        st.file_uploader("Import", type="toml", key=upload, **only("tune"), on_change=_import, args=(defaults, prefix, router, upload), max_upload_size=1)  # fmt: skip
        kept_error(f"{prefix}:import problem")


def _import(defaults: Parameters, prefix: str, router: str, upload: str) -> None:
    file: Any = st.session_state.get(upload)
    if file is None:
        return
    st.session_state[f"{prefix}:imports"] = st.session_state.get(f"{prefix}:imports", 0) + 1
    with error_kept(f"{prefix}:import problem"):
        preset = from_toml(preset_text(file.getvalue(), file.name), file.name, router, defaults)
        name = preset.name.strip() or one_line(file.name, LONGEST_NAME)
        current_app().saved_presets.put(router, PresetFile(name, preset.note, preset.parameters))
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


FIRST_VARIANTS = ("ehrr", "expected_value", "rag_mcp", "tool_attention", "pa_rag")
READS_ALL = {
    "tool_attention",
    "pa_rag",
}  # at the first decision: 12 s of a processor for the summaries of 100,000 tools, and two further views to embed
MOST = 6
ASKED_VARIANT = "variants:asked"  # the router of the last question, with its knobs


@dataclass(frozen=True, slots=True)
class Variant:
    router: str
    title: str
    parameters: Parameters

    @property
    def text(self) -> str:
        return variant_text(self.router, self.parameters.changed())

    @property
    def name(self) -> str:
        """The title of the router, with the parameters that differ from the defaults."""
        changed = ", ".join(f"{name} = {value}" for name, value in self.parameters.changed().items())
        return f"{self.title} · {changed}" if changed else self.title


def read_variant(app: App, text: str) -> Variant:
    """Returns the variant of a text. Raises WayfareError if a router, parameter or value is unknown."""
    router, *settings = text.split("~")
    pairs = {name: unquote(value) for name, _, value in (setting.partition("=") for setting in settings)}
    parameters = app.routing.parameters(router, pairs)
    title = next(info.title for info in app.routing.routers() if info.id == router)
    return Variant(router, title, parameters)


def choose_variants(
    app: App, state: UrlState, linked: Mapping[str, str], knobs: Mapping[str, str], catalog: str
) -> tuple[Variant, ...]:
    """Draw the choice of all routers and the pinned variants of a link. The router of a new question comes first and replaces the
    router of the previous question. The default choice is used if no part of a link can be used; for a large catalog it is without the
    routers that read every definition at their first decision."""
    routers = [router.id for router in app.routing.routers()]
    tools = next((info.tools for info in app.catalogs.infos() if info.name == catalog), 0)
    usual = [name for name in FIRST_VARIANTS if name in routers and (tools <= AT_ONCE or name not in READS_ALL)]
    values = {name: text for name, text in knobs.items() if name != "router"}
    current = variant_text(knobs.get("router", DEFAULT_ROUTER), values) if knobs else ""
    first = [current] if current else []
    texts = linked["with"].split(",") if linked.get("with") else [*first, *(name for name in usual if name != current)]
    key = state.key("with")
    previous, st.session_state[ASKED_VARIANT] = st.session_state.get(ASKED_VARIANT, ""), current
    if current != previous:
        others = [text for text in st.session_state.pop(key, texts) if text not in {current, previous}]
        texts = [*first, *others] or usual
    texts = texts[:MOST]
    variants: dict[str, Variant] = {name: read_variant(app, name) for name in routers}
    faults: dict[str, None] = st.session_state.setdefault(f"{key}.faults", {})  # shown until the choice changes
    for text in texts:
        try:
            variants.setdefault(text, read_variant(app, text))
        except WayfareError as error:
            faults[str(error)] = None
    for fault in faults:
        not_used(fault)
    if key not in st.session_state:
        st.session_state[key] = [text for text in texts if text in variants][:MOST] or usual
    chosen: Sequence[str] = st.multiselect(
        "Routers to compare", list(variants), key=key, format_func=lambda text: variants[text].name, max_selections=MOST,
        placeholder="Choose two or more", on_change=faults.clear, help="“Compare with” above puts a preset beside the present state.",
    )  # fmt: skip
    return tuple(variants[text] for text in chosen)
