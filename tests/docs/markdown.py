"""Our documents as tests read them: code blocks, inline code, links, and the names of files and functions in them."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
DECISIONS = tuple(sorted(f"docs/decisions/{path.name}" for path in (ROOT / "docs/decisions").glob("*.md")))
ROOMS = "core|dashboard|tests|sample_catalog"


@cache
def text_of(document: str) -> str:
    """A document as it stands."""
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    """The fenced code blocks in a language, in order."""
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text_of(document), flags=re.DOTALL | re.MULTILINE)
    return [block for tag, block in fences if tag == language]


def commands(document: str) -> list[str]:
    """The lines of the shell blocks, without their comments."""
    lines = (line for block in blocks(document, "sh") for line in block.splitlines())
    return [line.split("    #")[0].strip() for line in lines if line.strip()]


def prose(document: str) -> str:
    """A document without its fenced blocks."""
    return re.sub(r"^```\w*\n.*?^```$", "", text_of(document), flags=re.DOTALL | re.MULTILINE)


def inline_code(document: str) -> list[str]:
    """Code between single backticks."""
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", prose(document))


def links(document: str) -> list[str]:
    """The targets of links and pictures."""
    return re.findall(r"!?\[[^\]]*\]\(([^)\s]+)\)", text_of(document))


def paths(document: str) -> set[str]:
    """Every file or folder of ours that a document names, without patterns."""
    pattern = rf"(?<![\w/.\-~])((?:(?:{ROOMS}|docs|\.ci|\.streamlit)/[\w./\-]*)(?:[*<])?)"
    names = {match.rstrip(".") for match in re.findall(pattern, text_of(document))}
    return {path for path in names if not path.endswith(("*", "<"))}


def named_things(document: str) -> set[tuple[str, str]]:
    """Pairs of file and dotted name, written as `file.py::name`."""
    return set(re.findall(rf"((?:{ROOMS})/[\w/]+\.py)::(\w+(?:\.\w+)*)", text_of(document)))


def modules(document: str) -> set[str]:
    """Dotted names in our packages, such as core.papers.recovery."""
    return set(re.findall(rf"(?<![\w./])((?:{ROOMS})(?:\.\w+)+)", prose(document)))


@cache
def defined_in(path: str) -> frozenset[str]:
    """Every class, function, method and assigned name of a file, as dotted names from its top."""
    return frozenset(_names(ast.parse((ROOT / path).read_text(encoding="utf-8")), ""))


def _names(node: ast.AST, prefix: str) -> list[str]:
    names: list[str] = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef):
            names += [prefix + child.name, *_names(child, f"{prefix}{child.name}.")]
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            names.append(prefix + child.name)
        elif isinstance(child, ast.Assign):
            names += [prefix + target.id for target in child.targets if isinstance(target, ast.Name)]
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            names.append(prefix + child.target.id)
    return names


def module_exists(dotted: str) -> bool:
    """Whether a dotted name is a module of ours or is defined in one."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:cut])
        file = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
        if file.is_file():
            rest = ".".join(parts[cut:])
            return not rest or rest in defined_in(str(file.relative_to(ROOT)))
        if base.is_dir():
            return cut == len(parts)
    return False
