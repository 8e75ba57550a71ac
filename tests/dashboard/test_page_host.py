"""The release of Streamlit that is installed still has the internals that Wayfare uses."""

from __future__ import annotations

import re
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from pkgutil import resolve_name

import dashboard

INSIDE = (
    ("streamlit.delta_generator", "DeltaGenerator"), ("streamlit.elements.lib.grid_container", "GridContainer"),
    ("streamlit.navigation.page", "StreamlitPage"), ("streamlit.runtime.pages_manager", "PagesManager.uses_pages_directory"),
    ("streamlit.runtime.scriptrunner", "get_script_run_ctx"), ("streamlit.file_util", "get_static_dir"),
    ("streamlit.config", "get_config_options"),
)  # fmt: skip


def test_the_installed_release_has_all_that_is_taken_from_inside_it() -> None:
    installed = f"Streamlit {version('streamlit')}"
    for module, path in INSIDE:
        try:
            resolve_name(f"{module}:{path}")
        except (ImportError, AttributeError):
            raise AssertionError(f"{installed} has no {module}.{path} any more: see dashboard/page_host.py") from None
    from streamlit.config import get_config_options
    from streamlit.runtime.scriptrunner import ScriptRunContext

    run = {*ScriptRunContext.__dataclass_fields__, *vars(ScriptRunContext)}
    assert {"session_id", "is_history_navigation"} <= run, f"{installed} changed its context of a run"
    assert {"force_reparse", "options_from_flags"} <= set(signature(get_config_options).parameters), installed


def test_no_other_module_of_ours_reaches_inside() -> None:
    inside = re.compile(
        r"(from|import) streamlit\.(?!components\.v2|components import v2|column_config|typing)|from streamlit import (?!column_config$)|/_stcore/",
        re.MULTILINE,
    )
    root = Path(dashboard.__file__).parent
    modules = {
        str(file.relative_to(root))
        for file in root.rglob("*.py")
        if inside.search("\n".join(line for line in file.read_text(encoding="utf-8").splitlines() if ">>>" not in line))
    }
    assert modules == {"page_host.py"}
