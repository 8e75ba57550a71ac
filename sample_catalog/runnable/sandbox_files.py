"""Files in one sandbox folder: nothing outside it can be read or changed."""

import base64
import hashlib
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import BlobResourceContents, EmbeddedResource, ResourceLink, TextResourceContents
from pydantic import BaseModel, Field

from sample_catalog.runnable._common import (
    ADDS,
    BREAKS,
    ENSURES,
    OVERWRITES,
    READS,
    inside,
    plain_errors,
    sandbox_dir,
    serve,
    walk,
    write_atomically,
)

MAX_BYTES = 1_000_000
EXAMPLES = {
    "welcome.txt": "This folder is yours.\nEverything that the file tools read or write lives here.\n",
    "shopping.csv": "item,quantity,price\napples,6,0.40\nbread,1,2.80\ncheese,2,4.25\n",
    "notes/ideas.md": "# Ideas\n\n- plant tomatoes in April\n- ask Mara about the bicycle\n",
}

File = Annotated[str, Field(description="File, as a path relative to the sandbox, for example notes/ideas.md")]
Folder = Annotated[str, Field(description="Folder, as a path relative to the sandbox; '.' is the sandbox itself")]
Content = Annotated[str, Field(description="Text to write, UTF-8", max_length=MAX_BYTES)]


def root() -> Path:
    """The folder that this server shows."""
    return sandbox_dir("files")


@asynccontextmanager
async def lifespan(_: MCPServer) -> AsyncIterator[None]:
    """Put a few example files into an empty sandbox."""
    if not any(root().iterdir()):
        for name, text in EXAMPLES.items():
            path = root() / name
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, text)
    yield


server = MCPServer(
    "sandbox-files",
    title="Sandbox files",
    description="Read, write, search, move and delete files inside one private sandbox folder.",
    instructions="Paths are relative to the sandbox. Absolute paths, '..' and links that leave it are refused.",
    version="1.0.0",
    lifespan=lifespan,
    log_level="WARNING",
)


class Entry(BaseModel):
    """One file or folder."""

    path: str
    kind: Literal["file", "folder"]
    size_bytes: int
    modified: datetime


class Hit(BaseModel):
    """One line that contains the text searched for."""

    path: str
    line: int
    text: str


def _entry(path: Path) -> Entry:
    stat = path.stat()
    return Entry(
        path=path.relative_to(root()).as_posix(),
        kind="folder" if path.is_dir() else "file",
        size_bytes=0 if path.is_dir() else stat.st_size,
        modified=datetime.fromtimestamp(stat.st_mtime, UTC),
    )


def _small_file(path: str) -> Path:
    target = inside(root(), path)
    if not target.is_file():
        raise ToolError(f"there is no file {path!r}")
    if target.stat().st_size > MAX_BYTES:
        raise ToolError(f"{path!r} is larger than {MAX_BYTES} bytes")
    return target


@server.tool(title="List a folder", annotations=READS)
def list_directory(path: Folder = ".") -> list[Entry]:
    """List the files and folders directly inside a folder, with size and time of last change."""
    with plain_errors():
        return [_entry(child) for child in sorted(inside(root(), path).iterdir()) if not child.is_symlink()]


@server.tool(title="Read a text file", annotations=READS)
def read_text_file(
    path: File,
    first_line: Annotated[int, Field(description="First line to return, counted from 1", ge=1)] = 1,
    line_count: Annotated[int, Field(description="How many lines to return", ge=1, le=10_000)] = 2_000,
) -> str:
    """Read a UTF-8 text file from the sandbox, whole or a range of its lines."""
    with plain_errors():
        lines = _small_file(path).read_text(encoding="utf-8").splitlines(keepends=True)
    return "".join(lines[first_line - 1 : first_line - 1 + line_count])


@server.tool(title="Write a text file", annotations=OVERWRITES)
def write_text_file(path: File, content: Content) -> Entry:
    """Create a text file or replace the whole content of an existing one; missing folders are made."""
    with plain_errors():
        target = inside(root(), path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(target, content)
        return _entry(target)


@server.tool(title="Append to a file", annotations=ADDS)
def append_to_file(path: File, content: Content) -> Entry:
    """Add text at the end of an existing file."""
    with plain_errors():
        target = _small_file(path)
        with target.open("a", encoding="utf-8", newline="") as file:
            file.write(content)
        return _entry(target)


@server.tool(title="Make a folder", annotations=ENSURES)
def make_directory(path: Folder) -> Entry:
    """Create a folder, with the folders above it; nothing happens when it is already there."""
    with plain_errors():
        target = inside(root(), path)
        target.mkdir(parents=True, exist_ok=True)
        return _entry(target)


@server.tool(title="Move or rename", annotations=BREAKS)
def move_path(
    source: Annotated[str, Field(description="What to move, relative to the sandbox")],
    destination: Annotated[str, Field(description="New path, relative to the sandbox; it must not exist yet")],
) -> Entry:
    """Move or rename a file or folder inside the sandbox without overwriting anything."""
    with plain_errors():
        old, new = inside(root(), source), inside(root(), destination)
        if old == root() or new.exists():
            raise ToolError(
                "the sandbox itself cannot be moved" if old == root() else f"{destination!r} exists already"
            )
        new.parent.mkdir(parents=True, exist_ok=True)
        return _entry(old.rename(new))


@server.tool(title="Delete", annotations=OVERWRITES)
def delete_path(path: Annotated[str, Field(description="File or empty folder, relative to the sandbox")]) -> str:
    """Delete one file or one empty folder for good."""
    with plain_errors():
        target = inside(root(), path)
        if target == root():
            raise ToolError("the sandbox itself cannot be deleted")
        if target.is_dir():
            target.rmdir()
        else:
            target.unlink()
    return f"deleted {path}"


@server.tool(title="Find files by name", annotations=READS)
def find_files(
    pattern: Annotated[str, Field(description="Name pattern with * and ?, for example *.csv")],
    path: Folder = ".",
) -> list[Entry]:
    """Find files below a folder whose name fits a wildcard pattern (at most 200)."""
    with plain_errors():
        found = [item for item in walk(inside(root(), path)) if item.is_file() and fnmatch(item.name, pattern)]
        return [_entry(item) for item in found[:200]]


@server.tool(title="Search inside files", annotations=READS)
def search_in_files(
    text: Annotated[str, Field(description="Text to look for; capitals make no difference", min_length=1)],
    path: Folder = ".",
) -> list[Hit]:
    """Search the content of all text files below a folder and return the matching lines (at most 100)."""
    hits: list[Hit] = []
    with plain_errors():
        for item in walk(inside(root(), path)):
            if item.is_file() and item.stat().st_size <= MAX_BYTES:
                lines = item.read_text(encoding="utf-8", errors="replace").splitlines()
                name = item.relative_to(root()).as_posix()
                matching = (
                    (number, line) for number, line in enumerate(lines, 1) if text.casefold() in line.casefold()
                )
                hits += [Hit(path=name, line=number, text=line[:300]) for number, line in matching]
    return hits[:100]


@server.tool(title="File checksum", annotations=READS)
def file_checksum(
    path: File,
    algorithm: Annotated[Literal["sha256", "sha1", "md5"], Field(description="Hash function")] = "sha256",
) -> str:
    """Compute the hash of a file's bytes as hexadecimal digits."""
    with plain_errors():
        return hashlib.new(algorithm, _small_file(path).read_bytes(), usedforsecurity=False).hexdigest()


@server.tool(title="Attach a file", annotations=READS)
def attach_file(path: File) -> EmbeddedResource:
    """Return a whole file, text or binary, as an embedded resource with its media type."""
    with plain_errors():
        data = _small_file(path).read_bytes()
    uri, mime = f"sandbox://files/{path}", mimetypes.guess_type(path)[0] or "application/octet-stream"
    try:
        return EmbeddedResource(resource=TextResourceContents(uri=uri, mime_type=mime, text=data.decode("utf-8")))
    except UnicodeDecodeError:
        blob = base64.b64encode(data).decode()
        return EmbeddedResource(resource=BlobResourceContents(uri=uri, mime_type=mime, blob=blob))


@server.tool(title="Link to a file", annotations=READS)
def link_file(path: File) -> ResourceLink:
    """Return a link to a file without its content, to be read later as a resource."""
    with plain_errors():
        target = _small_file(path)
        mime = mimetypes.guess_type(path)[0] or "application/octet-stream"
        uri = f"sandbox://files/{target.relative_to(root()).as_posix()}"
        return ResourceLink(name=target.name, uri=uri, mime_type=mime, size=target.stat().st_size)


@server.resource("sandbox://files/{+path}", title="A sandbox file", mime_type="text/plain")
def file_resource(path: str) -> str:
    """The text of one file of the sandbox."""
    return read_text_file(path)


if __name__ == "__main__":
    serve(server)
