"""The internals of Streamlit, the page host, that Wayfare uses for want of a public way. No other module uses them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from streamlit import config, file_util
from streamlit.delta_generator import DeltaGenerator
from streamlit.elements.lib.grid_container import GridContainer
from streamlit.errors import StreamlitAPIException
from streamlit.navigation.page import StreamlitPage
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

__all__ = ["DeltaGenerator", "GridContainer", "StreamlitAPIException", "StreamlitPage"]

CONFIG = Path(__file__).parents[1] / ".streamlit" / "config.toml"
STREAM = "/_stcore/stream"  # the websocket of an open page
EVERYWHERE = ("Html", "PageLink", "TextInput", "Selectbox", "Button", "BidiComponent")
"""The scripts that a browser would ask for after the first message only, and every view needs."""

_FOLDER = Path(file_util.get_static_dir())
_FILES = frozenset(f"/{file.relative_to(_FOLDER).as_posix()}" for file in _FOLDER.rglob("*") if file.is_file())
_ADDRESSES = re.compile(
    r"/(_stcore/(health|metrics|host-config|stream|(upload_file|bidi-components|agent)/.+)|(media|component)/.+"
    r"|auth/(login|logout)|oauth2callback)"
)
_IMPORTED = re.compile(r"""(?:from|import)"\./([\w.-]+\.js)\"""")


def has_address(path: str) -> bool:
    """Tells whether an address is a route of the page host or one of its files.

    >>> [has_address(path) for path in ("/favicon.png", "/_stcore/health", "/sse", "/static/no.js")]
    [True, True, False, False]
    """
    return _ADDRESSES.fullmatch(path) is not None or path in _FILES


def scripts_of_every_view() -> list[str]:
    """Returns the names of the scripts that every view needs, and of their imports that the document does not name."""
    scripts, document = _FOLDER / "static" / "js", (_FOLDER / "index.html").read_text(encoding="utf-8")
    names = [file.name for name in EVERYWHERE for file in scripts.glob(f"{name}.*.js")]
    for name in names:  # the list grows
        imports = _IMPORTED.findall((scripts / name).read_text(encoding="utf-8"))
        names += [script for script in dict.fromkeys(imports) if script not in document and script not in names]
    return names


def load_config() -> None:
    """Apply our .streamlit/config.toml, whatever the working directory is. Without it the console does not start, as a browser would
    send statistics."""
    flags = dict(_options(tomllib.loads(CONFIG.read_text(encoding="utf-8"))))
    config.get_config_options(force_reparse=True, options_from_flags=flags)


def _options(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _options(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def leave_packages_alone() -> None:
    """Let the page host look for no scripts in dashboard/pages, which has packages."""
    PagesManager.uses_pages_directory = False


def visitor() -> str:
    """Returns the id of the browser tab that shows the page, or "" outside a page."""
    run = get_script_run_ctx(suppress_warning=True)
    return "" if run is None else run.session_id


def moved_in_history() -> bool:
    """Tells whether Back or Forward led to this run of a page."""
    run = get_script_run_ctx(suppress_warning=True)
    return run is not None and run.is_history_navigation


def draws_whole_page() -> bool:
    """Tells whether this run draws the whole page, not fragments alone."""
    run = get_script_run_ctx(suppress_warning=True)
    return run is not None and not run.fragment_ids_this_run
