"""The import of a catalog: its source, its documents, its name, and the dialog."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path, PurePath

import pandas as pd
import streamlit as st

from core.app import App
from core.domain.catalog import Imported
from core.domain.errors import WayfareError
from core.governance.client_setup import found_configurations
from core.importers import merge
from core.importers.shipped_catalogs import SHIPPED_CATALOGS
from dashboard.pages.catalog import state
from dashboard.session import only
from dashboard.ui.catalog_frames import reached_by
from dashboard.ui.first_look import begin_first_look
from dashboard.ui.table import table
from dashboard.ui.text import counted, error_kept, escaped, kept_error


@dataclass(frozen=True, slots=True)
class Document:
    """A file or a pasted text, with its name in messages. Relative paths in it count from the folder."""

    name: str
    content: bytes | str = field(repr=False)
    folder: Path = field(default_factory=Path.home)


@dataclass(frozen=True, slots=True)
class Reading:
    """Read documents: an import, or a sentence and every problem."""

    documents: tuple[Document, ...]
    imported: Imported | None = field(default=None, repr=False)
    sentence: str = ""
    problems: tuple[str, ...] = ()


def read_documents(app: App, documents: tuple[Document, ...]) -> Reading:
    results: list[tuple[str, Imported]] = []
    problems: list[str] = []
    for document in documents:
        try:
            results.append((document.name, app.catalog_editor.read(document.content, document.name, document.folder)))
        except WayfareError as error:
            problems += getattr(error, "problems", (str(error),))
    if not problems:
        try:
            return Reading(documents, merge(results))
        except WayfareError as error:
            problems += getattr(error, "problems", (str(error),))
    more = len(problems) - 1
    rest = f" (and {more:,} more problem{'s' if more > 1 else ''})." if more else ""
    first = problems[0].removesuffix(".") + rest if rest else problems[0]
    return Reading(documents, sentence=f"Nothing was imported: {first}", problems=tuple(problems))


def name_for(documents: Sequence[Document], app: App) -> str:
    """Returns a suggested name: the name of the first file, or a free name for pasted text."""
    stem = "" if documents[0].name == PASTED else file_stem(documents[0].name)
    if stem and stem not in SHIPPED_CATALOGS:
        return stem
    names = {info.name for info in app.catalogs.infos()}
    return next(name for number in count(1) if (name := f"imported-{number}") not in names)


def file_stem(name: str) -> str:
    """Returns the name of a catalog for a file name.

    >>> file_stem("my tools.v2.json"), file_stem("….json")
    ('my-tools.v2', '')
    """
    return re.sub(r"[^\w.-]+", "-", PurePath(name).stem).strip("-.")[:40]


def source_of(documents: Sequence[Document]) -> str:
    names = [document.name for document in documents]
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


PASTED = "pasted text"


NAME, REPLACE = "catalog.import.name", "catalog.import.replace"


def name_field(app: App, suggestion: str) -> tuple[str, bool]:
    """Draw the name field. Returns the name and whether it may be used. Replacing a catalog needs a tick."""
    entry = st.text_input(
        "Save as", key=NAME, placeholder=suggestion, help=f"The catalog's name. Empty: {escaped(suggestion)}.",
        width=320, max_chars=80,
    )  # fmt: skip
    name = entry.strip() or suggestion
    existing = next((info for info in app.catalogs.infos() if info.name == name), None)
    if existing is None or name in SHIPPED_CATALOGS:
        return name, True
    agreed = st.checkbox(
        f"Replace the catalog {escaped(name)} ({counted(existing.servers, 'server')}, {counted(existing.tools, 'tool')}); "
        "its calls and edited prices stay",
        key=REPLACE,
    )
    return name, agreed


def chosen_name(app: App, suggestion: str) -> str:
    """Returns the name at the time of a click, which may be newer than the drawn page.

    Raises WayfareError if a catalog has that name and the box to replace it is not ticked.
    """
    name = st.session_state.get(NAME, "").strip() or suggestion
    others = [info.name for info in app.catalogs.infos() if info.name not in SHIPPED_CATALOGS]
    if name in others and not st.session_state.get(REPLACE, False):
        raise WayfareError(f"A catalog {name} already exists. Tick the box to replace it, or choose another name.")
    return name


WAY, FILES, TEXT, READ = "catalog.import.way", "catalog.import.files", "catalog.import.text", "catalog:import.read"
UPLOAD, PASTE, FOUND = "Upload files", "Paste text", "Found on this machine"
PROBLEMS_SHOWN = 500


def source_widgets(app: App, placeholder: str) -> Reading | None:
    """Draw the upload, the text field or the list of files. Returns the read documents, or None."""
    way = st.segmented_control(
        "From", (UPLOAD, PASTE, FOUND), default=UPLOAD, key=WAY, required=True, label_visibility="collapsed"
    )
    documents = _pasted(placeholder) if way == PASTE else _found(app) if way == FOUND else _uploaded()
    if not documents:
        st.session_state.pop(READ, None)
        return None
    stored: Reading | None = st.session_state.get(READ)
    if stored is None or stored.documents != documents:
        with st.spinner("Reading and checking every entry…", show_time=True):
            stored = read_documents(app, documents)
        st.session_state[READ] = stored
    return stored


def problems(reading: Reading) -> None:
    st.error(escaped(reading.sentence, 600), icon=":material/error:")
    if len(reading.problems) > 1:
        with st.expander(f"All {len(reading.problems):,} problems"):
            st.text("\n".join(f"• {problem[:600]}" for problem in reading.problems[:PROBLEMS_SHOWN]))
            if len(reading.problems) > PROBLEMS_SHOWN:
                st.caption(f"The first {PROBLEMS_SHOWN} are listed. The others appear when these are fixed.")


def _uploaded() -> tuple[Document, ...]:
    files = st.file_uploader(
        "Files",
        type=["json", "jsonc", "toml", "md"],
        accept_multiple_files=True,
        key=FILES,
        label_visibility="collapsed",
    )
    return tuple(Document(file.name, file.getvalue()) for file in files)


def _pasted(placeholder: str) -> tuple[Document, ...]:
    text = st.text_area("Text", key=TEXT, height=190, placeholder=placeholder, label_visibility="collapsed")
    st.button("Check it", icon=":material/fact_check:", key="catalog.import.check")
    return (Document(PASTED, text),) if text.strip() else ()


def _found(app: App) -> tuple[Document, ...]:
    configs = found_configurations(app.catalogs, Path.home())
    if not configs:
        st.caption("No configuration of a known client with servers was found in the home folder of this console.")
        return ()
    words = [f"{config.client.title}: {counted(len(config.servers), 'server')}" for config in configs]
    index = st.radio(
        "Files", range(len(configs)), index=None, key="catalog.import.found", format_func=words.__getitem__,
        captions=[escaped(str(config.path), 200) for config in configs], label_visibility="collapsed",
    )  # fmt: skip
    if index is None:
        return ()
    path = configs[index].path
    return (Document(f"{configs[index].client.id}{path.suffix}", path.read_bytes(), path.parent),)


PROBLEM = "catalog:import.problem"
SERVERS_SHOWN = 5
EXAMPLE = '{"servers": [{"name": "weather", "description": "Forecasts.", "tools": [{"name": "get_forecast", …}]}]}'


@state.dialog("import", "Import a catalog", "upload_file")
def import_dialog(app: App, _shown: str) -> None:
    st.caption(
        "Takes a catalog of servers and tools, a dump of tools/list, a server.json of the MCP Registry, or the "
        "configuration of a client, as JSON or TOML of at most 64 MB, or a server's README with a list of its tools. Several files become one catalog. "
        "A document is imported completely or not at all."
    )
    source = source_widgets(app, EXAMPLE)
    if source is None:
        return
    if source.imported is None:
        problems(source)
        return
    _preview(source.imported)
    _buttons(app, source, connectable=bool(source.imported.needs_discovery))
    kept_error(PROBLEM)


def _buttons(app: App, source: Reading, *, connectable: bool) -> None:
    suggestion = name_for(source.documents, app)
    _, agreed = name_field(app, suggestion)
    with st.container(horizontal=True):
        st.button(
            "Import", type="primary", icon=":material/check:", key="catalog.import.go", **only("administer", disabled=not agreed),
            on_click=_import, args=(app, source, suggestion),
        )  # fmt: skip
        if connectable:
            st.button(
                "Connect and discover instead…", icon=":material/cable:", key="catalog.import.connect", **only("administer"),
                on_click=state.open_dialog, args=("connect",),
            )  # fmt: skip


def summary(imported: Imported) -> str:
    """Returns the content of an import in one sentence."""
    tools = [tool for server in imported.servers for tool in server.tools]
    unpriced = sum(tool.price_usd is None for tool in tools)
    parts = [counted(len(imported.servers), "server"), counted(len(tools), "tool")]
    if unpriced:
        parts.append(f"{unpriced:,} without a price")
    return f"Format {imported.format}: {', '.join(parts)}."


def remarks(imported: Imported) -> tuple[str, ...]:
    return tuple(f"{note.where}: {note.text}" for note in imported.notes)


def _preview(imported: Imported) -> None:
    st.markdown(f":green[:material/check_circle:] **{escaped(summary(imported))}**")
    if waiting := len(imported.needs_discovery):
        st.caption(
            f"{counted(waiting, 'server')} without tools in this document. "
            "Connect and discover asks the servers for them."
        )
    frame = pd.DataFrame(
        {
            "server": [server.name for server in imported.servers],
            "tools": [len(server.tools) for server in imported.servers],
            "reached by": [reached_by(server) for server in imported.servers],
        }
    )
    table(frame, most=SERVERS_SHOWN)
    if imported.notes:
        with st.expander(counted(len(imported.notes), "remark")):
            st.text("\n".join(remarks(imported)[:500]))


def _import(app: App, source: Reading, suggestion: str) -> None:
    imported = source.imported
    if imported is None:
        return
    with error_kept(PROBLEM):
        name = chosen_name(app, suggestion)
        report = app.catalog_editor.keep(imported, name, source_of(source.documents))
        begin_first_look(app, name)
        state.close_dialog()
        state.go_to(name)
        _told(imported, name, report.lint_errors)


def _told(imported: Imported, name: str, errors: int | None) -> None:
    verdict = (
        "Lint has not looked at it yet"
        if errors is None
        else f"Lint found {counted(errors, 'error') if errors else 'no errors'}"
    )
    sentence = f"Imported as {name}. {summary(imported)} {verdict}."
    state.say(sentence, remarks(imported), findings=errors != 0)
