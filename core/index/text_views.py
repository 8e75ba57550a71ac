"""The texts of a tool and of a server that are embedded apart: no single text wins on every catalog. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, cast

from core.domain.catalog import Server, Tool, words

FULL_CHARACTERS = 1000  # about the 256 tokens of MiniLM's window
PARAMETER_CHARACTERS = 100  # of one parameter's description
SUMMARY_CHARACTERS = 1500


def names(tool: Tool) -> str:
    """The words of the server's and the tool's names.

    >>> names(Tool("word-document-server", "addPicture"))
    'word document server add Picture'
    """
    return f"{words(tool.server)} {words(tool.name)}"


def full(tool: Tool) -> str:
    """Server, tool name and description, at most 1,000 characters.

    >>> full(Tool("files", "read_text", "Reads a file."))
    'files read text: Reads a file.'
    """
    return f"{names(tool)}: {tool.description.strip()}"[:FULL_CHARACTERS]


def description(tool: Tool) -> str:
    """The tool's own description f_ij, at most 1,000 characters: the paper's text.

    >>> description(Tool("files", "read_text", " Reads a file. "))
    'Reads a file.'
    """
    return tool.description.strip()[:FULL_CHARACTERS]


def parameters(tool: Tool) -> str:
    """The parameters' names and descriptions, at most 1,000 characters; empty where the schema declares none.

    >>> parameters(Tool("a", "b", input_schema={"properties": {"filePath": {"description": "What to read"}, "odd": 7}}))
    'file Path: What to read; odd'
    """
    return "; ".join(_parameters(tool.input_schema))[:FULL_CHARACTERS]


def profile(server: Server) -> str:
    """The server's own text f_i (`Server.profile`), at most 1,500 characters.

    >>> profile(Server("my-files", "Local files."))
    'my files: Local files.'
    """
    return server.profile()[:SUMMARY_CHARACTERS]


def summary(server: Server) -> str:
    """The server's name with its tools' names, at most 1,500 characters.

    >>> summary(Server("files", tools=(Tool("files", "read_text"), Tool("files", "list"))))
    'files: read text, list'
    """
    return f"{words(server.name)}: {', '.join(words(tool.name) for tool in server.tools)}"[:SUMMARY_CHARACTERS]


def _parameters(schema: object) -> Iterator[str]:
    declared = cast(Mapping[str, Any], schema).get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(declared, Mapping):
        return
    for name, details in cast(Mapping[Any, Any], declared).items():
        described = cast(Mapping[str, Any], details).get("description") if isinstance(details, Mapping) else None
        text = described.strip()[:PARAMETER_CHARACTERS] if isinstance(described, str) else ""
        yield f"{words(str(name))}: {text}" if text else words(str(name))


TOOL_VIEWS: Mapping[str, Callable[[Tool], str]] = MappingProxyType(
    {"names": names, "full": full, "description": description, "parameters": parameters}
)
# the mean of these says which tools do the same, whoever offers them: docs/decisions/0007-map.md
MEANING = "meaning"
MEANING_VIEWS = ("full", "description", "parameters")
SERVER_VIEWS: Mapping[str, Callable[[Server], str]] = MappingProxyType({"profile": profile, "summary": summary})
