"""The texts of tools and servers that are embedded, view by view, and ToolShed's enriched documents. Pure functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from core.domain.catalog import Server, Tool, first_sentence, words
from core.domain.english import base_form
from core.domain.tools import mapping, properties
from core.relevance.lexical import terms

FULL_CHARACTERS = 1000  # about the 256 tokens of MiniLM's window
PARAMETER_CHARACTERS = 100  # of a parameter's description
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
    """The tool's own description f_ij, the paper's text, at most 1,000 characters.

    >>> description(Tool("files", "read_text", " Reads a file. "))
    'Reads a file.'
    """
    return tool.description.strip()[:FULL_CHARACTERS]


def parameters(tool: Tool) -> str:
    """The parameters' names and descriptions, at most 1,000 characters; empty without declared parameters.

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
    for name, details in properties(schema).items():
        described = mapping(details).get("description")
        text = described.strip()[:PARAMETER_CHARACTERS] if isinstance(described, str) else ""
        yield f"{words(str(name))}: {text}" if text else words(str(name))


TOOL_VIEWS: Mapping[str, Callable[[Tool], str]] = MappingProxyType(
    {"names": names, "full": full, "description": description, "parameters": parameters}
)
# their mean shows equal tools on any server: docs/decisions/0007-map.md
MEANING_VIEWS = ("full", "description", "parameters")
SERVER_VIEWS: Mapping[str, Callable[[Server], str]] = MappingProxyType({"profile": profile, "summary": summary})


def own_text(tool: Tool) -> str:
    """A tool's name as words and its description, without its server.

    >>> own_text(Tool("files", "read_file", "Reads a file."))
    'read file: Reads a file.'
    """
    return f"{words(tool.name)}: {tool.description.strip()}"[:FULL_CHARACTERS]


def tool_name(tool: Tool) -> str:
    return words(tool.name)


VIEWS: dict[str, Callable[[Tool], str]] = {"full": full, "own": own_text, "tool": tool_name}


# ToolShed's enriched document, made by rules
#     name, description, parameters, hypothetical questions, key topics                 ToolShed, as ETOM (C.2) takes it
# In the paper a model writes the questions. Here the description's first sentence becomes a request, because people ask "how do I list
# the open issues", and descriptions say "Lists the open issues".

DESCRIPTION_CHARACTERS = 500
PART_CHARACTERS = 150
QUESTION_CHARACTERS = 120
TOPICS = 8


def enriched(tool: Tool) -> str:
    """The document as a text, at most about 1,000 characters. Missing parts are left out.

    >>> enriched(Tool("hub", "list_issues", "Lists open issues.", input_schema={"properties": {"repo": {}}}))
    'hub list issues: Lists open issues. repo. How do I list open issues? Please list issues by repo. list, issues, lists, open'
    """
    parts = (
        f"{words(tool.server)} {words(tool.name)}: {tool.description.strip()[:DESCRIPTION_CHARACTERS]}",
        _sentence(", ".join(_arguments(tool))[:PART_CHARACTERS]),
        questions(tool),
        ", ".join(topics(tool))[:PART_CHARACTERS],
    )
    return " ".join(part for part in parts if part)


def questions(tool: Tool) -> str:
    does = imperative(first_sentence(tool.description, QUESTION_CHARACTERS)) or words(tool.name).lower()
    arguments = [name.lower() for name in _arguments(tool)[:2]]
    by = f" by {' and '.join(arguments)}" if arguments else ""
    return f"How do I {does}? Please {words(tool.name).lower()}{by}."


def topics(tool: Tool) -> list[str]:
    all_terms = terms(f"{words(tool.server)} {words(tool.name)} {tool.description[:DESCRIPTION_CHARACTERS]}")
    return list(dict.fromkeys(term for term in all_terms if len(term) > 3))[:TOPICS]


def imperative(sentence: str) -> str:
    """The sentence of a description as a request.

    >>> [imperative(text) for text in ("Searches the web.", "Get a file", "Tries it", "")]
    ['search the web', 'get a file', 'try it', '']
    """
    first, _, rest = sentence.strip().partition(" ")
    return f"{base_form(first.lower())} {rest}".strip(" .:;!?")


def _arguments(tool: Tool) -> list[str]:
    return [words(str(name)) for name in properties(tool.input_schema)]


def _sentence(text: str) -> str:
    return f"{text}." if text else ""
