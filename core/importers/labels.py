"""Labels from JSON Lines: labelled tasks that may say of tools that they are wrong as well."""

from __future__ import annotations

import json
from typing import Any, cast

from core.domain.feedback import LabelledQuery
from core.importers.documents import decode
from core.importers.reading import BrokenDocumentError
from core.importers.tasks import read_tasks


def read_labels(text: str | bytes, *, source: str) -> tuple[LabelledQuery, ...]:
    """What a file of labelled tasks says of each sub-task, in its order. Raises BrokenDocumentError that names the line.

    >>> line = '{"id": "1", "subtask": "read a file", "relevant": ["files::read"], "wrong": ["files::write"]}'
    >>> read_labels(line, source="a.jsonl")[0].wrong
    ('files::write',)
    """
    tasks = read_tasks(text, source=source)
    lines = [(n, line) for n, line in enumerate(decode(text, source=source).split("\n"), start=1) if line.strip()]
    found: list[LabelledQuery] = []
    for task, (number, line) in zip(tasks, lines, strict=True):
        wrong = _names(cast(dict[str, Any], json.loads(line)).get("wrong"), f"{source}: line {number}")
        bad = tuple(tool for tool in wrong if tool not in task.relevant)
        found.append(LabelledQuery(task.subtask.strip(), task.server_hint.strip(), task.relevant, bad, task.question))
    return tuple(found)


def _names(raw: object, where: str) -> tuple[str, ...]:
    if raw is None:
        return ()
    names = cast(list[Any], raw) if isinstance(raw, list) else [None]
    if not all(isinstance(name, str) and all(name.partition("::")) for name in names):
        raise BrokenDocumentError([f"{where}: wrong is no list of server::tool; write it so or leave it out."])
    return tuple(dict.fromkeys(cast(list[str], names)))
