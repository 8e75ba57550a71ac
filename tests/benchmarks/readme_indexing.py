"""PA-RAG's indexing from README texts against indexing from definitions: the same tools of the same servers, described in both ways.

python -m tests.benchmarks.readme_indexing READMES CATALOG TASKS FOLDER

READMES is a folder of README files, CATALOG a file with the definitions of their servers, TASKS their labelled tasks. FOLDER gets two catalogs and
the tasks of which a tool is in both; `wayfare bench --catalog` measures each. It prints the number of listed tools.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core.domain.catalog import Server
from core.importers import BrokenDocumentError, read_files, read_tasks, tasks_text
from tests.benchmarks.large_testbed import write_catalog


def main(readmes: str, catalog: str, tasks: str, folder: str) -> None:
    real = {server.name.lower(): server for server in read_files([catalog]).servers}
    listed: list[tuple[Server, Server]] = []
    for file in sorted(Path(readmes).glob("*.md")):
        try:
            (server,) = read_files([file]).servers
        except BrokenDocumentError as error:
            print(error)
            continue
        if original := real.pop(server.name.lower(), None):  # the first of two READMEs with one name
            listed.append((original, server))
    common = [
        {tool.name for tool in original.tools} & {tool.name for tool in readme.tools} for original, readme in listed
    ]
    print(
        f"{len(listed)} servers; of {sum(len(original.tools) for original, _ in listed)} tools the READMEs name {sum(map(len, common))}, "
        f"and {sum(len(readme.tools) for _, readme in listed) - sum(map(len, common))} that the servers do not have"
    )
    kept_tools = {
        f"{original.name}::{name}" for (original, _), names in zip(listed, common, strict=True) for name in names
    }
    all_tasks = read_tasks(Path(tasks).read_bytes(), source=tasks)
    fitting = [
        replace(task, relevant=relevant, plan=())
        for task in all_tasks
        if (relevant := tuple(tool for tool in task.relevant if tool in kept_tools))
    ]
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_catalog(
        Path(folder, "definitions.json"),
        [_with(original, original, names) for (original, _), names in zip(listed, common, strict=True)],
    )
    write_catalog(
        Path(folder, "readme.json"),
        [_with(original, readme, names) for (original, readme), names in zip(listed, common, strict=True)],
    )
    Path(folder, "tasks.jsonl").write_text(tasks_text(fitting), "utf-8")
    print(f"{len(kept_tools)} tools, {len(fitting)} tasks in {folder}")


def _with(server: Server, texts: Server, names: Sequence[str] | set[str]) -> Server:
    """The server with the texts of a README or of its definitions, and only the named tools."""
    tools = tuple(replace(tool, server=server.name) for tool in texts.tools if tool.name in names)
    return replace(texts, name=server.name, tools=tools, connection=None, virtual=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
