"""The base of relative paths in a document: its folder, and the variables of editors."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from core.importers.entry import Entry

EDITOR_VARIABLES = frozenset(
    {"workspaceFolder", "workspaceFolderBasename", "workspaceRoot", "userHome", "pathSeparator", "cwd"}
)
_EDITOR_VARIABLE = re.compile(rf"\$\{{({'|'.join(EDITOR_VARIABLES)}|/)\}}")
_HOME = re.compile(r"\A(--?[\w-]+=)?~(?=[/\\]|\Z)")


def expanded(entry: Entry, text: str) -> str:
    """A text with the variables of editors and a leading `~` written out, if the folder of its document is known."""
    folder = entry.reading.folder
    if folder is None:
        return text
    workspace = folder.parent if folder.name.startswith(".") else folder  # .vscode, .cursor
    known = {
        "workspaceFolder": workspace,
        "workspaceFolderBasename": workspace.name,
        "workspaceRoot": workspace,
        "cwd": workspace,
    }
    known |= {"userHome": Path.home(), "pathSeparator": os.sep, "/": os.sep}
    text = _EDITOR_VARIABLE.sub(lambda found: str(known[found[1]]), text)
    return _HOME.sub(lambda found: f"{found[1] or ''}{Path.home()}", text)


def placed(folder: Path | None, command: str, arguments: Sequence[str], cwd: str) -> tuple[str, Sequence[str], str]:
    """The command, its arguments and the working directory, which is the folder of the document if the entry names none. That of an
    editor's settings gives way to the folder above, if what the entry names is there."""
    if folder is None:
        return command, arguments, cwd
    bases = (folder, *((folder.parent,) if folder.name.startswith(".") else ()))
    words = [word for word in (cwd, command, *arguments) if word and not word.startswith("-")]
    base = next((one for word in words for one in bases if _exists(one / word)), folder)
    place = base / cwd if "${" not in cwd[:2] else Path(cwd)
    there = place / command if _exists(place / command) else base / command
    named = "/" in command or os.sep in command or (_exists(there) and not shutil.which(command))
    if named and "${" not in command[:2]:
        command = os.path.normpath(there)
    moved = {one for one in arguments if re.search(r"[/\\.]", one) and not _exists(place / one) and _exists(base / one)}
    return command, [str(base / one) if one in moved else one for one in arguments], os.path.normpath(place)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
