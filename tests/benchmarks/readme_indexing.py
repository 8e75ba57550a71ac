"""PA-RAG's indexing from README texts against indexing from definitions: the same tools of the same servers, described in both ways.

python -m tests.benchmarks.readme_indexing READMES CATALOG TASKS FOLDER

READMES is a folder of README files, CATALOG a file with the definitions of their servers, TASKS their labelled tasks. FOLDER gets two catalogs and
the tasks of which a tool is in both; `wayfare bench --catalog` measures each. Printed is how many listed tools there are.
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
        if known := real.pop(server.name.lower(), None):  # of two READMEs with one name the first
            listed.append((known, server))
    both = [{tool.name for tool in one.tools} & {tool.name for tool in other.tools} for one, other in listed]
    print(
        f"{len(listed)} servers; of {sum(len(one.tools) for one, _ in listed)} tools the READMEs name {sum(map(len, both))}, "
        f"and {sum(len(other.tools) for _, other in listed) - sum(map(len, both))} that the servers do not have"
    )
    kept = {f"{one.name}::{name}" for (one, _), names in zip(listed, both, strict=True) for name in names}
    asked = read_tasks(Path(tasks).read_bytes(), source=tasks)
    fitting = [
        replace(task, relevant=right, plan=())
        for task in asked
        if (right := tuple(tool for tool in task.relevant if tool in kept))
    ]
    Path(folder).mkdir(parents=True, exist_ok=True)
    write_catalog(
        Path(folder, "definitions.json"), [_with(one, one, names) for (one, _), names in zip(listed, both, strict=True)]
    )
    write_catalog(
        Path(folder, "readme.json"),
        [_with(one, other, names) for (one, other), names in zip(listed, both, strict=True)],
    )
    Path(folder, "tasks.jsonl").write_text(tasks_text(fitting), "utf-8")
    print(f"{len(kept)} tools, {len(fitting)} tasks in {folder}")


def _with(named: Server, texts: Server, names: Sequence[str] | set[str]) -> Server:
    """The server under one name, with the texts of a README or of its definitions, and the tools of these names."""
    tools = tuple(replace(tool, server=named.name) for tool in texts.tools if tool.name in names)
    return replace(texts, name=named.name, tools=tools, connection=None, virtual=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
