"""Notes that stay: kept in one JSON file of the sandbox."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import EmbeddedResource, TextResourceContents
from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from sample_catalog.runnable._common import (
    ADDS,
    BREAKS,
    ENSURES,
    OVERWRITES,
    READS,
    plain_errors,
    sandbox_dir,
    serve,
    write_atomically,
)

MAX_NOTES = 5_000
WRITING = Lock()

NoteId = Annotated[int, Field(description="Number of the note", ge=1)]
Title = Annotated[str, Field(description="Short title", min_length=1, max_length=200)]
Body = Annotated[str, Field(description="Text of the note, Markdown if you like", max_length=50_000)]
Tags = Annotated[Sequence[Annotated[str, Field(min_length=1, max_length=40)]], Field(description="Tags", max_length=20)]

server = MCPServer(
    "Marginalia",
    title="Marginalia",
    description="A small notebook: write notes down, tag them, find them again, change or delete them.",
    instructions="Notes survive a restart. They have a number, a title, a text and tags.",
    version="1.0.0",
    log_level="WARNING",
)


class Note(BaseModel):
    """One note."""

    id: int
    title: str
    body: str
    tags: list[str]
    created: datetime
    changed: datetime


NOTES = TypeAdapter(list[Note])


def _load() -> list[Note]:
    path = sandbox_dir() / "notes.json"
    with plain_errors():
        try:
            return NOTES.validate_json(path.read_bytes()) if path.exists() else []
        except ValidationError as error:
            raise ToolError(f"{path.name} is damaged; move it away to begin anew") from error


def _save(notes: list[Note]) -> None:
    with plain_errors():
        content = json.dumps(NOTES.dump_python(notes, mode="json"), ensure_ascii=False, indent=1)
        write_atomically(sandbox_dir() / "notes.json", content)


def _get(notes: list[Note], note_id: int) -> Note:
    for note in notes:
        if note.id == note_id:
            return note
    raise ToolError(f"there is no note {note_id}")


def _clean(tags: Sequence[str]) -> list[str]:
    return sorted({tag.strip().lower() for tag in tags if tag.strip()})


@server.tool(title="Create a note", annotations=ADDS)
def create_note(title: Title, body: Body = "", tags: Tags = ()) -> Note:
    """Write down a new note with a title, a text and tags."""
    with WRITING:
        notes = _load()
        if len(notes) >= MAX_NOTES:
            raise ToolError(f"the notebook is full ({MAX_NOTES} notes)")
        now = datetime.now(UTC)
        number = max((note.id for note in notes), default=0) + 1
        note = Note(id=number, title=title, body=body, tags=_clean(tags), created=now, changed=now)
        _save([*notes, note])
    return note


@server.tool(title="Read a note", annotations=READS)
def read_note(note_id: NoteId) -> Note:
    """Show one note in full."""
    return _get(_load(), note_id)


@server.tool(title="List notes", annotations=READS)
def list_notes(
    tag: Annotated[str, Field(description="Only notes with this tag; empty for all")] = "",
    order: Annotated[Literal["newest", "oldest", "title"], Field(description="Order of the list")] = "newest",
    count: Annotated[int, Field(description="Most notes to list", ge=1, le=500)] = 50,
) -> list[Note]:
    """List the notes, newest first, optionally only those with a tag."""
    found = [note for note in _load() if not tag or tag.strip().lower() in note.tags]
    found.sort(key=(lambda note: note.title.casefold()) if order == "title" else (lambda note: note.changed))
    return (found[::-1] if order == "newest" else found)[:count]


@server.tool(title="Search notes", annotations=READS)
def search_notes(words: Annotated[str, Field(description="Words that must all occur", min_length=1)]) -> list[Note]:
    """Find saved notes whose title, text or tags contain all the given words."""
    wanted = words.casefold().split()

    def fits(note: Note) -> bool:
        text = " ".join([note.title, note.body, *note.tags]).casefold()
        return all(word in text for word in wanted)

    return [note for note in _load() if fits(note)]


@server.tool(title="Change a note", annotations=BREAKS)
def update_note(
    note_id: NoteId,
    title: Annotated[str, Field(description="New title; empty keeps the old one", max_length=200)] = "",
    body: Annotated[str, Field(description="New text; empty keeps the old one", max_length=50_000)] = "",
    append: Annotated[bool, Field(description="Add the text at the end instead of replacing")] = False,
) -> Note:
    """Change the title or text of a note, or add text at its end."""
    with WRITING:
        notes = _load()
        note = _get(notes, note_id)
        note.title = title or note.title
        if body:
            note.body = f"{note.body}\n{body}" if append else body
        note.changed = datetime.now(UTC)
        _save(notes)
    return note


@server.tool(title="Tag a note", annotations=ENSURES)
def tag_note(
    note_id: NoteId,
    add: Annotated[Sequence[str], Field(description="Tags to put on")] = (),
    remove: Annotated[Sequence[str], Field(description="Tags to take off")] = (),
) -> list[str]:
    """Put tags on a note or take them off; returns its tags afterwards."""
    with WRITING:
        notes = _load()
        note = _get(notes, note_id)
        note.tags = [tag for tag in _clean([*note.tags, *add]) if tag not in _clean(remove)]
        _save(notes)
    return note.tags


@server.tool(title="Delete a note", annotations=OVERWRITES)
def delete_note(note_id: NoteId) -> str:
    """Throw a note away for good."""
    with WRITING:
        notes = _load()
        note = _get(notes, note_id)
        _save([other for other in notes if other.id != note_id])
    return f"deleted note {note_id}: {note.title}"


@server.tool(title="Export notes", annotations=READS)
def export_notes(
    tag: Annotated[str, Field(description="Only notes with this tag; empty for all")] = "",
) -> EmbeddedResource:
    """Export the notes as one Markdown document."""
    parts = ["# Notes"]
    for note in _load():
        if not tag or tag.strip().lower() in note.tags:
            marks = f"\n\n*{', '.join(note.tags)}*" if note.tags else ""
            parts.append(f"## {note.title}{marks}\n\n{note.body}".rstrip())
    text = "\n\n".join(parts) + "\n"
    return EmbeddedResource(
        resource=TextResourceContents(uri="notes://export.md", mime_type="text/markdown", text=text)
    )


if __name__ == "__main__":
    serve(server)
