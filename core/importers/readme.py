"""A server's README as a catalog of one server: its name, a description, and the tools that it lists (PA-RAG's data extractor).

Authors name tools in lists, tables, headings and signatures, as code or in bold, and list parameters and options in the same way. So lists
below headings that mention tools count. Without such a heading, lists after a text that mentions tools count; else all names with an
underscore, a hyphen or a capital inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from core.importers.reading import is_toml

_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)
_NAME = re.compile(r"(?:\d+[.)]\s*)?([A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*)(?:\(.*\))?:?", re.DOTALL)
_PLAIN_NAME = re.compile(r"(?:\d+[.)]\s*)?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)(?:\([^)]*\))?\s*([:–—-]\s.*|$)", re.DOTALL)
_JOINED = re.compile(r"[a-z0-9](?:[_-][A-Za-z0-9]|[A-Z])")
_AFTER_NAME = re.compile(r"^[\s:：.–—-]+")
_TOOLS = re.compile(r"\btools?\b|工具|ツール|도구|\bherramientas?\b|\boutils?\b|\bwerkzeuge?\b", re.IGNORECASE)
_OTHERS = re.compile(
    r"\b(?:param|arg|input|output|return|response|option|env|variable|config|setting|flag|prompt|resource|field|propert|require|install"
    r"|example)|参数|返回|环境变量",
    re.IGNORECASE,
)
_DESCRIBES = re.compile(r"desc|purpose|what|does|用途|说明|描述", re.IGNORECASE)
_SIGNATURE = re.compile(r"(?:async )?(?:def )?([a-z][a-z0-9]*(?:_[a-z0-9]+)+)\(")
_CONFIGURED = re.compile(r'"mcpServers"\s*:\s*\{\s*"([^"\n]{1,100})"\s*:\s*\{')
DEEPEST = 7  # below every level of a heading
LISTS = {"bullet_list", "ordered_list"}
MOST_CHARACTERS = 200_000
"""Longer documents are refused: hostile Markdown takes seconds for each 100,000."""


class _Listed(NamedTuple):
    """A listed tool. `evidence` is 2 below a heading that mentions tools, 1 after a text that mentions them, else 0."""

    name: str
    description: str
    evidence: int


def is_readme(text: str, source: str) -> bool:
    """Whether a document is Markdown: its file has such a name, or it has a heading and does not begin like JSON.

    >>> is_readme("# Files\\n\\n## Tools\\n", "text"), is_readme('{"servers": []}', "text"), is_readme("Files", "README.md")
    (True, False, True)
    """
    start = text.lstrip()[:2]
    other = is_toml(text, source) or start in {"//", "/*"} or (start[:1] in {"{", "["} and start != "[!")
    return source.lower().endswith((".md", ".markdown")) or (not other and _HEADING.search(text) is not None)


def readme_document(text: str) -> dict[str, Any]:
    """Returns the server of a README in the plain format. Its name comes from its configuration, else from its title.

    >>> readme_document("# Files MCP\\n\\nReads the files of a disk.\\n\\n## Tools\\n\\n- `read_file`: Reads a file.\\n")
    {'name': 'files-mcp', 'description': 'Reads the files of a disk.', 'tools': [{'name': 'read_file', 'description': 'Reads a file.'}]}
    """
    blocks = SyntaxTreeNode(_markdown().parse(text)).children
    listed = list(_listed(blocks))
    most = max((tool.evidence for tool in listed), default=0)
    tools: dict[str, str] = {}
    for tool in listed:
        if tool.evidence == most and (most or (tool.description and _JOINED.search(tool.name))):
            tools[tool.name] = tools.get(tool.name) or tool.description
    configured = _CONFIGURED.search(text)
    title = next((_text(block) for block in blocks if block.type == "heading"), "")
    paragraphs = (_text(block) for block in blocks if block.type == "paragraph")
    return {
        "name": configured[1] if configured else re.sub(r"\W+", "-", title.lower()).strip("-")[:60] or "readme",
        "description": next((paragraph for paragraph in paragraphs if len(paragraph.split()) > 4), ""),
        "tools": [{"name": name, "description": description} for name, description in tools.items()],
    }


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


class _Section(NamedTuple):
    """A heading with its level and the blocks below it, and the titles of its enclosing headings except the document's title."""

    level: int
    heading: SyntaxTreeNode | None
    enclosing: tuple[str, ...]
    blocks: list[SyntaxTreeNode]


def _sections(blocks: Sequence[SyntaxTreeNode]) -> Iterator[_Section]:
    section, titles = _Section(0, None, (), []), dict[int, str]()
    for block in blocks:
        if block.type == "heading":
            yield section
            level = int(block.tag[1])
            titles = {above: title for above, title in titles.items() if above < level}
            section = _Section(level, block, tuple(title for above, title in titles.items() if above > 1), [])
            titles[level] = _text(block)
        else:
            section.blocks.append(block)
    yield section


def _listed(blocks: Sequence[SyntaxTreeNode]) -> Iterator[_Listed]:
    """Yields the tools of all sections. If a heading is a tool's name, its section and all sections below describe that tool."""
    within, previous = DEEPEST, ""
    for section in _sections(blocks):
        if section.level > within:
            continue
        paragraphs = [_text(block) for block in section.blocks if block.type == "paragraph"]
        name, rest = _lead(section.heading.children[0]) if section.heading and section.level > 1 else ("", "")
        within = section.level if name else DEEPEST
        title = _text(section.heading) if section.heading else ""
        if name:
            yield _Listed(name, rest or "".join(paragraphs[:1]), _evidence(section.enclosing, previous))
        elif not _OTHERS.search(title):
            titles = (*section.enclosing, title) if section.level > 1 else ()
            yield from _of_blocks(section.blocks, titles)
        previous = "".join(paragraphs[-1:])


def _of_blocks(blocks: Sequence[SyntaxTreeNode], titles: Sequence[str]) -> Iterator[_Listed]:
    previous = ""
    undescribed: _Listed | None = None  # "10. name" whose description, indented as below "1.", is a separate list
    for block in blocks:
        evidence = _evidence(titles, previous)
        if block.type == "paragraph":
            name, rest = _lead(block.children[0])
            if name and evidence:
                yield _Listed(name, rest, evidence)
            else:
                previous = _text(block)
        elif _OTHERS.search(previous):
            previous = ""
        else:
            tools: list[_Listed] = [*_of_block(block, evidence, previous or "".join(titles[-1:]))]
            if undescribed and not tools and block.type == "bullet_list":
                tools = [undescribed._replace(description=_text(block.children[0].children[0]))]
            yield from tools
            undescribed = tools[-1] if tools and not tools[-1].description else None


def _evidence(titles: Sequence[str], previous: str) -> int:
    return 2 if any(map(_TOOLS.search, titles)) else int(_TOOLS.search(previous) is not None)


def _of_block(block: SyntaxTreeNode, evidence: int, description: str) -> Iterator[_Listed]:
    if block.type in LISTS:
        yield from _of_list(block, evidence)
    elif block.type == "table":
        yield from _of_table(block, evidence)
    elif block.type == "fence":
        lines = [line for line in block.content.splitlines() if line[:1].isalpha()]
        names = [match[1] for match in map(_SIGNATURE.match, lines) if match]
        if len(names) == len(lines):  # a list of signatures, no example
            yield from (_Listed(name, description, evidence) for name in names)


def _of_list(block: SyntaxTreeNode, evidence: int) -> Iterator[_Listed]:
    for item in block.children:
        paragraphs = [child for child in item.children if child.type == "paragraph"]
        inner = [child for child in item.children if child.type in LISTS]
        name, rest = _lead(paragraphs[0].children[0]) if paragraphs else ("", "")
        if name:
            more = (_text(child) for child in (*paragraphs[1:], *(line for child in inner for line in child.children)))
            yield _Listed(name, rest or next((text for text in more if not _OTHERS.match(text)), ""), evidence)
        elif not (paragraphs and _OTHERS.search(_text(paragraphs[0]))):
            for child in inner:
                yield from _of_list(child, evidence or int(bool(paragraphs and _TOOLS.search(_text(paragraphs[0])))))


def _of_table(block: SyntaxTreeNode, evidence: int) -> Iterator[_Listed]:
    rows = [[cell.children[0] for cell in row.children] for section in block.children for row in section.children]
    heads = [*map(_text, rows[0])]
    at = next((column for column, head in enumerate(heads) if _TOOLS.search(head)), 0)
    described = (column for column, head in enumerate(heads) if column != at and _DESCRIBES.search(head))
    text_at = next(described, at + 1)
    if text_at >= len(heads) or _OTHERS.search(heads[at]):
        return
    evidence = max(evidence, int(_TOOLS.search(heads[at]) is not None))
    names = ((_lead(row[at])[0], row) for row in rows[1:])
    yield from (_Listed(name, _text(row[text_at]), evidence) for name, row in names if name)


def _lead(inline: SyntaxTreeNode) -> tuple[str, str]:
    """Returns the name at the beginning of a text and the rest of the text. Both are empty if there is no name."""
    parts = list(inline.children)
    while parts and parts[0].type in {"text", "html_inline", "image"} and not re.search(r"[A-Za-z]", _text(parts[0])):
        del parts[0]
    if not parts:
        return "", ""
    kind, first, rest = parts[0].type, _text(parts[0]), "".join(map(_text, parts[1:]))
    if kind == "text" and (plain := _PLAIN_NAME.fullmatch(first)):
        return plain[1], _AFTER_NAME.sub("", plain[2] + rest)
    match = _NAME.fullmatch(first.strip())
    if match is None or match[1].isupper() or (kind == "text" and rest):
        return "", ""
    as_code = kind == "code_inline" or any(child.type == "code_inline" for child in parts[0].children)
    marked = as_code or (kind == "strong" and match[1].islower()) or _JOINED.search(match[1])
    return (match[1], _AFTER_NAME.sub("", rest).strip()) if marked else ("", "")


def _text(node: SyntaxTreeNode) -> str:
    """Returns the text of a node, without pictures and markup."""
    if node.type in {"text", "code_inline"}:
        return node.content
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    hidden = node.type in {"image", "html_inline", "html_block", "fence"}
    return "" if hidden else "".join(map(_text, node.children)).strip()
