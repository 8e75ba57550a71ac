"""A server's README as a catalog of one server: its name, a description, and the tools that it lists (PA-RAG's data extractor).

Authors name tools in lists, tables, headings and signatures, as code or in bold, and list parameters and options in the same way. So the lists
below headings that speak of tools count; without such a heading, those after words that speak of tools; else all names with an underscore, a
hyphen or a capital inside.
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
"""The rest of a longer README is not read: hostile Markdown takes seconds for each 100,000."""


class _Listed(NamedTuple):
    """A tool as it is listed. `told` is 2 below a heading that speaks of tools, 1 after words that do, else 0."""

    name: str
    description: str
    told: int


def is_readme(text: str, source: str) -> bool:
    """Whether a document is Markdown: by its file's name, or because it has a heading and does not begin like JSON.

    >>> is_readme("# Files\\n\\n## Tools\\n", "text"), is_readme('{"servers": []}', "text"), is_readme("Files", "README.md")
    (True, False, True)
    """
    start = text.lstrip()[:2]
    other = is_toml(text, source) or (start[:1] in {"{", "["} and start != "[!")
    return source.lower().endswith((".md", ".markdown")) or (not other and _HEADING.search(text) is not None)


def readme_document(text: str) -> dict[str, Any]:
    """The server of a README in the plain format. Its name is that of its configuration, if there is one, else its title's.

    >>> readme_document("# Files MCP\\n\\nReads the files of a disk.\\n\\n## Tools\\n\\n- `read_file`: Reads a file.\\n")
    {'name': 'files-mcp', 'description': 'Reads the files of a disk.', 'tools': [{'name': 'read_file', 'description': 'Reads a file.'}]}
    """
    text = text[:MOST_CHARACTERS]
    blocks = SyntaxTreeNode(_markdown().parse(text)).children
    listed = list(_listed(blocks))
    most = max((one.told for one in listed), default=0)
    kept = [one for one in listed if one.told == most and (most or (one.description and _JOINED.search(one.name)))]
    tools: dict[str, str] = {}
    for one in kept:
        tools[one.name] = tools.get(one.name) or one.description
    configured = _CONFIGURED.search(text)
    title = next((_text(block) for block in blocks if block.type == "heading"), "")
    paragraphs = (_text(block) for block in blocks if block.type == "paragraph")
    return {
        "name": configured[1] if configured else re.sub(r"\W+", "-", title.lower()).strip("-")[:60] or "readme",
        "description": next((said for said in paragraphs if len(said.split()) > 4), ""),
        "tools": [{"name": name, "description": said} for name, said in tools.items()],
    }


@cache
def _markdown() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


class _Section(NamedTuple):
    """A heading with its level and the blocks below it, and the titles of the headings that enclose it, without the document's."""

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
    """Yields the tools of all sections. A section whose heading is a tool's name is that tool's, with all sections below it."""
    within, before = DEEPEST, ""
    for section in _sections(blocks):
        if section.level > within:
            continue
        said = [_text(block) for block in section.blocks if block.type == "paragraph"]
        name, rest = _lead(section.heading.children[0]) if section.heading and section.level > 1 else ("", "")
        within = section.level if name else DEEPEST
        title = _text(section.heading) if section.heading else ""
        if name:
            yield _Listed(name, rest or "".join(said[:1]), _told(section.enclosing, before))
        elif not _OTHERS.search(title):
            titles = (*section.enclosing, title) if section.level > 1 else ()
            yield from _of_blocks(section.blocks, titles)
        before = "".join(said[-1:])


def _of_blocks(blocks: Sequence[SyntaxTreeNode], titles: Sequence[str]) -> Iterator[_Listed]:
    before = ""
    unsaid: _Listed | None = None  # "10. name" whose words, indented as below "1.", are a list of their own
    for block in blocks:
        told = _told(titles, before)
        if block.type == "paragraph":
            name, rest = _lead(block.children[0])
            if name and told:
                yield _Listed(name, rest, told)
            else:
                before = _text(block)
        elif _OTHERS.search(before):
            before = ""
        else:
            made: list[_Listed] = [*_of_block(block, told, before or "".join(titles[-1:]))]
            if unsaid and not made and block.type == "bullet_list":
                made = [unsaid._replace(description=_text(block.children[0].children[0]))]
            yield from made
            unsaid = made[-1] if made and not made[-1].description else None


def _told(titles: Sequence[str], before: str) -> int:
    return 2 if any(map(_TOOLS.search, titles)) else int(_TOOLS.search(before) is not None)


def _of_block(block: SyntaxTreeNode, told: int, about: str) -> Iterator[_Listed]:
    if block.type in LISTS:
        yield from _of_list(block, told)
    elif block.type == "table":
        yield from _of_table(block, told)
    elif block.type == "fence":
        lines = [line for line in block.content.splitlines() if line[:1].isalpha()]
        found = [match[1] for match in map(_SIGNATURE.match, lines) if match]
        if len(found) == len(lines):  # a list of signatures, no example
            yield from (_Listed(name, about, told) for name in found)


def _of_list(block: SyntaxTreeNode, told: int) -> Iterator[_Listed]:
    for item in block.children:
        said = [part for part in item.children if part.type == "paragraph"]
        inner = [part for part in item.children if part.type in LISTS]
        name, rest = _lead(said[0].children[0]) if said else ("", "")
        if name:
            more = (_text(part) for part in (*said[1:], *(line for part in inner for line in part.children)))
            yield _Listed(name, rest or next((one for one in more if not _OTHERS.match(one)), ""), told)
        elif not (said and _OTHERS.search(_text(said[0]))):
            for part in inner:
                yield from _of_list(part, told or int(bool(said and _TOOLS.search(_text(said[0])))))


def _of_table(block: SyntaxTreeNode, told: int) -> Iterator[_Listed]:
    titles, *rows = ([cell.children[0] for cell in row.children] for part in block.children for row in part.children)
    heads = [_text(cell) for cell in titles]
    named = next((at for at, head in enumerate(heads) if _TOOLS.search(head)), 0)
    described = next((at for at, head in enumerate(heads) if at != named and _DESCRIBES.search(head)), named + 1)
    if described >= len(heads) or _OTHERS.search(heads[named]):
        return
    for row in rows:
        name, _ = _lead(row[named])
        if name:
            yield _Listed(name, _text(row[described]), max(told, int(_TOOLS.search(heads[named]) is not None)))


def _lead(inline: SyntaxTreeNode) -> tuple[str, str]:
    """The name that a text begins with, and the rest of the text. Both are empty if it begins with no name."""
    parts = list(inline.children)
    while parts and parts[0].type in {"text", "html_inline", "image"} and not re.search(r"[A-Za-z]", _text(parts[0])):
        del parts[0]
    if not parts:
        return "", ""
    kind, first, rest = parts[0].type, _text(parts[0]), "".join(map(_text, parts[1:]))
    if kind == "text" and (plain := _PLAIN_NAME.fullmatch(first)):
        return plain[1], _AFTER_NAME.sub("", plain[2] + rest)
    found = _NAME.fullmatch(first.strip())
    if found is None or found[1].isupper() or (kind == "text" and rest):
        return "", ""
    as_code = kind == "code_inline" or any(part.type == "code_inline" for part in parts[0].children)
    marked = as_code or (kind == "strong" and found[1].islower()) or _JOINED.search(found[1])
    return (found[1], _AFTER_NAME.sub("", rest).strip()) if marked else ("", "")


def _text(node: SyntaxTreeNode) -> str:
    """The words of a part, without pictures and markup."""
    if node.type in {"text", "code_inline"}:
        return node.content
    if node.type in {"softbreak", "hardbreak"}:
        return " "
    return (
        ""
        if node.type in {"image", "html_inline", "html_block", "fence"}
        else "".join(map(_text, node.children)).strip()
    )
