"""READMEs as catalogs: the forms in which authors list tools, and lists that look like them and are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.importers import BrokenDocumentError, read_document
from tests.cases import each

TWO = {"read_file": "Reads a file.", "move-file": "Moves a file."}


def tools(body: str, source: str = "README.md") -> dict[str, str]:
    (server,) = read_document(f"# files-mcp\n\nWorks with the files of a disk.\n\n{body}", source=source).servers
    return {tool.name: tool.description for tool in server.tools}


@each(
    "body",
    [
        "## Tools\n\n- `read_file`: Reads a file.\n- `move-file` - Moves a file.\n\nBoth have these parameters:\n\n- `file_path`: a path\n",
        "## Available tools\n\n* **read_file**\n  - Reads a file.\n  - Inputs:\n    - `file_path` (string)\n* **move-file**\n  - Moves a file.\n* `ROOT`: a variable\n",
        "### 🛠 Tools\n\n9. `read_file`\n   - Reads a file.\n   - Input:\n     - `file_path` (string)\n10. `move-file`\n   - Moves a file.\n   - Input:\n     - `to_path` (string)\n",
        "## Tools\n\n- **Reading**\n  - `read_file`: Reads a file.\n- **Writing**\n  - `move-file`: Moves a file.\n",
        "## Tools\n\n| Category | Tool | Description |\n|-|-|-|\n| Reading | `read_file` | Reads a file. |\n| | `move-file` | Moves a file. |\n",
        "## Tools\n\n### `read_file`\n\nReads a file.\n\n**Parameters:**\n- `file_path` (required): a path\n\n#### Notes\n\n- `some_path`: no tool\n\n"
        "### 2. move-file\n\nMoves a file.\n\nArguments:\n\n- `to_path`: a path\n",
        "## Tools\n\n**`read_file`**: Reads a file.\n\n**`move-file`**: Moves a file.\n",
        "## Usage\n\nThe server has these tools:\n\n- `read_file`: Reads a file.\n- `move-file`: Moves a file.\n\n## Options\n\n- `max_size`: bytes\n",
        "## 工具\n\n- `read_file`：Reads a file.\n- `move-file`：Moves a file.\n",
        "## Features\n\n1. `read_file`: Reads a file.\n1. `move-file`: Moves a file.\n1. `fast`: No tool, as nothing here speaks of any.\n\n"
        "## Environment variables\n\n- `FILES_ROOT`: a folder\n- `log_level`: how much is logged\n",
        "## Tools\n\n- read_file(path): Reads a file.\n- [`move-file`](#move): Moves a file.\n\n## Metrics\n\nFor each of the tools:\n\n- `CALLS`: a count\n- `calls_total`: a count\n",
    ],
)  # fmt: skip
def test_tools_are_found_in_each_form_and_parameters_are_none(body: str) -> None:
    assert tools(body) == TWO


def test_signatures_are_tools_of_their_section_and_an_example_is_none() -> None:
    signatures = "## API\n\n### Reading\n\n```python\nread_file(path, lines=10)\nlist_files(\n    path,\n)\n```\n"
    example = (
        "### Example\n\n```python\nprint_it(read_file('a'))\n```\n\n### Use\n\n```python\nopen_it(1)\nx = 2\n```\n"
    )
    assert tools(signatures + example) == {"read_file": "Reading", "list_files": "Reading"}


def test_a_server_goes_by_its_configuration_else_by_its_title() -> None:
    tools_section = "## Tools\n\n- `read_file`: Reads a file.\n"
    configured = '```json\n{"mcpServers": {"disk": {"command": "npx", "env": {"KEY": "sk-PLANTED-0123456789"}}}}\n```\n'
    plain = read_document(
        f"# Files MCP!\n\n[![b](x)](y)\n\nWorks with the files of a disk.\n\n{tools_section}", source="pasted text"
    )
    by_config = read_document(f"# Files MCP\n\n{tools_section}{configured}", source="pasted text")
    assert [(server.name, server.description) for server in plain.servers] == [
        ("files-mcp", "Works with the files of a disk.")
    ]
    assert [(server.name, server.connection) for server in by_config.servers] == [("disk", None)]
    assert "PLANTED" not in repr(by_config)
    assert (plain.format, len(plain.notes)) == ("README", 1)


@each("text", ["# Files\n\nNothing here.\n", "Files", "# a: yaml\nservers:\n  - name: x\n"])
def test_a_readme_without_tools_is_one_sentence(text: str) -> None:
    with pytest.raises(
        BrokenDocumentError,
        match=r"^README\.md: it is neither JSON nor TOML, and as a README it lists no tool; give one",
    ):
        read_document(text, source="README.md")


def test_documents_of_other_formats_with_marks_of_markdown_are_read_as_before() -> None:
    toml = '# Tools\n\n[mcp_servers.web]\ncommand = "run"\n'
    assert read_document(toml, source="config.toml").needs_discovery == ("web",)
    assert read_document(toml, source="pasted text").needs_discovery == ("web",)
    commented = '/*\n# Tools of the house\n*/ {"mcpServers": {"web": {"url": "https://x.org/mcp"}}}'
    assert read_document(commented, source="pasted text").needs_discovery == ("web",)
    with pytest.raises(BrokenDocumentError, match="at most 200,000"):
        read_document("# Tools\n" + "-" * 200_000, source="README.md")
    with pytest.raises(BrokenDocumentError, match="line 2, column 1"):
        read_document('{"servers": [\n# Tools\n]}', source="a.json")


@settings(max_examples=60, deadline=None)
@given(st.text(st.sampled_from("#-*`|_[]()!<>ab A:\n1.tols"), max_size=300))
def test_any_text_is_a_catalog_or_one_sentence(text: str) -> None:
    faults = pytest.RaisesExc(BrokenDocumentError, match=r"^README\.md: ")
    try:
        servers = read_document(f"## Tools\n{text}", source="README.md").servers
    except BrokenDocumentError as error:
        servers = ()
        fault = error
    assert servers or faults.matches(fault)
    assert all(tool.name for server in servers for tool in server.tools)
