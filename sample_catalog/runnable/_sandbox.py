"""The one folder on disk that servers may change, and paths that cannot leave it."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp.server.mcpserver.exceptions import ToolError
from platformdirs import user_data_dir


def sandbox_dir(*parts: str) -> Path:
    """A folder of the sandbox, made on demand: under `WAYFARE_SANDBOX`, else the user's data directory."""
    base = os.environ.get("WAYFARE_SANDBOX") or str(Path(user_data_dir("wayfare")) / "sandbox")
    folder = Path(base, *parts).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def inside(root: Path, path: str) -> Path:
    """`path` below `root` as an absolute path; refused when it leaves `root`, also by way of a symbolic link."""
    try:
        target = (root / path).resolve()
    except (ValueError, OSError, RuntimeError) as error:
        raise ToolError(f"{path!r} is not a usable path: {error}") from error
    if Path(path).is_absolute() or not target.is_relative_to(root):
        raise ToolError(f"{path!r} leads outside the sandbox; give a path relative to the sandbox folder")
    return target


def walk(folder: Path) -> Iterator[Path]:
    """Everything below `folder` in order of name, without symbolic links."""
    for path in sorted(folder.iterdir()):
        if not path.is_symlink():
            yield path
            if path.is_dir():
                yield from walk(path)


def write_atomically(target: Path, content: str) -> None:
    """Replace `target` in one step, so that a reader sees the old text or the new text and never a part."""
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@contextmanager
def plain_errors() -> Iterator[None]:
    """Turn what the file system refuses into an error that the caller can read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise ToolError("this is not a UTF-8 text file") from error
    except OSError as error:
        raise ToolError(error.strerror or str(error)) from error
