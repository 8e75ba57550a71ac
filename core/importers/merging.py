"""Several imports as one: nothing is renamed or overwritten, a collision is an error that names both files."""

from __future__ import annotations

from collections.abc import Sequence

from core.domain.imports import Imported, Prompt
from core.importers.checks import shown
from core.importers.reading import BrokenDocumentError


def merge(results: Sequence[tuple[str, Imported]]) -> Imported:
    """One import of several, in their order; each comes with its source's name.

    Raises BrokenDocumentError where two sources have a server of one name, or use one input id for two different values.
    """
    if len(results) == 1:
        return results[0][1]
    problems = _server_collisions(results) + _prompt_collisions(results)
    if problems:
        raise BrokenDocumentError(problems)
    imports = [imported for _, imported in results]
    return Imported(
        format=" + ".join(dict.fromkeys(one.format for one in imports)),
        servers=tuple(server for one in imports for server in one.servers),
        notes=tuple(note for one in imports for note in one.notes),
        secrets={name: value for one in imports for name, value in one.secrets.items()},
        prompts=tuple({prompt.id: prompt for one in imports for prompt in one.prompts}.values()),
        needs_discovery=tuple(name for one in imports for name in one.needs_discovery),
    )


def _server_collisions(results: Sequence[tuple[str, Imported]]) -> list[str]:
    first: dict[str, str] = {}
    problems: list[str] = []
    for source, imported in results:
        for server in imported.servers:
            if server.name in first:
                problems.append(
                    f"{source}: the server {shown(server.name)} is also in {first[server.name]}; rename one of them."
                )
            first.setdefault(server.name, source)
    return problems


def _prompt_collisions(results: Sequence[tuple[str, Imported]]) -> list[str]:
    first: dict[str, tuple[str, Prompt]] = {}
    problems: list[str] = []
    for source, imported in results:
        for prompt in imported.prompts:
            other, known = first.setdefault(prompt.id, (source, prompt))
            if known != prompt:
                problems.append(
                    f"{source}: the input {shown(prompt.id)} asks for something else in {other}; rename one of them."
                )
    return problems
