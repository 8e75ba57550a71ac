"""The release of the MCP SDK that is installed still has what Wayfare takes from inside it."""

from __future__ import annotations

import re
from importlib import import_module
from importlib.metadata import version
from inspect import iscoroutinefunction
from pathlib import Path

import core

INSIDE = (
    ("mcp.client.session", "DISCOVER_TIMEOUT_SECONDS"), ("mcp.client.auth", "OAuthClientProvider._refresh_token"),
    ("mcp.client.auth", "OAuthClientProvider._perform_authorization"), ("mcp.os.posix.utilities", "terminate_posix_process_tree"),
    *(("mcp.os.win32.utilities", name) for name in (
        "FallbackProcess", "close_process_job", "create_windows_process", "get_windows_executable_command",
        "terminate_windows_process_tree",
    )),
)  # fmt: skip


def test_the_installed_release_has_all_that_is_taken_from_inside_it() -> None:
    for module, path in INSIDE:
        found: object = None
        try:
            found = import_module(module)
            for name in path.split("."):
                found = getattr(found, name)
        except (ImportError, AttributeError):
            raise AssertionError(
                f"mcp {version('mcp')} has no {module}.{path} any more: see core/servers/sdk.py"
            ) from None
        assert iscoroutinefunction(found) or not path.startswith("OAuth"), f"mcp {version('mcp')} changed {path}"


def test_no_other_module_of_ours_reaches_inside() -> None:
    inside = re.compile(
        r"from mcp\.os\b|\bDISCOVER_TIMEOUT_SECONDS\b|\._(refresh_token|perform_authorization|transport)\b|\b(from|import) mcp\.(\w+\.)*_"
    )
    root = Path(core.__file__).parent
    found = {
        str(file.relative_to(root)) for file in root.rglob("*.py") if inside.search(file.read_text(encoding="utf-8"))
    }
    assert found == {"servers/sdk.py"}
